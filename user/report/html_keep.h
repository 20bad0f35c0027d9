/*
 * The pauses that the HTML page holds one by one. In: every pause of a recording. Out: all of them or, where there are
 * too many, the longest, with the sum of what was left out.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "attrib.h"
#include "pause.h"
#include "vec.h"

struct html_pause {
	uint64_t start_ns, end_ns, cost_ns;
	int64_t collected, uncollectable, rss_start, rss_end; /* UNKNOWN if not known */
	uint32_t order;					      /* its place in the source */
	uint32_t process;				      /* struct process.id; 0: not known */
	uint32_t track; /* that it belongs to, in a step or not; or ATTRIB_NONE */
	uint32_t step;	/* or ATTRIB_NONE */
	uint32_t stack;
	uint32_t cause, flags; /* as in struct pause */
	bool worker, passes;   /* the latter: the filter */
	uint32_t runtime, tid;
	int32_t generation;
	uint32_t reason; /* string that its runtime has for why it paused; 0: none, or not known */
	int64_t ttsp_ns; /* UNKNOWN if not known */
	const struct pause_class *class;
};

/* One of the longest. Its facts take more room than all else, so only these few keep them. */
struct html_long {
	struct html_pause pause;
	int64_t facts[PAUSE_FACTS]; /* as in struct pause */
};

struct html_keep {
	size_t most, longest_most; /* how many are kept */
	/* While they are added, a heap with the shortest first. */
	VEC(struct html_pause) pauses;
	VEC(struct html_long) longest; /* longest first, of those the filter lets pass */
	uint64_t dropped, dropped_ns, dropped_max_ns;
};

static inline uint64_t html_pause_ns(const struct html_pause *pause)
{
	return pause->end_ns > pause->start_ns ? pause->end_ns - pause->start_ns : 0;
}

/* @facts are those of struct pause. 0 or -ENOMEM. */
int html_keep_add(struct html_keep *keep, const struct html_pause *pause, const int64_t *facts);
void html_keep_release(struct html_keep *keep);

void html_keep_longest_first(struct html_keep *keep);
/* By track, then by start. */
void html_keep_by_track(struct html_keep *keep);
