/* Budgets typed by a user → judged, shown, and one exit status. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "budget_report.h"
#include "budgets.h"
#include "cleanup.h"
#include "cmd.h"
#include "log.h"
#include "output.h"

int budgets_add(struct budgets *budgets, const char *text, struct err *err)
{
	_cleanup_free_ char *copy = strdup(text);
	char *rest = copy, *one;

	if (!copy)
		return err_set(err, ENOMEM, "out of memory");
	while ((one = strsep(&rest, ","))) {
		struct budget budget = {}, *slot;
		int r = budget_parse(one, &budget, err);

		if (r)
			return r;
		slot = vec_add(&budgets->items);
		if (!slot)
			return err_set(err, ENOMEM, "out of memory");
		*slot = budget;
	}
	return 0;
}

void budgets_release(struct budgets *budgets)
{
	vec_free(&budgets->items);
}

/*
 * A breach counts even in an incomplete recording; apart from that, what could not be judged never
 * passes: gctrace was blind to it, or saw it and cannot tell what was lost.
 */
static int status_of(const struct budget_judgement *judgement, int recording)
{
	bool refused = false, untold = false;

	for (size_t i = 0; i < judgement->count; i++) {
		if (judgement->results[i].outcome == BUDGET_BROKEN)
			return EXIT_BREACH;
		untold |= judgement->results[i].untold;
		refused |= judgement->results[i].outcome == BUDGET_REFUSED &&
			   !judgement->results[i].untold;
	}
	if (refused)
		return EXIT_BLIND;
	return recording == EXIT_OK && untold ? EXIT_INCOMPLETE : recording;
}

static int write_junit(const char *path, const struct budget_judgement *judgement)
{
	struct output output;
	struct err err = {};
	int r = output_open(&output, path, &err);

	if (!r) {
		budget_report_junit(output.stream, judgement);
		r = output_close(&output, 0, &err);
	}
	return r ? cmd_fail(r, &err) : EXIT_OK;
}

int budgets_check(const struct budgets *budgets, const char *recording, struct err *err)
{
	if (!budgets->junit)
		return 0;
	if (recording && !strcmp(budgets->junit, recording))
		return err_set(err, EINVAL, "%s cannot be both the recording and the JUnit report",
			recording);
	return output_check(budgets->junit, err);
}

int budgets_judge(const struct budgets *budgets, const struct analysis *analysis, const char *name,
	bool json, FILE *out)
{
	size_t count = budgets->items.count;
	_cleanup_free_ struct budget_result *results = calloc(count, sizeof(*results));
	struct budget_judgement judgement = {.recording = name,
		.budgets = budgets->items.items,
		.results = results,
		.count = count};
	struct err missing = {};
	int recording = analysis_status(analysis, &missing), status;

	if (!results)
		return cmd_fail(-ENOMEM, NULL);
	judgement.missing = recording == EXIT_OK ? NULL : missing.text;
	for (size_t i = 0; i < count; i++) {
		if (recording == EXIT_BLIND) {
			results[i].outcome = BUDGET_REFUSED;
			snprintf(results[i].why, sizeof(results[i].why), "%s", missing.text);
		} else if (budget_judge(&budgets->items.items[i], &analysis->attribution,
				   &results[i])) {
			return cmd_fail(-ENOMEM, NULL);
		}
	}
	status = status_of(&judgement, recording);
	judgement.status = status;
	if (json)
		budget_report_json(out, &judgement);
	else
		budget_report_text(out, &judgement);
	if (budgets->junit && write_junit(budgets->junit, &judgement) && status == EXIT_OK)
		status = EXIT_FAILED;
	return status;
}
