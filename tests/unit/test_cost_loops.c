/*
 * What loops lost by their pauses, against the truth: the same draws once more without pauses. The host may run ahead
 * of a device, wait for its loader, for a clock or for other ranks. With the thread's work known and without.
 */
#include <math.h>

#include "attrib_fixture.h"

#define MOST  4096 /* steps of a loop */
#define QUEUE 16   /* at most */
#define SEEDS 100
#define GRAIN 4.0 /* ms by which a thread's CPU clock may be late at a mark */

enum gap { AROUND, CONSTANT, SCATTERED, TENS, ODD };

/* What is to be told, with the durations alone and with work. */
enum told { TELL, UNTOLD, EITHER };

/* Times in ms. */
struct loop {
	const char *name;
	enum told alone, work;
	bool by_waits; /* durations alone do not show that what a pause did is not over at the next */
	unsigned steps;	      /* 0: 1,009 */
	double host, host_cv; /* a step's work in the thread; 0: 10 and 0.1 */
	double device, device_cv;
	int queue;     /* steps that the host may be ahead of the device; 0: it waits for each */
	unsigned item; /* every so many steps the host waits for the device */
	unsigned prefetch; /* batches that a loader has ready; it takes .device for each */
	double tick;	   /* each step lasts until a clock of this period ticks */
	unsigned ranks;	   /* others that end each step together, with pauses of their own */
	enum gap gap;
	unsigned every;		/* 0: 50 */
	double pause, pause_cv; /* 0: 25 and 0.1 */
	double young;		/* pause in every step */
	double after; /* of a pause's length, more work over the paused step and the next two */
	double shard; /* other work in the steps with pauses */
	double log, checkpoint; /* other work in every 10th and 20th step */
	double trend;		/* by which the last step is longer than the first */
	double drift;		/* by which each step's level differs from the last one's */
	double second;		/* factor of the second half */
	double odd;		/* factor of every second step */
};

/* The draws of one run. */
struct draws {
	size_t count;
	double host[MOST], device[MOST], pause[MOST], after[MOST], others[MOST];
};

struct times {
	double start[MOST + 1], work[MOST]; /* the latter with its pauses */
	double at[MOST];		    /* where the host's part of the step begins */
};

static double around(struct world *world, double mean, double cv)
{
	double sigma = sqrt(log1p(cv * cv));

	return mean * exp(sigma * world_gauss(world) - sigma * sigma / 2);
}

static unsigned next_gap(struct world *world, const struct loop *loop, unsigned every)
{
	double gap = every + world_gauss(world) * every / 4;

	switch (loop->gap) {
	case CONSTANT:
		return every;
	case SCATTERED:
		return 1 + (unsigned)(-log(1 - world_random(world)) * (every - 1));
	case TENS:
		return 10 * (1 + (unsigned)(world_random(world) * 9));
	case ODD:
		gap = 2 * floor(gap / 2);
		return gap < 2 ? 2 : (unsigned)gap;
	case AROUND:
		break;
	}
	return gap < 1 ? 1 : (unsigned)gap;
}

static void draw_pauses(struct world *world, const struct loop *loop, struct draws *ret)
{
	unsigned every = loop->every ? loop->every : 50;
	size_t at = loop->log > 0 ? 0 : (size_t)(2 + world_random(world) * every);

	for (size_t i = 0; i < ret->count; i++)
		ret->pause[i] = loop->young > 0 ? around(world, loop->young,
							  loop->pause_cv > 0 ? loop->pause_cv : 0.1)
						: 0;
	for (; loop->young <= 0 && at < ret->count; at += next_gap(world, loop, every)) {
		ret->pause[at] = around(world, loop->pause > 0 ? loop->pause : 25,
			loop->pause_cv > 0 ? loop->pause_cv : 0.1);
		ret->host[at] += loop->shard;
		for (size_t i = at; i < at + 3 && i < ret->count; i++)
			ret->after[i] += loop->after * ret->pause[at] / 3;
	}
}

static void draw(struct world *world, const struct loop *loop, struct draws *ret)
{
	double host = loop->host > 0 ? loop->host : 10;
	double cv = loop->host_cv > 0 ? loop->host_cv : 0.1, level = 1;

	*ret = (struct draws){.count = loop->steps ? loop->steps : 1009};
	for (size_t i = 0; i < ret->count; i++) {
		double part = (double)i / (double)ret->count, factor;

		level *= exp(loop->drift * world_gauss(world));
		factor = level * (1 + loop->trend * part);
		if (loop->second > 0 && 2 * i >= ret->count)
			factor *= loop->second;
		if (loop->odd > 0 && i % 2)
			factor *= loop->odd;
		ret->host[i] = around(world, host, cv) * factor;
		ret->device[i] =
			around(world, loop->device, loop->device_cv > 0 ? loop->device_cv : 0.05) *
			factor;
		ret->host[i] += i % 10 ? 0 : loop->log;
		ret->host[i] += i % 20 ? 0 : loop->checkpoint;
		for (unsigned rank = 1; rank < loop->ranks; rank++)
			ret->others[i] = fmax(ret->others[i], around(world, host, cv));
		if (loop->ranks && world_random(world) < (double)(loop->ranks - 1) / 50)
			ret->others[i] += 25;
	}
	draw_pauses(world, loop, ret);
}

/* @with: with its pauses and what they cause. */
static void play(const struct loop *loop, const struct draws *draws, bool with, struct times *ret)
{
	double now = 1000, device = 0, ready = 0, done[MOST] = {}, taken[MOST] = {};

	for (size_t i = 0; i < draws->count; i++) {
		double start = ret->start[i] = now;

		if (loop->prefetch) {
			if (i > loop->prefetch)
				ready = fmax(ready, taken[i - loop->prefetch - 1]);
			ready += draws->device[i];
			taken[i] = now = fmax(now, ready);
		}
		ret->at[i] = now;
		ret->work[i] = draws->host[i] + (with ? draws->after[i] + draws->pause[i] : 0);
		now += ret->work[i];
		if (!loop->prefetch && loop->device > 0) {
			if (loop->queue && i >= (size_t)loop->queue)
				now = fmax(now, done[i - (size_t)loop->queue]);
			done[i] = device = fmax(device, now) + draws->device[i];
			if (!loop->queue || (loop->item && i % loop->item == loop->item - 1))
				now = fmax(now, device);
		}
		if (loop->tick > 0)
			now = (floor(now / loop->tick) + 1) * loop->tick;
		now = fmax(now, start + draws->others[i]);
	}
	ret->start[draws->count] = now;
}

static uint64_t ns(double ms)
{
	return (uint64_t)(ms * 1e6);
}

/* Returns what the pauses cost, ns. */
static double run(struct world *world, const struct loop *loop, bool work, struct attribution *ret)
{
	static struct draws draws;
	static struct times with, without;
	struct step_track *track = world_track(world, 1);
	double clock = 0, seen = 0;

	draw(world, loop, &draws);
	play(loop, &draws, true, &with);
	play(loop, &draws, false, &without);
	for (size_t i = 0; i < draws.count; i++) {
		double late = GRAIN * world_random(world);

		if (draws.pause[i] > 0)
			world_pause(world, ns(with.at[i] + draws.host[i] / 3), ns(draws.pause[i]))
				->tid = track->tid;
		world_step(track, ns(with.start[i]), ns(with.start[i + 1]));
		clock += with.work[i];
		late = fmax(clock - late, seen);
		if (work)
			track->steps.items[i].work_ns = (int64_t)((late - seen) * 1e6);
		seen = late;
	}
	world->recording.end_ns = ns(with.start[draws.count]);
	world_build(world, ret);
	return (with.start[draws.count] - without.start[draws.count]) * 1e6;
}

#define DEVICE .host = 4, .host_cv = 0.2, .device = 10

static const struct loop loops[] = {
	{.name = "synchronous"},
	{.name = "synchronous, every 53rd", .gap = CONSTANT, .every = 53, .pause = 80},
	{.name = "synchronous, scattered", .gap = SCATTERED, .every = 30},
	{.name = "synchronous, dense", .every = 8, .pause = 15},
	{.name = "synchronous, small pauses", .alone = UNTOLD, .every = 20, .pause = 2},
	{.name = "queue of 1", DEVICE, .queue = 1},
	{.name = "queue of 2", DEVICE, .queue = 2},
	{.name = "queue of 4", DEVICE, .queue = 4},
	{.name = "queue of 8", DEVICE, .queue = 8},
	{.name = "queue of 4, 80 ms", DEVICE, .queue = 4, .pause = 80},
	{.name = "queue of 4, host of 8 ms", .host = 8, .device = 10, .queue = 4},
	{.name = "queue of 2, every 50th",
		DEVICE,
		.alone = UNTOLD,
		.work = UNTOLD,
		.queue = 2,
		.gap = CONSTANT},
	{.name = "queue of 4, scattered, dense", DEVICE, .queue = 4, .gap = SCATTERED, .every = 6},
	{.name = "queue of 4, item every 10th", DEVICE, .queue = 4, .item = 10},
	{.name = "the same, host of 2 ms", .host = 2, .device = 10, .queue = 4, .item = 10},
	{.name = "item in every step", DEVICE, .queue = 4, .item = 1},
	{.name = "queue of 4, host-bound", .device = 5, .queue = 4},
	{.name = "loader, prefetch 4", .host = 3, .host_cv = 0.2, .device = 10, .prefetch = 4},
	{.name = "the same, 100 ms",
		.host = 3,
		.host_cv = 0.2,
		.device = 10,
		.prefetch = 4,
		.pause = 100},
	{.name = "loader about as fast",
		.by_waits = true,
		.work = UNTOLD,
		.host = 8,
		.host_cv = 0.05,
		.device = 8,
		.device_cv = 0.5,
		.prefetch = 4,
		.every = 23},
	{.name = "young in each, hidden",
		.alone = UNTOLD,
		.work = EITHER,
		.host = 4,
		.device = 10,
		.queue = 4,
		.young = 4},
	{.name = "the same, of one length",
		.alone = UNTOLD,
		.work = UNTOLD,
		.host = 4,
		.device = 10,
		.queue = 4,
		.young = 4,
		.pause_cv = 1e-4},
	{.name = "young in each, synchronous", .alone = UNTOLD, .young = 5},
	{.name = "young in each, item in each",
		.alone = UNTOLD,
		.work = EITHER,
		DEVICE,
		.queue = 4,
		.item = 1,
		.young = 4},
	{.name = "log and checkpoint, hidden",
		.alone = EITHER,
		.work = EITHER,
		.host = 3,
		.device = 14,
		.queue = 8,
		.log = 10,
		.checkpoint = 30,
		.gap = CONSTANT,
		.every = 20},
	{.name = "the same, tens of steps",
		.host = 3,
		.device = 14,
		.queue = 8,
		.log = 10,
		.checkpoint = 30,
		.gap = TENS},
	{.name = "log and checkpoint, paid",
		.alone = UNTOLD,
		.log = 10,
		.checkpoint = 30,
		.gap = CONSTANT,
		.every = 20},
	{.name = "the same, queue of 2",
		.alone = UNTOLD,
		.work = EITHER,
		.host = 3,
		.device = 14,
		.queue = 2,
		.log = 10,
		.checkpoint = 30,
		.gap = CONSTANT,
		.every = 20},
	{.name = "CV 0.8", .alone = UNTOLD, .host_cv = 0.8},
	{.name = "CV 0.8 of the host, hidden",
		.alone = EITHER,
		/* its own variation hides that it waits */ .host = 4,
		.host_cv = 0.8,
		.device = 10,
		.queue = 8},
	{.name = "two kinds, hidden", .host = 3, .device = 10, .queue = 6, .odd = 2},
	{.name = "two kinds, pauses in one",
		.host = 3,
		.device = 10,
		.queue = 6,
		.odd = 2,
		.gap = ODD},
	{.name = "two kinds, synchronous", .odd = 2.5},
	{.name = "after-effects of 30 %", .after = 0.3},
	{.name = "the same, every 50th", .alone = UNTOLD, .after = 0.3, .gap = CONSTANT},
	{.name = "trend", .trend = 0.5},
	{.name = "drift", .drift = 0.01},
	{.name = "trend, queue of 4", DEVICE, .queue = 4, .pause = 60, .trend = 0.5},
	{.name = "another batch size", .second = 2.5},
	{.name = "idle till a tick", .host = 7, .tick = 10},
	{.name = "idle till a short tick", .host = 7, .tick = 4},
	{.name = "2 ranks", .alone = EITHER, .work = EITHER, .ranks = 2},
	{.name = "8 ranks", .alone = EITHER, .work = EITHER, .ranks = 8},
	{.name = "rare", .every = 190, .pause = 150},
	{.name = "rare, queue of 4",
		DEVICE,
		.alone = EITHER,
		.queue = 4,
		.every = 190,
		.pause = 150},
	{.name = "other work with them", .alone = UNTOLD, .shard = 8, .every = 30},
	{.name = "the same, every 8th", .alone = UNTOLD, .shard = 8, .gap = CONSTANT, .every = 8},
};

static void try_loop(const struct loop *loop, bool work)
{
	enum told expected = work ? loop->work : loop->alone;
	double bias = 0, squares = 0, width = 0, truths = 0, chance;
	unsigned covered = 0, told = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct attribution got = {};
		const struct track_cost *cost;
		struct world world;
		double truth, upper;

		world_init(&world, seed);
		truth = run(&world, loop, work, &got);
		cost = &got.tracks.items[0];
		upper = (double)cost->overlap_ns;
		truths += truth / upper / SEEDS;
		assert_true(cost->untold ? cost->source == COST_UNTOLD
					 : cost->source == (work ? COST_MEASURED : COST_ESTIMATED));
		if (!cost->untold) {
			told++;
			covered += (double)cost->cost.low_ns <= truth + 1e3 &&
				   truth <= (double)cost->cost.high_ns + 1e3;
			bias += ((double)cost->cost.ns - truth) / upper;
			squares += pow(((double)cost->cost.ns - truth) / upper, 2);
			width += (double)(cost->cost.high_ns - cost->cost.low_ns) / upper;
			assert_true(cost->cost.low_ns <= cost->cost.ns &&
				    cost->cost.ns <= cost->cost.high_ns);
		}
		attrib_release(&got);
		world_release(&world);
	}
	bias /= told ? told : 1;
	chance = told ? sqrt((squares / told - bias * bias) / told) : 0;
	print_message("# %-30s %s truth %5.1f, told %3u: covered %3u, bias %+6.2f, width %5.1f\n",
		loop->name, work ? "work " : "alone", 100 * truths, told, covered, 100 * bias,
		100 * width / (told ? told : 1));
	if (getenv("LOOK"))
		return;
	if (expected == UNTOLD)
		assert_true(told <= SEEDS / 10);
	else if (expected == TELL)
		assert_true(told >= SEEDS * 9 / 10);
	if (told <= SEEDS / 10)
		return;
	assert_true(covered >= told * 9 / 10);
	assert_true(fabs(bias) - 2 * chance <= 0.05);
}

static void test_durations_alone(void **state)
{
	for (size_t i = 0; i < sizeof(loops) / sizeof(*loops); i++)
		if (!loops[i].by_waits)
			try_loop(&loops[i], false);
}

static void test_with_work(void **state)
{
	for (size_t i = 0; i < sizeof(loops) / sizeof(*loops); i++)
		try_loop(&loops[i], true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_durations_alone),
		cmocka_unit_test(test_with_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
