/* Judged budgets → a table for people, records for programs, JUnit XML for a CI server. */
#include <math.h>
#include <string.h>

#include "budget_report.h"
#include "flame_text.h"
#include "json_line.h"
#include "terminal.h"
#include "text_cell.h"
#include "utf8.h"

static const char *outcome_name(enum budget_outcome outcome)
{
	static const char *const names[] = {
		[BUDGET_KEPT] = "kept",
		[BUDGET_BROKEN] = "broken",
		[BUDGET_REFUSED] = "refused",
	};

	return names[outcome];
}

void budget_report_text(FILE *to, const struct budget_judgement *judgement)
{
	FILE *out = terminal_open(to);
	char why[4 * sizeof(judgement->results->why)];

	fprintf(out, "%-8s %-28s %12s\n", "BUDGET", "", "MEASURED");
	for (size_t i = 0; i < judgement->count; i++) {
		const struct budget_result *result = &judgement->results[i];
		const char *said;

		cell_text(out, outcome_name(result->outcome), -8);
		fputc(' ', out);
		cell_text(out, judgement->budgets[i].text, -28);
		fputc(' ', out);
		cell_text(out, result->known ? result->value_text : "-", 12);
		said = *result->why ? result->why : result->basis;
		utf8_show(why, sizeof(why), said, strlen(said), sizeof(result->why));
		fprintf(out, "%s%s\n", *why ? "  " : "", why);
	}
	if (judgement->missing)
		fprintf(out, "No pass: %s.\n", judgement->missing);
	terminal_close(out, to);
}

void budget_report_json(FILE *out, const struct budget_judgement *judgement)
{
	size_t counts[3] = {0};

	for (size_t i = 0; i < judgement->count; i++) {
		const struct budget_result *result = &judgement->results[i];

		counts[result->outcome]++;
		line_begin(out, "budget");
		line_text(out, "budget", judgement->budgets[i].text);
		line_text(out, "outcome", outcome_name(result->outcome));
		line_real(out, "value", result->known ? result->value : NAN);
		line_text(out, "measured", result->known ? result->value_text : NULL);
		line_text(out, "why", result->why);
		line_text(out, "basis", *result->basis ? result->basis : NULL);
		line_end(out);
	}
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
