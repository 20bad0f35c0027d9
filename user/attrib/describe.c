/* Frames, processes and figures in; words out. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "describe.h"
#include "origin.h"
#include "parse.h"

/* Only class and method of a name like "org.example.Trainer.step", which may be long. */
static const char *short_name(const struct stack_table *stacks, const struct frame *frame)
{
	const char *name = strtab_get(stacks->strings, frame->function), *found = name;
	int dots = 0;

	if (!frame_has_packages(frame))
		return name;
	for (const char *at = name + strlen(name); at > name && dots < 2; at--)
		if (at[-1] == '.' && ++dots == 2)
			found = at;
	return found;
}

const char *describe_frame(const struct stack_table *stacks, uint32_t frame, char *text,
	size_t size)
{
	const char *file, *base;

	*text = '\0';
	if (!frame || frame >= stacks->frame_count)
		return text;
	file = strtab_get(stacks->strings, stacks->frames[frame].file);
	base = strrchr(file, '/');
	base = base ? base + 1 : file;
	snprintf(text, size, "%.48s", short_name(stacks, &stacks->frames[frame]));
	if (*base && strlen(text) + 1 < size) {
		size_t used = strlen(text);

		if (stacks->frames[frame].line)
			snprintf(text + used, size - used, " (%.28s:%u)", base,
				stacks->frames[frame].line);
		else
			snprintf(text + used, size - used, " (%.28s)", base);
	}
	return text;
}

const char *describe_process(const struct recording *recording, uint32_t id, char *text,
	size_t size)
{
	const struct process *process = recording_process(recording, id);

	if (process)
		snprintf(text, size, "%s (pid %d)", *process->comm ? process->comm : "process",
			(int)process->pid);
	else
		snprintf(text, size, "a process");
	return text;
}

const char *describe_share(double share, char *text, size_t size)
{
	double percent = 100 * share;
	int digits = percent >= 10 || percent == 0 ? 0 : percent >= 1 ? 1 : percent >= 0.01 ? 2 : 4;

	if (percent >= 10 && percent < 100)
		digits = 1;
	snprintf(text, size, "%.*f %%", digits, percent);
	return text;
}

const char *describe_source(enum cost_source source)
{
	static const char *const names[] = {
		[COST_MEASURED] = "measured",
		[COST_ESTIMATED] = "estimated",
		[COST_UNTOLD] = "untold",
	};

	return names[source];
}

const char *describe_known(const struct track_cost *cost)
{
	return attrib_told(cost) ? describe_source(attrib_source(cost)) : "cannot be told";
}

const char *describe_known_all(const struct attribution *attribution)
{
	static const char *const names[] = {NULL, "measured", "estimated", "measured or estimated",
		"cannot be told", "measured, or cannot be told", "estimated, or cannot be told",
		"measured, estimated, or cannot be told"};
	unsigned int seen = 0; /* a bit for each source */

	_Static_assert(COST_MEASURED == 0 && COST_ESTIMATED == 1 && COST_UNTOLD == 2, "names");
	for (size_t i = 0; i < attribution->tracks.count; i++)
		seen |= 1u << attrib_source(&attribution->tracks.items[i]);
	return names[seen];
}

/* An end of the interval, without "%": two digits where the whole interval is below 1 %. */
static void show_end(const struct track_cost *cost, int64_t ns, bool shares, char *text,
	size_t size)
{
	uint64_t shown_ns = describe_lost_ns(ns);
	double percent = cost->time_ns ? 100.0 / (double)cost->time_ns : 0;

	if (!shares)
		format_duration(shown_ns, text, size);
	else
		snprintf(text, size, "%.*f",
			!shown_ns				   ? 0
			: (double)cost->cost.high_ns * percent < 1 ? 2
								   : 1,
			(double)shown_ns * percent);
}

const char *describe_interval(const struct track_cost *cost, bool shares, char *text, size_t size)
{
	char low[32], high[32];

	*text = '\0';
	show_end(cost, cost->cost.low_ns, shares, low, sizeof(low));
	show_end(cost, cost->cost.high_ns, shares, high, sizeof(high));
	if (strcmp(low, high))
		snprintf(text, size, ", 95 %% interval %s%s%s%s", low, shares ? "–" : " … ", high,
			shares ? " %" : "");
	return text;
}

const char *describe_untold(const struct track_cost *cost, char *text, size_t size)
{
	const char *why = cost->untold ? cost->untold : "the recording does not say";

	if (cost->most_ns)
		snprintf(text, size, "it is %s at most, but %s", FORMAT_DURATION(cost->most_ns),
			why);
	else
		snprintf(text, size, "%s", why);
	return text;
}

const char *describe_count(uint64_t count, char *text, size_t size)
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	size_t used = 0;

	for (int i = 0; i < length && used + 2 < size; i++) {
		if (i && (length - i) % 3 == 0)
			text[used++] = ',';
		text[used++] = digits[i];
	}
	text[used] = '\0';
	return text;
}

const char *describe_bytes(double bytes, char *text, size_t size)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	size_t unit = 0;

	while (bytes >= 1024 && unit < 4) {
		bytes /= 1024;
		unit++;
	}
	snprintf(text, size, "%.*f %s", bytes < 10 && unit ? 1 : 0, bytes, units[unit]);
	return text;
}
