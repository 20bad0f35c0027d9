/*
 * Budgets: what is understood, what is refused with which words, what is kept and broken.
 * Comparisons too.
 */
#include <math.h>

#include "attrib_fixture.h"
#include "budget.h"
#include "compare.h"
#include "needs.h"

/*
 * 211 steps of 10 ms, some with a full collection of 50 ms (train.py:41), in each of @tracks
 * processes.
 */
static void train(struct world *world, unsigned tracks, uint64_t every, uint64_t work_ns)
{
	uint32_t stack;

	world_init(world, 7);
	world->recording.start_ns = 1000 * MS;
	stack = world_stack(world, "/home/ada/train.py", 41);
	for (unsigned i = 0; i < tracks; i++) {
		uint32_t id = i ? world_process(world, 1, "3.11.2") : 1;
		struct step_track *track = world_track(world, id);
		uint64_t now = 1000 * MS;

		for (uint64_t s = 0; s < 211; s++) {
			uint64_t length = work_ns + (s * 7919 % 101 - 50) * 1000;

			if (every && s % every == every - 1) {
				struct pause *pause =
					world_pause(world, now + length / 2, (50 + i) * MS);

				pause->runtime = id;
				pause->stack = stack;
				length += (50 + i) * MS;
			}
			world_step(track, now, now + length);
			now += length;
		}
		if (now > world->recording.end_ns)
			world->recording.end_ns = now;
	}
}

struct judged {
	const char *text;
	enum budget_outcome outcome;
	const char *said; /* part of the sentence; or NULL */
};

static void judge(const struct attribution *attribution, const struct judged *want)
{
	struct budget budget = {};
	struct budget_result got = {};
	struct err err = {};

	if (budget_parse(want->text, &budget, &err))
		fail_msg("%s: %s", want->text, err.text);
	assert_int_equal(budget_judge(&budget, attribution, &got), 0);
	if (got.outcome != want->outcome || (want->said && !strstr(got.why, want->said)))
		fail_msg("%s: outcome %d, %s, \"%s\"", want->text, got.outcome, got.value_text,
			got.why);
	assert_int_equal(got.known, got.outcome != BUDGET_REFUSED);
	assert_true(got.outcome == BUDGET_KEPT || *got.why);
}

#define JUDGE(attribution, ...)                                                                    \
	do {                                                                                       \
		static const struct judged all_[] = {__VA_ARGS__};                                 \
		for (size_t i_ = 0; i_ < sizeof(all_) / sizeof(*all_); i_++)                       \
			judge((attribution), &all_[i_]);                                           \
	} while (0)

/* What a track lost is said by the test: how it is found out is not its business. Shares are of time_ns. */
static void tell(struct attribution *got, size_t track, enum cost_source source, double share,
	double low, double high)
{
	struct track_cost *cost = &got->tracks.items[track];
	double ns = (double)cost->time_ns;

	cost->source = source;
	cost->untold = source == COST_UNTOLD ? "every step has pauses: a trial would tell" : NULL;
	cost->cost = (struct cost_estimate){
		(int64_t)(share * ns), (int64_t)(low * ns), (int64_t)(high * ns)};
	for (size_t i = 0; i < cost->steps.count; i++)
		cost->steps.items[i].cost_ns = cost->steps.items[i].overlap_ns;
}

static void test_every_metric(void **state)
{
	NEEDS("cpython");
	struct attribution got = {};
	struct world world;

	train(&world, 1, 53, 10 * MS); /* 3 of 50 ms in 2.26 s */
	world_build(&world, &got);
	tell(&got, 0, COST_MEASURED, 0.06, 0.06, 0.06);
	JUDGE(&got, {"pause.max<100ms", BUDGET_KEPT},
		{"pause.max<49ms", BUDGET_BROKEN, "train.py:41"},
		{"pause.max<50ms", BUDGET_BROKEN, "50.00 ms"}, {"pause.max<=50ms", BUDGET_KEPT},
		{"pause.max>49.9ms", BUDGET_KEPT}, {"pause.max>=50ms", BUDGET_KEPT},
		{"pause.max>50ms", BUDGET_BROKEN, "not above"}, {"pause.p50<51ms", BUDGET_KEPT},
		{"pause.p95<1ms", BUDGET_BROKEN}, {"pause.p99<0.06s", BUDGET_KEPT},
		{"pause.mean<=50000us", BUDGET_KEPT}, {"pause.total<=150ms", BUDGET_KEPT},
		{"pause.total<150ms", BUDGET_BROKEN}, {"pause.count<4", BUDGET_KEPT},
		{"pause.count < 3 ", BUDGET_BROKEN}, {"pause.share<7%", BUDGET_KEPT},
		{"pause.share<6%", BUDGET_BROKEN, "pid 101"}, {"gen2.count<=3", BUDGET_KEPT},
		{"gen2.max<40ms", BUDGET_BROKEN, "train.py:41"}, {"gen2.total<=0.15s", BUDGET_KEPT},
		{"stopped.share<7%", BUDGET_KEPT},
		{"stopped.share<0.06", BUDGET_BROKEN, "Trainer.step (train.py:41)"},
		{"stopped.total<=150ms", BUDGET_KEPT}, {"stopped.total<150ms", BUDGET_BROKEN},
		{"cost.share<6.1%", BUDGET_KEPT},
		{"cost.share<0.05", BUDGET_BROKEN, "Trainer.step (train.py:41)"},
		{"cost.total<136ms", BUDGET_KEPT},
		{"cost.total<135ms", BUDGET_BROKEN, "cost.total is 135.6 ms (measured), not below"},
		{"cost.counterfactual<6.1%", BUDGET_KEPT},
		{"cost.counterfactual<5%", BUDGET_BROKEN}, {"step.p50<10.1ms", BUDGET_KEPT},
		{"step.stopped.max<51ms", BUDGET_KEPT},
		{"step.stopped.max<49ms", BUDGET_BROKEN, "train.py:41"},
		{"step.stopped.p99<1ms", BUDGET_BROKEN}, {"step.p95<10.1ms", BUDGET_KEPT},
		{"step.p99<11ms", BUDGET_BROKEN}, {"step.max<61ms", BUDGET_KEPT},
		{"step.max<1ms", BUDGET_BROKEN, "step "}, {"step.cost.max<51ms", BUDGET_KEPT},
		{"step.cost.max<49ms", BUDGET_BROKEN, "train.py:41"},
		{"step.cost.p99<1ms", BUDGET_BROKEN}, {"step.count>=211", BUDGET_KEPT},
		{"step.count>211", BUDGET_BROKEN, "not above 211"});
	attrib_release(&got);
	world_release(&world);
}

/* The sentence for a budget, kept or not. */
static void judge_once(const struct attribution *attribution, const char *text,
	struct budget_result *ret)
{
	struct budget budget = {};
	struct err err = {};

	assert_int_equal(budget_parse(text, &budget, &err), 0);
	assert_int_equal(budget_judge(&budget, attribution, ret), 0);
}

/* A cost says how it is known, and what was stopped beside it. */
static void test_a_cost_says_how_it_is_known(void **state)
{
	NEEDS("cpython");
	struct attribution got = {};
	struct budget_result result;
	struct world world;

	train(&world, 1, 53, 10 * MS); /* stopped for 6.6 % */
	world_build(&world, &got);
	tell(&got, 0, COST_ESTIMATED, 0.03, 0.0123, 0.0501);
	judge_once(&got, "cost.share<10%", &result);
	assert_string_equal(result.basis,
		"estimated, 95 % interval 1.2–5.0 %; stopped.share is 6.6 %");
	assert_string_equal(result.value_text, "3.0 %");
	judge_once(&got, "cost.share<4%", &result);
	assert_int_equal(result.outcome, BUDGET_KEPT);
	assert_string_equal(result.basis,
		"estimated, 95 % interval 1.2–5.0 %, in which the limit lies; stopped.share is "
		"6.6 %");
	JUDGE(&got,
		{"cost.share<2%", BUDGET_BROKEN,
			"cost.share is 3.0 % (estimated, 95 % interval 1.2–5.0 %, in which the limit "
			"lies), not below 2.0 %"},
		{"cost.total<1ms", BUDGET_BROKEN,
			" ms (estimated, 95 % interval 27.80 ms … 113.2 ms), not below 1.000 ms"},
		{"step.cost.max<1ms", BUDGET_BROKEN, "50.00 ms (estimated), not below"});
	tell(&got, 0, COST_MEASURED, -0.01, -0.02, 0.005); /* chance may put it below 0 */
	judge_once(&got, "cost.share<1%", &result);
	assert_string_equal(result.value_text, "0 %");
	assert_true(result.value < 0 && result.outcome == BUDGET_KEPT);
	assert_string_equal(result.basis,
		"measured, 95 % interval 0–0.50 %; stopped.share is 6.6 %");
	tell(&got, 0, COST_MEASURED, 0.09, 0.09,
		0.09); /* after-effects may put it above; no width */
	judge_once(&got, "cost.share<10%", &result);
	assert_string_equal(result.basis, "measured; stopped.share is 6.6 %");
	attrib_release(&got);
	world_release(&world);
}

/* What cannot be told never passes, whatever the limit; what was stopped can be judged. */
static void test_an_untold_cost_is_refused(void **state)
{
	struct attribution got = {};
	struct budget_result result;
	struct world world;

	train(&world, 2, 53, 10 * MS);
	world_build(&world, &got);
	tell(&got, 0, COST_MEASURED, 0.01, 0.01, 0.01);
	tell(&got, 1, COST_UNTOLD, 0, 0, 0);
	JUDGE(&got,
		{"cost.share<99%", BUDGET_REFUSED,
			"cost.share cannot be told of python3 (pid 102): every step has pauses: a "
			"trial would tell. What can be judged is stopped.share: 6.8 %"},
		{"cost.share>=0%", BUDGET_REFUSED},
		{"cost.counterfactual<99%", BUDGET_REFUSED, "stopped.share: 6.8 %"},
		{"cost.total<1h", BUDGET_REFUSED, "stopped.total: 153.0 ms"},
		{"step.cost.max<1h", BUDGET_REFUSED, "step.stopped.max: 51.00 ms"},
		{"step.cost.p99<1h", BUDGET_REFUSED, "step.stopped.p99: 51.00 ms"},
		{"stopped.share<99%", BUDGET_KEPT}, {"step.stopped.max<1h", BUDGET_KEPT});
	judge_once(&got, "cost.share<99%", &result);
	assert_true(result.untold && !result.known);
	judge_once(&got, "stopped.share<99%", &result);
	assert_false(result.untold);
	attrib_release(&got);
	world_release(&world);

	train(&world, 1, 0, 10 * MS); /* nothing was stopped, so nothing was lost */
	world_build(&world, &got);
	tell(&got, 0, COST_UNTOLD, 0, 0, 0);
	JUDGE(&got, {"cost.share<=0%", BUDGET_KEPT}, {"step.cost.max<1ns", BUDGET_KEPT});
	attrib_release(&got);
	world_release(&world);
}

/* What only a JVM has is refused elsewhere, and where it is not known. */
static void test_jvm_metrics(void **state)
{
	NEEDS("cpython");
	NEEDS("hotspot");
	struct attribution got = {};
	struct world world;

	train(&world, 1, 53, 10 * MS);
	world_build(&world, &got);
	JUDGE(&got, {"ttsp.max<1s", BUDGET_REFUSED, "needs a JVM"},
		{"stall.total<1s", BUDGET_REFUSED, "needs a JVM"}, {"full.count<=3", BUDGET_KEPT},
		{"full.max<40ms", BUDGET_BROKEN, "train.py:41"},
		{"full.total<=150ms", BUDGET_KEPT});
	attrib_release(&got);
	world_jvm(&world, 1, "21.0.12", "Parallel");
	world_build(&world, &got);
	JUDGE(&got, {"ttsp.max<1s", BUDGET_REFUSED, "does not have them all"},
		{"full.count<1", BUDGET_KEPT}, {"stall.total<1ns", BUDGET_KEPT},
		{"stall.max<1ns", BUDGET_KEPT});
	attrib_release(&got);
	for (size_t i = 0; i < world.pauses.count; i++) {
		struct pause *pause = &world.pauses.items[i];

		pause->flags |= PAUSE_HAS_FACTS | (i == 1 ? PAUSE_FULL : 0);
		pause->facts[HOTSPOT_OPERATION] =
			world_string(&world, "ParallelGCFailedAllocation");
		pause->facts[HOTSPOT_TTSP_NS] = (int64_t)(i * 2 * MS);
	}
	world_stall(&world, STALL_ALLOCATION, 101, 1500 * MS, 70 * MS);
	world_stall(&world, STALL_EXPLICIT, 5, 1400 * MS, 110 * MS)->stack =
		world_java(&world, "org.example.Cleaner.run java.lang.System.gc");
	world_build(&world, &got);
	JUDGE(&got, {"ttsp.max<=4ms", BUDGET_KEPT},
		{"ttsp.max<4ms", BUDGET_BROKEN, "(ParallelGCFailedAllocation)"},
		{"ttsp.p99<3ms", BUDGET_BROKEN, "4.000 ms"}, {"stall.total<=180ms", BUDGET_KEPT},
		{"stall.total<180ms", BUDGET_BROKEN, "System.gc"},
		{"stall.max<=110ms", BUDGET_KEPT},
		{"stall.max<100ms", BUDGET_BROKEN, "Cleaner.run (Some.java:7)"},
		{"full.count<=1", BUDGET_KEPT}, {"full.max<=50ms", BUDGET_KEPT},
		{"full.total<50ms", BUDGET_BROKEN}, {"pause.count<=3", BUDGET_KEPT});
	assert_non_null(strstr(budget_metrics(), "step.count"));
	attrib_release(&got);
	world_release(&world);
}

static void test_no_pause_keeps_every_limit(void **state)
{
	NEEDS("cpython");
	struct attribution got = {};
	struct world world;

	train(&world, 1, 0, 10 * MS);
	world_build(&world, &got);
	JUDGE(&got, {"pause.max<1ns", BUDGET_KEPT}, {"cost.share<0.0001%", BUDGET_KEPT},
		{"step.cost.max<1us", BUDGET_KEPT}, {"gen2.count<1", BUDGET_KEPT},
		{"pause.max<0", BUDGET_BROKEN});
	attrib_release(&got);
	world_release(&world);
}

static void test_exits_are_no_training(void **state)
{
	NEEDS("cpython");
	struct attribution got = {};
	struct world world;

	train(&world, 1, 53, 10 * MS);
	world_pause(&world, 4000 * MS, 900 * MS)->cause = CAUSE_SHUTDOWN;
	world_build(&world, &got);
	JUDGE(&got, {"pause.max<=50ms", BUDGET_KEPT}, {"gen2.count<=3", BUDGET_KEPT},
		{"pause.count<3", BUDGET_BROKEN, "1 at an interpreter's exit"});
	attrib_release(&got);
	world_release(&world);
}

/* A pause at exit has its runtime's words, and where several had some, words for any. */
static void test_exits_by_runtime(void **state)
{
	NEEDS("cpython");
	NEEDS("hotspot");
	struct attribution got = {};
	struct world world;

	train(&world, 1, 53, 10 * MS);
	snprintf(world.recording.runtimes.items[0].kind,
		sizeof(world.recording.runtimes.items[0].kind), "hotspot");
	world_pause(&world, 4000 * MS, 900 * MS)->cause = CAUSE_SHUTDOWN;
	world_build(&world, &got);
	JUDGE(&got, {"pause.count<3", BUDGET_BROKEN, "1 at a JVM's exit not counted"});
	attrib_release(&got);
	world_release(&world);

	train(&world, 2, 53, 10 * MS);
	snprintf(world.recording.runtimes.items[1].kind,
		sizeof(world.recording.runtimes.items[1].kind), "hotspot");
	world_pause(&world, 4000 * MS, 900 * MS)->cause = CAUSE_SHUTDOWN;
	world_pause(&world, 4000 * MS, 800 * MS)->cause = CAUSE_SHUTDOWN;
	world.pauses.items[world.pauses.count - 1].runtime = 2;
	world_build(&world, &got);
	JUDGE(&got, {"pause.count<3", BUDGET_BROKEN, "2 at a runtime's exit not counted"});
	attrib_release(&got);
	world_release(&world);
}

/* What cannot be judged never passes; pauses can be judged without steps. */
static void test_refusals(void **state)
{
	struct attribution got = {};
	struct world world;

	train(&world, 2, 53, 10 * MS);
	world.steps.tracks.items[1].confidence = 0.31;
	world_build(&world, &got);
	JUDGE(&got, {"step.cost.max<1h", BUDGET_REFUSED, "confidence 0.31"},
		{"step.count>1", BUDGET_REFUSED, "pid 102"}, {"cost.share<99%", BUDGET_REFUSED},
		{"pause.max<1h", BUDGET_KEPT});
	attrib_release(&got);
	world.steps.tracks.items[1].confidence = 0.0 / 0.0;
	world_build(&world, &got);
	JUDGE(&got, {"step.p99<1h", BUDGET_REFUSED});
	attrib_release(&got);
	world.steps.tracks.items[1].confidence = 1;
	world.steps.tracks.items[0].measured = false;
	world_build(&world, &got);
	JUDGE(&got, {"step.p99<1h", BUDGET_REFUSED, "windows"}, {"pause.p99<1h", BUDGET_KEPT});
	attrib_release(&got);
	world_release(&world);

	world_init(&world, 1);
	strcpy(world.steps.note, "no step signal: nothing was called regularly");
	world_build(&world, &got);
	JUDGE(&got, {"step.p99<1h", BUDGET_REFUSED, "no step signal"},
		{"pause.p99<1h", BUDGET_KEPT});
	attrib_release(&got);
	world_release(&world);
}

static void test_the_worst_of_several_processes_decides(void **state)
{
	struct attribution got = {};
	struct world world;

	train(&world, 3, 53, 10 * MS); /* pauses of 50, 51 and 52 ms */
	world_build(&world, &got);
	JUDGE(&got, {"step.stopped.max<51.5ms", BUDGET_BROKEN, "pid 103"},
		{"step.max>60.5ms", BUDGET_BROKEN, "pid 101"});
	attrib_release(&got);
	world_release(&world);
}

static void test_words_for_what_is_not_understood(void **state)
{
	NEEDS("cpython");
	static const struct {
		const char *text, *said;
	} bad[] = {
		{"pause.mx<10ms", "pause.max"},
		{"step.cost.maximum<10ms", "step.cost.max"},
		{"gen2.cuont<1", "gen2.count"},
		{"pause.max<10furlongs", "furlongs"},
		{"pause.max<10", "lacks a unit"},
		{"pause.max<20%", "\"%\" is not a unit"},
		{"pause.max", "<"},
		{"", "METRIC<LIMIT"},
		{"<10ms", "METRIC<LIMIT"},
		{"pause.max<", "number"},
		{"pause.max<ms", "number"},
		{"pause.max<nan", "number"},
		{"pause.max<0x10ms", "number"},
		{"pause.max<-1ms", "number"},
		{"pause.max==1ms", "LIMIT"},
		{"cost.share<5", "5%"},
		{"cost.share<5ms", "ms"},
		{"step.count>1s", "bare number"},
		{"pause.max<1e999s", "number"},
		{"pause.max<1e308h", "number"},
		{"pause.max<.s", "number"},
		{"pause.max<1ms and more", "ms and more"},
		{"pause.max<1111111111111111111111111111111111111111111111111111111111111111111111"
		 "111111111111111111111111111111ms",
			"too long"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct budget budget = {.limit = 4711};
		struct err err = {};

		assert_int_equal(budget_parse(bad[i].text, &budget, &err), -22);
		if (!strstr(err.text, bad[i].said))
			fail_msg("\"%s\": %s", bad[i].text, err.text);
		assert_true(budget.limit == 4711);
	}
	assert_non_null(strstr(budget_metrics(), "step.cost.p99"));
	assert_non_null(strstr(budget_metrics(), "how many steps\n"));
}

static void test_units(void **state)
{
	static const struct {
		const char *text;
		double limit;
	} good[] = {
		{"pause.max<1ns", 1},
		{"pause.max<1us", 1e3},
		{"pause.max<1µs", 1e3},
		{"pause.max<1μs", 1e3},
		{"pause.max < 1.5 ms", 1.5e6},
		{" pause.max<=2s", 2e9},
		{"pause.max<3m", 180e9},
		{"pause.max<1h", 3600e9},
		{"pause.share<2%", 0.02},
		{"pause.share<0.02", 0.02},
		{"pause.share<100%", 1},
		{"pause.count>7", 7},
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		struct budget budget = {};
		struct err err = {};

		assert_int_equal(budget_parse(good[i].text, &budget, &err), 0);
		assert_true(budget.limit > good[i].limit * 0.999999 &&
			    budget.limit < good[i].limit * 1.000001);
	}
}

static const struct comparison *figure(const struct comparisons *all, const char *name)
{
	for (size_t i = 0; i < all->items.count; i++)
		if (!strcmp(all->items.items[i].name, name))
			return &all->items.items[i];
	fail_msg("there is no %s", name);
	return NULL;
}

struct pair {
	struct world worlds[2];
	struct attribution sides[2];
	struct comparisons result;
};

static void compare_sides(struct pair *pair)
{
	const struct compare_rule rule = {COMPARE_TOLERANCE, COMPARE_RUN_TO_RUN};
	struct compare_run *runs[2];
	struct err err = {};

	for (int i = 0; i < 2; i++)
		assert_int_equal(compare_read(&pair->sides[i], &runs[i], &err), 0);
	assert_int_equal(compare(runs, 1, 1, &rule, &pair->result, &err), 0);
	for (int i = 0; i < 2; i++)
		compare_run_free(runs[i]);
}

static void compare_pair(struct pair *pair)
{
	for (int i = 0; i < 2; i++)
		world_build(&pair->worlds[i], &pair->sides[i]);
	compare_sides(pair);
}

static void pair_release(struct pair *pair)
{
	for (int i = 0; i < 2; i++) {
		attrib_release(&pair->sides[i]);
		world_release(&pair->worlds[i]);
	}
	comparisons_release(&pair->result);
}

static void test_a_fix_that_helped(void **state)
{
	NEEDS("cpython");
	struct pair pair = {};
	const struct comparison *mean, *share;
	double want = 10.0 / ((211 * 10.0 + 9 * 50) / 211) - 1;

	train(&pair.worlds[0], 1, 23, 10 * MS);
	train(&pair.worlds[1], 1, 0, 10 * MS);
	compare_pair(&pair);
	mean = figure(&pair.result, "step.mean");
	assert_true(pair.result.comparable && mean->known && mean->has_interval);
	assert_true(mean->change > want - 0.002 && mean->change < want + 0.002);
	assert_true(mean->low <= mean->change && mean->change <= mean->high && mean->high < 0);
	share = figure(&pair.result, "stopped.share");
	assert_true(share->after == 0 && share->before > 0.15 && share->change == -1);
	assert_true(figure(&pair.result, "full.per_1000_steps")->before > 42);
	assert_false(figure(&pair.result, "rss.growth_per_step")->known);
	assert_non_null(strstr(pair.result.verdict, "helped"));
	pair_release(&pair);

	train(&pair.worlds[0], 1, 0, 10 * MS);
	train(&pair.worlds[1], 1, 23, 10 * MS);
	compare_pair(&pair);
	mean = figure(&pair.result, "step.mean");
	assert_true(mean->low > 0.15 && mean->high < 0.3);
	assert_false(figure(&pair.result, "stopped.share")->has_interval);
	assert_non_null(strstr(pair.result.verdict, "Worse"));
	pair_release(&pair);
}

/* What was lost is compared only where it can be told of both. */
static void test_a_cost_is_compared_if_told(void **state)
{
	struct pair pair = {};

	for (int i = 0; i < 2; i++) {
		train(&pair.worlds[i], 1, 53, 10 * MS);
		world_build(&pair.worlds[i], &pair.sides[i]);
	}
	tell(&pair.sides[0], 0, COST_MEASURED, 0.04, 0.04, 0.04);
	tell(&pair.sides[1], 0, COST_ESTIMATED, 0.03, 0.01, 0.05);
	compare_sides(&pair);
	assert_true(figure(&pair.result, "cost.share")->known);
	assert_true(fabs(figure(&pair.result, "cost.share")->change + 0.25) < 1e-6);
	assert_false(figure(&pair.result, "cost.share")->has_interval);
	assert_true(figure(&pair.result, "stopped.share")->change == 0);
	comparisons_release(&pair.result);
	tell(&pair.sides[1], 0, COST_UNTOLD, 0, 0, 0);
	compare_sides(&pair);
	assert_false(figure(&pair.result, "cost.share")->known);
	assert_true(figure(&pair.result, "stopped.share")->known);
	pair_release(&pair);
}

static void test_no_difference(void **state)
{
	struct pair pair = {};

	train(&pair.worlds[0], 1, 53, 10 * MS);
	train(&pair.worlds[1], 1, 53, 10 * MS);
	compare_pair(&pair);
	assert_int_equal(pair.result.answer, COMPARE_INCONCLUSIVE);
	assert_non_null(strstr(pair.result.verdict, "record several runs a side"));
	assert_true(figure(&pair.result, "step.mean")->change == 0);
	pair_release(&pair);
}

/*
 * Half of the intervals of two equal loops may not say that they differ, nor do all miss a real
 * change.
 */
static void test_intervals_are_honest(void **state)
{
	unsigned covered = 0, seen = 0;

	for (uint64_t seed = 1; seed <= 101; seed++) {
		struct pair pair = {};
		const struct comparison *mean;

		for (int side = 0; side < 2; side++) {
			struct world *world = &pair.worlds[side];
			struct step_track *track;
			uint64_t now = 1000 * MS;

			world_init(world, seed * 2 + (uint64_t)side);
			track = world_track(world, 1);
			for (int i = 0; i < 503; i++) {
				uint64_t length = (uint64_t)((side ? 10.5e6 : 10e6) +
							     1e6 * world_gauss(world));

				world_step(track, now, now + length);
				now += length;
			}
		}
		compare_pair(&pair);
		mean = figure(&pair.result, "step.mean");
		covered += mean->low <= 0.05 && 0.05 <= mean->high;
		seen += mean->low > 0;
		pair_release(&pair);
	}
	print_message("# of 101: %u cover the truth, %u see it\n", covered, seen);
	assert_true(covered >= 90 && seen >= 95);
}

static void test_without_steps_pauses_are_compared(void **state)
{
	struct pair pair = {};

	train(&pair.worlds[0], 1, 23, 10 * MS);
	train(&pair.worlds[1], 1, 53, 10 * MS);
	pair.worlds[1].steps.tracks.items[0].confidence = 0.5;
	compare_pair(&pair);
	assert_false(pair.result.comparable);
	assert_true(figure(&pair.result, "pause.max")->change == 0);
	assert_true(figure(&pair.result, "pause.share")->change < -0.5);
	for (size_t i = 0; i < pair.result.items.count; i++)
		assert_int_not_equal(strncmp(pair.result.items.items[i].name, "step.", 5), 0);
	assert_non_null(strstr(pair.result.verdict, "after the change"));
	assert_non_null(strstr(pair.result.verdict, "confidence"));
	pair_release(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_metric),
		cmocka_unit_test(test_a_cost_says_how_it_is_known),
		cmocka_unit_test(test_an_untold_cost_is_refused),
		cmocka_unit_test(test_jvm_metrics),
		cmocka_unit_test(test_no_pause_keeps_every_limit),
		cmocka_unit_test(test_exits_are_no_training),
		cmocka_unit_test(test_exits_by_runtime),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_the_worst_of_several_processes_decides),
		cmocka_unit_test(test_words_for_what_is_not_understood),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_a_fix_that_helped),
		cmocka_unit_test(test_a_cost_is_compared_if_told),
		cmocka_unit_test(test_no_difference),
		cmocka_unit_test(test_intervals_are_honest),
		cmocka_unit_test(test_without_steps_pauses_are_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
