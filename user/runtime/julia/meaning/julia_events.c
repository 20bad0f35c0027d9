/* A pause of Julia in; an event that advice computes with out. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "julia_events.h"
#include "stats.h"

#define PAIR_NS                                                                                    \
	10000000 /* from a GC.gc(false) to the GC.gc(true) that comes since it freed too little */

/* "1.5.3": 5; of another Julia than 1, UNKNOWN. */
static int minor_of(const char *version)
{
	int minor;

	return sscanf(version, "1.%3d", &minor) == 1 && minor >= 0 ? minor : (int)UNKNOWN;
}

/* The bytes of "4G" or "800M", 0 for what is none: a share of the machine's memory, say. */
static uint64_t size_of(const char *text)
{
	char *end;
	double value = strtod(text, &end);
	unsigned int shift = *end == 'K'   ? 10
			     : *end == 'M' ? 20
			     : *end == 'G' ? 30
			     : *end == 'T' ? 40
					   : 0;

	if (end == text || !(value > 0) || value > 1e9 || (*end && (!shift || end[1])))
		return 0;
	return stats_whole(value * (double)(1ull << shift));
}

/* What follows @name in "@name=VALUE", or in the next argument, @next; NULL: it is another option. */
static const char *value_of(const char *option, const char *next, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(option, name, len))
		return NULL;
	if (option[len] == '=')
		return option + len + 1;
	return option[len] ? NULL : next;
}

static void read_option(const char *option, const char *next, struct julia_events *events)
{
	const char *threads = value_of(option, next, "--threads");
	const char *hint = value_of(option, next, "--heap-size-hint");

	if (!threads && !strncmp(option, "-t", 2))
		threads = option[2] ? option + 2 : next;
	if (hint)
		events->heap_hint = size_of(hint);
	if (threads) /* "auto": as many as there are processors */
		events->threads = strcmp(threads, "auto") ? strtol(threads, NULL, 10) : LONG_MAX;
	if (value_of(option, next, "--gcthreads"))
		events->gc_threads = true;
}

/* Those before the program's file: the others are its own. */
static void read_options(const struct process *process, struct julia_events *events)
{
	const char *at = process ? process->cmdline : NULL;
	const char *end = at ? at + process->cmdline_len : NULL;

	while (at && at < end) {
		size_t len = strnlen(at, (size_t)(end - at));
		const char *next = at + len + 1;

		if (next > end || (len > 3 && !strcmp(next - 4, ".jl"))) /* cut off, or the file */
			return;
		if (*at == '-')
			read_option(at, next < end && !end[-1] ? next : "", events);
		at = next;
	}
}

static enum julia_asked asked_by(const struct strtab *strings, const struct pause *pause)
{
	const char *asked = strtab_get(strings, (uint32_t)pause->facts[JULIA_ASKED]);

	if (pause->cause != CAUSE_MANUAL)
		return JULIA_ASKED_NOTHING;
	return strcmp(asked, "full") ? JULIA_ASKED_INCREMENTAL : JULIA_ASKED_FULL;
}

/* The innermost frame of Julia's code, the user's own if there is one; 0: none. */
static uint32_t late_frame(const struct stack_table *stacks, int64_t stack)
{
	uint32_t found = 0;

	if (stack <= 0 || stack >= stacks->node_count)
		return 0;
	for (uint32_t node = (uint32_t)stack; node; node = stacks->nodes[node].parent) {
		uint32_t frame = stacks->nodes[node].frame;

		if (stacks->frames[frame].lang != LANG_JULIA)
			continue;
		if (frame_origin(stacks, frame) == ORIGIN_USER)
			return frame;
		found = found ? found : frame;
	}
	return found;
}

/*
 * CUDA.jl and AMDGPU.jl free what arrays hold on the GPU in finalizers: where an allocation there fails they call
 * GC.gc(false), try again, call GC.gc(true).
 */
static void find_pair(struct julia_events *events)
{
	struct julia_event *last = &events->events.items[events->events.count - 1], *before;

	if (events->events.count < 2 || last->asked != JULIA_ASKED_FULL)
		return;
	before = last - 1;
	if (before->asked != JULIA_ASKED_INCREMENTAL || before->tid != last->tid ||
		last->start_ns < before->end_ns || last->start_ns - before->end_ns > PAIR_NS)
		return;
	before->paired = last->paired = true;
}

int julia_events_add(struct julia_events *events, const struct advice_pause *one)
{
	const struct stack_table *stacks = one->attribution->stacks;
	const struct pause *pause = one->pause;
	const int64_t *facts = pause->facts;
	struct julia_event *event = vec_add(&events->events);
	int64_t before;

	if (!event)
		return -ENOMEM;
	if (events->events.count == 1) {
		events->left = UNKNOWN;
		events->minor = minor_of(one->runtime->version);
		read_options(recording_process(one->attribution->recording, one->runtime->process),
			events);
	}
	*event = (struct julia_event){
		.start_ns = pause->start_ns,
		.end_ns = pause->end_ns,
		.ttsp_ns = facts[JULIA_TTSP_NS],
		.core_ns = facts[JULIA_CORE_NS],
		.post_ns = facts[JULIA_POST_NS],
		.mark_ns = facts[JULIA_MARK_NS],
		.sweep_ns = facts[JULIA_SWEEP_NS],
		.allocated = UNKNOWN,
		.after = facts[JULIA_HEAP_AFTER],
		.tid = pause->tid,
		.late_tid = facts[JULIA_LATE_TID] > 0 ? (uint32_t)facts[JULIA_LATE_TID] : 0,
		.late = late_frame(stacks, facts[JULIA_LATE_STACK]),
		.weight = advice_weight(one),
		.asked = (uint8_t)asked_by(stacks->strings, pause),
		.full = pause->flags & PAUSE_FULL,
		.known = facts[JULIA_FULL_SWEEPS] >= 0,
	};
	before = facts[JULIA_HEAP_BEFORE];
	if (before >= 0 && events->left >= 0 && before >= events->left)
		event->allocated = before - events->left;
	events->left = event->after;
	find_pair(events);
	return 0;
}

bool julia_all(const struct julia_event *event)
{
	return true;
}

bool julia_automatic(const struct julia_event *event)
{
	return event->known && event->asked == JULIA_ASKED_NOTHING;
}

bool julia_automatic_full(const struct julia_event *event)
{
	return julia_automatic(event) && event->full;
}

bool julia_automatic_incremental(const struct julia_event *event)
{
	return julia_automatic(event) && !event->full;
}

bool julia_incremental(const struct julia_event *event)
{
	return event->known && !event->full;
}

bool julia_asked_full(const struct julia_event *event)
{
	return event->known && event->full && event->asked == JULIA_ASKED_FULL && !event->paired;
}

bool julia_paired(const struct julia_event *event)
{
	return event->paired;
}

static double part(const struct julia_event *event, int64_t ns)
{
	return ns > 0 ? (double)event->weight * (double)ns : 0;
}

struct julia_sums julia_sum(const struct julia_events *events, julia_takes_fn takes)
{
	struct julia_sums sums = {};

	for (size_t i = 0; i < events->events.count; i++) {
		const struct julia_event *event = &events->events.items[i];

		if (!takes(event))
			continue;
		sums.count += event->weight > 0;
		sums.overlap += julia_overlap(event);
		sums.ttsp += part(event, event->ttsp_ns);
		sums.core += part(event, event->core_ns);
		sums.mark += part(event, event->mark_ns);
		sums.sweep += part(event, event->sweep_ns);
		sums.post += part(event, event->post_ns);
		if (event->mark_ns >= 0)
			sums.marked += part(event, event->core_ns);
		if (event->allocated < 0)
			continue;
		sums.allocated += (double)event->allocated;
		sums.measured++;
	}
	return sums;
}
