/* The budgets of `gctrace check` and `gctrace run --budget`: gathered from options, judged on a recording. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "analysis.h"
#include "budget.h"

struct budgets {
	VEC(struct budget) items;
	const char *junit; /* file to write, or NULL */
};

/*
 * Takes the value of one --budget, which may be several separated by commas. 0 or -EINVAL with a
 * sentence.
 */
int budgets_add(struct budgets *budgets, const char *text, struct err *err);
void budgets_release(struct budgets *budgets);

/*
 * Whether the JUnit file can be written, long before it is; it must not be @recording, which may be
 * NULL. 0 or -errno with a sentence.
 */
int budgets_check(const struct budgets *budgets, const char *recording, struct err *err);

/*
 * Judges all of them on @analysis of the recording @name and writes the result, as a table or with
 * @json as records, to @out, and into the JUnit file. Returns the exit status: EXIT_BREACH,
 * EXIT_BLIND, EXIT_INCOMPLETE or EXIT_OK.
 */
int budgets_judge(const struct budgets *budgets, const struct analysis *analysis, const char *name,
	bool json, FILE *out);
