/*
 * What pauses cost steps. In: the pauses of a recording and its steps. Out: charges by pause and by
 * step, the cost with its interval, the pattern of the slow steps. Definitions: docs/steps.md.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "explicit.h"
#include "gpu_charge.h"
#include "gpu_memory.h"
#include "meaning.h"
#include "pause.h"
#include "stack_table.h"
#include "step.h"
#include "sums.h"

#define ATTRIB_NONE UINT32_MAX

/*
 * A share of training time, or of traced time, below which pauses are not worth attention. What is lost of it
 * cannot be told from nothing (docs/steps.md).
 */
#define ATTRIB_HARMLESS 0.001

/* One pause as attribution sees it; index = order in which the source gave them. */
struct charge {
	uint64_t start_ns, end_ns;
	uint64_t
		overlap_ns; /* the part inside steps of its track: an upper bound of what it cost */
	uint64_t cost_ns;   /* its share of its steps' costs: step_cost.cost_ns */
	uint32_t track;	    /* index into steps.tracks; ATTRIB_NONE: it stops none of them */
	uint32_t step;	    /* the first step that it overlaps, or ATTRIB_NONE */
	uint32_t stack;
	uint16_t class; /* index into attribution.classes: attrib_class() */
	bool worker;	/* of a child process: only the time its consumer waited is charged */
	bool own;	/* the thread that makes the steps collected itself: it was on the CPU */
	bool gpu_known; /* gpu_charges.pauses has the same index: its .known */
	/* For so long a GPU stood idle because of it: exposed and recovery of the device that lost most by it. */
	uint64_t gpu_idle_ns;
};

struct step_cost {
	uint64_t overlap_ns; /* union of the charged pauses within the step */
	uint64_t own_ns;     /* of it, in pauses of the thread that makes the steps */
	/*
	 * Of it, what did not make the step longer, as its thread then waited less in it. 0 where its work is not known.
	 */
	uint64_t hidden_ns;
	/*
	 * Its part of what the track lost: the same share of each step's overlap. Where that cannot be told, the overlap,
	 * by which steps and pauses are ranked.
	 */
	uint64_t cost_ns;
	uint64_t
		base_ns; /* what steps far from pauses took around it, or itself without its pauses */
	uint32_t pauses; /* that overlap it */
	uint32_t worst;	 /* index of the longest such charge, or ATTRIB_NONE */
	const struct pause_class
		*class; /* the highest-ranked class among them; NULL: none has a rank */
	/*
	 * How long its thread also waited for the collector, outside the charged pauses; not included above.
	 */
	uint64_t stall_ns;
	/* How long siblings were paused within it, outside its own pauses; not included above. */
	uint64_t held_ns;
	/* How long the GPU track_cost.gpu_device stood idle within it, and for how much of that because of pauses. */
	uint64_t gpu_idle_ns, gpu_pause_ns;
	bool gpu_known; /* false: records are missing within it, and both are 0 */
	/* Bytes that GPUs had allocated for its process at its end. */
	int64_t gpu_bytes;
	bool gpu_bytes_known;
	/* How long threads of its process freed memory of GPUs to get more, outside the charged pauses; not included above. */
	uint64_t retry_ns;
};

enum cost_base {
	BASE_LIGHT_STEPS, /* steps around it that are far from pauses */
	BASE_NONE, /* too few of them, or windows of fixed length, which pauses cannot lengthen */
};

/* How the time that a loop lost is known: docs/steps.md. */
enum cost_source {
	COST_MEASURED, /* by what the thread then did not wait; the interval is of what the waits varied */
	COST_ESTIMATED, /* by comparing steps, with a 95 % interval */
	COST_UNTOLD,	/* the recording cannot say: track_cost.untold says why */
};

/*
 * Lost by a track: by how much the loop fell behind because of its pauses and of siblings' in step_cost.held_ns, with a
 * 95 % interval. After-effects can make
 * it more than the pauses took, and chance less than nothing. All 0 where it is untold.
 */
struct cost_estimate {
	int64_t ns, low_ns, high_ns;
};

struct step_distribution {
	uint64_t p50_ns, p95_ns, p99_ns, max_ns, mean_ns;
};

/* "every 97th step is 6.2 × the median because of generation-2 collections" */
struct slow_pattern {
	uint64_t steps;	  /* slowed to SLOW_RATIO × the median or more, mostly by pauses */
	uint64_t other;	  /* as slow, but not by pauses */
	uint64_t stalled; /* of these, by stalls of the thread that makes the steps */
	uint64_t retried; /* likewise, by retries of an allocator of GPU memory */
	uint64_t held;	  /* not of these: slowed as much while siblings were paused */
	/*
	 * The class whose slow steps paid most in total, each step being attributed to the class of its longest
	 * pause: a few long collections outweigh many short ones. Classes without a rank count as one.
	 */
	const struct pause_class
		*class; /* if unranked, any of those classes; NULL: no step was slowed */
	uint64_t chief; /* how many steps it slowed */
	double every;	/* their median distance in steps; 0: fewer than 3 of them */
	bool regular;	/* the distances vary little */
	double ratio;	/* their median duration ÷ the median of all steps */
};

#define SLOW_RATIO 1.5

/* A process that goes in step with another, as the ranks of one training do. */
struct sibling_cost {
	uint32_t process; /* struct process.id */
	uint64_t
		pauses; /* of its own, that fell into the other's steps outside the latter's own pauses */
	uint64_t held_ns; /* for so long; a moment counts for the sibling that was paused first */
};

/* What the steps of one process paid. Same index as steps.tracks. */
struct track_cost {
	VEC(struct step_cost) steps; /* as track->steps */
	uint64_t time_ns;	     /* sum of the steps' durations: training time */
	/* overlap_ns + outside_ns = pause_ns + worker_waited_ns; each counts a moment once. */
	uint64_t pauses, pause_ns; /* of the process itself, in steps or not */
	uint64_t overlap_ns;	   /* within steps: an upper bound of the cost */
	/*
	 * Pauses outside any step, whole or in part; at the runtime's exit; of an interpreter that
	 * stops no other.
	 */
	uint64_t outside, outside_ns;
	uint64_t unseen, unseen_ns; /* of these, before track.seen_ns: there may have been a step */
	/*
	 * Of its workers. worker_waited_ns is charged: the time it waited for them without collecting itself.
	 */
	uint64_t worker_pauses, worker_ns, worker_waited_ns;
	double worker_busy; /* share of its time that the busiest of them was on a CPU; 0: there is none, or it is not known */
	/*
	 * Stalls of the threads that make the steps, clipped to steps; stall_alone_ns is the part outside charged
	 * pauses. Each moment counts once. Not included in any cost or in the figures above.
	 */
	uint64_t stalls, stall_ns, stall_alone_ns;
	uint64_t retry_ns; /* sum of the steps' */
	/*
	 * What siblings were paused while this one was not, within steps. Not included in the figures above: whether it
	 * then waited for them is for the cost to tell.
	 */
	VEC(struct sibling_cost) siblings;
	uint64_t held_ns;
	enum cost_source source;
	struct cost_estimate cost;
	const char *
		untold; /* a clause: why the cost cannot be told, and what would tell; NULL: it can */
	/* Where it cannot be told: the most that may have been lost, if less than was stopped; 0: that is not known. */
	uint64_t most_ns;
	enum cost_base base;
	struct step_distribution with, without; /* durations; durations less cost */
	struct slow_pattern slow;
	/* The GPU that worked most for the process: index in gpu->devices; ATTRIB_NONE: none is known. */
	uint32_t gpu_device;
	bool by_gpu; /* the cost is measured by GPU records: the sum of what its pauses' gpu_cost says was lost */
};

struct request_times {
	uint64_t p50_ns, p99_ns, max_ns;
};

/*
 * What pauses stopped of the requests of a process that serves. Requests overlap: a pause stops all that are under way,
 * and counts for each. A request lasts from when its first bytes had been read until its response begins.
 */
struct request_cost {
	uint32_t process;		     /* struct process.id */
	uint64_t requests;		     /* that were answered */
	uint64_t unanswered;		     /* those that were not, or not yet */
	uint64_t at_once;		     /* the most under way at once */
	uint64_t time_ns;		     /* sum of their durations */
	uint64_t stopped;		     /* of them, that a pause overlaps */
	uint64_t overlap_ns, overlap_max_ns; /* their sum, and the most of one */
	struct request_times with, without;  /* durations; durations less overlap */
};

/* Requests to a process that are in no figure, though it was watched: see struct request_rest. */
struct request_untold {
	uint32_t process;   /* struct process.id */
	uint64_t responses; /* whose requests are not certain */
	bool encrypted, http2;
};

/* Cost by the line that triggered it: a frame of the stack table, innermost outside libraries. */
struct trigger_cost {
	uint32_t frame;			    /* 0: no stack was taken */
	uint64_t pauses, pause_ns, cost_ns; /* the last: of charge.cost_ns */
	bool untold;			    /* some of it is of a track whose cost cannot be told */
	int64_t collected;		    /* UNKNOWN if not known */
};

/* Pauses of one process, with or without steps; those at a runtime's exit are left out, as below. */
struct process_pauses {
	uint32_t process; /* struct process.id */
	uint64_t pauses, pause_ns;
};

/* A fact over the pauses of all runtimes that have it. */
struct fact_figures {
	const char *key;    /* struct pause_fact.key */
	uint64_t pauses;    /* of these runtimes */
	struct sums values; /* of the pauses for which it is known */
	struct pause pause; /* the pause with the highest value */
};

/* Pauses of a class. */
struct class_pauses {
	const struct pause_class *class;
	uint64_t pauses;
};

/*
 * Pauses that the program asked for from one line of its own, of runtimes whose calls for a collection are not recorded
 * themselves (explicit.h has those that are). frame 0: no stack was taken.
 */
struct asked_pauses {
	const struct runtime_meaning *of; /* the runtime */
	uint32_t frame;
	uint64_t pauses;
};

/*
 * All pauses but those at a runtime's exit, when training is over: what budgets and comparisons
 * judge. A pause with id 0: there was none.
 */
struct pause_figures {
	struct sums durations;
	uint64_t full, full_ns; /* pauses of a class that is full */
	struct pause longest, longest_full;
	VEC(struct fact_figures) facts;		/* those with .figures, in no particular order */
	uint64_t exits;				/* those left out */
	const struct runtime_meaning *exits_of; /* theirs; NULL: none, or of several runtimes */
	VEC(struct process_pauses) processes;
	VEC(struct class_pauses)
	classes; /* in the order of their runtimes' classes, as those first occur */
	VEC(struct asked_pauses) asked; /* in the order in which they first occur */
};

/* What full collections returned of GPUs' memory, of those of which it is known. */
struct memory_returned {
	const struct pause_class *class; /* of the last; NULL: there was none */
	uint64_t pauses;
	uint64_t median_bytes;
};

struct attribution {
	const struct recording *recording;
	const struct stack_table *stacks;
	const struct steps *steps;
	uint64_t end_ns; /* end of the recording, or if it was cut off, of its last pause or step */
	struct pause_figures figures;
	VEC(struct charge) charges;		 /* all pauses; none where there are no tracks */
	VEC(const struct pause_class *) classes; /* of the charges, in the order they first occur */
	VEC(struct track_cost) tracks;
	VEC(struct trigger_cost) triggers; /* costliest first; untold ones by ->pause_ns */
	VEC(struct request_cost) requests; /* the busiest server first: request_cost_find() */
	VEC(struct request_untold) requests_untold;
	struct explicit_calls explicit_calls; /* calls for a collection, and totals of stalls */
	/*
	 * What GPUs did, NULL: not known. If it is, gpu_charges.pauses has all pauses in the order in which the source gave
	 * them, whether there are tracks or not; where there are, charges have the same order.
	 */
	const struct gpu_timeline *gpu;
	struct gpu_charges gpu_charges;
	VEC(struct gpu_memory_change) gpu_memory; /* as gpu_charges.pauses */
	struct memory_returned returned;
	/* Whether there are records of GPUs' memory; of calls that allocate or free it. */
	bool has_gpu_memory, has_gpu_allocations;
	uint64_t elsewhere, elsewhere_ns; /* pauses of processes that neither have steps nor feed
					     one that has */
};

/*
 * How it is known what a track lost. One whose steps no pause stopped or held up lost nothing, which needs no comparison.
 */
static inline enum cost_source attrib_source(const struct track_cost *cost)
{
	return cost->overlap_ns || cost->held_ns ? cost->source : COST_MEASURED;
}

/* Whether it is known. If not, the costs of its steps and charges mean nothing either. */
static inline bool attrib_told(const struct track_cost *cost)
{
	return attrib_source(cost) != COST_UNTOLD;
}

/* The class of charge @index. NULL: ATTRIB_NONE. */
static inline const struct pause_class *attrib_class(const struct attribution *attribution,
	uint32_t index)
{
	return index == ATTRIB_NONE
		       ? NULL
		       : attribution->classes.items[attribution->charges.items[index].class];
}

/* Pauses from the first to the last: 1: one was read, 0: the end, -errno. */
typedef int (*attrib_next_fn)(void *source, struct pause *ret, struct err *err);

/*
 * Charges all pauses of @source. @gpu: settled, or NULL. What the arguments point to must outlive *ret, which the
 * caller releases. 0 or -errno with a sentence; what @next returned passes through (after a damaged row *ret holds what
 * came before).
 */
int attrib_build(const struct recording *recording, const struct stack_table *stacks,
	const struct steps *steps, const struct gpu_timeline *gpu, attrib_next_fn next,
	void *source, struct attribution *ret, struct err *err);
void attrib_release(struct attribution *attribution);

/*
 * Only what pauses stopped, for as long as a session goes on: of step_cost the overlap, the pauses and the worst of them.
 * Pauses have no stack and no facts. 0 or -errno with a sentence; the caller releases *ret.
 */
int attrib_overlaps(const struct recording *recording, const struct steps *steps,
	attrib_next_fn next, void *source, struct attribution *ret, struct err *err);

/*
 * The frame that stands for @stack: its innermost one of the user's own code, else its
 * innermost outside the runtime's own, else its innermost. 0: STACK_NONE.
 */
uint32_t attrib_trigger(const struct stack_table *stacks, uint32_t stack);

/*
 * The same for every node of the table, indexed by node; the caller frees it. NULL when memory is
 * out.
 */
uint32_t *attrib_triggers(const struct stack_table *stacks);

/*
 * Whether pauses and other waits for the collector took a negligible share of a track's time and slowed no step; or
 * whether, however long they were, the loop certainly lost a negligible share to them.
 */
bool attrib_harmless(const struct track_cost *cost);

/* Whether processes that neither run steps nor feed some that do paused for less than ATTRIB_OUTSIDE of the recording. */
bool attrib_elsewhere_harmless(const struct attribution *attribution);

/*
 * Whether the steps of track @index stand for their process in the first lines and in advice. If not, its pauses as a
 * whole do. They do if they are known with confidence, cover ATTRIB_COVERS of the time for which it was traced, and most of its
 * pause time is in them, or less than ATTRIB_OUTSIDE of its time is in pauses outside.
 */
bool attrib_speaks(const struct attribution *attribution, size_t index);
#define ATTRIB_COVERS  0.25
#define ATTRIB_OUTSIDE 0.01
/* The index of the track of @process that speaks; ATTRIB_NONE: none does. */
uint32_t attrib_speaker(const struct attribution *attribution, uint32_t process);

/* How long @process was traced, ns. */
uint64_t attrib_traced(const struct attribution *attribution, uint32_t process);

/*
 * The definition of `pause.share`: time in pauses, except at a runtime's exit, divided by the time the process was
 * traced, for the process with the largest such share (shares of several processes could add up to more than 1).
 * *ret_process: its id; 0: none paused.
 */
double attrib_pause_share(const struct attribution *attribution, uint32_t *ret_process);
/* NULL: no runtime has such a fact, or its figures are not kept. */
const struct fact_figures *attrib_fact(const struct attribution *attribution, const char *key);
