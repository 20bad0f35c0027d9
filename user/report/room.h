/*
 * How much text that records share a report may repeat. In: the recording's size. Out: a yes or no for each stack or
 * command line that is to be written once more.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pause.h"

/*
 * A recording holds each stack once and 33 to 60 bytes for a pause that names it; JSON writes it out for every pause.
 * Real ones (CPython 3.11, kernel 6.18, 20,000 pauses each, 51 bytes a pause): 56 times their size with 24 frames, 220
 * times with 120 frames of the 127 that are taken. Made by hand, a file could be a thousandfold. So shared text has
 * 256 bytes for each one recorded, beyond what no one minds; when that is spent, each stack keeps its innermost frames.
 */
#define ROOM_BYTES    (16u << 20)
#define ROOM_PER_BYTE 256u
#define ROOM_SPENT    512u /* bytes that a stack or command line has even then */

struct report_room {
	uint64_t left;
	uint64_t cut; /* stacks that were cut for want of room */
};

static inline struct report_room report_room_of(const struct recording *recording)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(recording->bytes, ROOM_PER_BYTE, &bytes) || bytes > INT64_MAX)
		bytes = INT64_MAX;
	return (struct report_room){.left = ROOM_BYTES + bytes};
}

/* How long the next text may be. @room NULL: of a live session, where each event is written as it comes; no bound. */
static inline size_t report_room_left(const struct report_room *room)
{
	uint64_t left = !room ? SIZE_MAX : room->left > ROOM_SPENT ? room->left : ROOM_SPENT;

	return left < SIZE_MAX ? (size_t)left : SIZE_MAX;
}

/* It was so long. */
static inline void report_room_take(struct report_room *room, size_t bytes)
{
	if (room)
		room->left -= bytes < room->left ? bytes : room->left;
}
