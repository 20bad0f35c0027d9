/*
 * How much a report may repeat text that the recording holds once. In: the recording's size. Out: for each stack or
 * command line that is to be written again, how long it may be.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pause.h"

/*
 * A recording holds each stack once, and 33 to 60 bytes for each pause that refers to it; JSON writes it out for every
 * pause. The JSON of real ones (CPython 3.11, kernel 6.18, 20,000 pauses each, 51 bytes a pause) was 56 times their
 * size with 24 frames, 220 times with 120 of the 127 frames that are taken; that of a crafted file could be a thousand
 * times its size. So shared text gets 256 bytes for each byte recorded, on top of an amount that hurts nobody; once
 * that is spent, each stack keeps its innermost frames.
 */
#define ROOM_BYTES    (16u << 20)
#define ROOM_PER_BYTE 256u
#define ROOM_SPENT    512u /* bytes that a stack or command line gets even then */

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

/* How long the next text may be. @room NULL: of a live session, where each event is written as it comes: no limit. */
static inline size_t report_room_left(const struct report_room *room)
{
	uint64_t left = !room ? SIZE_MAX : room->left > ROOM_SPENT ? room->left : ROOM_SPENT;

	return left < SIZE_MAX ? (size_t)left : SIZE_MAX;
}

/* Notes how long it was. */
static inline void report_room_take(struct report_room *room, size_t bytes)
{
	if (room)
		room->left -= bytes < room->left ? bytes : room->left;
}
