/* Frames, stacks and a runtime's words in; JSON out, no longer than readers of lines can be expected to take. */
#include "json_line.h"
#include "json_stack.h"

static void put_frame(FILE *out, const struct stack_table *stacks, const struct frame *frame)
{
	fputs_unlocked("{\"function\":", out);
	line_string(out, strtab_get(stacks->strings, frame->function),
		strtab_len(stacks->strings, frame->function));
	line_field(out, "file", strtab_get(stacks->strings, frame->file),
		strtab_len(stacks->strings, frame->file));
	line_known(out, "line", frame->line ? (int64_t)frame->line : -1);
	line_text(out, "lang", frame_lang_name(frame->lang));
	putc_unlocked('}', out);
}

void json_frame_value(FILE *out, const struct stack_table *stacks, uint32_t frame)
{
	if (frame && frame < stacks->frame_count)
		put_frame(out, stacks, &stacks->frames[frame]);
	else
		fputs_unlocked("null", out);
}

#define STACK_BYTES 32768 /* of JSON: 127 frames of 250 each */

static size_t frame_bytes(const struct stack_table *stacks, uint32_t frame)
{
	const struct frame *f = &stacks->frames[frame];
	const struct strtab *strings = stacks->strings;

	return 64 + line_bytes(strtab_get(strings, f->function), strtab_len(strings, f->function)) +
	       line_bytes(strtab_get(strings, f->file), strtab_len(strings, f->file));
}

void json_stack_value(FILE *out, const struct stack_table *stacks, uint32_t node,
	struct report_room *room)
{
	size_t most = report_room_left(room), left, bytes;

	if (!node || node >= stacks->node_count) {
		fputs_unlocked("null", out);
		return;
	}
	most = left = most < STACK_BYTES ? most : STACK_BYTES;
	for (char before = '['; node; node = stacks->nodes[node].parent, before = ',') {
		putc_unlocked(before, out);
		bytes = frame_bytes(stacks, stacks->nodes[node].frame);
		if (bytes > left) {
			if (room)
				room->cut += most < STACK_BYTES;
			fputs_unlocked("{\"function\":\"[truncated]\",\"file\":null,\"line\":null,"
				       "\"lang\":\"mark\"}",
				out);
			break;
		}
		left -= bytes;
		put_frame(out, stacks, &stacks->frames[stacks->nodes[node].frame]);
	}
	report_room_take(room, most - left);
	putc_unlocked(']', out);
}

void json_stack(FILE *out, const char *key, const struct stack_table *stacks, uint32_t node,
	struct report_room *room)
{
	line_key(out, key);
	json_stack_value(out, stacks, node, room);
}

#define WORD_BYTES 192 /* of 64 that are recorded, each of which may have been replaced by three */

void json_word(FILE *out, const char *key, const struct stack_table *stacks, uint32_t id)
{
	size_t len = strtab_len(stacks->strings, id);

	line_field(out, key, strtab_get(stacks->strings, id), len < WORD_BYTES ? len : WORD_BYTES);
}
