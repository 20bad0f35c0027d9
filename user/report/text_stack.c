/* Summary and stacks in; the worst pauses and the lines that triggered the most, as text, out. */
#include <stdlib.h>
#include <string.h>

#include "attrib.h"
#include "cleanup.h"
#include "parse.h"
#include "terminal.h"
#include "text_cell.h"
#include "text_safepoints.h"
#include "text_stack.h"
#include "utf8.h"
#include "verdict.h"

#define FRAMES_SHOWN	 24
#define TRIGGERS_SHOWN	 10
#define FUNCTION_COLUMNS 40
#define FILE_COLUMNS	 60

/* Where the last @columns code points of @text begin. */
static size_t tail_of(const char *text, size_t len, size_t columns)
{
	size_t start = len, points = 0;

	while (start > 0 && points < columns) {
		start--;
		points += (text[start] & 0xc0) != 0x80; /* not a continuation byte */
	}
	return start;
}

/* The end of a path says more than its beginning. */
static void put_path_tail(FILE *out, const char *path, size_t len)
{
	char shown[4 * FILE_COLUMNS + 1];
	size_t start = tail_of(path, len, FILE_COLUMNS);

	if (start > 0)
		fputs("…", out);
	utf8_show(shown, sizeof(shown), path + start, len - start, FILE_COLUMNS);
	fputs(shown, out);
}

/* Of a Java method's name, which begins with packages, the end says most. Returns columns. */
static int show_function(const struct stack_table *stacks, uint32_t index,
	char text[4 * FUNCTION_COLUMNS + 1])
{
	const struct frame *frame = &stacks->frames[index];
	const char *name = strtab_get(stacks->strings, frame->function);
	size_t len = strtab_len(stacks->strings, frame->function), start;

	start = frame->lang == LANG_JAVA ? tail_of(name, len, FUNCTION_COLUMNS) : 0;
	if (!start)
		return (int)utf8_show(text, 4 * FUNCTION_COLUMNS + 1, name, len, FUNCTION_COLUMNS);
	start = tail_of(name, len, FUNCTION_COLUMNS - 1);
	memcpy(text, "…", 3);
	return 1 + (int)utf8_show(text + 3, 4 * FUNCTION_COLUMNS + 1 - 3, name + start, len - start,
		FUNCTION_COLUMNS - 1);
}

void text_frame(FILE *out, const struct stack_table *stacks, uint32_t index, int width)
{
	const struct frame *frame = &stacks->frames[index];
	char function[4 * FUNCTION_COLUMNS + 1];
	int columns = show_function(stacks, index, function);

	fputs(function, out);
	if (!frame->file)
		return;
	fprintf(out, "%*s", width > columns ? width - columns + 2 : 2, "");
	put_path_tail(out, strtab_get(stacks->strings, frame->file),
		strtab_len(stacks->strings, frame->file));
	if (frame->line)
		fprintf(out, ":%u", frame->line);
}

/* Without its packages: what stands before the last dot but one. */
static size_t after_packages(const char *name, size_t len)
{
	size_t dots = 0;

	for (size_t at = len; at > 0; at--)
		if (name[at - 1] == '.' && ++dots == 2)
			return at;
	return 0;
}

void text_frame_short(FILE *out, const struct stack_table *stacks, uint32_t index)
{
	const struct frame *frame = &stacks->frames[index];
	const char *name = strtab_get(stacks->strings, frame->function);
	size_t len = strtab_len(stacks->strings, frame->function), start;
	char shown[4 * FUNCTION_COLUMNS + 1];

	if (frame->lang != LANG_JAVA) {
		text_frame(out, stacks, index, 0);
		return;
	}
	start = after_packages(name, len);
	utf8_show(shown, sizeof(shown), name + start, len - start, FUNCTION_COLUMNS);
	fputs(shown, out);
	if (frame->line)
		fprintf(out, ":%u", frame->line);
}

/* @width, or more if the function name of frame @index needs it. */
static int widen(const struct stack_table *stacks, uint32_t index, int width)
{
	char text[4 * FUNCTION_COLUMNS + 1];
	int columns = stacks->frames[index].file ? show_function(stacks, index, text) : 0;

	return columns > width ? columns : width;
}

void text_stack(FILE *out, const struct stack_table *stacks, uint32_t node)
{
	int width = 0;
	uint32_t shown = 0, more = 0;

	node = node < stacks->node_count ? node : STACK_NONE;
	for (uint32_t n = node, i = 0; n && i < FRAMES_SHOWN; n = stacks->nodes[n].parent, i++)
		width = widen(stacks, stacks->nodes[n].frame, width);
	for (; node; node = stacks->nodes[node].parent) {
		if (shown++ >= FRAMES_SHOWN) {
			more++;
			continue;
		}
		fputs("      ", out);
		text_frame(out, stacks, stacks->nodes[node].frame, width);
		fputc('\n', out);
	}
	if (more)
		fprintf(out, "      … and %u more frame%s\n", more, more == 1 ? "" : "s");
}

/* "12:00:02.000 (+2.000 s)  python3 (4711)" */
static void put_moment(FILE *out, const struct recording *recording, const struct pause *pause)
{
	const struct runtime *runtime = recording_runtime(recording, pause->runtime);
	const struct process *process =
		runtime ? recording_process(recording, runtime->process) : NULL;
	uint64_t start_ns = pause->start_ns;

	cell_time(out, recording, start_ns);
	start_ns = start_ns > recording->start_ns ? start_ns - recording->start_ns : 0;
	fprintf(out, " (+%.3f s)  %s", (double)start_ns / 1e9, VERDICT_NAME(process));
}

static void worst_pauses(FILE *out, const struct recording *recording,
	const struct stack_table *stacks, const struct summary *summary)
{
	fprintf(out, "\nLongest pauses (stacks innermost first)\n"
		     "    DURATION  GEN  CAUSE       COLLECTED  AT\n");
	for (uint32_t i = 0; i < summary->worst_count; i++) {
		const struct pause *pause = &summary->worst[i];

		if (pause_is_safepoint(pause))
			continue;
		terminal_style(out, TERMINAL_STRONG);
		fputs("  ", out);
		cell_pause(out, pause, 10);
		cell_known(out, pause->generation, 5);
		fputs("  ", out);
		cell_text(out, pause_cause_name(pause->cause), -9);
		cell_known(out, pause->collected, 12);
		fputs("  ", out);
		put_moment(out, recording, pause);
		fputs(pause->flags & PAUSE_SLEPT ? "; the thread slept in it" : "", out);
		fputs(pause->flags & PAUSE_BEGUN_BEFORE ? "; it had begun before" : "", out);
		fputs(pause->flags & PAUSE_UNFINISHED ? "; it had not ended\n" : "\n", out);
		terminal_style(out, TERMINAL_PLAIN);
		text_stack(out, stacks, pause->stack);
	}
}

void text_worst(FILE *out, const struct recording *recording, const struct stack_table *stacks,
	const struct summary *summary)
{
	uint32_t safepoints = 0;

	for (uint32_t i = 0; i < summary->worst_count; i++)
		safepoints += pause_is_safepoint(&summary->worst[i]);
	if (safepoints < summary->worst_count)
		worst_pauses(out, recording, stacks, summary);
	if (safepoints)
		text_worst_safepoints(out, recording, stacks, summary);
}

static struct trigger {
	uint32_t frame;
	struct summary_sum sum;
} *add_up(const struct stack_table *stacks, const struct summary *summary, uint32_t count)
{
	_cleanup_free_ uint32_t *triggers = attrib_triggers(stacks);
	struct trigger *sums = calloc(stacks->frame_count, sizeof(*sums));

	if (!triggers || !sums) {
		free(sums);
		return NULL;
	}
	for (uint32_t i = 1; i < count; i++) {
		const struct summary_sum *from = &summary->stacks.items[i];
		struct trigger *to = &sums[triggers[i]];

		if (!from->count)
			continue;
		to->frame = triggers[i];
		to->sum.count += from->count;
		if (__builtin_add_overflow(to->sum.total_ns, from->total_ns, &to->sum.total_ns))
			to->sum.total_ns = UINT64_MAX;
		if (from->max_ns > to->sum.max_ns)
			to->sum.max_ns = from->max_ns;
	}
	return sums;
}

static int costliest_first(const void *a, const void *b)
{
	const struct trigger *one = a, *other = b;

	if (one->sum.total_ns != other->sum.total_ns)
		return one->sum.total_ns < other->sum.total_ns ? 1 : -1;
	if (one->sum.count != other->sum.count)
		return one->sum.count < other->sum.count ? 1 : -1;
	return (one->frame > other->frame) - (one->frame < other->frame);
}

static void put_triggers(FILE *out, const struct stack_table *stacks,
	const struct summary *summary, const struct trigger *triggers, uint32_t count)
{
	uint32_t shown = count < TRIGGERS_SHOWN ? count : TRIGGERS_SHOWN;
	int width = 0;

	for (uint32_t i = 0; i < shown; i++)
		width = widen(stacks, triggers[i].frame, width);
	fprintf(out,
		"\nWhere the pauses were triggered (innermost line outside installed libraries)\n"
		"       TOTAL     SHARE    PAUSES     LONGEST  LINE\n");
	for (uint32_t i = 0; i < shown; i++) {
		fputs("  ", out);
		cell_duration(out, triggers[i].sum.total_ns, 10);
		cell_text(out, VERDICT_SHARE(triggers[i].sum.total_ns, summary->total_ns), 10);
		cell_count(out, triggers[i].sum.count, 10);
		cell_duration(out, triggers[i].sum.max_ns, 12);
		fputs("  ", out);
		text_frame(out, stacks, triggers[i].frame, width);
		fputc('\n', out);
	}
	if (count > shown)
		fprintf(out, "  … and %u more line%s\n", count - shown,
			count - shown == 1 ? "" : "s");
}

void text_triggers(FILE *out, const struct stack_table *stacks, const struct summary *summary)
{
	uint32_t count = stacks->node_count, lines = 0;
	_cleanup_free_ struct trigger *sums = NULL;

	if (count > summary->stacks.count)
		count = (uint32_t)summary->stacks.count;
	if (count < 2) {
		fprintf(out, "\nNo stacks were recorded.\n");
		return;
	}
	sums = add_up(stacks, summary, count);
	if (!sums)
		return;
	for (uint32_t i = 0; i < stacks->frame_count; i++)
		if (sums[i].sum.count)
			sums[lines++] = sums[i];
	qsort(sums, lines, sizeof(*sums), costliest_first);
	put_triggers(out, stacks, summary, sums, lines);
}
