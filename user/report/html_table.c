/* A table's columns, rows and notes → an object in which they are named. */
#include <inttypes.h>
#include <string.h>

#include "html_pack.h"
#include "html_table.h"

#define ROWS_MOST 200
#define NAME_MOST 240

static const char *unit_name(enum model_unit unit)
{
	static const char *const names[] = {
		[UNIT_COUNT] = "count",
		[UNIT_ID] = "id",
		[UNIT_NS] = "ns",
		[UNIT_BYTES] = "bytes",
		[UNIT_SHARE] = "share",
		[UNIT_TIMES] = "times",
		[UNIT_STEP] = "step",
		[UNIT_MOMENT] = "moment",
		[UNIT_REAL] = "real",
		[UNIT_PART] = "part",
		[UNIT_BOOL] = "bool",
		[UNIT_TEXT] = "text",
		[UNIT_FRAME] = "frame",
		[UNIT_STACK] = "stack",
		[UNIT_CLASS] = "class",
		[UNIT_CHANGE] = "change",
	};

	return names[unit];
}

static void put_text(struct html_page *page, const char *name, const char *text)
{
	if (text)
		html_text(page->out, name, text, strlen(text), HTML_WHOLE, &page->text);
}

/* Whether a column holds what was measured somehow: a number alone may be a step's or a process's. */
static bool is_figure(const struct model_column *column)
{
	return column->unit == UNIT_NS || column->unit == UNIT_BYTES ||
	       column->unit == UNIT_SHARE || column->unit == UNIT_CHANGE ||
	       column->unit == UNIT_TIMES;
}

/* How the table's figures are known, unless a column of it says that row by row. */
static void put_known(struct html_page *page, const struct model_table *table)
{
	bool figures = false;

	for (size_t i = 0; i < table->column_count; i++) {
		figures |= is_figure(&table->columns[i]);
		if (!strcmp(table->columns[i].key, "source"))
			return;
	}
	if (figures)
		put_text(page, "known",
			table->known[KNOWN_ALL] ? table->known[KNOWN_ALL] : "measured");
}

static void put_column(struct html_page *page, const struct model_table *table,
	const struct model_column *column, bool first)
{
	const char *none = column->none_in_page ? column->none_in_page : column->none;

	fprintf(page->out, "%s{\"key\":\"%s\"", first ? "" : ",", column->key);
	put_text(page, "title", column->title);
	fprintf(page->out, ",\"unit\":\"%s\"", unit_name(column->unit));
	put_text(page, "help", column->help);
	put_text(page, "none", none);
	if (column->digits)
		html_uint(page->out, "digits", column->digits);
	put_text(page, "tip", column->tip);
	put_text(page, "by", column->by);
	put_text(page, "badge", column->badge);
	if (column->known)
		put_text(page, "known", table->known[column->known]);
	if (column->code)
		html_bool(page->out, "code", true);
	if (column->wide)
		html_bool(page->out, "wide", true);
	if (column->spare)
		html_bool(page->out, "spare", true);
	if (column->folded)
		html_bool(page->out, "folded", true);
	if (column->trigger)
		html_bool(page->out, "trigger", true);
	putc_unlocked('}', page->out);
}

/* A string of its own, without a name. */
static void put_string(struct html_page *page, const char *text, size_t len, size_t most)
{
	flame_text_clear(&page->text);
	flame_text_clean(&page->text, text, len, most);
	html_string(page->out, &page->text);
}

/* Its number in the page's own table of stacks; or a string: why there is none. */
static int put_place(struct html_page *page, const struct model_column *column,
	const struct model_cell *cell)
{
	uint32_t id = 0;
	int r;

	if (column->unit == UNIT_STACK)
		r = html_stacks_node(&page->stacks, (uint32_t)cell->value, &id);
	else
		r = html_stacks_frame(&page->stacks, (uint32_t)cell->value, &id);
	if (!id && cell->text && !column->none_in_page)
		put_string(page, cell->text, strlen(cell->text), NAME_MOST);
	else
		fprintf(page->out, "%u", id);
	return r;
}

static int put_value(struct html_page *page, const struct model_column *column,
	const struct model_cell *cell)
{
	FILE *out = page->out;

	if (column->unit == UNIT_FRAME || column->unit == UNIT_STACK)
		return put_place(page, column, cell);
	if (cell->state != CELL_KNOWN) {
		fputs("null", out);
	} else if (column->unit == UNIT_TEXT) {
		put_string(page, cell->text, (size_t)cell->of,
			column->most > NAME_MOST ? column->most : NAME_MOST);
	} else if (column->unit == UNIT_SHARE) {
		fprintf(out, "{\"part\":%" PRIu64 ",\"whole\":%" PRIu64 "}", cell->value, cell->of);
	} else if (column->unit == UNIT_CHANGE) {
		fprintf(out, "{\"before\":%" PRIu64 ",\"after\":%" PRIu64 "}", cell->value,
			cell->of);
	} else if (column->unit == UNIT_CLASS) {
		fprintf(out, "{\"order\":%" PRIu64 ",\"place\":%" PRIu64, cell->value, cell->of);
		put_text(page, "name", cell->text);
		putc_unlocked('}', out);
	} else if (cell->text) {
		fprintf(out, "{\"value\":%" PRIu64, cell->value);
		put_text(page, "words", cell->text);
		putc_unlocked('}', out);
	} else if (column->unit == UNIT_REAL || column->unit == UNIT_PART) {
		fprintf(out, "%.9g", cell->real);
	} else {
		fprintf(out, "%" PRIu64, cell->value);
	}
	return 0;
}

static int put_rows(struct html_page *page, const struct model_table *table, const uint8_t *columns,
	size_t count)
{
	int r = 0;

	html_key(page->out, false, "rows");
	putc_unlocked('[', page->out);
	for (size_t row = 0; row < table->rows && row < ROWS_MOST; row++) {
		fputs(row ? ",{" : "{", page->out);
		for (size_t i = 0; !r && i < count; i++) {
			struct model_cell cell = model_cell_at(table, row, columns[i], IN_PAGE);

			html_key(page->out, !i, table->columns[columns[i]].key);
			r = put_value(page, &table->columns[columns[i]], &cell);
		}
		putc_unlocked('}', page->out);
	}
	putc_unlocked(']', page->out);
	return r;
}

static void put_notes(struct html_page *page, const struct model_table *table)
{
	bool first = true;

	html_key(page->out, false, "notes");
	putc_unlocked('[', page->out);
	for (size_t i = 0; i < table->notes.count; i++) {
		const char *note = table->notes.items[i].text;

		if (!(table->notes.items[i].in & IN_PAGE))
			continue;
		if (!first)
			putc_unlocked(',', page->out);
		if (table->notes.items[i].in & NOTE_WARNS)
			fputs("{\"warning\":", page->out);
		put_string(page, note, strlen(note), HTML_WHOLE);
		if (table->notes.items[i].in & NOTE_WARNS)
			putc_unlocked('}', page->out);
		first = false;
	}
	putc_unlocked(']', page->out);
}

int html_table_write(struct html_page *page, const struct model_table *table)
{
	const struct model_layout *layout = table->layout;
	uint8_t columns[MODEL_COLUMNS];
	size_t count = model_view(table, IN_PAGE, columns);
	FILE *out = page->out;
	int r;

	fprintf(out, "{\"key\":\"%s\"", layout->key);
	put_text(page, "caption", table->caption);
	put_text(page, "sort", table->sort);
	put_known(page, table);
	if (layout->ascending)
		html_bool(out, "ascending", true);
	if (layout->page_rows)
		html_uint(out, "shown", layout->page_rows);
	if (table->rows > ROWS_MOST)
		html_uint(out, "left_out", table->rows - ROWS_MOST);
	html_key(out, false, "columns");
	putc_unlocked('[', out);
	for (size_t i = 0; i < count; i++)
		put_column(page, table, &table->columns[columns[i]], !i);
	putc_unlocked(']', out);
	put_notes(page, table);
	r = put_rows(page, table, columns, count);
	putc_unlocked('}', out);
	return r;
}

int html_tables_write(struct html_page *page, const char *name, const struct model *model)
{
	bool first = true;
	int r = 0;

	html_key(page->out, false, name);
	putc_unlocked('[', page->out);
	for (size_t i = 0; !r && i < model->tables.count; i++) {
		const struct model_table *table = model->tables.items[i];
		uint8_t columns[MODEL_COLUMNS];

		if ((!table->rows || !model_view(table, IN_PAGE, columns)) &&
			!model_has_notes(table, IN_PAGE))
			continue;
		if (!first)
			putc_unlocked(',', page->out);
		r = html_table_write(page, table);
		first = false;
	}
	putc_unlocked(']', page->out);
	return r;
}
