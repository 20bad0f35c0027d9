/* Budgets and comparisons of what GPUs did: judged where it is known whatever is missing, and refused where it is not. */
#include <math.h>

#include "attrib_fixture.h"
#include "budget.h"
#include "compare.h"

/* One process without pauses, and what its GPUs did. */
struct bench {
	struct world world;
	struct gpu_timeline gpu;
	struct attribution got;
};

static void bench_open(struct bench *bench, bool measured)
{
	*bench = (struct bench){};
	world_init(&bench->world, 7);
	bench->world.recording.start_ns = 1000 * MS;
	bench->world.recording.end_ns = 3000 * MS;
	world_build(&bench->world, &bench->got);
	if (measured)
		bench->got.gpu = &bench->gpu;
}

static void bench_close(struct bench *bench)
{
	attrib_release(&bench->got);
	gpu_release(&bench->gpu);
	world_release(&bench->world);
}

static void add(struct bench *bench, uint64_t seen_ms, uint64_t idle_ms, uint64_t pause_ms,
	uint64_t unknown_ms)
{
	struct gpu_figures *figures = vec_add(&bench->got.gpu_charges.devices);

	gpu_device(&bench->gpu, 1, (uint32_t)bench->gpu.devices.count);
	*figures = (struct gpu_figures){.seen_ns = seen_ms * MS,
		.idle_ns = idle_ms * MS,
		.busy_ns = (seen_ms - idle_ms) * MS,
		.unknown_ns = unknown_ms * MS,
		.cause_ns = {pause_ms * MS, (idle_ms - pause_ms) * MS}};
}

/* @said: part of the sentence, or of what the value covers. */
static void judge(const struct bench *bench, const char *text, enum budget_outcome outcome,
	const char *said)
{
	struct budget budget = {};
	struct budget_result got = {};
	struct err err = {};

	if (budget_parse(text, &budget, &err))
		fail_msg("%s", err.text);
	assert_int_equal(budget_judge(&budget, &bench->got, &got), 0);
	if (got.outcome != outcome || (!strstr(got.why, said) && !strstr(got.basis, said)))
		fail_msg("%s: outcome %d, %s, \"%s\", \"%s\"", text, got.outcome, got.value_text,
			got.why, got.basis);
	assert_int_equal(got.known, outcome != BUDGET_REFUSED);
	assert_int_equal(got.untold, outcome == BUDGET_REFUSED);
}

static void test_whole_records(void **state)
{
	struct bench bench;

	bench_open(&bench, true);
	add(&bench, 1000, 33, 20, 0);
	add(&bench, 500, 11, 11, 0);
	judge(&bench, "gpu.idle.share<4%", BUDGET_KEPT, "33.00 ms of 1.000 s of GPU 0, measured");
	judge(&bench, "gpu.idle.share<3%", BUDGET_BROKEN,
		"gpu.idle.share is 3.3 %, not below 3.0 %: 33.00 ms of 1.000 s of GPU 0, measured");
	judge(&bench, "gpu.gc.share<=2.2%", BUDGET_KEPT, "11.00 ms of 500.0 ms of GPU 1, measured");
	judge(&bench, "gpu.gc.share<2.2%", BUDGET_BROKEN, "gpu.gc.share is 2.2 %, not below 2.2 %");
	bench.gpu.clock_error_ns = 3 * MS;
	judge(&bench, "gpu.gc.share<1%", BUDGET_BROKEN,
		"measured; its clock may differ from the pauses' by 3.000 ms");
	judge(&bench, "gpu.idle.share<4%", BUDGET_KEPT, "measured");
	bench_close(&bench);
}

/* Device 1 may have been idle for 10 to 50 of 1040 ms: what that cannot change is judged. */
static void test_missing_records(void **state)
{
	struct bench bench;

	bench_open(&bench, true);
	add(&bench, 1000, 33, 20, 0);
	add(&bench, 1000, 10, 7, 40);
	judge(&bench, "gpu.idle.share<3%", BUDGET_BROKEN, "gpu.idle.share is 3.3 %");
	judge(&bench, "gpu.idle.share<4%", BUDGET_REFUSED,
		"gpu.idle.share is between 3.3 % and 4.8 %, as records are missing");
	judge(&bench, "gpu.idle.share<5%", BUDGET_KEPT, "33.00 ms of 1.000 s of GPU 0");
	judge(&bench, "gpu.gc.share<1%", BUDGET_BROKEN, "20.00 ms of 1.000 s of GPU 0");
	judge(&bench, "gpu.gc.share<3%", BUDGET_REFUSED, "between 2.0 % and 4.5 %");
	judge(&bench, "gpu.gc.share>=5%", BUDGET_BROKEN, "not above 5.0 %");
	bench_close(&bench);
}

static void test_unknown(void **state)
{
	struct bench bench;

	bench_open(&bench, false);
	judge(&bench, "gpu.idle.share<99%", BUDGET_REFUSED,
		"gpu.idle.share needs the records of a GPU");
	bench.got.gpu = &bench.gpu;
	judge(&bench, "gpu.gc.share<99%", BUDGET_REFUSED,
		"gpu.gc.share needs the records of a GPU");
	add(&bench, 1000, 1, 1, 0);
	judge(&bench, "gpu.idle.share<99%", BUDGET_KEPT, "measured");
	add(&bench, 0, 0, 0, 0);
	judge(&bench, "gpu.idle.share<99%", BUDGET_REFUSED,
		"gpu.idle.share needs the records of GPU 1, and there are none");
	bench_close(&bench);
}

static void test_inferred(void **state)
{
	struct bench bench;

	bench_open(&bench, true);
	add(&bench, 1000, 1, 1, 0);
	bench.gpu.inferred = true;
	judge(&bench, "gpu.idle.share<99%", BUDGET_REFUSED,
		"what is inferred from calls of CUDA's driver is not judged");
	bench_close(&bench);
}

static const struct comparison *find(const struct comparisons *comparisons, const char *name)
{
	for (size_t i = 0; i < comparisons->items.count; i++)
		if (!strcmp(comparisons->items.items[i].name, name))
			return &comparisons->items.items[i];
	return NULL;
}

static void compare_both(const struct bench *before, const struct bench *after,
	struct comparisons *ret)
{
	const struct compare_rule rule = {COMPARE_TOLERANCE, COMPARE_RUN_TO_RUN};
	struct compare_run *runs[2];
	struct err err = {};

	assert_int_equal(compare_read(&before->got, &runs[0], &err), 0);
	assert_int_equal(compare_read(&after->got, &runs[1], &err), 0);
	assert_int_equal(compare(runs, 1, 1, &rule, ret, &err), 0);
	compare_run_free(runs[0]);
	compare_run_free(runs[1]);
}

static void test_shares_are_compared(void **state)
{
	struct comparisons result = {};
	struct bench before, after;
	const struct comparison *idle, *caused;

	bench_open(&before, true);
	bench_open(&after, true);
	add(&before, 1000, 40, 30, 0);
	add(&after, 1000, 10, 3, 0);
	compare_both(&before, &after, &result);
	idle = find(&result, "gpu.idle.share");
	caused = find(&result, "gpu.gc.share");
	assert_true(idle->known && caused->known);
	assert_true(fabs(idle->before - (0.04)) < 1e-12);
	assert_true(fabs(idle->after - (0.01)) < 1e-12);
	assert_true(fabs(caused->change - (-0.9)) < 1e-12);
	comparisons_release(&result);
	bench_close(&after);
	bench_close(&before);
}

/* One of them has no records, those of the other are inferred, or too many are missing. */
static void test_what_is_not_known_is_not_compared(void **state)
{
	struct comparisons result = {};
	struct bench before, after;

	bench_open(&before, false);
	bench_open(&after, false);
	compare_both(&before, &after, &result);
	assert_null(find(&result, "gpu.idle.share"));
	comparisons_release(&result);

	after.got.gpu = &after.gpu;
	add(&after, 1000, 10, 3, 0);
	compare_both(&before, &after, &result);
	assert_false(find(&result, "gpu.idle.share")->known);
	comparisons_release(&result);

	before.got.gpu = &before.gpu;
	add(&before, 1000, 10, 3, 7);
	compare_both(&before, &after, &result);
	assert_false(find(&result, "gpu.gc.share")->known);
	comparisons_release(&result);

	before.got.gpu_charges.devices.items[0].unknown_ns = 0;
	compare_both(&before, &after, &result);
	assert_true(find(&result, "gpu.gc.share")->known);
	comparisons_release(&result);
	bench_close(&after);
	bench_close(&before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_records),
		cmocka_unit_test(test_missing_records),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_inferred),
		cmocka_unit_test(test_shares_are_compared),
		cmocka_unit_test(test_what_is_not_known_is_not_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
