/* Frames and stacks in; text out. */
#include <string.h>

#include "origin.h"
#include "text_stack.h"
#include "utf8.h"

#define FRAMES_SHOWN	 24
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

/* Of a name that begins with packages, the end says most. Returns columns. */
static int show_function(const struct stack_table *stacks, uint32_t index,
	char text[4 * FUNCTION_COLUMNS + 1])
{
	const struct frame *frame = &stacks->frames[index];
	const char *name = strtab_get(stacks->strings, frame->function);
	size_t len = strtab_len(stacks->strings, frame->function), start;

	start = frame_has_packages(frame) ? tail_of(name, len, FUNCTION_COLUMNS) : 0;
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

/* Without its packages: everything before the last dot but one. */
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

	if (!frame_has_packages(frame)) {
		text_frame(out, stacks, index, 0);
		return;
	}
	start = after_packages(name, len);
	utf8_show(shown, sizeof(shown), name + start, len - start, FUNCTION_COLUMNS);
	fputs(shown, out);
	if (frame->line)
		fprintf(out, ":%u", frame->line);
}

int text_frame_widen(const struct stack_table *stacks, uint32_t index, int width)
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
		width = text_frame_widen(stacks, stacks->nodes[n].frame, width);
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
