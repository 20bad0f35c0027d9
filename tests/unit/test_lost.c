/*
 * What pauses made a loop lose, measured, estimated and untold, in every format and as the exit status of a budget. The
 * recording is that of tests/golden/steps.sql; how its cost is known is said by the test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include "budgets.h"
#include "cmd.h"
#include "report_fixture.h"

#define UNTOLD "every step has pauses; gctrace trial would tell"

static void open_steps(struct analysis *analysis, enum cost_source source, double low, double lost,
	double high)
{
	struct track_cost *cost;
	struct err err = {""};
	char path[256];

	store_reader_free(make_recording("steps"));
	snprintf(path, sizeof(path), "%s/steps.gct", folder);
	if (analysis_open(analysis, path, NULL, ANALYSIS_ADVICE, &err))
		fail_msg("%s", err.text);
	cost = &analysis->attribution.tracks.items[0];
	cost->source = source;
	cost->untold = source == COST_UNTOLD ? UNTOLD : NULL;
	cost->most_ns = 0;
	cost->cost = (struct cost_estimate){(int64_t)(lost * (double)cost->overlap_ns),
		(int64_t)(low * (double)cost->overlap_ns),
		(int64_t)(high * (double)cost->overlap_ns)};
	for (size_t i = 0; i < analysis->attribution.triggers.count; i++)
		analysis->attribution.triggers.items[i].untold = source == COST_UNTOLD;
}

/* Caller frees. */
static char *render(struct analysis *analysis, const char *format)
{
	struct report_input input;
	struct err err = {""};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (analysis_input(analysis, NULL, "steps", &input, &err) ||
		report_find(format)->write(&input, out, &err))
		fail_msg("%s", err.text);
	fclose(out);
	return text;
}

/* Of the first paragraph, what the loop lost: the time in pauses is 203.2 ms, 25.1 % of it. */
static void check_verdict(enum cost_source source, double low, double lost, double high,
	const char *want)
{
	_cleanup_free_ char *text = NULL;
	struct analysis analysis;
	char begin[512];

	open_steps(&analysis, source, low, lost, high);
	text = render(&analysis, "text");
	snprintf(begin, sizeof(begin),
		"GC stopped training for 203.2 ms (25.1 %% of its time)%s.\n  felt   Every 13th",
		want);
	if (strncmp(text, begin, strlen(begin)) != 0)
		fail_msg("wanted %s, got %.400s", begin, text);
	analysis_close(&analysis);
}

static void test_verdicts(void **state)
{
	check_verdict(COST_MEASURED, 1, 1, 1, ", all of it lost (measured)");
	check_verdict(COST_MEASURED, 0.5, 0.6, 0.7,
		", of which 121.9 ms (15.1 %) were lost (measured, 95 % interval 12.5–17.6 %)");
	check_verdict(COST_ESTIMATED, -0.1, 0.01, 0.02,
		", of which 2.032 ms (0.25 %) were lost (estimated, 95 % interval 0–0.50 %)");
	check_verdict(COST_ESTIMATED, -0.1, -0.01, 0.2,
		", none of it lost (estimated, 95 % interval 0–5.0 %)");
	check_verdict(COST_MEASURED, 1.2, 1.3, 1.4,
		"; with what followed the pauses, 264.2 ms (32.6 %) were lost (measured, 95 % interval "
		"30.1–35.1 %)");
	check_verdict(COST_ESTIMATED, 0.9, 1.1, 1.4,
		"; 223.5 ms (27.6 %) were lost (estimated, 95 % interval 22.6–35.1 %)");
	check_verdict(COST_UNTOLD, 0, 0, 0, ", an unknown part of it lost");
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("there is no \"%s\" in:\n%.700s", part, text);
}

static void has_not(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("there is a \"%s\": %.300s", part, strstr(text, part));
}

static void test_told(void **state)
{
	_cleanup_free_ char *text = NULL, *json = NULL, *page = NULL;
	struct analysis analysis;

	open_steps(&analysis, COST_MEASURED, -0.005, 0, 0.01);
	text = render(&analysis, "text");
	json = render(&analysis, "json");
	page = render(&analysis, "html");
	has(text,
		"stopped by pauses 203.2 ms (25.1 % of its time), of which lost 0 ns (0 %): measured by "
		"what its thread waited, 95 % interval 0 ns … 2.032 ms\n");
	has(text, "\n  without what they cost ");
	has(text, "PAUSES    STOPPED       LOST  GEN ");
	has(text, "\nLost by the line that triggered");
	has(text,
		"What is saved are pauses. Of the 203.2 ms that they stopped only 0 ns were lost (measured, "
		"95 % interval 0 ns … 2.032 ms): steps would gain accordingly less.\n");
	has(page,
		"<p class=\"note\">What is saved are pauses. Of the 203.2 ms that they stopped only ");
	has(json, "\"cost_ns\":0,\"cost_low_ns\":-1016000,\"cost_high_ns\":2032000,\"base\":");
	has(json, "\"cost_source\":\"measured\",\"cost_untold\":null}");
	has(json, "\"step\":51,\"overlap_ns\":50000000,\"cost_ns\":");
	has_not(json, "\"overlap_ns\":50000000,\"cost_ns\":null");
	has(page, "\"source\":\"measured\",\"interval\":\", 95 % interval 0–0.25 %\"");
	analysis_close(&analysis);
}

/* Where at least a bound is known, it is said with the reason, and is the upper end for programs. */
static void test_at_most(void **state)
{
	static const char want[] = "it is 50.80 ms at most, but " UNTOLD;
	_cleanup_free_ char *text = NULL, *json = NULL, *page = NULL;
	struct analysis analysis;

	open_steps(&analysis, COST_UNTOLD, 0, 0, 0);
	analysis.attribution.tracks.items[0].most_ns = 50800000;
	text = render(&analysis, "text");
	json = render(&analysis, "json");
	page = render(&analysis, "html");
	has(text, "What was lost cannot be told: ");
	has(text, want);
	has(json, "\"cost_ns\":null,\"cost_low_ns\":null,\"cost_high_ns\":50800000,");
	has(json, want);
	has(page, want);
	analysis_close(&analysis);
}

/* No format shows a cost, and each says why there is none. */
static void test_untold(void **state)
{
	_cleanup_free_ char *text = NULL, *json = NULL, *page = NULL;
	struct analysis analysis;

	open_steps(&analysis, COST_UNTOLD, 0, 0, 0);
	text = render(&analysis, "text");
	json = render(&analysis, "json");
	page = render(&analysis, "html");
	has(text,
		"stopped by pauses 203.2 ms (25.1 % of its time); how much of that was lost cannot be "
		"told (" UNTOLD ")\n");
	has(text, ", nothing dropped. What was lost cannot be told: " UNTOLD ".\n");
	has_not(text, "without what they cost");
	has(text, "   50.00 ms          -    2  Trainer.step");
	has(text, "\nPaused by the line that triggered");
	has(text,
		"What is saved are pauses. How much of them was lost, and so what steps would gain, cannot be "
		"told.\n");
	has(text, "\n       PAUSED    PAUSES  COLLECTED  LINE\n");
	has(json,
		"\"overlap_ns\":203200000,\"cost_ns\":null,\"cost_low_ns\":null,\"cost_high_ns\":null,"
		"\"base\":null,");
	has(json, "\"cost_source\":\"untold\",\"cost_untold\":\"" UNTOLD "\"}");
	has(json, "\"overlap_ns\":50000000,\"cost_ns\":null");
	has(json, "\"pause_ns\":50000000,\"cost_ns\":null");
	has_not(json, "\"cost_ns\":5");
	has_not(json, "\"base_ns\":9");
	has(page, "\"source\":\"untold\",\"untold\":\"" UNTOLD "\"");
	has_not(page, "\"key\":\"without\"");
	analysis_close(&analysis);
}

static void test_after_effects(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct analysis analysis;

	open_steps(&analysis, COST_ESTIMATED, 1.2, 1.3, 1.4);
	text = render(&analysis, "text");
	has(text,
		"stopped by pauses 203.2 ms (25.1 % of its time); lost 264.2 ms "
		"(32.6 %): estimated against steps without pauses, 95 % interval 243.8 ms … 284.5 ms\n");
	has_not(text, "What is saved are pauses.");
	analysis_close(&analysis);
}

/* A loop that caught up with all of its pauses is as harmless as one that had next to none. */
static void test_what_was_caught_up_is_harmless(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct analysis analysis;

	open_steps(&analysis, COST_MEASURED, -0.001, 0, 0.003);
	text = render(&analysis, "text");
	has(text,
		", none of it lost (measured, 95 % interval 0–0.08 %): look elsewhere.\n  felt   Every 13th");
	analysis_close(&analysis);
}

static int judge(enum cost_source source, const char *budget, const char *said)
{
	_cleanup_free_ char *text = NULL;
	struct budgets budgets = {};
	struct analysis analysis;
	struct err err = {""};
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int status;

	open_steps(&analysis, source, 0.9, 0.95, 1);
	assert_int_equal(budgets_add(&budgets, budget, &err), 0);
	status = budgets_judge(&budgets, &analysis, "steps.gct", false, out);
	fclose(out);
	has(text, said);
	budgets_release(&budgets);
	analysis_close(&analysis);
	return status;
}

/* What cannot be told is no pass, though nothing is missing of the recording; what was stopped can be judged. */
static void test_exit_status(void **state)
{
	assert_int_equal(judge(COST_ESTIMATED, "cost.share<30%",
				 "estimated, 95 % interval 22.6–25.1 %; stopped.share is 25.1 %"),
		EXIT_OK);
	assert_int_equal(judge(COST_MEASURED, "cost.share<1%",
				 "cost.share is 23.8 % (measured, 95 % "),
		EXIT_BREACH);
	assert_int_equal(judge(COST_UNTOLD, "cost.share<30%",
				 "What can be judged is stopped.share: 25.1 %"),
		EXIT_INCOMPLETE);
	assert_int_equal(judge(COST_UNTOLD, "step.cost.max<1h", "refused"), EXIT_INCOMPLETE);
	assert_int_equal(judge(COST_UNTOLD, "stopped.share<30%", "kept"), EXIT_OK);
	assert_int_equal(judge(COST_UNTOLD, "cost.share<30%,stopped.share<1%", "broken"),
		EXIT_BREACH);
	assert_int_equal(judge(COST_UNTOLD, "cost.share<30%,ttsp.max<1s", "needs a"), EXIT_BLIND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_told),
		cmocka_unit_test(test_untold),
		cmocka_unit_test(test_at_most),
		cmocka_unit_test(test_after_effects),
		cmocka_unit_test(test_what_was_caught_up_is_harmless),
		cmocka_unit_test(test_exit_status),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
