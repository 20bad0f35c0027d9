/* Calls that wait: plans → probes at their entries and returns; let go while they run hot, and tried again. */
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "clock.h"
#include "gctrace.skel.h"
#include "log.h"
#include "steps_priv.h"

#define COST                                                                                       \
	200 /* what they may cost of a processor's time, as its reciprocal, for each of a call's two hits */

#define FIRST_WAIT_NS 10000000000ull /* until they are tried again, then twice that */

/* While one of them may not be seen, its spinning would pass for work: no mark says what was worked. */
static void set_blind(struct step_watch *steps)
{
	const struct wait_watch *waits = &steps->waits;

	__atomic_store_n(&steps->page->waits.blind,
		waits->expected || waits->failed || waits->let_go, __ATOMIC_RELEASE);
}

void step_set_waits_rate(struct step_watch *steps, uint64_t price_ns)
{
	steps->page->waits.rate_ns = (uint32_t)(2 * price_ns * COST);
}

void step_waits_expect(struct step_watch *steps)
{
	steps->waits.expected++;
	set_blind(steps);
}

static int attach_one(const struct step_watch *steps, struct wait_place *place)
{
	const struct gctrace_bpf *bpf = steps->programs->bpf;
	char path[32];
	struct uprobe_place at = {
		path, place->site.offset, 0, place->site.cookie, .at_return = true};
	int r;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", place->fd);
	r = uprobe_attach(bpf->progs.on_wait_return, &at, &place->at_return);
	at.at_return = false;
	return r ? r : uprobe_attach(bpf->progs.on_wait_call, &at, &place->at_entry);
}

static void detach_one(struct wait_place *place)
{
	uprobe_detach(&place->at_entry);
	uprobe_detach(&place->at_return);
}

/* From the place of index @from on. What a thread worked is then counted anew. */
static void attach(struct step_watch *steps, size_t from)
{
	struct wait_watch *waits = &steps->waits;

	for (size_t i = from; i < waits->places.count; i++) {
		struct wait_place *place = &waits->places.items[i];
		int r = attach_one(steps, place);

		if (!r)
			continue;
		detach_one(place);
		waits->failed = true;
		log_debug("a function that waits, at %#llx of its file, cannot be probed: %s",
			(unsigned long long)place->site.offset, strerror(-r));
	}
	__atomic_add_fetch(&steps->page->waits.epoch, 1, __ATOMIC_RELEASE);
}

void step_waits_attach(struct step_watch *steps, int fd, const struct wait_plan *plan)
{
	struct wait_watch *waits = &steps->waits;
	size_t before = waits->places.count;

	for (size_t i = 0; i < plan->count; i++) {
		struct wait_place *place = vec_add(&waits->places);

		if (place)
			*place = (struct wait_place){.fd = fd, .site = plan->sites[i]};
		waits->failed |= !place;
	}
	log_debug("%zu functions that wait", plan->count);
	if (!waits->let_go && !steps->feed->recording.steps_until_ns)
		attach(steps, before);
}

void step_waits_looked(struct step_watch *steps, bool all)
{
	steps->waits.expected--;
	steps->waits.failed |= !all;
	set_blind(steps);
}

void step_waits_detach(struct step_watch *steps)
{
	for (size_t i = 0; i < steps->waits.places.count; i++)
		detach_one(&steps->waits.places.items[i]);
}

static void let_go(struct step_watch *steps, uint64_t now)
{
	struct wait_watch *waits = &steps->waits;

	log_debug("calls that wait come too fast: let go after %llu",
		(unsigned long long)steps->page->waits.calls);
	waits->let_go = true;
	set_blind(steps);
	step_waits_detach(steps);
	waits->wait_ns = waits->wait_ns ? 2 * waits->wait_ns : FIRST_WAIT_NS;
	waits->retry_ns = now + waits->wait_ns;
}

static void try_again(struct step_watch *steps)
{
	struct wait_watch *waits = &steps->waits;

	log_debug("calls that wait are tried again");
	steps->page->waits.due_ns = 0;
	steps->page->waits.muted = 0;
	attach(steps, 0);
	waits->let_go = false;
	set_blind(steps);
}

bool step_waits_run_hot(const struct step_watch *steps, uint64_t now)
{
	const volatile struct gc_waits *state = &steps->page->waits;

	return state->due_ns > now + (uint64_t)state->rate_ns * GC_SIGNAL_BURST / 4;
}

void step_watch_waits(struct step_watch *steps, uint64_t now)
{
	const volatile struct gc_waits *state = &steps->page->waits;
	const struct wait_watch *waits = &steps->waits;

	if (!waits->places.count)
		return;
	if (!waits->let_go && state->muted)
		let_go(steps, now);
	else if (waits->let_go && now >= waits->retry_ns)
		try_again(steps);
}
