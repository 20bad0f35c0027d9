/*
 * What pauses cost a device, against the truth: the same program replayed without the pause. Loops of every kind, lengths
 * from 0.1 to 500 ms, places at random.
 */
#include <math.h>
#include <stdio.h>

#include "gpu_fixture.h"

#define PLACES	 101
#define EXACT_NS (10 * US)
#define STEPS	 61

struct loop {
	const char *name;
	uint64_t kernels;	     /* per step */
	uint64_t kernel_ns, host_ns; /* each, and before each launch, on average */
	uint64_t load_ns;	     /* of the host, at the start of a step */
	size_t depth;
	int steps_ahead; /* the host waits for the step before so many; 0: for this one; −1: never */
};

static const struct loop loops[] = {
	{"launch-bound, one wait a step", 47, 8 * US, 20 * US, 0, 0, 0},
	{"launch-bound, no wait", 47, 8 * US, 20 * US, 0, 0, -1},
	{"GPU-bound, one wait a step", 47, 120 * US, 12 * US, 0, 0, 0},
	{"GPU-bound, no wait, a queue of 8", 47, 120 * US, 12 * US, 0, 8, -1},
	{"GPU-bound, no wait, a queue of 1024", 47, 120 * US, 12 * US, 0, 1024, -1},
	{"GPU-bound, one step ahead", 23, 200 * US, 12 * US, 0, 0, 1},
	{"GPU-bound, eight steps ahead", 23, 200 * US, 12 * US, 0, 0, 8},
	{"as fast as each other, one step ahead", 47, 30 * US, 30 * US, 0, 0, 1},
	{"as fast as each other, no wait", 47, 30 * US, 30 * US, 0, 0, -1},
	{"a loader, one wait a step", 23, 150 * US, 12 * US, 3 * MS, 0, 0},
	{"a loader, two steps ahead", 23, 150 * US, 12 * US, 3 * MS, 0, 2},
	{"a slow loader, one step ahead", 23, 150 * US, 12 * US, 9 * MS, 0, 1},
	{"a slow loader, no wait", 23, 150 * US, 12 * US, 9 * MS, 0, -1},
	{"a slow loader, a queue of 8", 23, 150 * US, 12 * US, 9 * MS, 8, -1},
};

static uint64_t about(struct stats_random *random, uint64_t ns)
{
	return ns / 2 + stats_draw(random, ns + 1);
}

static void make(const struct loop *loop, uint64_t seed, struct program *ret)
{
	struct stats_random random = {seed};
	uint64_t ends[STEPS];

	*ret = (struct program){.depth = loop->depth};
	for (int i = 0; i < STEPS; i++) {
		if (loop->load_ns)
			add_op(ret, OP_WORK, 0, about(&random, loop->load_ns));
		for (uint64_t k = 0; k < loop->kernels; k++) {
			add_op(ret, OP_WORK, 0, about(&random, loop->host_ns));
			add_op(ret, OP_LAUNCH, 0, about(&random, loop->kernel_ns));
		}
		ends[i] = ret->launches - 1;
		if (!loop->steps_ahead)
			add_op(ret, OP_SYNC, 0, 0);
		else if (loop->steps_ahead > 0 && i >= loop->steps_ahead)
			add_op(ret, OP_EVENT, 0, ends[i - loop->steps_ahead]);
	}
}

static struct gpu_pause draw_pause(struct stats_random *random, uint64_t end_ns)
{
	double ms = 0.1 * pow(5000, (double)stats_draw(random, 1001) / 1000);
	uint64_t start_ns = MS + stats_draw(random, end_ns - MS);

	return (struct gpu_pause){start_ns, start_ns + (uint64_t)(ms * 1e6), PROCESS, THREAD, true};
}

static uint64_t latest(const struct play *play)
{
	uint64_t latest_ns = 0;

	for (size_t i = 0; i < LANES; i++)
		if (play->device_ns[i] > latest_ns)
			latest_ns = play->device_ns[i];
	return latest_ns;
}

/* By how much later the device is that is the latest for it. */
static uint64_t later(const struct play *with, const struct play *without)
{
	uint64_t most_ns = 0;

	for (size_t i = 0; i < LANES; i++)
		if (with->device_ns[i] - without->device_ns[i] > most_ns)
			most_ns = with->device_ns[i] - without->device_ns[i];
	return most_ns;
}

struct tally {
	const char *name;
	uint64_t lost_ns, error_ns;
	size_t inexact, wrong;
};

static void complain(const struct tally *tally, const struct gpu_pause *pause,
	const struct gpu_cost *cost, uint64_t truth_ns)
{
	print_error("%s: a pause of %.3f ms at %.3f ms: %.3f (%.3f … %.3f) for %.3f ms lost\n",
		tally->name, (double)(pause->end_ns - pause->start_ns) / 1e6,
		(double)pause->start_ns / 1e6, (double)cost->lost_ns / 1e6,
		(double)cost->lost_low_ns / 1e6, (double)cost->lost_high_ns / 1e6,
		(double)truth_ns / 1e6);
}

/* What was lost is within the ends, and where these are together it is exact. */
static void judge(struct tally *tally, const struct gpu_pause *pause, const struct gpu_cost *cost,
	uint64_t truth_ns)
{
	bool inexact = cost->lost_high_ns - cost->lost_low_ns > EXACT_NS;
	uint64_t error_ns = stats_distance(cost->lost_ns, truth_ns);

	tally->lost_ns += truth_ns;
	tally->inexact += inexact;
	if (!inexact && error_ns > tally->error_ns)
		tally->error_ns = error_ns;
	if (cost->known && truth_ns + EXACT_NS >= cost->lost_low_ns &&
		truth_ns <= cost->lost_high_ns + EXACT_NS && (inexact || error_ns <= EXACT_NS))
		return;
	if (tally->wrong++ < 5)
		complain(tally, pause, cost, truth_ns);
}

/* Of @PLACES pauses of @program, one at a time. */
static struct tally tally_program(const char *name, const struct program *program, uint64_t seed)
{
	struct stats_random random = {seed};
	struct tally tally = {.name = name};
	struct play base;

	play_program(program, NULL, 0, SIZE_MAX, NULL, &base);
	for (int place = 0; place < PLACES; place++) {
		struct gpu_pause pause = draw_pause(&random, latest(&base));
		struct gpu_timeline timeline = {};
		struct gpu_charges charges = {};
		struct play play;

		play_program(program, &pause, 1, SIZE_MAX, &timeline, &play);
		assert_int_equal(gpu_charge(&timeline, &pause, 1, &charges), 0);
		judge(&tally, &pause, &charges.pauses.items[0], later(&play, &base));
		gpu_charges_release(&charges);
		gpu_release(&timeline);
		play_release(&play);
	}
	print_message("# %-40s %8.1f ms lost, error at most %.1f us, %zu not exact\n", name,
		(double)tally.lost_ns / 1e6, (double)tally.error_ns / 1e3, tally.inexact);
	play_release(&base);
	return tally;
}

static void test_what_a_pause_costs(void **state)
{
	size_t wrong = 0;

	for (size_t i = 0; i < ARRAY_SIZE(loops); i++) {
		struct program program;
		struct tally tally;

		make(&loops[i], i + 1, &program);
		tally = tally_program(loops[i].name, &program, i + 1);
		wrong += tally.wrong;
		/* Only what a launch would have waited for without the pause is not among the records. */
		if (!loops[i].depth)
			assert_int_equal(tally.inexact, 0);
		vec_free(&program.ops);
	}
	assert_int_equal(wrong, 0);
}

/* It is not known when what a call waited for was done. */
static void test_blind(void **state)
{
	size_t wrong = 0;

	for (size_t i = 0; i < ARRAY_SIZE(loops); i++) {
		struct program program;

		make(&loops[i], i + 1, &program);
		program.blind = true;
		wrong += tally_program(loops[i].name, &program, i + 1).wrong;
		vec_free(&program.ops);
	}
	assert_int_equal(wrong, 0);
}

/* Pauses that follow each other closely: their parts add up to what all of them cost together. */
static void test_many_pauses(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(loops); i++) {
		struct stats_random random = {i + 1};
		struct gpu_pause pauses[PLACES];
		struct gpu_timeline timeline = {};
		struct gpu_charges charges = {};
		uint64_t low_ns = 0, high_ns = 0, truth_ns, at = 2 * MS;
		struct program program;
		struct play play, base;

		for (size_t j = 0; j < PLACES; j++) {
			uint64_t length_ns = 100 * US + stats_draw(&random, 4 * MS);

			pauses[j] = (struct gpu_pause){at, at + length_ns, PROCESS, THREAD, true};
			at += length_ns + stats_draw(&random, 3 * MS);
		}
		make(&loops[i], i + 1, &program);
		play_program(&program, NULL, 0, SIZE_MAX, NULL, &base);
		play_program(&program, pauses, PLACES, SIZE_MAX, &timeline, &play);
		assert_int_equal(gpu_charge(&timeline, pauses, PLACES, &charges), 0);
		truth_ns = later(&play, &base);
		for (size_t j = 0; j < PLACES; j++) {
			low_ns += charges.pauses.items[j].lost_low_ns;
			high_ns += charges.pauses.items[j].lost_high_ns;
		}
		print_message("# %-40s %8.3f ms lost, %.3f … %.3f\n", loops[i].name,
			(double)truth_ns / 1e6, (double)low_ns / 1e6, (double)high_ns / 1e6);
		assert_in_range(truth_ns + EXACT_NS, low_ns, high_ns + 2 * EXACT_NS);
		if (!loops[i].depth)
			assert_in_range(high_ns - low_ns, 0, EXACT_NS);
		gpu_charges_release(&charges);
		gpu_release(&timeline);
		play_release(&play);
		play_release(&base);
		vec_free(&program.ops);
	}
}

/* A copy of the next step's data beside each step's kernels, on a stream of its own; the kernels wait for it. */
static void make_copies(struct program *ret, uint64_t copy_ns, int steps_ahead)
{
	struct stats_random random = {7};
	uint64_t ends[STEPS];

	*ret = (struct program){};
	for (int i = 0; i < STEPS; i++) {
		add_op(ret, OP_WORK, 0, about(&random, 100 * US));
		add_op(ret, OP_LAUNCH, 1, about(&random, copy_ns));
		add_op(ret, OP_AFTER, 1, 0);
		for (int k = 0; k < 23; k++) {
			add_op(ret, OP_WORK, 0, about(&random, 12 * US));
			add_op(ret, OP_LAUNCH, 0, about(&random, 60 * US));
		}
		ends[i] = ret->launches - 1;
		if (i >= steps_ahead)
			add_op(ret, OP_EVENT, 0, ends[i - steps_ahead]);
	}
}

static void test_two_streams(void **state)
{
	static const uint64_t copies[] = {200 * US, 1 * MS, 2 * MS};
	size_t wrong = 0;

	for (size_t i = 0; i < ARRAY_SIZE(copies); i++)
		for (int ahead = 0; ahead < 3; ahead++) {
			struct program program;

			make_copies(&program, copies[i], ahead);
			wrong +=
				tally_program("copies on a stream of their own", &program, 7).wrong;
			vec_free(&program.ops);
		}
	assert_int_equal(wrong, 0);
}

/* Two devices, one with half as much work; the host waits for one, the other or both. */
static void test_two_devices(void **state)
{
	size_t wrong = 0;

	for (int waits = 0; waits < 4; waits++) {
		struct stats_random random = {11};
		struct program program = {.device = {0, 1}};

		for (int i = 0; i < STEPS; i++) {
			for (int k = 0; k < 23; k++) {
				add_op(&program, OP_WORK, 0, about(&random, 12 * US));
				add_op(&program, OP_LAUNCH, 0, about(&random, 100 * US));
				add_op(&program, OP_LAUNCH, 1, about(&random, 50 * US));
			}
			if (waits & 1)
				add_op(&program, OP_SYNC, 0, 0);
			if (waits & 2)
				add_op(&program, OP_SYNC, 1, 0);
		}
		wrong += tally_program("two devices", &program, 11).wrong;
		vec_free(&program.ops);
	}
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_a_pause_costs),
		cmocka_unit_test(test_blind),
		cmocka_unit_test(test_many_pauses),
		cmocka_unit_test(test_two_streams),
		cmocka_unit_test(test_two_devices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
