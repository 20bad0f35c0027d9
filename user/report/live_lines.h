/*
 * Which pauses get a line of the live view, so that a person can read it: the long ones as they end, the
 * others counted. In: pauses in the order in which they ended. Out: yes or no, and a line of sums.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "pause.h"

#define LIVE_MIN_NS   1000000ull    /* shorter ones get no line, unless the user says otherwise */
#define LIVE_LINES    20	    /* per second; further ones only if longer than all of these */
#define LIVE_EVERY_NS 1000000000ull /* the shortest time between two lines of sums */

struct live_lines {
	uint64_t min_ns;
	unsigned int most;		/* lines per second; 0: no limit */
	uint64_t second_ns, longest_ns; /* when the second began, and the longest that it showed */
	uint64_t
		last_ns; /* when the last pause ended, shown or not: the time of the line of sums */
	unsigned int shown;
	struct {
		uint64_t count, total_ns, longest_ns, stalls;
		uint64_t first_ns; /* when the first of them ended */
	} left_out;
	bool told; /* how to see all of them */
};

/* True if a pause of @duration_ns that ended at @end_ns gets a line; else it is counted. */
bool live_lines_take(struct live_lines *lines, uint64_t end_ns, uint64_t duration_ns);
/* The same for a thread's stall. */
bool live_lines_take_stall(struct live_lines *lines, uint64_t end_ns, uint64_t duration_ns);

/* Whether the line of sums is due at @now_ns. */
bool live_lines_due(const struct live_lines *lines, uint64_t now_ns);

/* Writes it, if there is anything to say, and starts counting again. */
void live_lines_tell(struct live_lines *lines, FILE *out, const struct recording *recording);
/* The same as a part of another line, "  | 14 more pauses, 12.10 ms"; nothing if there are none. */
void live_lines_append(struct live_lines *lines, FILE *out);
