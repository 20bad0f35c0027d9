/*
 * "pause.p99<20ms" in; a metric, a direction and a limit out, or a sentence that says what was
 * meant.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "budget_metric.h"
#include "cleanup.h"

#define NAME_BYTES 32

static const struct unit {
	const char *suffix;
	enum budget_unit of;
	double factor;
} units[] = {
	{"ns", BUDGET_TIME, 1},
	{"us", BUDGET_TIME, 1e3},
	{"µs", BUDGET_TIME, 1e3},
	{"μs", BUDGET_TIME, 1e3},
	{"ms", BUDGET_TIME, 1e6},
	{"s", BUDGET_TIME, 1e9},
	{"m", BUDGET_TIME, 60e9},
	{"min", BUDGET_TIME, 60e9},
	{"h", BUDGET_TIME, 3600e9},
	{"%", BUDGET_SHARE, 0.01},
};

/* How many single letters must change: Levenshtein's distance, over at most NAME_BYTES of each. */
static size_t distance(const char *a, const char *b)
{
	size_t row[NAME_BYTES + 1], n = strnlen(b, NAME_BYTES);

	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1] && i <= NAME_BYTES; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (diagonal + 1 < best)
				best = diagonal + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[n];
}

static int unknown_metric(const char *name, struct err *err)
{
	const struct budget_metric *metric, *nearest = budget_metric_at(0);
	size_t least = SIZE_MAX;

	for (size_t i = 0; (metric = budget_metric_at(i)); i++) {
		size_t far = distance(name, metric->name);

		if (far < least) {
			least = far;
			nearest = metric;
		}
	}
	return err_set(err, EINVAL,
		"there is nothing called \"%.40s\" to budget; the nearest is %s (gctrace check "
		"--help "
		"lists them all)",
		name, nearest->name);
}

/* The metric that @text begins with; *ret_rest is what follows it. 0 or -EINVAL. */
static int parse_metric(const char *text, const struct budget_metric **ret, const char **ret_rest,
	struct err *err)
{
	size_t length =
		strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
	char name[48];

	snprintf(name, sizeof(name), "%.*s", (int)(length < 47 ? length : 47), text);
	if (!length)
		return err_set(err, EINVAL,
			"\"%.60s\" is not a budget: write METRIC<LIMIT, as in pause.p99<20ms",
			text);
	*ret_rest = text + length;
	*ret = budget_metric_find(name);
	return *ret ? 0 : unknown_metric(name, err);
}

static int parse_operator(const char **text, struct budget *budget, struct err *err)
{
	*text += strspn(*text, " \t");
	if (**text != '<' && **text != '>')
		return err_set(err, EINVAL, "\"%.60s\" has no limit: write %s<LIMIT (or <=, >, >=)",
			budget->text, budget->metric->name);
	budget->at_least = **text == '>';
	(*text)++;
	budget->or_equal = **text == '=';
	*text += budget->or_equal;
	*text += strspn(*text, " \t");
	return 0;
}

static const char *example(enum budget_unit unit)
{
	static const char *const examples[] = {
		[BUDGET_TIME] = "a time: 20ms, 1.5s",
		[BUDGET_SHARE] = "a share: 1% or 0.01",
		[BUDGET_COUNT] = "a bare number",
	};

	return examples[unit];
}

static int wrong_unit(const struct budget_metric *metric, double number, const char *suffix,
	struct err *err)
{
	if (*suffix)
		return err_set(err, EINVAL, "\"%.20s\" is not a unit for %s, which takes %s",
			suffix, metric->name, example(metric->unit));
	if (metric->unit == BUDGET_TIME)
		return err_set(err, EINVAL, "%s<%g lacks a unit: it takes %s", metric->name, number,
			example(metric->unit));
	return err_set(err, EINVAL, "%s is at most 1: if you mean %g %%, write %g%%", metric->name,
		number, number);
}

/* @suffix: what follows the number, without blanks. */
static int apply_unit(const struct budget_metric *metric, double number, const char *suffix,
	double *ret, struct err *err)
{
	if (!*suffix && (metric->unit == BUDGET_COUNT || !number ||
				(metric->unit == BUDGET_SHARE && number <= 1))) {
		*ret = number;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(suffix, units[i].suffix) && units[i].of == metric->unit) {
			*ret = number * units[i].factor;
			return 0;
		}
	return wrong_unit(metric, number, suffix, err);
}

static int parse_limit(const char *text, struct budget *budget, struct err *err)
{
	char suffix[sizeof(budget->text)];
	size_t length;
	char *end;
	double number;

	/* strtod() would take "nan", "inf" and "0x10". */
	length = strspn(text, "0123456789.");
	number = length ? strtod(text, &end) : 0;
	if (!length || end == text || !strncasecmp(text, "0x", 2) || !(number < 1e15))
		return err_set(err, EINVAL, "\"%.60s\" has no number for a limit: %s takes %s",
			budget->text, budget->metric->name, example(budget->metric->unit));
	end += strspn(end, " \t");
	snprintf(suffix, sizeof(suffix), "%s", end);
	length = strlen(suffix);
	while (length && isspace((unsigned char)suffix[length - 1]))
		suffix[--length] = '\0';
	return apply_unit(budget->metric, number, suffix, &budget->limit, err);
}

int budget_parse(const char *text, struct budget *ret, struct err *err)
{
	struct budget budget = {};
	const char *rest = NULL;
	int r;

	text += strspn(text, " \t");
	if (strlen(text) >= sizeof(budget.text))
		return err_set(err, EINVAL, "\"%.40s…\" is too long for a budget", text);
	strcpy(budget.text, text);
	r = parse_metric(text, &budget.metric, &rest, err);
	if (!r)
		r = parse_operator(&rest, &budget, err);
	if (!r)
		r = parse_limit(rest, &budget, err);
	if (!r)
		*ret = budget;
	return r;
}

const char *budget_metrics(void)
{
	static const char *const takes[] = {
		[BUDGET_TIME] = "time", [BUDGET_SHARE] = "share", [BUDGET_COUNT] = "count"};
	const struct budget_metric *metric;
	static char text[4096];
	size_t used = 0;

	if (*text)
		return text;
	for (size_t i = 0; (metric = budget_metric_at(i)) && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "  %-20s %-6s %s\n",
			metric->name, takes[metric->unit], metric->meaning);
	return text;
}
