/* Step signals: plans → probes in place; the recording's signal table. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "gctrace.skel.h"
#include "log.h"
#include "steps_priv.h"

/* What a signal may cost of a processor's time, as its reciprocal: 1/400, and where it is thinned 1 %. */
#define COST	     400
#define COST_THINNED 100

void step_tell(struct step_watch *steps, size_t index)
{
	const struct signal *signal = &steps->feed->recording.signals.items[index];

	steps->signals[index].told_hits = signal->hits;
	feed_signal(steps->feed, signal);
}

int step_find_signal(const struct step_watch *steps, const char *name)
{
	for (size_t i = 0; i < steps->feed->recording.signals.count; i++)
		if (!strcmp(steps->feed->recording.signals.items[i].name, name))
			return (int)i;
	return -ENOENT;
}

void step_set_rate(struct step_watch *steps, size_t index)
{
	struct gc_signal *state = &steps->page->signals[index];
	uint64_t price = steps->price_ns ? steps->price_ns : STEP_HIT_PRICE_NS;

	state->rate_ns = (uint32_t)(price * (state->thinned ? COST_THINNED : COST));
}

int step_get_signal(struct step_watch *steps, const struct signal_plan *plan)
{
	size_t index = steps->feed->recording.signals.count;
	int known = step_find_signal(steps, plan->name), other;
	struct signal *signal;

	if (known >= 0)
		return known;
	if (index == GC_MAX_SIGNALS)
		return -E2BIG;
	signal = vec_add(&steps->feed->recording.signals);
	if (!signal)
		return -ENOMEM;
	signal->id = (uint32_t)index + 1;
	snprintf(signal->name, sizeof(signal->name), "%s", plan->name);
	other = plan->spare_of ? step_find_signal(steps, plan->spare_of) : -ENOENT;
	steps->signals[index].spare_of = (uint32_t)(other < 0 ? 0 : other + 1);
	steps->signals[index].spare_rate = plan->spare_rate;
	steps->page->signals[index].kept = plan->kept;
	steps->page->signals[index].thinned = plan->thinned;
	step_set_rate(steps, index);
	return (int)index;
}

void step_detach(struct step_signal *watch)
{
	for (size_t i = 0; i < watch->places.count; i++)
		uprobe_detach(&watch->places.items[i].probe);
}

int step_attach_place(struct step_watch *steps, struct step_place *place)
{
	char path[32];
	const struct uprobe_place at = {
		path, place->offset, place->semaphore, place->cookie, false};
	int r;

	if (steps->feed->recording.steps_until_ns)
		return 0;
	/* By the open file: the process through which it was found may be gone. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place->fd);
	r = uprobe_attach(steps->programs->bpf->progs.on_step, &at, &place->probe);
	steps->unprobed += r < 0;
	return r;
}

/* Appends what was probed in one more file. */
static void describe(struct signal *signal, const char *detail)
{
	char *text = NULL;

	if (signal->probe && strlen(signal->probe) > 1024)
		return;
	if (asprintf(&text, "%s%s%s", signal->probe ? signal->probe : "", signal->probe ? "; " : "",
		    detail) < 0)
		return;
	free(signal->probe);
	signal->probe = text;
}

void step_describe(struct step_watch *steps, size_t index, const char *detail)
{
	struct signal *signal = &steps->feed->recording.signals.items[index];

	if (detail && !signal->attached_ns)
		signal->attached_ns = now_ns();
	if (detail)
		describe(signal, detail);
	step_tell(steps, index);
}

void step_attach(struct step_watch *steps, int fd, const struct signal_plan *plan)
{
	int index = step_get_signal(steps, plan), r = 0;
	struct step_signal *watch;
	struct signal *signal;

	if (index < 0) {
		log_debug("%s: %s", plan->name, strerror(-index));
		return;
	}
	signal = &steps->feed->recording.signals.items[index];
	watch = &steps->signals[index];
	for (size_t i = 0; i < plan->site_count && !r; i++) {
		const struct signal_site *site = &plan->sites[i];
		struct step_place *place = vec_add(&watch->places);

		if (!place)
			return;
		*place = (struct step_place){fd, site->offset, site->semaphore,
			GC_STEP_COOKIE(index, site->variant, plan->key, plan->argument,
				plan->offset),
			site->label, {}};
		if (!signal->let_go_ns && !(watch->settled && plan->key == GC_KEY_HINT))
			r = step_attach_place(steps,
				place); /* else when it is tried again, or never */
	}
	if (r && plan->kept)
		log_warning("%s cannot be probed: %s", plan->detail, strerror(-r));
	if (!r && !signal->attached_ns)
		signal->attached_ns = now_ns();
	describe(signal, plan->detail);
	log_debug("%s: %s%s%s", signal->name, plan->detail, r ? ": " : "", r ? strerror(-r) : "");
	step_tell(steps, (size_t)index);
}
