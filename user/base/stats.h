/* Order statistics, reproducible random numbers, and saturating sums. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A hostile file may hold any times: sums saturate rather than wrap. */
static inline void stats_add(uint64_t *sum, uint64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = UINT64_MAX;
}

/* As a uint64_t, saturating; 0 for what is not a number. */
static inline uint64_t stats_whole(double value)
{
	if (!(value > 0))
		return 0;
	return value < 0x1p64 ? (uint64_t)value : UINT64_MAX;
}

static inline int64_t stats_count(double value)
{
	return value < 0x1p63 ? (int64_t)stats_whole(value) : INT64_MAX;
}

static inline uint64_t stats_distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Of two uint64_t, for qsort() and bsearch(): ascending. */
int stats_compare(const void *a, const void *b);

/* The value at @rank (from 0) if @values were sorted; they are not moved. @rank < @count. */
uint64_t stats_nth(const uint64_t *values, size_t count, size_t rank);
/* By nearest rank, 0 <= q <= 1; 0 when there are none. */
uint64_t stats_quantile(const uint64_t *values, size_t count, double q);
/* The middle one, or the mean of the two in the middle; 0 when there are none. */
uint64_t stats_median(const uint64_t *values, size_t count);
/* Sorts @values. */
double stats_median_real(double *values, size_t count);
void stats_sort_real(double *values, size_t count);

/* The same sequence for the same seed, on every machine. */
struct stats_random {
	uint64_t state;
};

uint64_t stats_draw(struct stats_random *random, uint64_t below); /* 0 … below − 1; below > 0 */

/* The values of a window that only moves forwards, kept sorted. */
#define STATS_WINDOW 51

struct stats_window {
	uint64_t sorted[STATS_WINDOW];
	size_t from, to; /* [from, to) of the values it was last moved over */
};

/*
 * Moves to [from, to) of @values: at most STATS_WINDOW of them, and neither end goes backwards
 * unless the window is emptied in between.
 */
void stats_window_move(struct stats_window *window, const uint64_t *values, size_t from, size_t to);
uint64_t stats_window_median(const struct stats_window *window);

/* Where to put a window of at most STATS_WINDOW around @centre within [first, last). */
void stats_window_place(size_t centre, size_t first, size_t last, size_t *ret_from, size_t *ret_to);
