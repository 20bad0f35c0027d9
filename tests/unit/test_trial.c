/* trial: what is inferred from blocks, on simulated steps. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "blocks.h"
#include "effect.h"
#include "stats.h"

#define TRIALS	2000 /* their share of false positives is known to half a percent (standard error) */
#define FEWER	500
#define MEAN_OF 100000 /* steps, for the truth */

static struct stats_random chance;

static double uniform(void)
{
	return ((double)stats_draw(&chance, 1ull << 52) + 0.5) / (double)(1ull << 52);
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* ── effects ── */

static void effects_of_known_pairs(void **state)
{
	const double was[8] = {10, 11, 12, 13, 14, 15, 16, 17};
	double tried[8];
	struct effect effect;

	for (int i = 0; i < 8; i++)
		tried[i] = was[i] * 1.25;
	assert_int_equal(effect_of(was, tried, 8, EFFECT_SHARE, &effect), 0);
	assert_float_equal(effect.estimate, 0.25, 1e-12);
	assert_float_equal(effect.base, 13.5, 1e-12);
	/* Of 256 draws only the one that was made, and its mirror image, do as much. */
	assert_float_equal(effect.p, 2.0 / 256, 1e-12);
	assert_float_equal(effect.low, 0.25, 1e-9);
	assert_float_equal(effect.high, 0.25, 1e-9);
	assert_float_equal(effect.detectable, 0, 1e-9);
	assert_int_equal(effect_of(was, was, 8, EFFECT_PLAIN, &effect), 0);
	assert_float_equal(effect.p, 1, 1e-12);
	assert_float_equal(effect.estimate, 0, 1e-12);
	assert_int_equal(effect_of(was, tried, 0, EFFECT_PLAIN, &effect), -ENODATA);
}

/* Five pairs cannot reject anything at 5 %: their interval is endless. */
static void too_few_pairs_say_nothing(void **state)
{
	const double was[5] = {1, 2, 3, 4, 5}, tried[5] = {2, 3, 5, 5, 7};
	struct effect effect;

	assert_int_equal(effect_of(was, tried, 5, EFFECT_PLAIN, &effect), 0);
	assert_float_equal(effect.p, 2.0 / 32, 1e-12);
	assert_true(isinf(effect.low) && effect.low < 0);
	assert_true(isinf(effect.high) && effect.high > 0);
}

/* The interval holds an effect if and only if the test of it says more than 5 %. */
static void intervals_are_tests_inverted(void **state)
{
	double was[11], tried[11], moved[11];
	struct effect effect, at;

	for (int i = 0; i < 11; i++) {
		was[i] = 100 + 10 * normal();
		tried[i] = 104 + 10 * normal();
	}
	assert_int_equal(effect_of(was, tried, 11, EFFECT_SHARE, &effect), 0);
	for (int side = 0; side < 4; side++) {
		double edge = side % 2 ? effect.high : effect.low;
		double off = (side / 2 ? 1 : -1) * (side % 2 ? 1 : -1) * 1e-6;

		for (int i = 0; i < 11; i++)
			moved[i] = tried[i] - (edge + off) * was[i];
		assert_int_equal(effect_of(was, moved, 11, EFFECT_SHARE, &at), 0);
		assert_true(side / 2 ? at.p <= 0.05 : at.p > 0.05);
	}
}

/* ── simulated programs ── */

/* What a collector with thresholds like CPython's does to a loop. */
struct program {
	double work_ms, noise,
		memory;	      /* of noise: how much of a step's deviation stays in the next */
	double drift;	      /* per step, share of the work */
	int made;	      /* objects a step */
	int every;	      /* a step that logs, and takes twice as long; 0: none */
	int threshold, tried; /* 0: off */
	double per_object_ms, full_ms; /* what a collection takes */
	int fulls;		       /* young collections to a full one */
	double after;		       /* share of a pause that the next step is slower by */
	double effect;		       /* beside that: of what is tried, on the work */
};

struct run {
	double deviation, owed_ms;
	long step, count, young;
};

static double step_ms(const struct program *program, struct run *run, bool tried)
{
	int threshold = tried ? program->tried : program->threshold;
	double pause = 0, ms = program->work_ms * (1 + program->drift * (double)run->step);

	run->deviation = program->memory * run->deviation + normal();
	ms *= 1 + program->noise * run->deviation + (tried ? program->effect : 0);
	if (program->every && run->step % program->every == 0)
		ms += program->work_ms;
	run->step++;
	run->count += program->made;
	while (threshold && run->count > threshold) {
		/* Within a step there may be several; what was put off is collected at once. */
		long walked = run->count > 2 * program->made ? run->count : threshold;

		pause += program->per_object_ms * (double)walked;
		run->count -= walked;
		if (program->fulls && ++run->young % program->fulls == 0)
			pause += program->full_ms;
	}
	ms += pause + run->owed_ms;
	run->owed_ms = program->after * pause;
	return ms > 0.01 ? ms : 0.01;
}

static double mean_ms(const struct program *program, bool tried)
{
	struct run run = {};
	double sum = 0;

	for (int i = 0; i < MEAN_OF; i++)
		sum += step_ms(program, &run, tried);
	return sum / MEAN_OF;
}

#define STEPS_MOST 20000

/* A whole trial of @pairs, as trial_turn.c makes it. */
static struct blocks_result simulate(const struct program *program, size_t pairs, double block_ms)
{
	static struct step steps[STEPS_MOST];
	struct block blocks[2 * 64 + 1];
	size_t count = 2 * pairs + 1, made = 0;
	struct blocks_result result;
	struct run run = {};
	double now_ms = 1 + 1000 * uniform(), from_ms = now_ms;
	const struct blocks_plan plan = {.block_ns = (uint64_t)(block_ms * 1e6), .pairs = pairs};
	struct blocks_draw draw = {};

	run.count =
		program->threshold ? (long)stats_draw(&chance, (uint64_t)program->threshold) : 0;
	run.young = program->fulls ? (long)stats_draw(&chance, (uint64_t)program->fulls) : 0;
	run.step = (long)stats_draw(&chance, 100);
	for (size_t i = 0; i < count; i++) {
		double to_ms;

		if (i % 2 == 0 && i / 2 < pairs)
			draw = blocks_draw(&plan, &chance);
		to_ms = from_ms + (i + 1 < count ? (double)draw.block_ns / 1e6 : block_ms / 2);
		blocks[i] = (struct block){.from_ns = (uint64_t)(from_ms * 1e6),
			.to_ns = (uint64_t)(to_ms * 1e6),
			.pair = i + 1 < count ? (uint32_t)(i / 2) : BLOCK_NO_PAIR,
			.tried = i + 1 < count && draw.tried_first != i % 2};
		while (now_ms < to_ms && made < STEPS_MOST) {
			double ms = step_ms(program, &run, blocks[i].tried);

			steps[made++] = (struct step){.start_ns = (uint64_t)(now_ms * 1e6),
				.end_ns = (uint64_t)((now_ms + ms) * 1e6),
				.rss_bytes = UNKNOWN};
			now_ms += ms;
		}
		from_ms = to_ms;
	}
	assert_true(made < STEPS_MOST);
	assert_int_equal(blocks_judge(blocks, count, steps, made, (uint64_t)(block_ms * 1e6 / 6),
				 &result),
		0);
	return result;
}

static const struct program quiet = {.work_ms = 10, .noise = 0.05};
static const struct program dependent = {.work_ms = 10, .noise = 0.05, .memory = 0.95};
static const struct program drifting = {
	.work_ms = 10, .noise = 0.03, .memory = 0.5, .drift = 0.0004};
static const struct program paused = {.work_ms = 10,
	.noise = 0.03,
	.every = 16, /* half a block */
	.made = 1500,
	.threshold = 700,
	.tried = 700,
	.per_object_ms = 0.0002,
	.fulls = 110,
	.full_ms = 60,
	.after = 0.2};

/* Where there is nothing, 5 % of trials find something. */
static void nothing_is_found_in_nothing(void **state)
{
	const struct program *const programs[] = {&quiet, &dependent, &drifting, &paused};

	for (size_t p = 0; p < 4; p++) {
		int found = 0, outside = 0;

		chance.state = 23 + p;
		for (int i = 0; i < TRIALS; i++) {
			struct blocks_result result = simulate(programs[p], 8 + p * 2, 320);

			assert_int_equal(result.pairs + result.left_out, 8 + p * 2);
			found += result.step.p <= 0.05;
			outside += result.step.low > 0 || result.step.high < 0;
		}
		print_message("program %zu: %d of %d\n", p, found, TRIALS);
		assert_int_equal(found, outside);
		assert_in_range(found, TRIALS * 35 / 1000, TRIALS * 65 / 1000);
	}
}

/* Where there is something, the interval holds it in 90 to 98 % of trials, and it is not biased. */
static void effects_are_held(void **state)
{
	struct program programs[] = {quiet, dependent, drifting, paused, paused};

	programs[0].effect = 0.05;
	programs[1].effect = -0.1;
	programs[2].effect = 0.02;
	programs[3].tried =
		70000; /* in blocks of 32 steps it never collects: what it put off is charged */
	programs[4].tried = 1400;
	for (size_t p = 0; p < 5; p++) {
		const double truth = mean_ms(&programs[p], true) / mean_ms(&programs[p], false) - 1;
		/* Of full collections, as blocks_plan() is told. */
		const double period_ms = mean_ms(&paused, false) * 700 / 1500 * 110;
		const double expected = p < 3 ? programs[p].effect : truth;
		int held = 0;
		double sum = 0;

		chance.state = 101 + p;
		for (int i = 0; i < FEWER; i++) {
			struct blocks_result result =
				simulate(&programs[p], 16, p < 3 ? 1000 : 3 * period_ms);

			held += result.step.low <= expected && expected <= result.step.high;
			sum += result.step.estimate / FEWER;
		}
		print_message("program %zu: truth %.4f, mean %.4f, held %d of %d\n", p, expected,
			sum, held, FEWER);
		assert_in_range(held, FEWER * 90 / 100, FEWER * 98 / 100);
	}
}

/* What is said to be found in 4 of 5 trials is. */
static void power_is_what_is_said(void **state)
{
	struct program program = quiet;
	double detectable = 0;
	int found = 0;

	chance.state = 7;
	for (int i = 0; i < FEWER; i++)
		detectable += simulate(&quiet, 12, 320).step.detectable / FEWER;
	program.effect = detectable;
	for (int i = 0; i < FEWER; i++)
		found += simulate(&program, 12, 320).step.p <= 0.05;
	print_message("an effect of %.4f: found in %d of %d\n", detectable, found, FEWER);
	assert_in_range(found, FEWER * 76 / 100, FEWER * 84 / 100);
}

/* ── blocks ── */

#define MS 1000000ull

/* @count steps of @ms from *@at on. */
static void add_steps(struct step *steps, size_t *at, uint64_t *now_ms, int count, uint64_t ms)
{
	for (int i = 0; i < count; i++, *now_ms += ms)
		steps[(*at)++] = (struct step){.start_ns = *now_ms * MS,
			.end_ns = (*now_ms + ms) * MS,
			.rss_bytes = (int64_t)(*now_ms * 1000)};
}

/* What a block put off is found in the first steps of the next, and charged to it. */
static void work_put_off_is_charged(void **state)
{
	struct step steps[1500];
	struct block blocks[17];
	struct blocks_result result;
	size_t count = 0;
	uint64_t now = 1000;

	for (uint32_t i = 0; i < 17; i++) {
		bool tried = i < 16 && i % 2, after = i && !tried;

		blocks[i] = (struct block){.from_ns = now * MS,
			.pair = i < 16 ? i / 2 : BLOCK_NO_PAIR,
			.tried = tried};
		add_steps(steps, &count, &now, 1, after ? 10 + 66 : 10);
		add_steps(steps, &count, &now, 65, 10);
		blocks[i].to_ns = now * MS;
	}
	assert_int_equal(blocks_judge(blocks, 17, steps, count, 110 * MS, &result), 0);
	assert_int_equal(result.pairs, 8);
	assert_int_equal(result.steps, 16 * 66);
	assert_float_equal(result.step.base, 10 * MS, 1);
	assert_float_equal(result.step.estimate, 66.0 / 66 / 10, 1e-9);
	assert_true(result.has_rss);
	assert_float_equal(result.rss.base, 10000, 1);
	assert_float_equal(result.rss.estimate, 0, 1);
}

/* A block with fewer than 16 steps after the part that settles takes its pair with it. */
static void short_blocks_leave_pairs_out(void **state)
{
	struct step steps[1000];
	struct block blocks[7];
	struct blocks_result result;
	size_t count = 0;
	uint64_t now = 1000;

	for (uint32_t i = 0; i < 7; i++) {
		blocks[i] = (struct block){.from_ns = now * MS,
			.pair = i < 6 ? i / 2 : BLOCK_NO_PAIR,
			.tried = i % 2,
			.cut = i == 3};
		add_steps(steps, &count, &now, i == 3 ? 19 : 33, 10);
		blocks[i].to_ns = now * MS;
	}
	assert_int_equal(blocks_judge(blocks, 7, steps, count, 55 * MS, &result), 0);
	assert_int_equal(result.pairs, 2);
	assert_int_equal(result.left_out, 1);
	assert_int_equal(blocks_judge(blocks, 0, steps, count, 55 * MS, &result), 0);
	assert_int_equal(result.pairs, 0);
}

static void plans_fit_the_time(void **state)
{
	struct blocks_plan plan;
	struct err err;

	assert_int_equal(blocks_plan(100 * MS, 0, 0, 0, &plan, &err), 0);
	assert_int_equal(plan.block_ns, 3200 * MS);
	assert_int_equal(plan.pairs, 16);
	/* Three periods of the pauses, but at most half a minute. */
	assert_int_equal(blocks_plan(100 * MS, 2000 * MS, 0, 0, &plan, &err), 0);
	assert_int_equal(plan.block_ns, 6000 * MS);
	assert_int_equal(blocks_plan(100 * MS, 20000 * MS, 0, 0, &plan, &err), 0);
	assert_int_equal(plan.block_ns, 30000 * MS);
	assert_int_equal(blocks_plan(1 * MS, 0, 11, 0, &plan, &err), 0);
	assert_int_equal(plan.block_ns, 500 * MS);
	assert_int_equal(plan.pairs, 11);
	for (uint64_t s = 1; s < 600; s++) {
		const uint64_t duration_ns = s * 1000 * MS;
		int r = blocks_plan(100 * MS, 1700 * MS, s % 3 ? 0 : 9, duration_ns, &plan, &err);

		if (s < 50)
			assert_int_equal(r, -ENOTSUP);
		if (r)
			continue;
		assert_true(plan.pairs >= 9 && plan.block_ns >= 2800 * MS);
		assert_true(2 * plan.pairs * plan.block_ns + plan.tail_ns <= duration_ns);
		assert_true(plan.tail_ns >= 1600 * MS && plan.tail_ns >= plan.block_ns / 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(effects_of_known_pairs),
		cmocka_unit_test(too_few_pairs_say_nothing),
		cmocka_unit_test(intervals_are_tests_inverted),
		cmocka_unit_test(work_put_off_is_charged),
		cmocka_unit_test(short_blocks_leave_pairs_out),
		cmocka_unit_test(plans_fit_the_time),
		cmocka_unit_test(nothing_is_found_in_nothing),
		cmocka_unit_test(effects_are_held),
		cmocka_unit_test(power_is_what_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
