/* Judged budgets → a table for people, records for programs, JUnit XML for a CI server. */
#include <math.h>
#include <string.h>

#include "budget_report.h"
#include "cleanup.h"
#include "flame_text.h"
#include "json_line.h"
#include "json_table.h"
#include "model.h"
#include "terminal.h"
#include "text_table.h"

static const char *outcome_name(enum budget_outcome outcome)
{
	static const char *const names[] = {
		[BUDGET_KEPT] = "kept",
		[BUDGET_BROKEN] = "broken",
		[BUDGET_REFUSED] = "refused",
	};

	return names[outcome];
}

static const struct model_column budget_columns[] = {
	{"outcome", NULL, UNIT_TEXT, .heading = "BUDGET", .width = -8},
	{"budget", NULL, UNIT_TEXT, .width = -28, .gap = 1},
	{"value", NULL, UNIT_REAL},
	{"measured", "Measured", UNIT_TEXT, .width = 13},
	{"why", NULL, UNIT_TEXT},
	{"basis", NULL, UNIT_TEXT},
	{"said", NULL, UNIT_TEXT, .most = sizeof((struct budget_result){}.why)},
};

static const struct model_layout budget_layout = {
	.key = "budget",
	.columns = budget_columns,
	.column_count = ARRAY_SIZE(budget_columns),
	.text = "outcome budget measured said",
	.json = "budget outcome value measured why basis",
	.page = "",
	.records = true,
	.margin = true,
	.text_rows = UINT16_MAX,
};

static void build(struct model *model, const struct budget_judgement *judgement)
{
	struct model_table *table = model_add(model, &budget_layout);

	for (size_t i = 0; i < judgement->count; i++) {
		const struct budget_result *result = &judgement->results[i];
		const char *said = *result->why ? result->why : result->basis;

		MODEL_ROW(table, model_text(outcome_name(result->outcome)),
			model_text(judgement->budgets[i].text),
			model_real(result->known ? result->value : NAN),
			model_text(result->known ? result->value_text : NULL),
			model_text(result->why), model_text(result->basis),
			*said ? model_text(said) : model_blank());
	}
	if (judgement->missing)
		model_note(table, IN_TEXT, "Not a pass: %s.", judgement->missing);
}

void budget_report_text(FILE *to, const struct budget_judgement *judgement)
{
	_cleanup_(model_release) struct model model = {0};
	FILE *out = terminal_open(to);

	build(&model, judgement);
	text_bodies(out, NULL, &model);
	terminal_close(out, to);
}

void budget_report_json(FILE *out, const struct budget_judgement *judgement)
{
	_cleanup_(model_release) struct model model = {0};
	size_t counts[3] = {0};

	build(&model, judgement);
	json_records(out, NULL, &model);
	for (size_t i = 0; i < judgement->count; i++)
		counts[judgement->results[i].outcome]++;
	line_begin(out, "check");
	line_unsigned(out, "kept", counts[BUDGET_KEPT]);
	line_unsigned(out, "broken", counts[BUDGET_BROKEN]);
	line_unsigned(out, "refused", counts[BUDGET_REFUSED]);
	line_text(out, "missing", judgement->missing);
	line_int(out, "status", judgement->status);
	line_end(out);
}

static void put_xml(FILE *out, const char *text)
{
	struct flame_text clean = {};

	flame_text_clean(&clean, text, strlen(text), 0);
	if (!clean.failed)
		flame_text_xml(out, &clean, 0);
	flame_text_release(&clean);
}

static void put_attribute(FILE *out, const char *name, const char *value)
{
	fprintf(out, " %s=\"", name);
	put_xml(out, value);
	fputc('"', out);
}

static void put_case(FILE *out, const struct budget *budget, const struct budget_result *result)
{
	const char *element = result->outcome == BUDGET_BROKEN ? "failure" : "error";

	fputs("  <testcase classname=\"gctrace\"", out);
	put_attribute(out, "name", budget->text);
	fputs(">\n", out);
	if (result->outcome != BUDGET_KEPT) {
		fprintf(out, "    <%s", element);
		put_attribute(out, "message", result->why);
		fputs("/>\n", out);
	} else {
		fputs("    <system-out>", out);
		put_xml(out, result->value_text);
		fputs("</system-out>\n", out);
	}
	fputs("  </testcase>\n", out);
}

void budget_report_junit(FILE *out, const struct budget_judgement *judgement)
{
	size_t broken = 0, refused = 0;

	for (size_t i = 0; i < judgement->count; i++) {
		broken += judgement->results[i].outcome == BUDGET_BROKEN;
		refused += judgement->results[i].outcome == BUDGET_REFUSED;
	}
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite", out);
	put_attribute(out, "name", judgement->recording);
	fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n",
		judgement->count + !!judgement->missing, broken, refused + !!judgement->missing);
	for (size_t i = 0; i < judgement->count; i++)
		put_case(out, &judgement->budgets[i], &judgement->results[i]);
	if (judgement->missing) {
		fputs("  <testcase classname=\"gctrace\" name=\"the recording is complete\">\n"
		      "    <error",
			out);
		put_attribute(out, "message", judgement->missing);
		fputs("/>\n  </testcase>\n", out);
	}
	fputs("</testsuite>\n", out);
}
