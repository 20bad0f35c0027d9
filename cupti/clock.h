/*
 * CUPTI's times → CLOCK_MONOTONIC. Where CUPTI takes its times from clock_now() there is nothing to do; otherwise its
 * clock is read between two readings of ours, the tightest pair of many counts, again and again, because it drifts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_POINTS 256 /* at ten a second: what is older comes with the oldest's offset */

struct clock_point {
	uint64_t theirs_ns, ours_ns, width_ns; /* width: between the two readings of ours */
};

struct clock {
	bool same; /* CUPTI calls clock_now() */
	struct clock_point points[CLOCK_POINTS];
	unsigned int count; /* all that were taken */
	uint64_t error_ns;  /* the most by which a time that was converted may be wrong */
};

/* CLOCK_MONOTONIC, ns. */
uint64_t clock_now(void);

/* The tightest of many comparisons with @theirs; false: it failed. */
bool clock_compare(bool (*theirs)(uint64_t *ret_ns), struct clock_point *ret);
void clock_add(struct clock *clock, struct clock_point point);

/* One of their times in ours. */
uint64_t clock_ours(struct clock *clock, uint64_t theirs_ns);
