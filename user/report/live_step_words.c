/* Steps in, their words in the live view out. */
#include "live_step_words.h"
#include "parse.h"
#include "text_cell.h"

void live_step_head(FILE *out, const struct recording *recording, uint64_t time_ns, uint32_t id)
{
	const struct process *process = recording_process(recording, id);

	cell_time(out, recording, time_ns);
	cell_known(out, process ? process->pid : UNKNOWN, 8);
	fputc(' ', out);
}

void live_step_stopped(FILE *out, const struct live_step *step)
{
	unsigned long long pauses = step->pauses;
	bool named = step->class && step->class->rank;

	if (!step->known) {
		fputs(", how much of it in pauses is not known", out);
	} else if (!step->overlap_ns) {
		if (step->slow)
			fputs(", none of it in pauses", out);
	} else {
		fprintf(out, ", %s of it %s", FORMAT_DURATION(step->overlap_ns),
			named ? "GC" : "in pauses");
		if (named && pauses == 1)
			fprintf(out, " (%s)", step->class->words);
		else if (named)
			fprintf(out, " (%llu pauses, longest %s)", pauses, step->class->words);
	}
}

void live_step_line(FILE *out, const struct recording *recording, uint32_t process,
	const struct live_step *step, uint64_t median_ns)
{
	live_step_head(out, recording, step->end_ns, process);
	fprintf(out, "step of %s, %.1f × the median", FORMAT_DURATION(step->duration_ns),
		median_ns ? (double)step->duration_ns / (double)median_ns : 0);
	live_step_stopped(out, step);
	fputc('\n', out);
}
