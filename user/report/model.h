/*
 * What a report shows as tables, laid out once. In: rows of typed cells from builders (model_*.c), one file for each
 * theme. Out: tables that text (text_table.c), JSON (json_table.c) and the HTML page (html_table.c) render, each in its
 * way. A table that is built appears in all three.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pause.h"
#include "strtab.h"
#include "vec.h"

/* The renderers, as bits. */
enum { IN_TEXT = 1, IN_JSON = 2, IN_PAGE = 4 };
/* Added to them, for a note: a warning. */
#define NOTE_WARNS 8

enum model_unit {
	UNIT_COUNT,
	UNIT_ID, /* a number that identifies something: a pid */
	UNIT_NS,
	UNIT_BYTES,
	UNIT_SHARE, /* a part of a whole; derived from other columns, so JSON never has it */
	UNIT_TIMES, /* in thousandths: "2.3 ×" */
	UNIT_STEP, /* the number of a step of the track that the table is about: a link in the page */
	UNIT_MOMENT, /* ns from the recording's start on */
	UNIT_REAL,   /* model_real(), with the column's digits */
	UNIT_PART,   /* model_real(), a part of 1: shown in percent, with the column's digits */
	UNIT_BOOL,
	UNIT_TEXT,
	UNIT_FRAME,  /* of the stack table: a function and its line */
	UNIT_STACK,  /* a node: shown as its innermost frame, in the page with the whole below */
	UNIT_CLASS,  /* what a pause was: its name, in the page beside its colour */
	UNIT_CHANGE, /* model_change(): bytes before and after; only the page has it */
};

/* Static, or owned by the model. */
struct model_column {
	const char *key; /* names it in JSON, in the page's rows, and in a layout's views */
	/* Above it in the page; in text too, in capitals, unless ->heading says other. */
	const char *title;
	enum model_unit unit;
	const char *heading;
	int8_t width; /* in text; left-aligned if negative; 0: what the unit usually needs */
	/* In text: blanks before a left-aligned one that is not the first (0: two), before one below (0: six). */
	uint8_t gap;
	uint8_t digits; /* after the point */
	uint16_t most;	/* characters of a text that nothing follows; 0: 160, in the page 240 */
	bool below; /* text has it on a line of its own below the row, after ->heading; of a stack, all frames */
	bool folded; /* page: shown where the row is unfolded, whether its view lists it or not */
	bool trigger; /* page, of a stack: shown as the line that stands for it, not as its innermost frame */
	bool wide;		  /* page: takes the room that is left */
	bool spare;		  /* page: the first to go where there is little room */
	bool if_known;		  /* text and page leave it out where no row knows it */
	const char *help;	  /* page: says more about the title */
	const char *none;	  /* stands for what is not known; NULL: "-" */
	const char *none_in_page; /* of a frame, if the page says it in other words */
	bool code;		  /* page: in the font of code */
	/* Page: how its figures are known, an index into ->known of the table; KNOWN_ALL: as the table's. */
	enum { KNOWN_ALL, KNOWN_LOST, KNOWN_GPU, KNOWN_KINDS } known;
	/* Page: keys of columns of its view, which it does not show if they have no title; or NULL. */
	const char *tip;   /* its text comes up when the pointer rests on this one */
	const char *by;	   /* this one is sorted by its values */
	const char *badge; /* its key stands behind this one where it is true */
};

#define MODEL_COLUMNS 44

/*
 * What all tables of a kind have in common. A view lists keys of columns, separated by blanks, in the order of that
 * renderer; NULL: all columns that it can show; "": that renderer leaves the table out.
 */
struct model_layout {
	const char *key;     /* of the table: JSON's array; those of one key are one array */
	const char *group;   /* the key of a table of ->object in which JSON nests it */
	const char *title;   /* NULL: text has none */
	const char *caption; /* page; NULL: the title */
	const struct model_column *columns;
	size_t column_count;
	const char *text, *json, *page; /* views */
	bool object;			/* JSON has its one row as an object, not an array */
	bool json_last;			/* JSON has it after the others */
	bool records;	    /* JSON has each row as a record of this type, not in the summary */
	bool flush;	    /* text: the headings begin at the margin, as there is no title */
	bool margin;	    /* text: so do rows and notes */
	uint16_t text_rows; /* at most; the others are counted */
	bool first_rows;    /* text: shows only these and does not count the others */
	const char *more;   /* "… and 3 more lines": what one is called; NULL: nothing */
	uint8_t page_rows; /* that the page shows until it is asked for more; 0: as many as usual */
	const char *sort;  /* page: the column it is sorted by, greatest first unless ->ascending */
	bool ascending;
	bool strong; /* text: rows, though not what is below them, stand out */
};

struct model_cell {
	union {
		uint64_t value;
		double real;
	};
	uint64_t
		of; /* of a share: the whole; of a text: its bytes; of a class: the place of its colour; of a change: after */
	/*
	 * Static, or lives as long as the model: not safe to show as it is. Of a number: the words that text and page
	 * have for it, if not those of its unit. Of a frame or a stack: why there is none.
	 */
	const char *text;
	enum { CELL_UNKNOWN, CELL_KNOWN, CELL_BLANK } state;
	uint8_t unknown_in; /* renderers to which it is not known */
};

struct model_note {
	const char *text; /* a sentence */
	uint8_t in;	  /* renderers that have it */
};

struct model;

struct model_table {
	const struct model_layout *layout;
	struct model *model;
	const char *title, *caption, *sort; /* the layout's, unless the builder knows better */
	const struct model_column *columns;
	size_t column_count, rows;
	VEC(struct model_cell) cells; /* row by row */
	bool totalled;
	struct model_cell total[MODEL_COLUMNS]; /* text: a last row */
	VEC(struct model_note) notes;		/* below the table */
	/* Page: "measured", "estimated", …: how figures are known. NULL: it does not say, but of KNOWN_ALL "measured". */
	const char *known[KNOWN_KINDS];
};

/* A zeroed one is empty and ready. ->failed: memory ran out, and what was added since is missing. */
struct model {
	VEC(struct model_table *) tables; /* in the order of text and page */
	VEC(char *) texts;		  /* that it owns */
	struct model_table spare;	  /* takes what there was no memory for */
	bool failed;
	uint64_t traced_ns; /* what shares of time relate to, for those who build tables */
};

void model_release(struct model *model);

/* Never NULL; the model owns it. The same with columns made at run time, which are copied. */
struct model_table *model_add(struct model *model, const struct model_layout *layout);
struct model_table *model_add_with(struct model *model, const struct model_layout *layout,
	const struct model_column *columns, size_t count);
/* Appends a row, its cells in the order of the columns. */
void model_row(struct model_table *table, const struct model_cell *cells, size_t count);
#define MODEL_CELLS(...)                                                                           \
	(const struct model_cell[])                                                                \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define MODEL_ROW(table, ...)                                                                      \
	model_row((table), MODEL_CELLS(__VA_ARGS__),                                               \
		sizeof(MODEL_CELLS(__VA_ARGS__)) / sizeof(struct model_cell))
void model_total(struct model_table *table, const struct model_cell *cells, size_t count);
#define MODEL_TOTAL(table, ...)                                                                    \
	model_total((table), MODEL_CELLS(__VA_ARGS__),                                             \
		sizeof(MODEL_CELLS(__VA_ARGS__)) / sizeof(struct model_cell))
/* Adds a sentence for the renderers @in. */
void model_note(struct model_table *table, uint8_t in, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A text that the model owns; "" when memory ran out. */
const char *model_format(struct model *model, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same text with a capital, if it begins with a letter of ASCII. */
const char *model_capital(struct model *model, const char *text);
/*
 * At most @size bytes of @text (terminated before, or NULL: none), made safe to show and cut after @columns characters,
 * as utf8_show() does. The model owns it; "" when memory ran out.
 */
const char *model_shown(struct model *model, const char *text, size_t size, size_t columns);

/* The indices of the columns in the renderer's view (one of IN_…), in its order. Returns how many; 0: left out. */
size_t model_view(const struct model_table *table, int in, uint8_t ret[MODEL_COLUMNS]);
/* The cell as renderer @in is to show it. */
struct model_cell model_cell_at(const struct model_table *table, size_t row, size_t column, int in);
/* The cell of the column @key, which the table has. */
const struct model_cell *model_named(const struct model_table *table, size_t row, const char *key);
bool model_has_notes(const struct model_table *table, int in);

static inline struct model_cell model_number(uint64_t value)
{
	return (struct model_cell){.value = value, .state = CELL_KNOWN};
}

/* Not known unless it is finite. */
static inline struct model_cell model_real(double value)
{
	return (struct model_cell){
		.real = value, .state = isfinite(value) ? CELL_KNOWN : CELL_UNKNOWN};
}

static inline struct model_cell model_known(int64_t value)
{
	return (struct model_cell){
		.value = (uint64_t)value, .state = value < 0 ? CELL_UNKNOWN : CELL_KNOWN};
}

/* 0: there is none. */
static inline struct model_cell model_unless_zero(uint64_t value)
{
	return (struct model_cell){.value = value, .state = value ? CELL_KNOWN : CELL_UNKNOWN};
}

static inline struct model_cell model_share(uint64_t part, uint64_t whole)
{
	return (struct model_cell){.value = part, .of = whole, .state = CELL_KNOWN};
}

/* An empty text is not known. */
static inline struct model_cell model_bytes(const char *text, size_t len)
{
	return (struct model_cell){
		.text = text, .of = len, .state = len ? CELL_KNOWN : CELL_UNKNOWN};
}

struct model_cell model_text(const char *text); /* terminated; NULL: not known */
struct model_cell model_string(const struct strtab *strings, uint32_t id);

/* @order: among the classes, for sorting; @place: of its colour; @name is static. */
static inline struct model_cell model_class(uint32_t order, uint32_t place, const char *name)
{
	return (struct model_cell){
		.value = (uint64_t)order, .of = place, .text = name, .state = CELL_KNOWN};
}

/* Known if both are. */
static inline struct model_cell model_change(int64_t before, int64_t after)
{
	return (struct model_cell){.value = (uint64_t)before,
		.of = (uint64_t)after,
		.state = before < 0 || after < 0 ? CELL_UNKNOWN : CELL_KNOWN};
}

/* A frame or a stack; 0: none, of which @none says why, if it is not NULL. */
static inline struct model_cell model_frame(uint32_t id, const char *none)
{
	return (struct model_cell){
		.value = id, .text = none, .state = id ? CELL_KNOWN : CELL_UNKNOWN};
}

static inline struct model_cell model_blank(void)
{
	return (struct model_cell){.state = CELL_BLANK};
}

/* @cell, not known to the renderers @in. */
static inline struct model_cell model_not_in(uint8_t in, struct model_cell cell)
{
	cell.unknown_in |= in;
	return cell;
}
