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
#define MEAN_OF 300000 /* steps, for the truth */

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

/* A loop, and a collector with three generations that is CPython's but for the objects themselves. */
struct program {
	double work_ms, noise,
		memory; /* of noise: how much of a step's deviation stays in the next */
	double drift;	/* per step, share of the work */
	int made;	/* objects a step */
	int kept;	/* steps for which they all live, about: then they are garbage, in cycles */
	int every;	/* a step that logs, and takes twice as long; 0: none */
	int threshold, tried;	 /* 0: off */
	double look_ms, free_ms; /* of an object */
	double heap;		 /* objects that stay */
	int manual;    /* steps between full collections that the program asks for; 0: none */
	double after;  /* share of a pause that the next step is slower by */
	double effect; /* beside that: of what is tried, on the work */
};

#define OLDER 10 /* the other two thresholds */

struct run {
	double deviation, owed_ms;
	long step, left; /* of the steps that objects live */
	int count[3];
	double live[3], dead[3]; /* objects made since the begin, by generation */
	double survived, promoted;
};

#define COLLECTIONS_MOST 600000 /* of MEAN_OF steps */
static struct fulls_collection collections[COLLECTIONS_MOST];
static size_t collection_count;

static double collect(const struct program *program, struct run *run, int generation, bool asked,
	double at_ms)
{
	double looked = generation == 2 ? program->heap : 0, freed = 0, live = 0, ms;
	struct fulls_collection *kept = &collections[collection_count++ % COLLECTIONS_MOST];

	for (int i = 0; i <= generation; i++) {
		looked += run->live[i] + run->dead[i];
		freed += run->dead[i];
		live += run->live[i];
		run->live[i] = run->dead[i] = 0;
		run->count[i] = 0;
	}
	ms = program->look_ms * looked + program->free_ms * freed;
	*kept = (struct fulls_collection){.start_ns = (uint64_t)(at_ms * 1e6),
		.end_ns = (uint64_t)((at_ms + ms) * 1e6),
		.heap = (int64_t)run->survived,
		.promoted = (int64_t)run->promoted,
		.full = generation == 2,
		.automatic = !asked};
	run->live[generation < 2 ? generation + 1 : 2] += live;
	if (generation < 2)
		run->count[generation + 1]++;
	if (generation == 1)
		run->promoted += live;
	if (generation == 2) {
		run->survived = program->heap + live;
		run->promoted = 0;
	}
	return ms;
}

static int due(const struct run *run)
{
	if (run->count[2] > OLDER && run->promoted >= run->survived / 4)
		return 2;
	return run->count[1] > OLDER;
}

/* Makes a step's objects. The time in collections. */
static double make(const struct program *program, struct run *run, int threshold, double at_ms)
{
	double pause = 0;

	if (!run->left--) {
		for (int i = 0; i < 3; i++) {
			run->dead[i] += run->live[i];
			run->live[i] = 0;
		}
		run->left =
			program->kept / 2 + (long)stats_draw(&chance, (uint64_t)program->kept + 1);
	}
	for (int left = program->made, some; left; left -= some) {
		some = threshold > run->count[0] ? threshold + 1 - run->count[0] : 1;
		some = !threshold || some > left ? left : some;
		run->count[0] += some;
		run->live[0] += some;
		if (threshold && run->count[0] > threshold)
			pause += collect(program, run, due(run), false, at_ms + pause);
	}
	if (program->manual && run->step % program->manual == 0)
		pause += collect(program, run, 2, true, at_ms + pause);
	return pause;
}

static double step_ms(const struct program *program, struct run *run, bool tried, double at_ms)
{
	int threshold = tried ? program->tried : program->threshold;
	double pause = 0, ms = program->work_ms * (1 + program->drift * (double)run->step);

	run->deviation = program->memory * run->deviation + normal();
	ms *= 1 + program->noise * run->deviation + (tried ? program->effect : 0);
	if (program->every && run->step % program->every == 0)
		ms += program->work_ms;
	run->step++;
	ms += run->owed_ms;
	ms = ms > 0.01 ? ms : 0.01;
	if (program->made)
		pause = make(program, run, threshold, at_ms + ms);
	run->owed_ms = program->after * pause;
	return ms + pause;
}

static double mean_ms(const struct program *program, bool tried)
{
	struct run run = {.survived = program->heap};
	double now_ms = 0;

	collection_count = 0;
	for (int i = 0; i < MEAN_OF; i++)
		now_ms += step_ms(program, &run, tried, now_ms);
	return now_ms / MEAN_OF;
}

#define STEPS_MOST 60000

/* What settings_ops.pace would say. */
static struct settings_pace pace(int threshold)
{
	return (struct settings_pace){threshold > 0, threshold + 1.0, OLDER + 2, OLDER + 1, 0.25};
}

/* A whole trial of @pairs, as trial_turn.c makes it. */
static struct blocks_result simulate(const struct program *program, size_t pairs, double block_ms)
{
	static struct step steps[STEPS_MOST];
	struct block blocks[2 * 64 + 1];
	size_t count = 2 * pairs + 1, made = 0;
	struct fulls fulls = {
		.items = collections, .pace = {pace(program->threshold), pace(program->tried)}};
	struct blocks_result result;
	struct run run = {.survived = program->heap};
	double now_ms = 1, from_ms;
	const struct blocks_plan plan = {.block_ns = (uint64_t)(block_ms * 1e6), .pairs = pairs};
	struct blocks_draw draw = {};

	collection_count = 0;
	run.step = (long)stats_draw(&chance, 100);
	/* It has run for a while, and is watched for a while. */
	for (size_t i = stats_draw(&chance, 500) + (program->made ? 200 : 0); i; i--)
		now_ms += step_ms(program, &run, false, now_ms);
	from_ms = now_ms;
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
			double ms = step_ms(program, &run, blocks[i].tried, now_ms);

			steps[made++] = (struct step){.start_ns = (uint64_t)(now_ms * 1e6),
				.end_ns = (uint64_t)((now_ms + ms) * 1e6),
				.rss_bytes = UNKNOWN};
			now_ms += ms;
		}
		from_ms = to_ms;
	}
	assert_true(made < STEPS_MOST && collection_count < COLLECTIONS_MOST);
	fulls.count = collection_count;
	assert_int_equal(blocks_judge(blocks, count, steps, made, (uint64_t)(block_ms * 1e6 / 6),
				 &fulls, &result),
		0);
	return result;
}

static const struct program quiet = {.work_ms = 10, .noise = 0.05};
static const struct program dependent = {.work_ms = 10, .noise = 0.05, .memory = 0.95};
static const struct program drifting = {
	.work_ms = 10, .noise = 0.03, .memory = 0.5, .drift = 0.0004};
static const struct program paused = {.work_ms = 10,
	.noise = 0.03,
	.every = 16,
	.made = 1100,
	.kept = 20,
	.threshold = 700,
	.tried = 700,
	.look_ms = 0.0002,
	.free_ms = 0.0004,
	.heap = 150000,
	.after = 0.2};
/* As the demo is: a full collection takes 50 steps' time, every 180 of them; objects live for a game's length. */
static const struct program searching = {.work_ms = 4,
	.noise = 0.05,
	.made = 1100,
	.kept = 22,
	.threshold = 700,
	.tried = 700,
	.look_ms = 0.0004,
	.free_ms = 0.0006,
	.heap = 380000};

/* Of collections that promote, so many are to come in a block. */
static double promoting_ms(const struct program *program)
{
	return mean_ms(program, false) * (program->threshold + 1.0) / program->made * (OLDER + 2);
}

/* Where there is nothing, 5 % of trials find something. */
static void nothing_is_found_in_nothing(void **state)
{
	const struct program *const programs[] = {
		&quiet, &dependent, &drifting, &paused, &searching};

	for (size_t p = 0; p < 5; p++) {
		const double block_ms = p < 3 ? 320 : 16 * promoting_ms(programs[p]);
		const size_t pairs = p < 4 ? 8 + p * 2 : 10;
		int found = 0, outside = 0;

		chance.state = 23 + p;
		for (int i = 0; i < TRIALS; i++) {
			struct blocks_result result = simulate(programs[p], pairs, block_ms);

			assert_int_equal(result.pairs + result.left_out, pairs);
			found += result.step.p <= 0.05;
			outside += result.step.low > 0 || result.step.high < 0;
		}
		print_message("# program %zu: %d of %d\n", p, found, TRIALS);
		assert_int_equal(found, outside);
		assert_in_range(found, TRIALS * 35 / 1000, TRIALS * 65 / 1000);
	}
}

struct held {
	int held; /* of FEWER trials' intervals */
	double mean;
	double per_step[2]; /* full collections */
};

static struct held try_often(const struct program *program, double truth, double block_ms)
{
	struct held held = {};

	for (int i = 0; i < FEWER; i++) {
		struct blocks_result result = simulate(program, 16, block_ms);

		held.held += result.step.low <= truth && truth <= result.step.high;
		held.mean += result.step.estimate / FEWER;
		for (int tried = 0; tried < 2; tried++)
			held.per_step[tried] += result.full.per_step[tried] / FEWER;
	}
	print_message("# truth %.4f, mean %.4f, held %d of %d\n", truth, held.mean, held.held,
		FEWER);
	return held;
}

/* Where there is something, the interval holds it in 90 to 98 % of trials, and it is not biased. */
static void effects_are_held(void **state)
{
	struct program programs[] = {quiet, dependent, drifting};

	programs[0].effect = 0.05;
	programs[1].effect = -0.1;
	programs[2].effect = 0.02;
	for (size_t p = 0; p < 3; p++) {
		struct held held;

		chance.state = 101 + p;
		held = try_often(&programs[p], programs[p].effect, 1000);
		assert_in_range(held.held, FEWER * 90 / 100, FEWER * 98 / 100);
	}
}

static double fulls_per_step(const struct program *program, bool tried)
{
	double count = 0;

	mean_ms(program, tried);
	for (size_t i = 0; i < collection_count; i++)
		count += collections[i].full && collections[i].automatic;
	return count / MEAN_OF;
}

/*
 * What a setting does by way of full collections, of which one comes in 85 steps as it is and in up to 8600 with what is tried:
 * blocks have 280 steps. What one costs is judged by the objects that it looks at; one under the other setting finds more or
 * fewer of them dead, which is worth some percent of the effect. So that is how far off it may be, and intervals that are
 * narrower than that hold the truth somewhat less often.
 */
static void full_collections_are_charged_to_what_leads_to_them(void **state)
{
	const struct {
		const struct program *program;
		int tried, manual;
	} cases[] = {{&paused, 70000, 0}, {&paused, 1400, 0}, {&searching, 70000, 0},
		{&searching, 2100, 0}, {&searching, 70000, 40}};

	for (size_t c = 0; c < 5; c++) {
		struct program program = *cases[c].program;
		struct held held;
		double truth;

		program.tried = cases[c].tried;
		program.manual = cases[c].manual;
		truth = mean_ms(&program, true) / mean_ms(&program, false) - 1;
		chance.state = 104 + c;
		held = try_often(&program, truth, 36 * promoting_ms(&program));
		assert_in_range(held.held, FEWER * 88 / 100, FEWER * 99 / 100);
		assert_float_equal(held.mean, truth, 0.05 * fabs(truth));
		for (int tried = 0; tried < 2; tried++) {
			double expected = fulls_per_step(&program, tried);

			/* As often as they would come; those that are rare, to within what matters. */
			assert_float_equal(held.per_step[tried], expected,
				0.02 * fulls_per_step(&program, false));
		}
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
	print_message("# an effect of %.4f: found in %d of %d\n", detectable, found, FEWER);
	assert_in_range(found, FEWER * 76 / 100, FEWER * 84 / 100);
}

/* ── blocks ── */

#define MS 1000000ull

/* No full collection came, and what is tried collects less often. */
static const struct fulls none = {.pace = {{true, 701, 12, 11, 0.25}, {true, 70001, 12, 11, 0.25}}};

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
	assert_int_equal(blocks_judge(blocks, 17, steps, count, 110 * MS, &none, &result), 0);
	assert_int_equal(result.pairs, 8);
	assert_int_equal(result.steps, 16 * 66);
	assert_float_equal(result.step.base, 10 * MS, 1);
	assert_float_equal(result.step.estimate, 66.0 / 66 / 10, 1e-9);
	assert_true(result.has_rss);
	assert_float_equal(result.rss.base, 10000, 1);
	assert_float_equal(result.rss.estimate, 0, 1);
}

/* A block with fewer than 16 steps of its own takes its pair with it. */
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
		add_steps(steps, &count, &now, i == 3 ? 15 : 33, 10);
		blocks[i].to_ns = now * MS;
	}
	assert_int_equal(blocks_judge(blocks, 7, steps, count, 55 * MS, &none, &result), 0);
	assert_int_equal(result.pairs, 2);
	assert_int_equal(result.left_out, 1);
	assert_int_equal(blocks_judge(blocks, 0, steps, count, 55 * MS, &none, &result), 0);
	assert_int_equal(result.pairs, 0);
}

static void plans_fit_the_time(void **state)
{
	struct blocks_plan plan;

	assert_int_equal(blocks_plan(&(struct blocks_against){100 * MS, 0, 0}, 0, 0, &plan), 0);
	assert_int_equal(plan.block_ns, 3200 * MS);
	assert_int_equal(plan.pairs, 16);
	/* Three periods of the pauses, but at most half a minute. */
	assert_int_equal(blocks_plan(&(struct blocks_against){100 * MS, 2000 * MS, 0}, 0, 0, &plan),
		0);
	assert_int_equal(plan.block_ns, 6000 * MS);
	assert_int_equal(blocks_plan(&(struct blocks_against){100 * MS, 20000 * MS, 0}, 0, 0,
				 &plan),
		0);
	assert_int_equal(plan.block_ns, 30000 * MS);
	assert_int_equal(blocks_plan(&(struct blocks_against){1 * MS, 0, 0}, 11, 0, &plan), 0);
	assert_int_equal(plan.block_ns, 500 * MS);
	assert_int_equal(plan.pairs, 11);
	for (uint64_t s = 1; s < 600; s++) {
		const uint64_t duration_ns = s * 1000 * MS;
		int r = blocks_plan(&(struct blocks_against){100 * MS, 1700 * MS, 0}, s % 3 ? 0 : 9,
			duration_ns, &plan);

		if (s < 50)
			assert_int_equal(r, -ENOTSUP);
		if (r)
			continue;
		assert_true(plan.pairs >= 9 && plan.block_ns >= 2800 * MS);
		assert_true(2 * plan.pairs * plan.block_ns + plan.tail_ns <= duration_ns);
		assert_true(plan.tail_ns >= 1600 * MS && plan.tail_ns >= plan.block_ns / 2);
	}
}

/* Where full collections matter, a block has a dozen of those that lead to one, however short the time is. */
static void blocks_are_long_against_what_leads_to_full_collections(void **state)
{
	const struct blocks_against against = {10 * MS, 400 * MS, 100 * MS};
	struct blocks_plan plan;

	assert_int_equal(blocks_plan(&against, 0, 0, &plan), 0);
	assert_int_equal(plan.block_ns, 1200 * MS);
	assert_int_equal(blocks_plan(&against, 0, 20000 * MS, &plan), -ENOTSUP);
	assert_int_equal(plan.block_ns, 1200 * MS);
	assert_int_equal(plan.pairs, 10);
	assert_int_equal(blocks_plan(&against, 0, blocks_total_ns(&plan), &plan), 0);
	assert_int_equal(plan.block_ns, 1200 * MS);
	/* Two of those with what is tried, unless the time is too short for that. */
	assert_int_equal(blocks_plan(&(struct blocks_against){10 * MS, 400 * MS, 100 * MS,
					     4000 * MS},
				 0, 0, &plan),
		0);
	assert_int_equal(plan.block_ns, 8000 * MS);
	assert_int_equal(blocks_plan(&(struct blocks_against){10 * MS, 400 * MS, 100 * MS,
					     4000 * MS},
				 0, 41000 * MS, &plan),
		0);
	assert_int_equal(plan.block_ns, 2000 * MS);
	assert_int_equal(plan.pairs, 10);
	/* Longer than 3 periods, or half a minute. */
	assert_int_equal(blocks_plan(&(struct blocks_against){10 * MS, 20000 * MS, 4000 * MS}, 0, 0,
				 &plan),
		0);
	assert_int_equal(plan.block_ns, 48000 * MS);
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
		cmocka_unit_test(blocks_are_long_against_what_leads_to_full_collections),
		cmocka_unit_test(nothing_is_found_in_nothing),
		cmocka_unit_test(effects_are_held),
		cmocka_unit_test(full_collections_are_charged_to_what_leads_to_them),
		cmocka_unit_test(power_is_what_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
