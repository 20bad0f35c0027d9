/* Judged budgets in; a table, JSON records, or a JUnit file for a CI server out. */
#pragma once

#include <stdio.h>

#include "budget.h"

struct budget_judgement {
	const char *recording; /* its name */
	const struct budget *budgets;
	const struct budget_result *results; /* of the same index */
	size_t count;
	const char *missing; /* why no verdict can rest on the recording; NULL: one can */
	int status;	     /* that the command will exit with */
};

void budget_report_text(FILE *out, const struct budget_judgement *judgement);
/* One "budget" record a line, and a "check" record last. */
void budget_report_json(FILE *out, const struct budget_judgement *judgement);
/* A test suite with one test case a budget (the JUnit XML that Jenkins, GitLab and GitHub actions read). */
void budget_report_junit(FILE *out, const struct budget_judgement *judgement);
