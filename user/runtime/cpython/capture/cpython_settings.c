/*
 * The settings of CPython's collector: `enabled` and three thresholds, as gc.isenabled() and gc.get_threshold()
 * show them. In: a pid and a layout. Out: where they are, or why that is not certain enough to write there.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cpython_memory.h"
#include "cpython_plan.h"
#include "cpython_settings.h"
#include "mem.h"
#include "parse.h"

enum { ENABLED, YOUNG, MIDDLE, OLD, SETTINGS };

#define GENERATION_BYTES 24	   /* {GC_HEAD head; int threshold, count}, cpython_check.c */
#define MOST_YOUNG	 (1 << 30) /* objects made since the last collection */
#define MOST_OLDER	 (1 << 20) /* collections of the generation below */
#define TRIES		 2000	   /* a millisecond apart */
#define YOUNG_FACTOR	 100	   /* what is tried unless the user says otherwise */

/* One collector for the whole process, and of the kind whose settings are known. 0 or -ENOTSUP. */
static int is_certain(pid_t pid, uint64_t runtime, const struct probe_plan *plan, struct err *err)
{
	const struct gc_layout *layout = &cpython_plan(plan)->layout;
	int minor = 0, micro = 0;
	uint64_t head = 0;

	if (layout->free_threaded)
		return err_set(err, ENOTSUP,
			"process %d runs a free-threaded CPython %s, whose collector decides by more than its "
			"thresholds: compare two runs with gctrace diff",
			pid, plan->version);
	if (sscanf(plan->version, "3.%d.%d", &minor, &micro) == 2 && minor == 14 && micro < 5)
		return err_set(err, ENOTSUP,
			"process %d runs CPython %s, whose collector works in increments and gives its thresholds "
			"another meaning: use 3.14.5 or later, or compare two runs with gctrace diff",
			pid, plan->version);
	if (layout->gc_counts == GC_NO_FIELD)
		return err_set(err, ENOTSUP,
			"where this build of CPython %s keeps its thresholds is not known: compare two runs with "
			"gctrace diff",
			plan->version);
	if (mem_read(pid, runtime + layout->runtime_head, &head, sizeof(head)))
		return err_set(err, ENOTSUP, "the memory of process %d cannot be read", pid);
	if (head != cpython_main_interpreter(pid, runtime, layout))
		return err_set(err, ENOTSUP,
			"process %d has subinterpreters, which have collectors of their own: a trial would change "
			"only one",
			pid);
	return 0;
}

static int read_one(pid_t pid, uint64_t address, const char *name, int32_t most,
	struct settings *all, struct err *err)
{
	int32_t value;

	if (mem_read(pid, address, &value, sizeof(value)))
		return err_set(err, ENOTSUP, "the memory of process %d cannot be read", pid);
	if (value < 0 || value > most)
		return err_set(err, ENOTSUP,
			"in process %d the collector's %s would be %d, which it cannot be: its settings are not "
			"where they should be, and nothing was written",
			pid, name, value);
	all->items[all->count].name = name;
	all->items[all->count].address = address;
	all->items[all->count++].value = value;
	return 0;
}

/* 0, -EAGAIN or -EPROTO. While a collection is under way its lists are in pieces: that is waited for. */
static int fits(pid_t pid, uint64_t bias, const struct probe_plan *plan)
{
	const struct timespec nap = {.tv_nsec = 1000000};
	int r = cpython_fits(pid, bias, plan);

	for (int i = 0; i < TRIES && r == -EAGAIN; i++) {
		nanosleep(&nap, NULL);
		r = cpython_fits(pid, bias, plan);
	}
	return r;
}

static int find(pid_t pid, uint64_t bias, const struct probe_plan *plan, struct settings *ret,
	struct err *err)
{
	static const char *const names[SETTINGS] = {
		"enabled", "threshold 0", "threshold 1", "threshold 2"};
	static const char *const counts[SETTINGS] = {NULL, "count 0", "count 1", "count 2"};
	const struct gc_layout *layout = &cpython_plan(plan)->layout;
	uint64_t runtime = layout->runtime_address + bias, gc;
	struct settings found = {}, counted = {};
	int r = is_certain(pid, runtime, plan, err);

	if (!r && (r = fits(pid, bias, plan)) != 0)
		err_set(err, -r,
			r == -EAGAIN
				? "process %d is still starting up, ending, or in a long collection: try again"
				: "in process %d the collector's state is not where its version keeps it",
			pid);
	gc = r ? 0 : cpython_main_gc(pid, runtime, layout);
	if (!r)
		r = read_one(pid, gc + layout->gc_enabled, names[ENABLED], 1, &found, err);
	for (uint64_t i = YOUNG; !r && i < SETTINGS; i++) {
		uint64_t at = gc + layout->gc_counts + (i - YOUNG) * GENERATION_BYTES;

		r = read_one(pid, at, names[i], i == YOUNG ? MOST_YOUNG : MOST_OLDER, &found, err);
		/* Where the count follows as it should, the place is a generation's. */
		if (!r)
			r = read_one(pid, at + sizeof(int32_t), counts[i],
				i == YOUNG ? MOST_YOUNG : MOST_OLDER, &counted, err);
	}
	if (!r)
		*ret = found;
	return r;
}

/* "700", "700,10" or "700,10,10", as gc.set_threshold() takes them. */
static int take_thresholds(const char *text, struct settings *all, struct err *err)
{
	char copy[64], *next = copy, *one;
	int place = YOUNG;

	if (strlen(text) >= sizeof(copy))
		return err_set(err, EINVAL, "thresholds are at most three numbers");
	snprintf(copy, sizeof(copy), "%s", text);
	while ((one = strsep(&next, ","))) {
		long value;
		int r = place == SETTINGS
				? err_set(err, EINVAL, "thresholds are at most three numbers")
				: parse_int(one, "a threshold", place == YOUNG,
					  place == YOUNG ? MOST_YOUNG : MOST_OLDER, &value, err);

		if (r)
			return r;
		all->items[place++].value = (int32_t)value;
	}
	return 0;
}

static int change(const struct settings *now, const char *text, struct settings *ret,
	struct err *err)
{
	static const char thresholds[] = "threshold=";
	struct settings changed = *now;
	int64_t young = now->items[YOUNG].value * (int64_t)YOUNG_FACTOR;
	int r = 0;

	if (!now->items[ENABLED].value || !now->items[YOUNG].value)
		return err_set(err, ENOTSUP,
			"the program has turned its collector off (gc.disable() or a threshold of 0): there is "
			"nothing to compare with");
	if (!text)
		changed.items[YOUNG].value = (int32_t)(young < MOST_YOUNG ? young : MOST_YOUNG);
	else if (!strcmp(text, "off"))
		changed.items[ENABLED].value = 0;
	else if (!strncmp(text, thresholds, strlen(thresholds)))
		r = take_thresholds(text + strlen(thresholds), &changed, err);
	else
		r = err_set(err, EINVAL,
			"\"%s\" is none of off, same and threshold=G0[,G1,G2], which CPython has",
			text);
	if (!r)
		*ret = changed;
	return r;
}

static void describe(const struct settings *settings, char *ret, size_t size)
{
	snprintf(ret, size, "%s, thresholds %d, %d, %d",
		settings->items[ENABLED].value ? "on" : "off", settings->items[YOUNG].value,
		settings->items[MIDDLE].value, settings->items[OLD].value);
}

/*
 * By gc_collect_generations() of 3.8 to 3.13 (Modules/gcmodule.c, Python/gc.c), as 3.14.5 and 3.15 have it again. A generation's count
 * must exceed its threshold, the oldest one due is collected, and its collection itself is none of those that it counts: with
 * thresholds 700, 10, 10 eleven young collections come to one of generation 1, the twelfth.
 */
static struct settings_pace pace(const struct settings *settings)
{
	return (struct settings_pace){
		.on = settings->items[ENABLED].value && settings->items[YOUNG].value,
		.made = settings->items[YOUNG].value + 1.0,
		.promotes = settings->items[MIDDLE].value + 2.0,
		.promotions = settings->items[OLD].value + 1.0,
		.share = 0.25,
	};
}

const struct settings_ops cpython_settings = {find, change, describe, pace};
