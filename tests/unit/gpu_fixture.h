/*
 * A host that launches work on devices, replayed: with its pauses, and without one of them. In: a program of the host's
 * work, launches and waits. Out: a timeline as CUPTI would show it, and when all work was done.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "gpu_charge.h"
#include "cleanup.h"
#include "stats.h"

#define US 1000ull
#define MS 1000000ull

#define PROCESS 1
#define THREAD	4711
#define LANES	4 /* streams of all devices */

enum op_kind {
	OP_WORK,   /* the host is busy for .ns */
	OP_LAUNCH, /* .ns of work on stream .lane */
	OP_SYNC,   /* waits for all that was launched on the stream .lane */
	OP_EVENT,  /* waits for what the launch with number .ns did */
	OP_AFTER, /* what is launched next waits on its device for all that was launched on the stream .lane */
	OP_MARK, /* a step begins */
};

struct op {
	enum op_kind kind;
	uint32_t lane;
	uint64_t ns;
};

struct program {
	VEC(struct op) ops;
	uint64_t launches;
	size_t depth;		/* launches that a stream's queue holds; 0: any number */
	uint32_t device[LANES]; /* of each stream */
	bool blind;		/* it is not known when what a call waited for was done */
};

/* A launch takes the host so long, and its work can begin so long after it was entered. */
#define LAUNCH_NS  (4 * US)
#define LATENCY_NS (3 * US)

struct done {
	uint32_t lane;
	uint64_t ready_ns, start_ns, end_ns;
};

struct play {
	const struct program *program;
	const struct gpu_pause *pauses; /* by start, apart */
	size_t pause_count, without;	/* the index of one that is left out; SIZE_MAX: none */
	uint64_t now_ns, previous_ns;
	uint64_t free_ns[LANES];   /* when the stream has done all */
	VEC(struct done) done;	   /* by launch */
	uint64_t after_ns;	   /* OP_AFTER */
	uint64_t device_ns[LANES]; /* when all work on each device was done */
	VEC(uint64_t) marks;
	struct gpu_timeline *timeline; /* NULL: only the end matters */
	VEC(uint64_t) gaps;
};

static inline void add_op(struct program *program, enum op_kind kind, uint32_t lane, uint64_t ns)
{
	struct op *op = vec_add(&program->ops);

	assert_non_null(op);
	*op = (struct op){kind, lane, ns};
	program->launches += kind == OP_LAUNCH;
}

/* Lets the host work for @ns, pauses aside. It ends after those that begin before its end. */
static inline void play_work(struct play *play, uint64_t ns)
{
	for (size_t i = 0; i < play->pause_count; i++) {
		const struct gpu_pause *pause = &play->pauses[i];

		if (i == play->without || pause->end_ns <= play->now_ns)
			continue;
		if (pause->start_ns > play->now_ns + ns)
			break;
		if (pause->start_ns > play->now_ns) {
			ns -= pause->start_ns - play->now_ns;
		}
		play->now_ns = pause->end_ns;
	}
	play->now_ns += ns;
}

static inline void play_wait(struct play *play, uint64_t done_ns, uint32_t lane, bool queue)
{
	uint64_t from = play->now_ns, to = done_ns > from ? done_ns : from;

	if (play->timeline) {
		struct gpu_wait *wait = vec_add(&play->timeline->launchers.items[0].waits);

		assert_non_null(wait);
		*wait = (struct gpu_wait){from, to, play->program->blind ? 0 : done_ns,
			play->program->device[lane], queue};
	}
	play->now_ns = to;
}

/* When the launch before the last @depth on the stream was done; 0: there were not so many. */
static inline uint64_t queue_free(const struct play *play, uint32_t lane)
{
	size_t left = play->program->depth;

	if (!left)
		return 0;
	for (size_t i = play->done.count; i--;)
		if (play->done.items[i].lane == lane && !--left)
			return play->done.items[i].end_ns;
	return 0;
}

static inline void play_launch(struct play *play, const struct op *op)
{
	uint64_t entry_ns = play->now_ns, room_ns = queue_free(play, op->lane);
	uint64_t ready_ns;
	struct done *done;

	/* The call itself goes on when there is room, whatever then keeps the thread from going on. */
	if (room_ns > play->now_ns)
		play_wait(play, room_ns, op->lane, true);
	ready_ns = play->now_ns + LATENCY_NS;
	done = vec_add(&play->done);
	assert_non_null(done);
	done->lane = op->lane;
	done->start_ns = ready_ns > play->free_ns[op->lane] ? ready_ns : play->free_ns[op->lane];
	if (play->after_ns > done->start_ns)
		done->start_ns = play->after_ns;
	play->after_ns = 0;
	done->end_ns = play->free_ns[op->lane] = done->start_ns + op->ns;
	if (done->end_ns > play->device_ns[play->program->device[op->lane]])
		play->device_ns[play->program->device[op->lane]] = done->end_ns;
	if (play->timeline) {
		struct gpu_device *device =
			gpu_device(play->timeline, PROCESS, play->program->device[op->lane]);
		struct gpu_busy *busy = vec_add(&device->busy);
		uint64_t *gap = vec_add(&play->gaps);

		assert_non_null(busy);
		assert_non_null(gap);
		*busy = (struct gpu_busy){.start_ns = done->start_ns,
			.end_ns = done->end_ns,
			.launch_ns = entry_ns,
			.previous_ns = play->previous_ns,
			.tid = THREAD};
		*gap = entry_ns - play->previous_ns;
		play->timeline->launchers.items[0].launches++;
	}
	play->previous_ns = entry_ns;
	play_work(play, LAUNCH_NS);
}

static inline void play_op(struct play *play, const struct op *op)
{
	uint64_t *mark;

	switch (op->kind) {
	case OP_WORK:
		play_work(play, op->ns);
		break;
	case OP_LAUNCH:
		play_launch(play, op);
		break;
	case OP_SYNC:
		play_wait(play, play->free_ns[op->lane], op->lane, false);
		play_work(play, 0);
		break;
	case OP_EVENT:
		play_wait(play, play->done.items[op->ns].end_ns, op->lane, false);
		play_work(play, 0);
		break;
	case OP_AFTER:
		play->after_ns = play->free_ns[op->lane];
		break;
	case OP_MARK:
		mark = vec_add(&play->marks);
		assert_non_null(mark);
		*mark = play->now_ns;
		break;
	}
}

static inline void play_release(struct play *play)
{
	vec_free(&play->gaps);
	vec_free(&play->done);
	vec_free(&play->marks);
}

/* The records are from the program's begin to its end. */
static inline void play_begin(struct play *play)
{
	play->now_ns = MS;
	for (size_t i = 0; i < LANES; i++)
		play->device_ns[i] = MS;
	if (!play->timeline)
		return;
	assert_non_null(gpu_launcher(play->timeline, PROCESS, THREAD));
	for (size_t i = 0; i < LANES; i++) {
		struct gpu_device *device =
			gpu_device(play->timeline, PROCESS, play->program->device[i]);

		assert_non_null(device);
		device->seen_ns = MS;
	}
}

static inline void play_end(struct play *play)
{
	struct gpu_timeline *timeline = play->timeline;

	if (!timeline)
		return;
	for (size_t i = 0; i < timeline->devices.count; i++) {
		struct gpu_device *device = &timeline->devices.items[i];
		uint64_t done_ns = play->device_ns[device->device];

		device->until_ns = done_ns > play->now_ns ? done_ns : play->now_ns;
	}
	if (play->gaps.count)
		timeline->launchers.items[0].gap_ns =
			stats_quantile(play->gaps.items, play->gaps.count, 0.99);
	gpu_settle(timeline);
}

/*
 * Replays @program with @pauses, but for the one with the index @without (SIZE_MAX: with all). @timeline: empty, or NULL.
 * The caller releases *ret.
 */
static inline void play_program(const struct program *program, const struct gpu_pause *pauses,
	size_t count, size_t without, struct gpu_timeline *timeline, struct play *ret)
{
	*ret = (struct play){
		.program = program,
		.pauses = pauses,
		.pause_count = count,
		.without = without,
		.timeline = timeline,
	};
	play_begin(ret);
	play_work(ret, 0);
	for (size_t i = 0; i < program->ops.count; i++)
		play_op(ret, &program->ops.items[i]);
	play_end(ret);
}
