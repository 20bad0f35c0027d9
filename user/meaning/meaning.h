/*
 * What a runtime's pauses mean: their classes, the words for them, their facts, whose code a frame is. In: a
 * runtime's kind, a pause as it was observed. Out: what analysis and reports go by. No runtime is named here: each
 * has its entry in user/runtime/NAME/meaning.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "origin.h"
#include "pause.h"
#include "stack_table.h"

struct budget_metric;
struct runtime_advice;
struct runtime_meaning;
struct runtime_report;

/* What a pause was for. A runtime has a handful of classes, in the order in which tables list them. */
struct pause_class {
	const struct runtime_meaning *of;
	const char *name;  /* in tables and JSON: "young", "concurrent step", "2" */
	const char *cell;  /* the same in at most 5 columns: "conc" */
	const char *words; /* in a sentence: "full", "generation 2" */
	const char *
		collections; /* several of them, in a sentence: "full collections"; the same for all classes of rank 0 */
	uint8_t order; /* its index in the runtime's classes */
	uint8_t colour; /* 0 … CLASS_COLOURS - 1, in charts; the last one: nothing was collected, or not known */
	int8_t full; /* whether all of the heap was collected: 1, 0, or UNKNOWN */
	/*
	 * A training step has the class of highest rank among its pauses, however short that pause was. 0: no step
	 * is of this class, and slow steps are not distinguished by it: "unknown", "not GC".
	 */
	uint8_t rank;
	const char *legend; /* beside its colour in a page, if not its name: "gen 2 (full)" */
	bool leaves_live; /* the heap that it leaves is what is alive: its trend is worth a table */
};

#define CLASSES_MOST  8 /* of one runtime */
#define CLASS_COLOURS 4

enum fact_unit {
	FACT_NS,
	FACT_BYTES,
	FACT_COUNT,
	FACT_THREAD, /* its number, as the host sees it */
	FACT_STRING, /* an id in stack_table.strings; 0: not known */
	FACT_STACK,  /* a node of the stack table; STACK_NONE: not known */
};

/* What is known of one runtime's pauses and not of others'. */
struct pause_fact {
	const char *key; /* in the store, for good; in JSON, unless .json is set */
	const char *json;
	const char *
		name; /* for people: "reaching (time to safepoint)"; what is in brackets only where there is room */
	enum fact_unit unit;
	bool part;	/* a part of the pause's duration; the parts never add up to more */
	bool figures;	/* attribution keeps each value for budgets: 8 bytes a pause */
	const char *of; /* of counts that share a line: "collections", of which ->name says which */
};

/* Facts that general rooms look at, whichever runtime has them: */
#define FACT_TTSP                                                                                  \
	"ttsp_ns" /* from the request to stop until all threads had stopped; its figures are kept */
#define FACT_OPERATION	 "operation" /* what it stopped them for */
#define FACT_CAUSE	 "cause"     /* why it collected, in the runtime's own words */
#define FACT_HEAP_BEFORE "heap_before"
#define FACT_HEAP_AFTER	 "heap_after"
#define FACT_LATE	 "late_tid"   /* the thread that was last to stop */
#define FACT_LATE_STACK	 "late_stack" /* where it was */

/* How to speak of pauses at a runtime's exit, which figures leave out. */
struct exit_words {
	const char *one, *several; /* "collection", "collections" */
	const char *the, *any;	   /* "the interpreter's exit", "an interpreter's exit" */
};

/* The entry of one runtime. */
struct runtime_meaning {
	const char *kind;	    /* struct runtime.kind, for good: "toy" */
	const char *label;	    /* for people: "Toy" */
	const char *subject;	    /* what costs time, at the beginning of a sentence: "GC" */
	const char *cause;	    /* the same within a sentence: "GC" */
	const char *pause, *pauses; /* "pause", "pauses" */
	const char *verb;	    /* what they do to a process: "paused" */
	const char *process;	    /* what figures that only such runtimes have need: "a toy" */
	const char *begun;	    /* how a line of code caused one: "triggered the collection" */
	const char *no_stack;	    /* why it may have no stack: "short pauses, or …" */
	const char *not_once;	    /* that there was none, up to the process: "GC did not pause" */
	const struct exit_words *exit; /* NULL: words that fit any runtime */
	bool asked; /* struct pause.tid is the thread that requested it, not the one that did it */
	bool apart; /* some collect nothing: reports count those separately, --gc-only omits them */
	bool collectors; /* it has several, of which struct runtime.collector names one */

	/* What single threads wait for, by enum stall_kind; NULL: it has none of that kind. */
	const char *const *waits;
	uint8_t wait_count;
	const char *
		call; /* that requests a collection, as a program has it: "gc()"; of runtimes with such waits */
	const char *
		asks; /* the same of one without them, whose CAUSE_MANUAL such a call is; NULL: none */

	uint32_t lang;			   /* enum frame_lang of its frames; 0: none of its own */
	const struct pause_class *classes; /* of all its pauses */
	uint8_t class_count;
	bool generations; /* the classes are the values of struct pause.generation, followed by one for unknown */
	bool young_full; /* struct pause.generation is 0 for a young collection, 1 for a full one: JSON gives it with steps */

	const struct pause_fact
		*facts; /* at most PAUSE_FACTS, in the order of struct pause.facts */
	uint8_t fact_count;
	const char *
		fact_table; /* the store's table that holds them, a column each; NULL: the table for all runtimes */

	/*
	 * Sets @pause's class, collects and at_exit from what was observed; @strings: those that its facts refer
	 * to.
	 */
	void (*judge)(const struct strtab *strings, struct pause *pause);

	/*
	 * The string that best explains why the pause happened; 0: pause_cause_name() does. NULL: that always
	 * does.
	 */
	uint32_t (*reason)(const struct pause *pause);

	/* Whether it also stops the threads of other interpreters in its process. NULL: always. */
	bool (*stops_others)(const struct runtime *runtime, const struct pause *pause);

	const struct runtime_advice
		*advice; /* what would have helped: advice/advising.h. NULL: not known */

	const struct runtime_report
		*report; /* its own tables and records: report/reporting.h. NULL: it has none */

	const struct budget_metric
		*metrics; /* metrics for budgets that it alone has, or has other names for */
	uint8_t metric_count;

	/* Whether its cause says that a call requested it. NULL: there are no such calls. */
	bool (*asked_for)(const struct strtab *strings, const struct pause *pause);

	bool packages; /* the names of its functions begin with packages: "org.example.Trainer.step" */
	/* Whose code a frame of .lang is, by its function's name and its file ("" if not known). NULL if there is no .lang. */
	enum origin (*origin)(const char *function, const char *file);
};

/* All runtimes that were built in, NULL behind the last: made by user/runtime/meson.build. */
extern const struct runtime_meaning *const runtime_meanings[];

/* Never NULL: for a kind that was not built in, an entry that claims nothing. */
const struct runtime_meaning *meaning_of(const char *kind);

/* The entry of runtime @id of @recording; that of an unknown one if it is not there. */
const struct runtime_meaning *meaning_of_runtime(const struct recording *recording, uint32_t id);

/* The entry shared by all runtimes of process @id; an unknown runtime's if they differ or there are none. */
const struct runtime_meaning *meaning_of_process(const struct recording *recording, uint32_t id);

/* Sets @pause's class, collects and at_exit: done once, by who makes or reads it. */
void meaning_judge(const struct recording *recording, const struct strtab *strings,
	struct pause *pause);

/* Words for the pauses at exit of @meaning, or of several runtimes if it is NULL. */
const struct exit_words *meaning_exit(const struct runtime_meaning *meaning);

/* The place of the fact called @key; -1: this runtime has none. */
int meaning_fact(const struct runtime_meaning *meaning, const char *key);

/* The value of @pause's fact called @key; UNKNOWN if its runtime has none. */
int64_t meaning_value(const struct pause *pause, const char *key);

/* What the runtime of @stall calls it, or "unknown". */
const char *meaning_wait(const struct recording *recording, const struct stall *stall);

/* Clears @pause's facts: only what all runtimes' pauses have is known of it. */
void meaning_forget(const struct runtime_meaning *meaning, struct pause *pause);

static inline bool fact_is_id(enum fact_unit unit)
{
	return unit >= FACT_STRING;
}

/* "automatic", or the runtime's own words, and how long they are. Not safe to show as they are. */
const char *meaning_reason(const struct strtab *strings, const struct pause *pause,
	size_t *ret_len);
