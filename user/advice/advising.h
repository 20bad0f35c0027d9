/*
 * What a runtime's adviser is given, and what it gives. For advice/ and the runtimes' entries in meaning/; other rooms
 * see advice.h.
 */
#pragma once

#include <stdio.h>
#include <string.h>

#include "advice.h"
#include "meaning.h"

/* A process that is advised, whatever its runtimes. */
struct advice_subject {
	uint32_t process;
	const struct step_track *track; /* NULL: no steps */
	const struct track_cost *cost;	/* as track */
	uint64_t time_ns;		/* training time, or traced time */
	uint64_t steps;
	uint64_t overlap_ns, max_ns; /* of all its pauses that count */
	uint64_t
		stall_ns; /* that the thread which makes the steps waited for the collector beside pauses */
	uint64_t warm_ns; /* moment from which on a change would have been in force */
	/* Processes that it forked, at any remove: they inherit its settings. What their collectors freed, exits apart. */
	uint32_t forked;
	uint64_t forked_collected;
};

/* A pause of it, of which @overlap_ns counts: what lies in steps, or all where there are none. */
struct advice_pause {
	const struct attribution *attribution;
	const struct advice_subject *subject;
	const struct runtime *runtime;
	const struct pause *pause;
	uint64_t overlap_ns;
	uint32_t trigger; /* frame; 0: no stack */
};

/* The part of it that counts. */
static inline float advice_weight(const struct advice_pause *pause)
{
	uint64_t duration_ns = pause_duration(pause->pause);

	return duration_ns ? (float)((double)pause->overlap_ns / (double)duration_ns) : 0;
}

/* One process while the adviser of one of its runtimes looks at it. */
struct advising {
	const struct attribution *attribution;
	const struct advice_subject *subject;
	const struct runtime_advice *adviser;
	void *state;
	struct advices *advices;
};

/* A runtime's adviser. It keeps what it needs of the pauses of one process in a state of its own. */
struct runtime_advice {
	const struct advice_kind *kinds; /* which advice_add() names by index */
	size_t state_bytes;		 /* zeroed at first */
	void (*release)(void *state);	 /* what lies in it; NULL: nothing does */

	/* Whether @pause is one that settings of the collector could have changed. NULL: all are. */
	bool (*counts)(const struct pause *pause);
	int (*add)(void *state, const struct advice_pause *pause); /* 0 or -ENOMEM */
	/* Adds what it finds worth advising. 0 or -ENOMEM. */
	int (*advise)(struct advising *advising);

	/* Why nothing can be computed, as the end of a sentence, or NULL if it can; *ret_title stays if there is no other. */
	const char *(*blind)(const struct advising *advising, const char **ret_title);
	/* What the pauses were, to the end of @advice->estimate, where nothing would help; may be NULL. */
	void (*say_parts)(const struct advising *advising, struct advice *advice);
};

/* What there is to save: pauses, and the waits beside. */
uint64_t advice_most(const struct advising *advising);
/* A share of the time that counts. */
double advice_share(const struct advising *advising, double ns);
/* "of training time", or what stands for it */
const char *advice_time(const struct advising *advising);

/*
 * Adds advice of the adviser's @kind with its saving set from real figures, ordered and bounded by what pauses took,
 * unless that is too little to bother. NULL: it is; *ret_r says whether memory ran out.
 */
struct advice *advice_add(struct advising *advising, int kind, double saves, double low,
	double high, int *ret_r);

/* "pauses fall from … to about …" */
void advice_say_fall(const struct advising *advising, struct advice *advice);

/* To a text that ends in what fits. */
#define APPEND_TO(text, ...)                                                                       \
	do {                                                                                       \
		size_t used_ = strlen(text);                                                       \
		snprintf((text) + used_, sizeof(text) - used_, __VA_ARGS__);                       \
	} while (0)
