/*
 * Inside the room: the marks of each thread as one sequence of symbols, and what the choosers make
 * of it.
 *
 *   marks + series ─▶ study (strands of events) ─▶ choose_*: where steps begin ─▶ track: steps
 */
#pragma once

#include <stddef.h>

#include "step.h"
#include "strtab.h"
#include "vec.h"

/* What the calls of a signal mean; the order means nothing. */
enum step_class {
	CLASS_USER,    /* named by the user */
	CLASS_UPDATE,  /* an optimizer's step, a boosting round */
	CLASS_EXECUTE, /* a compiled program was run; number: its inputs */
	CLASS_JIT,     /* a jitted function was called; label: its name */
	CLASS_BACKWARD,
	CLASS_ZERO,	  /* gradients were zeroed */
	CLASS_LOAD,	  /* a batch was fetched */
	CLASS_LOSS,	  /* also in evaluation */
	CLASS_RECORD,	  /* a labelled range that someone added */
	CLASS_COLLECTIVE, /* number: elements */
	CLASS_GRAPH,	  /* a graph was launched; number: its handle */
	CLASS_SYNC,	  /* the host waited for a device, or read from it; number: bytes */
	CLASS_REQUEST,	  /* what a server received or sent; number: its connection */
	CLASS_LEARNER, /* what the update before it writes to, no event of its own; number: which */
	CLASS_CALL,    /* anything; number: a shape */
	CLASS_COUNT
};

#define CLASS_BIT(class) (1u << (class))
#define CLASS_ALL	 (CLASS_BIT(CLASS_COUNT) - 1)
/* Those that only training uses. */
#define TRAINING                                                                                   \
	(CLASS_BIT(CLASS_USER) | CLASS_BIT(CLASS_UPDATE) | CLASS_BIT(CLASS_EXECUTE) |              \
		CLASS_BIT(CLASS_JIT) | CLASS_BIT(CLASS_BACKWARD))

/* All series of one thread that mean the same. */
struct symbol {
	enum step_class class;
	uint32_t strand;
	const char *signal; /* borrowed from the recording, like label */
	const char *label;  /* or NULL */
	int64_t number;
	uint64_t marks; /* calls, including those without a mark of their own */
	uint64_t first_ns, last_ns;
	uint64_t attached_ns, let_go_ns; /* of the signal; let_go_ns 0: it stayed cheap */
	bool used;			 /* its marks are among the strand's events */
	bool thinned; /* some of its marks stand for several calls, so only its count is meaningful */
	bool anchor; /* counts as a mark of the step under consideration */
	bool chosen;
};

struct strand_event {
	uint64_t time_ns;
	uint32_t symbol; /* index into study.symbols */
	union {
		uint32_t rss;	  /* in KiB, or STEP_RSS_UNKNOWN; */
		uint32_t skipped; /* of a symbol that is thinned: calls before this one */
	};
	int64_t work_ns; /* struct mark.work_ns */
};

/* The events of one thread, by time. */
struct strand {
	uint32_t process, tid;
	struct strand_event *events; /* within study.events */
	size_t count;
	uint32_t *symbols; /* within study.order: its symbols, the busiest first */
	size_t symbol_count;
	uint32_t *
		learners; /* within study.learners, by event: the symbol of what it updates + 1; 0: not known */
};

struct study {
	const struct recording *recording;
	uint64_t end_ns;
	VEC(struct symbol) symbols;
	VEC(struct strand) strands;
	struct strand_event *events;
	uint32_t *learners; /* by event; NULL: none is known */
	uint32_t *order;
	uint8_t *column; /* by symbol: its column + 1 in the kinds under construction, or 0 */
};

/*
 * Gathers @marks into strands. Events of a signal that was let go are left out, since they stop
 * while the training goes on, unless its name is @keep, which may be NULL. 0 or -ENOMEM; the caller
 * releases *ret.
 */
int study_build(const struct recording *recording, struct step_marks *marks, uint64_t end_ns,
	const char *keep, struct study *ret);
void study_release(struct study *study);
/* Takes the marks of CLASS_LEARNER out of the strands: each goes with the update just before it. 0 or -ENOMEM. */
int learners_fold(struct study *study);

/* How many calls @event stands for. */
static inline uint64_t event_calls(const struct study *study, const struct strand_event *event)
{
	return study->symbols.items[event->symbol].thinned ? 1ull + event->skipped : 1;
}

/* @count + @more, saturating. */
static inline uint32_t count_up(uint32_t count, uint64_t more)
{
	return more < UINT32_MAX - count ? count + (uint32_t)more : UINT32_MAX;
}

/* Whether the marks of @symbol can be where steps begin. */
static inline bool may_anchor(const struct symbol *symbol)
{
	return symbol->used && !symbol->thinned;
}

enum step_class classify(const char *signal, const char *label);
double class_prior(enum step_class class);
void symbol_name(const struct symbol *symbol, char *ret, size_t size); /* as --step takes it */
/* Whether what sets them apart is an address, which means nothing to people: a booster's handle, the class of an object. */
bool symbols_same(const struct symbol *one, const struct symbol *other);
/* > 0: a name that people give to a training step's function; < 0: to another function. */
int function_score(const char *name); /* NULL: 0 */

/* ── sequences ── */

typedef VEC(uint32_t) indices;

/* How often a sequence equals itself @length further on. */
struct period {
	uint32_t length; /* 0: no period */
	double match;	 /* share */
	size_t from, to; /* the stretch that it was found in */
};

/* The shortest period of @sequence, at most @longest, that matches about as well as the best one.
 */
struct period period_find(const uint32_t *sequence, size_t count, uint32_t longest);

/* Up to four symbols in a row that occur once a period. */
struct gram {
	uint32_t symbols[4];
	uint32_t length;
	double regular; /* share of its distances that are the period */
};

/*
 * Finds one in @period's stretch: the most regular, then the one with the most @weight (by position
 * of its first symbol; may be NULL), then the rarest overall. 1: found, 0: there is none, -ENOMEM.
 */
int gram_find(const uint32_t *sequence, size_t count, const struct period *period,
	const uint32_t *weight, struct gram *ret);
bool gram_at(const struct gram *gram, const uint32_t *sequence, size_t count, size_t i);

/* ── what lies between marks ── */

#define MAX_COLUMNS 32

/* The kinds of intervals, by which symbols occur in them how often. */
struct kinds {
	uint32_t columns;
	enum step_class class[MAX_COLUMNS]; /* of a column */
	VEC(uint16_t) counts;		    /* kind × columns; counts saturate */
	indices uses;			    /* of each kind */
	indices of;			    /* each interval's kind */
};

/*
 * Intervals [at_i, at_i+1), the last one to the end of @strand; columns: the symbols of the classes
 * in @mask, with one column per class for those in @merged. 0 or -ENOMEM; the caller releases *ret
 * in any case.
 */
int kinds_build(struct study *study, const struct strand *strand, const indices *at, uint32_t mask,
	uint32_t merged, struct kinds *ret);
void kinds_release(struct kinds *kinds);
const uint16_t *kinds_counts(const struct kinds *kinds, uint32_t kind);
uint32_t kinds_total(const struct kinds *kinds, uint32_t kind, enum step_class class);
/* Whether every count of @wide is at least that of @narrow. */
bool kinds_cover(const struct kinds *kinds, uint32_t wide, uint32_t narrow);
/*
 * Replaces odd kinds of the first @count intervals by the common ones that they are with something added, such as an
 * evaluation. 0 or -ENOMEM.
 */
int kinds_normalise(struct kinds *kinds, size_t count);

/* ── choosing ── */

/* One way to see the steps of a strand. */
struct choice {
	enum step_class class;
	const struct strand *strand;
	indices at; /* events at which steps begin, ascending */
	char signal[160];
	double prior;	/* trust in this kind of signal */
	double regular; /* share of intervals that are as expected; < 0: track_build() computes it */
	char note[512];
	struct step_levels levels;
};

void choice_release(struct choice *choice);
/* Adds a sentence to @note; drops it when there is no room. */
void note_add(char *note, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Adds "@signal/@part" with as many steps, unless there is no room. */
void levels_add(struct step_levels *levels, const char *signal, const char *part, uint64_t steps);

/* The choosers. 1: *ret holds steps, 0: none here, -ENOMEM. They mark the anchors among the
 * symbols. */
int choose_user(struct study *study, const struct strand *strand, struct choice *ret);
int choose_dl4j(struct study *study, const struct strand *strand, struct choice *ret);
int choose_graph(struct study *study, const struct strand *strand, struct choice *ret);
int choose_update(struct study *study, const struct strand *strand, struct choice *ret);
int choose_execute(struct study *study, const struct strand *strand, struct choice *ret);
int choose_jit(struct study *study, const struct strand *strand, struct choice *ret);
int choose_backward(struct study *study, const struct strand *strand, struct choice *ret);
int choose_load(struct study *study, const struct strand *strand, struct choice *ret);
int choose_record(struct study *study, const struct strand *strand, struct choice *ret);
int choose_collective(struct study *study, const struct strand *strand, struct choice *ret);
int choose_sync(struct study *study, const struct strand *strand, struct choice *ret);
int choose_call(struct study *study, const struct strand *strand, struct choice *ret);

/* The same with the anchors already set. */
int steps_of_updates(struct study *study, const struct strand *strand, struct choice *ret);
int steps_of_dl4j(struct study *study, const struct strand *strand, struct choice *ret);
int steps_of_backwards(struct study *study, const struct strand *strand, struct choice *ret);
int steps_of_user(struct study *study, const struct strand *strand, struct choice *ret);

/* Whether the anchors are updates of DL4J. */
bool dl4j_updates(const struct study *study, const struct strand *strand);

/* Parts of choosers. Each keeps of *at the marks that begin a step. 0 or -ENOMEM. */
void anchors_clear(struct study *study, const struct strand *strand);
uint64_t anchors_set(struct study *study, const struct strand *strand, uint32_t mask);
int anchors_collect(const struct study *study, const struct strand *strand, indices *at);
/* Joins each mark to the one before if nothing of @mask happened in between. */
void group_without(const struct study *study, const struct strand *strand, uint32_t mask,
	indices *at);
/* Joins the marks of one period of the intervals' kinds, where these differ from mark to mark. */
int group_by_kind(struct study *study, const struct strand *strand, uint32_t mask, uint32_t longest,
	indices *at);
/* Caps the trust in a choice whose marks take turns, and says what else may be a step. 0 or -ENOMEM. */
int turns_judge(struct study *study, struct choice *choice);
/* Keeps of *at, whose marks take turns, those of the learner that has most of them; all, if they do not. 1, 0 or -ENOMEM. */
int turns_keep_most(struct study *study, const struct strand *strand, indices *at);
/* Makes steps of the sequence of the anchors' symbols. 1, 0 or -ENOMEM. */
int choose_sequence(struct study *study, const struct strand *strand, const uint32_t *weight,
	struct choice *ret);

/* The same of the calls of @class; fewer than six have no pattern. */
int choose_class(struct study *study, const struct strand *strand, enum step_class class,
	struct choice *ret);
/* Makes each mark a step, if the anchors are one symbol. 1, 0 or -ENOMEM. */
int choose_single(struct study *study, const struct strand *strand, struct choice *ret);

/* ── steps ── */

/* Makes the steps of @choice. 0 or -ENOMEM; the caller releases *ret. */
int track_build(struct study *study, const struct choice *choice, struct step_track *ret);
void track_release(struct step_track *track);
/* Whether a probe at @seen_ns came after those of the collector of @process (0: of the first one). */
bool seen_late(const struct recording *recording, uint32_t process, uint64_t seen_ns);
/* Median by nearest rank, and robust coefficient of variation, of @values, which it reorders. */
uint64_t median_of(uint64_t *values, size_t count);
double variation_of(uint64_t *values, size_t count);

/* Where a count per step settles on another value. */
struct run {
	size_t start;
	uint32_t value;
};
typedef VEC(struct run) runs;
/* 0 or -ENOMEM. *ret_share: of the counts that are their run's value. */
int runs_find(const uint32_t *counts, size_t count, runs *ret, double *ret_share);

/* ── the rest ── */

int steps_named(struct study *study, const struct step_spec *spec, struct steps *ret,
	struct err *err);
int steps_auto(struct study *study, struct steps *ret);
int steps_windows(const struct study *study, uint64_t window_ns, struct steps *ret,
	struct err *err);
/* Choices of strands of one or several processes. */
typedef VEC(struct choice) choices;
void choices_release(choices *list);
/*
 * Adds one track for each process: that of its best strand, joined with those that ran before and
 * after it.
 */
int tracks_add(struct study *study, choices *list, struct steps *ret);
int candidates_list(struct study *study, struct steps *ret);
