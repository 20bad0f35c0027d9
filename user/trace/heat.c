/* What each step signal costs as it is hit → signals let go while they run hot, and tried again. */
#include "cleanup.h"
#include "clock.h"
#include "gctrace.skel.h"
#include "log.h"
#include "steps_priv.h"

#define FIRST_WAIT_NS 10000000000ull /* until what was let go is tried again, then twice that */

uint64_t step_price(struct step_watch *steps)
{
	if (steps->price_ns)
		return steps->price_ns;
	steps->price_ns = step_hit_price(steps->programs->bpf->progs.on_step, &steps->price_probe);
	for (size_t i = 0; i < steps->feed->recording.signals.count; i++)
		step_set_rate(steps, i);
	step_set_waits_rate(steps, steps->price_ns);
	return steps->price_ns;
}

/* Takes the signal's probes away. Its marks so far stay. */
static void let_go(struct step_watch *steps, size_t index)
{
	struct signal *signal = &steps->feed->recording.signals.items[index];
	struct step_signal *watch = &steps->signals[index];

	step_detach(watch);
	signal->let_go_ns = now_ns();
	signal->hits = steps->page->signals[index].hits;
	watch->wait_ns = watch->wait_ns ? 2 * watch->wait_ns : FIRST_WAIT_NS;
	watch->retry_ns = signal->let_go_ns + watch->wait_ns;
	for (size_t i = 0; i < steps->feed->recording.signals.count;
		i++) /* its spare is needed now */
		if (steps->signals[i].spare_of == index + 1 && steps->signals[i].retry_ns)
			steps->signals[i].retry_ns = signal->let_go_ns;
	step_tell(steps, index);
}

static void try_again(struct step_watch *steps, size_t index)
{
	struct signal *signal = &steps->feed->recording.signals.items[index];
	volatile struct gc_signal *state = &steps->page->signals[index];
	struct step_signal *watch = &steps->signals[index];

	log_debug("%s is tried again", signal->name);
	signal->let_go_ns = 0;
	watch->retry_ns = 0;
	state->due_ns = 0;
	state->muted = 0;
	for (size_t i = 0; i < watch->places.count; i++)
		step_attach_place(steps, &watch->places.items[i]);
	step_tell(steps, index);
}

/* A user's own signal is never let go, but its price is said. */
static void warn_if_hot(struct step_watch *steps, size_t index, uint64_t now)
{
	const struct signal *signal = &steps->feed->recording.signals.items[index];
	struct step_signal *watch = &steps->signals[index];
	uint64_t most, grown = signal->hits - watch->level_hits;

	if (!watch->level_ns) {
		watch->level_ns = now;
		watch->level_hits = signal->hits;
		return;
	}
	most = (now - watch->level_ns) / steps->page->signals[index].rate_ns;
	if (grown <= most) {
		watch->level_ns = now;
		watch->level_hits = signal->hits;
	} else if (grown - most > GC_SIGNAL_BURST && !watch->warned) {
		watch->warned = true;
		log_warning("%s is called %llu times a second: each call now costs the workload "
			    "%s, and the recording a row",
			signal->name,
			(unsigned long long)(grown * 1000000000ull / (now - watch->level_ns + 1)),
			steps->watched.count
				? "a debug exception, ten microseconds on some machines"
				: "about a microsecond");
	}
}

/* Whether a signal that says more does so, and this one would only make very short steps longer. */
static bool is_spare(struct step_watch *steps, size_t index, uint64_t now)
{
	const struct signal *signal = &steps->feed->recording.signals.items[index];
	struct step_signal *watch = &steps->signals[index];
	const struct signal *other;
	uint64_t grown, most;
	bool spare;

	if (!watch->spare_of || signal->let_go_ns || now - watch->rate_ns < 1000000000)
		return false;
	other = &steps->feed->recording.signals.items[watch->spare_of - 1];
	grown = signal->hits - watch->rate_hits;
	most = watch->spare_rate * (now - watch->rate_ns) / 1000000000;
	spare = watch->rate_ns && !other->let_go_ns && other->hits > watch->other_hits &&
		steps->page->signals[watch->spare_of - 1].marked && grown > most &&
		grown * step_price(steps) > most * STEP_HIT_PRICE_NS;
	watch->rate_ns = now;
	watch->rate_hits = signal->hits;
	watch->other_hits = other->hits;
	return spare;
}

/* The outer functions' probes only cost, once the inner one is known to be called. */
static void drop_hints(struct step_signal *watch)
{
	watch->settled = true;
	for (size_t i = 0; i < watch->places.count; i++) {
		struct step_place *place = &watch->places.items[i];

		if (GC_STEP_KEY(place->cookie) != GC_KEY_HINT)
			continue;
		uprobe_detach(&place->probe);
		*place = watch->places.items[--watch->places.count];
		i--;
	}
}

/* Whether a quarter of the hits that are tolerated at once have come. */
static bool runs_hot(const volatile struct gc_signal *state, uint64_t now)
{
	return state->due_ns > now + (uint64_t)state->rate_ns * GC_SIGNAL_BURST / 4;
}

static void watch_signal(struct step_watch *steps, size_t index, uint64_t now)
{
	const volatile struct gc_signal *state = &steps->page->signals[index];
	struct signal *signal = &steps->feed->recording.signals.items[index];
	struct step_signal *watch = &steps->signals[index];

	signal->hits = state->hits;
	if (!steps->price_ns && runs_hot(state, now))
		step_price(steps);
	if (state->kept)
		warn_if_hot(steps, index, now);
	if (state->direct && !watch->settled)
		drop_hints(watch);
	if ((state->muted && !signal->let_go_ns) || is_spare(steps, index, now))
		let_go(steps, index);
	else if (watch->retry_ns && now >= watch->retry_ns)
		try_again(steps, index);
}

/* There are as many marks as are kept: the probes would only cost. */
static void end_marks(struct step_watch *steps)
{
	if (steps->ended)
		return;
	steps->ended = true;
	for (size_t i = 0; i < ARRAY_SIZE(steps->signals); i++)
		step_detach(&steps->signals[i]);
	step_waits_detach(steps);
	steps_over(steps, 0);
	log_warning(
		"%llu calls that may mark steps are recorded, and no more are: later steps will not be known",
		(unsigned long long)steps->marks_most);
}

void step_watch_signals(struct step_watch *steps, uint64_t now)
{
	if (steps->feed->recording.steps_until_ns) {
		end_marks(steps);
		return;
	}
	for (size_t i = 0; i < steps->feed->recording.signals.count; i++)
		watch_signal(steps, i, now);
	if (!steps->price_ns && step_waits_run_hot(steps, now))
		step_price(steps);
	step_watch_waits(steps, now);
}
