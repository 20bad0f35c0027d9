/*
 * Pauses one by one in; the lines of the live view, and the text report around text_summary(), out.
 */
#include <errno.h>
#include <string.h>

#include "report.h"
#include "text.h"
#include "text_cell.h"
#include "text_stack.h"

void text_pause_header(FILE *out)
{
	fprintf(out, "%-12s %7s %-15s %3s %-9s %10s %10s  %s\n", "TIME", "PID", "COMM", "GEN",
		"REASON", "DURATION", "COLLECTED", "FRAME");
}

void text_pause_line(FILE *out, const struct recording *recording,
	const struct stack_table *stacks, const struct pause *pause)
{
	const struct runtime *runtime = recording_runtime(recording, pause->runtime);
	const struct process *process =
		runtime ? recording_process(recording, runtime->process) : NULL;
	const char *comm = process ? process->comm : "?";

	cell_time(out, pause->start_ns, recording->realtime_offset_ns);
	cell_known(out, process ? process->pid : UNKNOWN, 8);
	fputc(' ', out);
	cell_bytes(out, comm, strnlen(comm, sizeof(process->comm)), -15);
	cell_known(out, pause->generation, 4);
	fputc(' ', out);
	cell_text(out, pause_cause_name(pause->cause), -9);
	cell_duration(out, pause_duration(pause), 11);
	cell_known(out, pause->collected, 11);
	fputs("  ", out);
	if (pause->stack && pause->stack < stacks->node_count)
		text_frame(out, stacks, stacks->nodes[pause->stack].frame, 0);
	else
		fputc('-', out);
	fputc('\n', out);
}

static int write_text(const struct report_input *input, FILE *out, struct err *err)
{
	struct summary summary = {0};
	struct pause pause;
	int r;

	while ((r = input->next(input->source, &pause, err)) > 0 &&
		!(r = summary_add(&summary, &pause)))
		;
	if (r == -ENOMEM)
		err_set(err, ENOMEM, "out of memory while adding up the pauses");
	else /* of a damaged file, what could be read is reported */
		text_summary(out, input, &summary);
	summary_release(&summary);
	if (!r && (fflush(out) || ferror(out)))
		r = err_set(
			err, errno ? errno : EIO, "cannot write the report: %s", strerror(errno));
	return r;
}

const struct report_ops report_text = {
	.name = "text",
	.summary =
		"verdict, steps, advice, processes, tables, histogram, longest pauses",
	.steps = true,
	.write = write_text,
};
