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
	int steps_ahead; /* the host waits for the step before so many; 0: for this one; −1: it never waits */
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

static void charge(const struct program *program, const struct gpu_pause *pauses, size_t count,
	struct gpu_charges *ret)
{
	struct gpu_timeline timeline = {};

	play_program(program, pauses, count, SIZE_MAX, &timeline);
	gpu_settle(&timeline);
	assert_int_equal(gpu_charge(&timeline, pauses, count, ret), 0);
	gpu_release(&timeline);
}

struct tally {
	const struct loop *loop;
	uint64_t lost_ns, error_ns;
	size_t inexact, wrong;
};

static void complain(const struct tally *tally, const struct gpu_pause *pause,
	const struct gpu_cost *cost, uint64_t truth_ns)
{
	print_error("%s: a pause of %.3f ms at %.3f ms: %.3f (%.3f … %.3f) for %.3f ms lost\n",
		tally->loop->name, (double)(pause->end_ns - pause->start_ns) / 1e6,
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

static void tally_loop(const struct loop *loop, uint64_t seed, bool blind, struct tally *ret)
{
	struct stats_random random = {seed};
	struct program program;
	uint64_t base_ns;

	*ret = (struct tally){.loop = loop};
	make(loop, seed, &program);
	program.blind = blind;
	base_ns = play_program(&program, NULL, 0, SIZE_MAX, NULL);
	for (int place = 0; place < PLACES; place++) {
		struct gpu_pause pause = draw_pause(&random, base_ns);
		uint64_t end_ns = play_program(&program, &pause, 1, SIZE_MAX, NULL);
		struct gpu_charges charges = {};

		charge(&program, &pause, 1, &charges);
		judge(ret, &pause, &charges.pauses.items[0], end_ns - base_ns);
		gpu_charges_release(&charges);
	}
	print_message("%-40s %8.1f ms lost, error at most %.1f us, %zu not exact\n", loop->name,
		(double)ret->lost_ns / 1e6, (double)ret->error_ns / 1e3, ret->inexact);
	vec_free(&program.ops);
}

static void test_what_a_pause_costs(void **state)
{
	size_t wrong = 0;

	for (size_t i = 0; i < ARRAY_SIZE(loops); i++) {
		struct tally tally;

		tally_loop(&loops[i], i + 1, false, &tally);
		wrong += tally.wrong;
		/* Only what a launch would have waited for without the pause is not among the records. */
		if (!loops[i].depth)
			assert_int_equal(tally.inexact, 0);
	}
	assert_int_equal(wrong, 0);
}

/* It is not known when what a call waited for was done. */
static void test_blind(void **state)
{
	size_t wrong = 0;

	for (size_t i = 0; i < ARRAY_SIZE(loops); i++) {
		struct tally tally;

		tally_loop(&loops[i], i + 1, true, &tally);
		wrong += tally.wrong;
	}
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_a_pause_costs),
		cmocka_unit_test(test_blind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
