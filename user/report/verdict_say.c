/* Pieces of sentences, and names that come from other processes, in; text that is safe to show out. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "utf8.h"
#include "verdict_say.h"

void say(struct prose *prose, const char *format, ...)
{
	size_t room = prose->size - prose->used;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(prose->text + prose->used, room, format, args);
	va_end(args);
	if (n > 0)
		prose->used += (size_t)n < room ? (size_t)n : room - 1;
}

/* Names come from other processes. */
void say_shown(struct prose *prose, const char *bytes, size_t len, size_t columns)
{
	char shown[4 * 160 + 1];

	utf8_show(shown, sizeof(shown), bytes, len, columns < 160 ? columns : 160);
	say(prose, "%s", shown);
}

void say_frame(struct prose *prose, const struct stack_table *stacks, uint32_t index)
{
	const struct frame *frame = &stacks->frames[index];
	const char *file = strtab_get(stacks->strings, frame->file);
	const char *base = strrchr(file, '/');

	say_shown(prose, strtab_get(stacks->strings, frame->function),
		strtab_len(stacks->strings, frame->function), 60);
	base = base ? base + 1 : file;
	if (!*base)
		return;
	say(prose, " (");
	say_shown(prose, base, strlen(base), 60);
	if (frame->line)
		say(prose, ":%u", frame->line);
	say(prose, ")");
}

void say_capital(struct prose *prose, size_t at)
{
	if (at < prose->used && prose->text[at] >= 'a' && prose->text[at] <= 'z')
		prose->text[at] -= 'a' - 'A';
}
