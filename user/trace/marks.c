/* Marks and labels as they come from the ring → series and marks for the sink. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "steps_priv.h"
#include "utf8.h"

/* Of one signal: labels that differ from call to call ("step 17") share a series beyond. */
#define SERIES_MOST	 1000
#define CONNECTIONS_MOST 16384 /* of a signal whose numbers are descriptors, which come again */
#define KEY_OTHERS	 0xffffffffffffffffull

int steps_on_label(struct step_watch *steps, const struct event *event)
{
	char text[3 * GC_LABEL_BYTES + 8];
	size_t length;
	uint32_t id;

	if (!steps->on || event->label.signal >= steps->feed->recording.signals.count)
		return -EBADMSG;
	if (u64map_get(&steps->labels, event->label.key) ||
		steps->signals[event->label.signal].series >= SERIES_MOST)
		return 0;
	length = utf8_clean(text, sizeof(text) - 4, (const char *)event->label.bytes,
		event->label.length);
	if (event->label.cut)
		length += (size_t)sprintf(text + length, "…");
	id = strtab_add(steps->texts, text, length);
	if (id != STRTAB_NONE)
		u64map_put(&steps->labels, event->label.key, id);
	return 0;
}

/* How the signal's marks are told apart. */
static unsigned int key_kind(const struct step_signal *watch)
{
	if (watch->by_number)
		return GC_KEY_NUMBER;
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
static char *make_label(const struct step_watch *steps, const struct step_signal *watch,
	const struct event *event)
{
	const uint64_t *id = u64map_get(&steps->labels, event->mark.key);
	uint64_t dims = event->mark.number;
	const char *variant;
	char *text = NULL;

	switch (key_kind(watch)) {
	case GC_KEY_TEXT:
	case GC_KEY_HINT:
		return id ? strdup(strtab_get(steps->texts, (uint32_t)*id)) : NULL;
	case GC_KEY_NONE:
		variant = variant_label(watch, event->mark.key);
		return variant ? strdup(variant) : NULL;
	case GC_KEY_DIMS:
	case GC_KEY_DIMS_AT:
		if (dims & GC_DIMS_HASHED ||
			asprintf(&text, "%" PRIu64 "x%" PRIu64 "x%" PRIu64, dims >> 42,
				dims >> 21 & GC_DIMS_MOST, dims & GC_DIMS_MOST) < 0)
			return NULL;
	}
	return text;
}

static bool has_number(const struct step_signal *watch, const struct event *event)
{
	switch (key_kind(watch)) {
	case GC_KEY_NUMBER:
	case GC_KEY_SIZE:
	case GC_KEY_DIMS:
	case GC_KEY_DIMS_AT:
		return true;
	case GC_KEY_CLASS:
	case GC_KEY_OBJECT:
		return event->mark.number; /* 0: it could not be read */
	}
	return false;
}

static uint64_t series_key(uint32_t process, uint32_t tid, uint32_t signal, uint64_t key)
{
	return u64_mix(u64_mix((uint64_t)process << 32 | tid) + signal) ^ key;
}

static struct series *add_series(struct step_watch *steps, uint32_t process,
	const struct event *event, uint64_t key)
{
	struct step_signal *watch = &steps->signals[event->mark.signal];
	bool others = key == KEY_OTHERS;
	struct series *series = vec_add(&steps->feed->recording.series);

	if (!series)
		return NULL;
	series->id = steps->series_ids + 1;
	series->signal = event->mark.signal + 1;
	series->process = process;
	series->tid = event->head.tid;
	series->number = UNKNOWN;
	if (!others && has_number(watch, event))
		series->number = (int64_t)(event->mark.number & INT64_MAX);
	if (!others)
		series->label = make_label(steps, watch, event);
	if (u64map_put(&steps->series,
		    series_key(process, event->head.tid, event->mark.signal, key), series->id)) {
		free(series->label);
		steps->feed->recording.series.count--;
		return NULL;
	}
	steps->series_ids++;
	watch->series++;
	feed_series(steps->feed, series);
	return series;
}

static struct series *series_by_id(struct step_watch *steps, uint32_t id)
{
	return (struct series *)recording_series(&steps->feed->recording, id);
}

static struct series *find_series(struct step_watch *steps, uint32_t process,
	const struct event *event)
{
	const struct step_signal *watch = &steps->signals[event->mark.signal];
	uint64_t key = event->mark.key;

	for (;;) {
		const uint64_t *id = u64map_get(&steps->series,
			series_key(process, event->head.tid, event->mark.signal, key));

		if (id)
			return series_by_id(steps, (uint32_t)*id);
		if (key == KEY_OTHERS ||
			watch->series < (watch->by_number ? CONNECTIONS_MOST : SERIES_MOST))
			return add_series(steps, process, event, key);
		key = KEY_OTHERS;
	}
}

/* The first label was lost with a full ring, and its series has none: now it has come. */
static void settle_label(struct step_watch *steps, struct series *series, const struct event *event)
{
	const struct step_signal *watch = &steps->signals[event->mark.signal];

	if (series->label || watch->series >= SERIES_MOST ||
		(key_kind(watch) != GC_KEY_TEXT && key_kind(watch) != GC_KEY_HINT))
		return;
	series->label = make_label(steps, watch, event);
	if (series->label)
		feed_series(steps->feed, series);
}

/* A day of marks must fit the disk: those that come after so many are not kept, and no longer asked for. */
static bool is_one_too_many(struct step_watch *steps, const struct event *event)
{
	if (!steps->feed->recording.steps_until_ns && steps->marks++ >= steps->marks_most)
		steps->feed->recording.steps_until_ns = event->head.time_ns;
	return steps->feed->recording.steps_until_ns;
}

int steps_on_mark(struct step_watch *steps, uint32_t process, const struct event *event)
{
	struct series *series;
	struct mark mark;

	if (!process || !steps->on || event->mark.signal >= steps->feed->recording.signals.count)
		return -EBADMSG;
	if (is_one_too_many(steps, event))
		return 0;
	series = find_series(steps, process, event);
	if (!series)
		return 0;
	settle_label(steps, series, event);
	mark = (struct mark){
		.series = series->id,
		.time_ns = event->head.time_ns,
		.rss_bytes = event->mark.has_rss ? (int64_t)event->mark.rss_bytes : UNKNOWN,
		.skipped = event->mark.skipped,
		.work_ns = event->mark.has_work ? (int64_t)event->mark.work_ns : UNKNOWN,
	};
	feed_mark(steps->feed, &mark);
	return 0;
}

#define MOST_TEXTS 65536

void steps_forget_texts(struct step_watch *steps)
{
	struct strtab *fresh;

	if (!steps->on || strtab_count(steps->texts) <= MOST_TEXTS)
		return;
	fresh = strtab_new();
	if (!fresh)
		return;
	strtab_free(steps->texts);
	steps->texts = fresh;
	u64map_release(&steps->labels);
	memset(steps->page->labels, 0, sizeof(steps->page->labels));
}

/* The keys of series are hashes: what they lead to says which still hold. */
static void sift_keys(struct step_watch *steps)
{
	struct u64map kept = {}, *map = &steps->series;

	for (size_t i = 0; i < map->capacity; i++)
		if (map->used[i] && series_by_id(steps, (uint32_t)map->slots[i].value) &&
			u64map_put(&kept, map->slots[i].key, map->slots[i].value)) {
			u64map_release(&kept); /* memory is out: another time */
			return;
		}
	u64map_release(map);
	*map = kept;
}

void steps_sift_series(struct step_watch *steps)
{
	struct recording *recording = &steps->feed->recording;
	size_t kept = 0;

	for (size_t i = 0; i < recording->series.count; i++) {
		struct series *series = &recording->series.items[i];

		if (recording_process(recording, series->process)) {
			recording->series.items[kept++] = *series;
			continue;
		}
		steps->signals[series->signal - 1].series--;
		free(series->label);
	}
	if (kept == recording->series.count)
		return;
	recording->series.count = kept;
	sift_keys(steps);
}
