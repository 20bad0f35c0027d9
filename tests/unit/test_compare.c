/*
 * Comparisons of runs that never were: how often equal jobs are called better or worse, how often a change is seen, what is
 * said of calls, classes and machines that were busy. Seeds are fixed.
 */
#include <math.h>

#include "attrib_fixture.h"
#include "compare.h"
#include "needs.h"

#define PAIRS	211
#define POWER	401 /* pairs: 80 % is known to within 2 */
#define STEPS	503
#define BETWEEN 0.03
#define MOST	5 /* runs a side */

/* How runs of a job vary. */
struct job {
	double between; /* standard deviation between runs, of all that takes time */
	double noise;	/* of each step */
	double every; /* steps from one pause of 50 ms to the next, on average, by chance; 0: no pauses */
	double outliers; /* steps that take five times as long */
	double drift; /* of the machine's speed within a run: a random walk's deviation at its end */
};

/* One run of @job, its steps @factor times as long. The caller frees it. */
static struct compare_run *run_of(const struct job *job, double factor, uint64_t seed)
{
	struct attribution got = {};
	struct compare_run *run;
	struct step_track *track;
	struct world world;
	struct err err = {};
	uint64_t now = 1000 * MS;
	double speed;

	world_init(&world, seed);
	world.recording.start_ns = now;
	track = world_track(&world, 1);
	speed = factor * exp(job->between * world_gauss(&world));
	for (int i = 0; i < STEPS; i++) {
		double length = speed * 10e6 * exp(job->noise * world_gauss(&world));

		speed *= exp(job->drift / sqrt(STEPS) * world_gauss(&world));
		if (world_random(&world) < job->outliers)
			length *= 5;
		if (job->every > 0 && world_random(&world) * job->every < 1) {
			world_pause(&world, now + (uint64_t)length / 2, (uint64_t)(speed * 50e6));
			length += speed * 50e6;
		}
		world_step(track, now, now + (uint64_t)length);
		now += (uint64_t)length;
	}
	world.recording.end_ns = now;
	world_build(&world, &got);
	assert_int_equal(compare_read(&got, &run, &err), 0);
	attrib_release(&got);
	world_release(&world);
	return run;
}

struct tally {
	unsigned answers[COMPARE_PAUSES + 1], breaches;
};

/* @pairs comparisons of @runs of @job a side with as many whose steps take @factor times as long. */
static struct tally compare_many(const struct job *job, size_t runs, double factor, unsigned pairs,
	double tolerance)
{
	const struct compare_rule rule = {tolerance, BETWEEN};
	struct tally ret = {};

	for (unsigned pair = 0; pair < pairs; pair++) {
		struct compare_run *all[2 * MOST];
		struct comparisons result;
		struct err err = {};

		for (size_t i = 0; i < 2 * runs; i++)
			all[i] = run_of(job, i < runs ? 1 : factor, pair * 2 * MOST + i + 1);
		assert_int_equal(compare(all, runs, runs, &rule, &result, &err), 0);
		ret.answers[result.answer]++;
		ret.breaches += result.breach;
		comparisons_release(&result);
		for (size_t i = 0; i < 2 * runs; i++)
			compare_run_free(all[i]);
	}
	print_message(
		"# of %u: %u helped, %u worse, %u mixed, %u same, %u inconclusive; %u breaches\n",
		pairs, ret.answers[COMPARE_HELPED], ret.answers[COMPARE_WORSE],
		ret.answers[COMPARE_MIXED], ret.answers[COMPARE_SAME],
		ret.answers[COMPARE_INCONCLUSIVE], ret.breaches);
	return ret;
}

static const struct job jobs[] = {
	{BETWEEN, 0.1},
	{BETWEEN, 0.01},
	{BETWEEN, 0.1, .every = 37},
	{BETWEEN, 0.3, .every = 97, .outliers = 0.011},
	{BETWEEN, 0.1, .drift = 0.05},
	{0.04, 0.1, .every = 37},
};

/* At most 5 % of equal pairs are called anything, at most 1 % fail a gate. */
static void test_equal_jobs_one_against_one(void **state)
{
	NEEDS("cpython");

	for (size_t i = 0; i < sizeof(jobs) / sizeof(*jobs); i++) {
		struct tally got = compare_many(&jobs[i], 1, 1, PAIRS, COMPARE_TOLERANCE);
		unsigned decided = got.answers[COMPARE_HELPED] + got.answers[COMPARE_WORSE] +
				   got.answers[COMPARE_MIXED];

		assert_true(decided * 20 <= PAIRS);
		assert_true(got.breaches * 100 <= PAIRS);
		assert_int_equal(got.answers[COMPARE_SAME], 0); /* nobody could have seen 5 % */
	}
}

/*
 * Of five a side a better mean is one chance in twenty, a worse one another, p99 and the worst step 0.25 % each way: 11 %
 * at most, if they had nothing to do with each other, which is 35 of 211 once in a hundred times.
 */
static void test_equal_jobs_five_a_side(void **state)
{
	NEEDS("cpython");

	for (size_t i = 0; i < 4; i += 2) {
		struct tally got = compare_many(&jobs[i], 5, 1, PAIRS, COMPARE_TOLERANCE);
		unsigned decided = got.answers[COMPARE_HELPED] + got.answers[COMPARE_WORSE] +
				   got.answers[COMPARE_MIXED];

		assert_true(decided <= 34);
		assert_true(got.breaches <=
			    got.answers[COMPARE_WORSE] + got.answers[COMPARE_MIXED]);
	}
}

/* Five a side see 5 % more in four of five cases. */
static void test_power(void **state)
{
	NEEDS("cpython");
	struct tally got = compare_many(&jobs[0], 5, 1.05, POWER, 0);

	assert_true(got.answers[COMPARE_WORSE] * 10 >= 8 * POWER);
	assert_true(got.breaches >= got.answers[COMPARE_WORSE]);
	assert_int_equal(got.answers[COMPARE_HELPED], 0);
}

/* One against one sees what is far more than usual. */
static void test_power_of_one(void **state)
{
	NEEDS("cpython");
	struct tally got = compare_many(&jobs[0], 1, 1.25, PAIRS, COMPARE_TOLERANCE);

	assert_true(got.answers[COMPARE_WORSE] * 10 >= 9 * PAIRS);
	assert_true(got.breaches * 10 >= 9 * PAIRS);
}

static const struct comparison *row(const struct comparisons *all, const char *name, const char *of)
{
	for (size_t i = 0; i < all->items.count; i++)
		if (!strcmp(all->items.items[i].name, name) && !strcmp(all->items.items[i].of, of))
			return &all->items.items[i];
	for (size_t i = 0; i < all->items.count; i++)
		print_message("# %s \"%s\"\n", all->items.items[i].name, all->items.items[i].of);
	fail_msg("there is no row %s \"%s\"", name, of);
	return NULL;
}

/* @made: two worlds, compared and released. */
static void compare_worlds(struct world made[2], struct comparisons *ret)
{
	const struct compare_rule rule = {COMPARE_TOLERANCE, COMPARE_RUN_TO_RUN};
	struct compare_run *runs[2];
	struct err err = {};

	for (int i = 0; i < 2; i++) {
		struct attribution got = {};

		world_build(&made[i], &got);
		assert_int_equal(compare_read(&got, &runs[i], &err), 0);
		attrib_release(&got);
		world_release(&made[i]);
	}
	assert_int_equal(compare(runs, 1, 1, &rule, ret, &err), 0);
	compare_run_free(runs[0]);
	compare_run_free(runs[1]);
}

/* 997 steps of @work_ns in which the thread works, after @wait_ns in which it waits. */
static void train(struct world *world, uint64_t work_ns, uint64_t wait_ns)
{
	struct step_track *track;
	uint64_t now = 1000 * MS;

	world_init(world, 3);
	world->recording.start_ns = now;
	track = world_track(world, 1);
	for (uint64_t i = 0; i < 997; i++) {
		uint64_t length = work_ns + wait_ns + (i * 7919 % 101) * 1000;

		world_step(track, now, now + length);
		track->steps.items[i].work_ns = (int64_t)(length - wait_ns);
		now += length;
	}
	world->recording.end_ns = now;
}

/* Twice as long, as another program had the processor: not "worse". Twice as long of work is. */
static void test_a_busy_machine_is_no_change(void **state)
{
	NEEDS("cpython");
	struct world made[2];
	struct comparisons result;

	train(&made[0], 10 * MS, 0);
	train(&made[1], 10 * MS, 10 * MS);
	compare_worlds(made, &result);
	assert_int_equal(result.answer, COMPARE_INCONCLUSIVE);
	assert_false(result.breach);
	assert_non_null(strstr(result.verdict, "busier machine"));
	assert_non_null(strstr(result.verdict, "worked for 10.05 ms of each, before 10.05 ms"));
	comparisons_release(&result);

	train(&made[0], 10 * MS, 10 * MS);
	train(&made[1], 20 * MS, 10 * MS);
	compare_worlds(made, &result);
	assert_int_equal(result.answer, COMPARE_WORSE);
	assert_true(result.breach);
	comparisons_release(&result);
}

/* @count steps of @base_ns and 0 to 100 @grain_ns; each @every-th takes @more_ns longer (0: none does). */
static void uneven(struct world *world, uint64_t count, uint64_t base_ns, uint64_t grain_ns,
	uint64_t every, uint64_t more_ns)
{
	struct step_track *track;
	uint64_t now = 1000 * MS;

	world_init(world, 3);
	world->recording.start_ns = now;
	track = world_track(world, 1);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t length = base_ns + (i * 7919 % 101) * grain_ns;

		if (every && i % every == every - 1)
			length += more_ns;
		world_step(track, now, now + length);
		now += length;
	}
	world->recording.end_ns = now;
}

/* A mean that is better does not hide a p99 eight times as long. */
static void test_a_better_mean_hides_no_tail(void **state)
{
	NEEDS("cpython");
	struct world made[2];
	struct comparisons result;

	uneven(&made[0], 4999, 10 * MS, 1000, 0, 0);
	uneven(&made[1], 4999, 8 * MS, 1000, 53, 50 * MS);
	compare_worlds(made, &result);
	assert_int_equal(result.answer, COMPARE_MIXED);
	assert_true(result.breach);
	assert_int_equal(row(&result, "step.mean", "")->judged, CHANGE_BETTER);
	assert_int_equal(row(&result, "step.p99", "")->judged, CHANGE_WORSE);
	assert_int_equal(row(&result, "step.max", "")->judged, CHANGE_WORSE);
	assert_null(strstr(result.verdict, "helped"));
	assert_non_null(strstr(result.verdict, "worse: 99 % of the steps within 58"));
	comparisons_release(&result);
}

/* As gc.freeze() does it: long pauses are half as long and twice as many, so p99 is perhaps ten times as long. */
static void test_a_better_worst_step_is_no_help(void **state)
{
	NEEDS("cpython");
	struct world made[2];
	struct comparisons result;

	uneven(&made[0], 2289, 4 * MS, 10000, 176, 290 * MS);
	uneven(&made[1], 2289, 4 * MS, 10000, 90, 125 * MS);
	compare_worlds(made, &result);
	assert_int_equal(row(&result, "step.max", "")->judged, CHANGE_BETTER);
	assert_int_equal(row(&result, "step.p99", "")->judged, CHANGE_UNKNOWN);
	assert_true(row(&result, "step.p99", "")->change > 5);
	assert_int_equal(result.answer, COMPARE_INCONCLUSIVE);
	assert_null(strstr(result.verdict, "helped"));
	assert_non_null(strstr(result.verdict, "better: the worst step took "));
	comparisons_release(&result);
}

/* A JVM's safepoints and its calls of System.gc(), @calls of them from one line. */
static void jvm(struct world *world, unsigned calls)
{
	uint32_t stack;

	world_init(world, 5);
	world_jvm(world, 1, "21.0.4", "G1");
	world->recording.start_ns = 1000 * MS;
	world->recording.end_ns = 9000 * MS;
	stack = world_java(world, "org.example.Trainer.fit java.lang.System.gc");
	for (unsigned i = 0; i < 7; i++)
		world_safepoint(world, (1100 + 10 * i) * MS, MS, "G1CollectForAllocation",
			"G1 Evacuation Pause");
	for (unsigned i = 0; i < calls; i++) {
		uint64_t at = (2000 + 100 * i) * MS;
		struct pause *pause =
			world_safepoint(world, at + MS, 5 * MS, "G1CollectFull", "System.gc()");
		struct stall *stall = world_stall(world, STALL_EXPLICIT, 9, at, 7 * MS);

		pause->flags |= PAUSE_FULL;
		pause->tid = 9;
		stall->stack = stack;
		stall->collections = 1;
	}
	world_stall(world, STALL_ALLOCATION, 11, 8000 * MS, 3 * MS);
}

static void test_calls_and_classes_of_a_jvm(void **state)
{
	NEEDS("hotspot");
	const struct comparison *found;
	struct comparisons result;
	struct world made[2];

	jvm(&made[0], 0);
	jvm(&made[1], 13);
	compare_worlds(made, &result);
	found = row(&result, "calls", "System.gc() calls");
	assert_true(found && found->before == 0 && found->after == 13);
	found = row(&result, "calls.by", "  by Trainer.fit (Some.java:7)");
	assert_true(found && found->before == 0 && found->after == 13);
	found = row(&result, "collections", "full collections");
	assert_true(found && found->before == 0 && found->after == 13);
	found = row(&result, "collections", "young collections");
	assert_true(found && found->before == 7 && found->after == 7);
	found = row(&result, "stalls", "waits: allocation stall");
	assert_true(found && found->before == 1 && found->after == 1);
	found = row(&result, "stalls.total", "waits: allocation stall, total");
	assert_true(found && found->before == 3 * MS && found->after == 3 * MS);
	assert_string_equal(result.calls,
		"System.gc() calls: 13, before 0; most of the difference is by Trainer.fit (Some.java:7).");
	for (size_t i = 0; i < result.items.count; i++) {
		assert_null(strstr(result.items.items[i].name, "gen"));
		assert_null(strstr(result.items.items[i].of, "gen"));
	}
	comparisons_release(&result);

	jvm(&made[0], 0);
	jvm(&made[1], 0);
	compare_worlds(made, &result);
	assert_string_equal(result.calls, "Nobody called System.gc(), before or after.");
	comparisons_release(&result);
}

/* Collections that a Python program asks for, by the line; and the classes by their generations. */
static void test_calls_and_classes_of_python(void **state)
{
	NEEDS("cpython");
	struct comparisons result;
	struct world made[2];

	for (unsigned side = 0; side < 2; side++) {
		uint32_t stack;

		world_init(&made[side], 7);
		made[side].recording.start_ns = 1000 * MS;
		made[side].recording.end_ns = 9000 * MS;
		stack = world_stack(&made[side], "/home/ada/train.py", 41);
		for (unsigned i = 0; i < 11 + 6 * side; i++) {
			struct pause *pause =
				world_pause(&made[side], (1100 + 100 * i) * MS, 5 * MS);

			pause->stack = stack;
			if (i % 2)
				continue;
			pause->cause = CAUSE_MANUAL;
		}
		world_pause(&made[side], 8000 * MS, MS)->generation = 0;
	}
	compare_worlds(made, &result);
	assert_true(row(&result, "collections", "generation-2 collections")->before == 11);
	assert_true(row(&result, "collections", "generation-2 collections")->after == 17);
	assert_true(row(&result, "collections", "generation-0 collections")->after == 1);
	assert_true(row(&result, "calls", "collections by gc.collect()")->before == 6);
	assert_true(row(&result, "calls.by", "  in Trainer.step (train.py:41)")->after == 9);
	assert_int_equal(result.answer, COMPARE_PAUSES);
	comparisons_release(&result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_jobs_one_against_one),
		cmocka_unit_test(test_equal_jobs_five_a_side),
		cmocka_unit_test(test_power),
		cmocka_unit_test(test_power_of_one),
		cmocka_unit_test(test_a_busy_machine_is_no_change),
		cmocka_unit_test(test_a_better_mean_hides_no_tail),
		cmocka_unit_test(test_a_better_worst_step_is_no_help),
		cmocka_unit_test(test_calls_and_classes_of_a_jvm),
		cmocka_unit_test(test_calls_and_classes_of_python),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
