/* Marks and labels as they come from the ring → series and marks for the sink. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "trace_priv.h"
#include "utf8.h"

/* Of one signal: labels that differ from call to call ("step 17") share a series beyond. */
#define SERIES_MOST 1000
#define KEY_OTHERS  0xffffffffffffffffull

void trace_on_label(struct trace *trace, const struct event *event)
{
	struct step_watch *steps = &trace->steps;
	char text[3 * GC_LABEL_BYTES + 8];
	size_t length;
	uint32_t id;

	if (!steps->on || event->label.signal >= trace->recording.signals.count) {
		trace->bad_records++;
		return;
	}
	if (u64map_get(&steps->labels, event->label.key) ||
		steps->signals[event->label.signal].series >= SERIES_MOST)
		return;
	length = utf8_clean(text, sizeof(text) - 4, (const char *)event->label.bytes,
		event->label.length);
	if (event->label.cut)
		length += (size_t)sprintf(text + length, "…");
	id = strtab_add(steps->texts, text, length);
	if (id != STRTAB_NONE)
		u64map_put(&steps->labels, event->label.key, id);
}

/* How the signal's marks are told apart. */
static unsigned int key_kind(const struct step_signal *watch)
{
	return watch->places.count ? GC_STEP_KEY(watch->places.items[0].cookie) : GC_KEY_NONE;
}

/* The label of one of the signal's functions. */
static const char *variant_label(const struct step_signal *watch, uint64_t variant)
{
	for (size_t i = 0; i < watch->places.count; i++)
		if (GC_STEP_VARIANT(watch->places.items[i].cookie) == variant)
			return watch->places.items[i].label;
	return NULL;
}

/* Owned by the caller; NULL for none. */
static char *make_label(const struct trace *trace, const struct step_signal *watch,
	const struct event *event)
{
	const uint64_t *id = u64map_get(&trace->steps.labels, event->mark.key);
	uint64_t dims = event->mark.number;
	const char *variant;
	char *text = NULL;

	switch (key_kind(watch)) {
	case GC_KEY_TEXT:
	case GC_KEY_HINT:
		return id ? strdup(strtab_get(trace->steps.texts, (uint32_t)*id)) : NULL;
	case GC_KEY_NONE:
		variant = variant_label(watch, event->mark.key);
		return variant ? strdup(variant) : NULL;
	case GC_KEY_DIMS:
		if (dims & GC_DIMS_HASHED ||
			asprintf(&text, "%" PRIu64 "x%" PRIu64 "x%" PRIu64, dims >> 42,
				dims >> 21 & GC_DIMS_MOST, dims & GC_DIMS_MOST) < 0)
			return NULL;
	}
	return text;
}

static void tell(struct trace *trace, const struct series *series)
{
	int r = trace->sink.series ? trace->sink.series(trace->sink.arg, series) : 0;

	trace_note_sink(trace, r);
}

static uint64_t series_key(uint32_t process, uint32_t tid, uint32_t signal, uint64_t key)
{
	return u64_mix(u64_mix((uint64_t)process << 32 | tid) + signal) ^ key;
}

static struct series *add_series(struct trace *trace, uint32_t process, const struct event *event,
	uint64_t key)
{
	struct step_signal *watch = &trace->steps.signals[event->mark.signal];
	bool others = key == KEY_OTHERS;
	struct series *series = vec_add(&trace->recording.series);

	if (!series)
		return NULL;
	series->id = trace->steps.series_ids + 1;
	series->signal = event->mark.signal + 1;
	series->process = process;
	series->tid = event->tid;
	series->number = UNKNOWN;
	if (!others && (key_kind(watch) == GC_KEY_NUMBER || key_kind(watch) == GC_KEY_DIMS))
		series->number = (int64_t)(event->mark.number & INT64_MAX);
	if (!others)
		series->label = make_label(trace, watch, event);
	if (u64map_put(&trace->steps.series,
		    series_key(process, event->tid, event->mark.signal, key), series->id)) {
		free(series->label);
		trace->recording.series.count--;
		return NULL;
	}
	trace->steps.series_ids++;
	watch->series++;
	tell(trace, series);
	return series;
}

static struct series *series_by_id(struct trace *trace, uint32_t id)
{
	return (struct series *)recording_series(&trace->recording, id);
}

static struct series *find_series(struct trace *trace, uint32_t process, const struct event *event)
{
	const struct step_signal *watch = &trace->steps.signals[event->mark.signal];
	uint64_t key = event->mark.key;

	for (;;) {
		const uint64_t *id = u64map_get(&trace->steps.series,
			series_key(process, event->tid, event->mark.signal, key));

		if (id)
			return series_by_id(trace, (uint32_t)*id);
		if (key == KEY_OTHERS || watch->series < SERIES_MOST)
			return add_series(trace, process, event, key);
		key = KEY_OTHERS;
	}
}

/* The first label was lost with a full ring, and its series has none: now it came. */
static void settle_label(struct trace *trace, struct series *series, const struct event *event)
{
	const struct step_signal *watch = &trace->steps.signals[event->mark.signal];

	if (series->label || watch->series >= SERIES_MOST ||
		(key_kind(watch) != GC_KEY_TEXT && key_kind(watch) != GC_KEY_HINT))
		return;
	series->label = make_label(trace, watch, event);
	if (series->label)
		tell(trace, series);
}

/* A day of marks must fit the disk: those that come after so many are not kept, and no longer asked for. */
static bool is_one_too_many(struct trace *trace, const struct event *event)
{
	if (!trace->recording.steps_until_ns && trace->steps.marks++ >= trace->options.marks_most)
		trace->recording.steps_until_ns = event->time_ns;
	return trace->recording.steps_until_ns;
}

void trace_on_mark(struct trace *trace, const struct event *event)
{
	uint32_t process = trace_process(trace, (pid_t)event->pid);
	struct series *series;
	struct mark mark;
	int r;

	if (!process || !trace->steps.on || event->mark.signal >= trace->recording.signals.count) {
		trace->bad_records++;
		return;
	}
	if (is_one_too_many(trace, event))
		return;
	series = find_series(trace, process, event);
	if (!series)
		return;
	settle_label(trace, series, event);
	mark = (struct mark){
		.series = series->id,
		.time_ns = event->time_ns,
		.rss_bytes = event->mark.has_rss ? (int64_t)event->mark.rss_bytes : UNKNOWN,
		.skipped = event->mark.skipped,
	};
	r = trace->sink.mark ? trace->sink.mark(trace->sink.arg, &mark) : 0;
	trace_note_sink(trace, r);
}
