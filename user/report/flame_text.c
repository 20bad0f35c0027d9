/* Bytes of names → text that is safe to show, and that text → XML. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "flame_text.h"
#include "utf8.h"

void flame_text_release(struct flame_text *text)
{
	vec_free(&text->bytes);
}

void flame_text_clear(struct flame_text *text)
{
	text->bytes.count = 0;
}

void flame_text_add(struct flame_text *text, const char *bytes, size_t len)
{
	if (text->failed || vec_reserve((void **)&text->bytes.items, &text->bytes.capacity,
				    text->bytes.count + len + 1, 1)) {
		text->failed = true;
		return;
	}
	memcpy(text->bytes.items + text->bytes.count, bytes, len);
	text->bytes.count += len;
}

void flame_text_put(struct flame_text *text, const char *trusted)
{
	flame_text_add(text, trusted, strlen(trusted));
}

void flame_text_format(struct flame_text *text, const char *format, ...)
{
	char piece[256];
	va_list args;

	va_start(args, format);
	vsnprintf(piece, sizeof(piece), format, args);
	va_end(args);
	flame_text_put(text, piece);
}

/* Marks that reorder, hide or break text, and what XML 1.0 forbids. */
static bool unshowable(uint32_t point)
{
	return (point >= 0x80 && point < 0xa0) || point == 0xad || point == 0x61c ||
	       point == 0x200b || point == 0x200e || point == 0x200f ||
	       (point >= 0x2028 && point <= 0x202e) || (point >= 0x2060 && point <= 0x206f) ||
	       (point >= 0xfdd0 && point <= 0xfdef) || point == 0xfeff ||
	       (point & 0xfffe) == 0xfffe || (point >= 0xe0000 && point <= 0xe0fff);
}

void flame_text_clean(struct flame_text *text, const char *bytes, size_t len, size_t most)
{
	size_t shown = 0, at = 0;

	while (at < len && !text->failed) {
		char encoded[4];
		uint32_t point;

		if (most && shown++ == most) {
			flame_text_format(text, "… [%zu bytes more]", len - at);
			return;
		}
		at += utf8_next(bytes + at, len - at, &point);
		if (point < 0x20 || point == 0x7f)
			flame_text_format(text, "\\x%02x", point);
		else
			flame_text_add(text, encoded,
				utf8_put(encoded, unshowable(point) ? UTF8_REPLACEMENT : point));
	}
}

void flame_text_place(struct flame_text *text, const struct stack_table *stacks, uint32_t frame,
	bool path, size_t most)
{
	const struct frame *f = &stacks->frames[frame < stacks->frame_count ? frame : 0];
	const char *file = strtab_get(stacks->strings, f->file);
	size_t len = strtab_len(stacks->strings, f->file);
	const char *slash = path || !len ? NULL : memrchr(file, '/', len - 1);

	if (!len)
		return;
	if (slash) {
		len -= (size_t)(slash + 1 - file);
		file = slash + 1;
	}
	flame_text_clean(text, file, len, most);
	if (f->line)
		flame_text_format(text, ":%u", f->line);
}

void flame_text_frame(struct flame_text *text, const struct stack_table *stacks, uint32_t frame,
	size_t most)
{
	const struct frame *f = &stacks->frames[frame < stacks->frame_count ? frame : 0];
	size_t len = strtab_len(stacks->strings, f->function);

	if (len)
		flame_text_clean(text, strtab_get(stacks->strings, f->function), len, most);
	else
		flame_text_put(text, "[unknown]");
	if (strtab_len(stacks->strings, f->file)) {
		flame_text_put(text, " (");
		flame_text_place(text, stacks, frame, false, most);
		flame_text_put(text, ")");
	}
}

void flame_text_origin(struct flame_text *text, const struct recording *recording,
	const struct flame_origin *origin)
{
	const struct runtime *runtime = recording_runtime(recording, origin->runtime);
	const struct process *process =
		runtime ? recording_process(recording, runtime->process) : NULL;

	if (process) {
		flame_text_clean(text, process->comm, strnlen(process->comm, sizeof(process->comm)),
			0);
		flame_text_format(text, " (%d)", process->pid);
	} else {
		flame_text_put(text, "[unknown process]");
	}
	if (process && origin->shared) {
		flame_text_put(text, " ");
		flame_text_clean(text, runtime->kind, strnlen(runtime->kind, sizeof(runtime->kind)),
			0);
		flame_text_put(text, " ");
		flame_text_clean(text, runtime->version,
			strnlen(runtime->version, sizeof(runtime->version)), 0);
		flame_text_format(text, " #%u", runtime->id);
	}
	if (origin->interpreter)
		flame_text_format(text, " interpreter %d", origin->interpreter);
}

bool flame_text_has_words(const struct pause_class *class)
{
	return class->of->reason || meaning_fact(class->of, FACT_OPERATION) >= 0;
}

void flame_text_cause(struct flame_text *text, const struct stack_table *stacks,
	const struct flame_leaves *leaves, const struct pause_class *class, uint32_t cause)
{
	uint32_t name;

	if (cause < FLAME_CAUSES) {
		flame_text_put(text, meaning_fact(class->of, FACT_OPERATION) >= 0
					     ? "unknown operation"
					     : pause_cause_name(cause));
		return;
	}
	name = leaves->words.items[cause - FLAME_CAUSES];
	flame_text_clean(text, strtab_get(stacks->strings, name), strtab_len(stacks->strings, name),
		60);
}

void flame_text_class(struct flame_text *text, const struct pause_class *class)
{
	if (class->of->generations)
		flame_text_format(text, "gen %s", class->cell);
	else
		flame_text_put(text, class->name);
}

void flame_text_count(struct flame_text *text, uint64_t count, const char *one, const char *many)
{
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, count);

	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			flame_text_put(text, ",");
		flame_text_add(text, &digits[i], 1);
	}
	flame_text_put(text, " ");
	flame_text_put(text, count == 1 ? one : many);
}

/* Whether fonts draw @point about two columns wide: East Asian scripts and emoji, coarsely. */
static bool wide(uint32_t point)
{
	return (point >= 0x1100 && point <= 0x115f) || (point >= 0x2e80 && point <= 0xa4cf) ||
	       (point >= 0xac00 && point <= 0xd7a3) || (point >= 0xf900 && point <= 0xfaff) ||
	       (point >= 0xfe30 && point <= 0xfe6f) || (point >= 0xff00 && point <= 0xffe6) ||
	       point >= 0x1f000;
}

/* How many bytes of @text fit into @columns; if not all of them do, one column is left for "…". */
static size_t fitting(const struct flame_text *text, size_t columns)
{
	size_t at = 0, used = 0, cut = 0;
	uint32_t point;

	while (at < text->bytes.count) {
		size_t len = utf8_next(text->bytes.items + at, text->bytes.count - at, &point);

		used += wide(point) ? 2 : 1;
		if (used > columns)
			return cut;
		at += len;
		if (used < columns)
			cut = at;
	}
	return at;
}

void flame_text_xml(FILE *out, const struct flame_text *text, size_t columns)
{
	size_t len = columns ? fitting(text, columns) : text->bytes.count;

	for (size_t i = 0; i < len; i++) {
		switch (text->bytes.items[i]) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			putc_unlocked(text->bytes.items[i], out);
		}
	}
	if (len < text->bytes.count)
		fputs("…", out);
}
