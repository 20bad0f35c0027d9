/* What may mark steps, best first: for a user who wonders, or wants to choose. */
#include <string.h>

#include "json_line.h"
#include "step_report.h"
#include "text_cell.h"
#include "utf8.h"
#include "verdict.h"

static const struct process *process_of(const struct recording *recording, uint32_t id)
{
	return recording_process(recording, id);
}

static void put_clause(FILE *out, const char *text)
{
	char shown[4 * 160 + 1];

	utf8_show(shown, sizeof(shown), text, strlen(text), 160);
	fputs(shown, out);
}

static void put_candidate(FILE *out, const struct recording *recording,
	const struct step_candidate *candidate)
{
	const struct process *process = process_of(recording, candidate->process);
	char text[32];

	fputs(candidate->chosen ? "* " : "  ", out);
	cell_known(out, process ? process->pid : UNKNOWN, 7);
	fputc(' ', out);
	cell_text(out, candidate->signal, -44);
	cell_count(out, candidate->marks, 9);
	snprintf(text, sizeof(text), "%.1f", candidate->per_second);
	cell_text(out, text, 10);
	cell_known(out, candidate->per_step ? (int64_t)candidate->per_step : UNKNOWN, 7);
	snprintf(text, sizeof(text), "%.0f %%", 100 * candidate->variation);
	cell_text(out, text, 8);
	snprintf(text, sizeof(text), "%.2f", candidate->confidence);
	cell_text(out, text, 11);
	fputs("  ", out);
	put_clause(out, candidate->why);
	fputc('\n', out);
}

void step_report_text(FILE *out, const struct recording *recording, const struct steps *steps)
{
	if (steps->candidates.count)
		fprintf(out, "      PID SIGNAL (as for --step)                           MARKS  "
			     "A SECOND  A STEP    VARY CONFIDENCE  WHY\n");
	for (size_t i = 0; i < steps->candidates.count; i++)
		put_candidate(out, recording, &steps->candidates.items[i]);
	for (size_t i = 0; i < steps->tracks.count; i++)
		if (*steps->tracks.items[i].note) {
			put_clause(out, steps->tracks.items[i].note);
			fputc('\n', out);
		}
	if (*steps->note) {
		put_clause(out, steps->note);
		fputc('\n', out);
	}
	for (size_t i = 0; i < recording->signals.count; i++) {
		const struct signal *signal = &recording->signals.items[i];

		fputs("probed: ", out);
		put_clause(out, signal->name);
		fprintf(out, ", %llu call%s: ", (unsigned long long)signal->hits,
			signal->hits == 1 ? "" : "s");
		put_clause(out, signal->probe ? signal->probe : "");
		fputs(signal->let_go_ns ? "; let go, too hot\n" : "\n", out);
	}
}

void step_report_json(FILE *out, const struct recording *recording, const struct steps *steps)
{
	for (size_t i = 0; i < steps->candidates.count; i++) {
		const struct step_candidate *candidate = &steps->candidates.items[i];
		const struct process *process = process_of(recording, candidate->process);

		line_begin(out, "step_candidate");
		line_known(out, "pid", process ? process->pid : UNKNOWN);
		line_unsigned(out, "tid", candidate->tid);
		line_text(out, "signal", candidate->signal);
		line_unsigned(out, "marks", candidate->marks);
		line_real(out, "per_second", candidate->per_second);
		line_known(out, "per_step",
			candidate->per_step ? (int64_t)candidate->per_step : UNKNOWN);
		line_real(out, "variation", candidate->variation);
		line_real(out, "confidence", candidate->confidence);
		line_bool(out, "chosen", candidate->chosen);
		line_text(out, "why", candidate->why);
		line_end(out);
	}
}
