/*
 * When a thread that launches waited for its device in; what pauses cost, out, where nothing recorded the device itself.
 *
 * A wait that a pause made shorter has made up for as much of it: the device had work meanwhile. What no wait makes up
 * for is lost. How long a wait would have been, the usual ones at its place in the program say: the same function called
 * after as many launches.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "cleanup.h"
#include "gpu_priv.h"
#include "stats.h"

#define PEERS_LEAST 7  /* fewer say nothing of what is usual */
#define AFTER	    8  /* so many waits after a pause may still be shorter than usual */
#define WAITS_MOST  64 /* by then it is over, or it cannot be told */

struct seen_wait {
	uint64_t start_ns, end_ns;
	uint64_t since_ns; /* the end of the thread's wait before, or its own start */
	uint64_t place;
	bool known;	     /* what is usual at its place */
	bool touched, after; /* by a pause since the wait before; shortly after one that was */
	uint64_t usual_ns, low_ns,
		high_ns;    /* a wait there: the median, and a tenth is shorter, or longer */
	uint64_t period_ns; /* from the wait before to the end of this, usually */
};

/* A pause that some wait may still make up for. */
struct pending {
	size_t pause;
	uint64_t left_ns, low_ns, high_ns; /* not made up for yet; low: at least */
	uint64_t took_ns, usual_ns;	   /* until the last wait since then, and usually */
};

struct inferring {
	const struct gpu_pause *pauses;
	const struct gpu_driver *driver;
	uint32_t tid;
	bool informs; /* some place is known where it usually waits: else it is never ahead of its device */
	VEC(struct seen_wait) waits;
	VEC(size_t) own;	     /* pauses of the process, by start */
	VEC(struct pending) pending; /* by start */
	size_t passed;		     /* waits since the last of these */
};

static void inferring_release(struct inferring *of)
{
	vec_free(&of->waits);
	vec_free(&of->own);
	vec_free(&of->pending);
}

/* The thread of @driver that waits most; 0: none does. */
static uint32_t choose_thread(const struct gpu_driver *driver)
{
	struct {
		uint32_t tid;
		size_t waits;
	} threads[64] = {};
	size_t best = 0;

	for (size_t i = 0; i < driver->calls.count; i++) {
		const struct gpu_driver_call *call = &driver->calls.items[i];
		size_t at = 0;

		if (call->kind != GPU_DRIVER_WAIT)
			continue;
		while (at < ARRAY_SIZE(threads) && threads[at].tid && threads[at].tid != call->tid)
			at++;
		if (at == ARRAY_SIZE(threads))
			continue;
		threads[at].tid = call->tid;
		threads[at].waits++;
		if (threads[at].waits > threads[best].waits)
			best = at;
	}
	return threads[best].tid;
}

static int list_waits(struct inferring *of)
{
	const struct gpu_driver_call *before = NULL;

	for (size_t i = 0; i < of->driver->calls.count; i++) {
		const struct gpu_driver_call *call = &of->driver->calls.items[i];
		uint64_t launches = GPU_NOT_COUNTED >> 8;
		struct seen_wait *wait;

		if (call->kind != GPU_DRIVER_WAIT || call->tid != of->tid)
			continue;
		if (before && before->end_ns > call->start_ns)
			continue; /* one thread's do not overlap: a damaged file's */
		wait = vec_add(&of->waits);
		if (!wait)
			return -ENOMEM;
		if (before && before->launches != GPU_NOT_COUNTED &&
			call->launches != GPU_NOT_COUNTED && call->launches >= before->launches)
			launches = call->launches - before->launches;
		wait->start_ns = call->start_ns;
		wait->end_ns = call->end_ns;
		wait->since_ns = before ? before->end_ns : call->start_ns;
		wait->place = (uint64_t)call->function << 56 | (launches & (GPU_NOT_COUNTED >> 8));
		before = call;
	}
	return 0;
}

/* Whether @pause stops the thread. */
static bool stops(const struct inferring *of, const struct gpu_pause *pause)
{
	return pause->process == of->driver->process && pause->end_ns >= pause->start_ns &&
	       pause->start_ns >= of->driver->attached_ns &&
	       (pause->stops_all || pause->tid == of->tid);
}

static int list_pauses(struct inferring *of, size_t count)
{
	size_t *slot, at = 0, beyond = 0; /* of the waits that are touched */

	for (size_t i = 0; i < count; i++) {
		const struct gpu_pause *pause = &of->pauses[i];

		if (!stops(of, pause))
			continue;
		slot = vec_add(&of->own);
		if (!slot)
			return -ENOMEM;
		*slot = i;
		while (at < of->waits.count && of->waits.items[at].end_ns <= pause->start_ns)
			at++;
		if (beyond < at)
			beyond = at;
		for (size_t j = beyond; j < of->waits.count; j++) {
			struct seen_wait *wait = &of->waits.items[j];

			if (wait->since_ns < pause->end_ns) {
				wait->touched = true;
				beyond = j + 1;
			} else if (j - at < AFTER) {
				wait->after = true;
			} else {
				break;
			}
		}
	}
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct seen_wait *one = *(struct seen_wait *const *)a,
			       *other = *(struct seen_wait *const *)b;

	return (one->place > other->place) - (one->place < other->place);
}

/* Of the @count waits at one place. @values: room for as many. */
static void set_usual(struct inferring *of, struct seen_wait **waits, size_t count,
	uint64_t *values)
{
	struct seen_wait usual = {};
	bool settled = true;
	size_t peers = 0;

	for (size_t i = 0; i < count; i++)
		peers += !waits[i]->touched && !waits[i]->after;
	if (peers < PEERS_LEAST) /* so many pauses: the median bears with some that are shorter */
		settled = false;
	peers = 0;
	for (size_t i = 0; i < count; i++)
		if (!waits[i]->touched && !(settled && waits[i]->after))
			values[peers++] = waits[i]->end_ns - waits[i]->start_ns;
	if (peers < PEERS_LEAST)
		return;
	usual.usual_ns = stats_median(values, peers);
	usual.low_ns = stats_quantile(values, peers, 0.1);
	usual.high_ns = stats_quantile(values, peers, 0.9);
	peers = 0;
	for (size_t i = 0; i < count; i++)
		if (!waits[i]->touched && !(settled && waits[i]->after))
			values[peers++] = waits[i]->end_ns - waits[i]->since_ns;
	usual.period_ns = stats_median(values, peers);
	of->informs |= usual.usual_ns >= GPU_WAITED_NS;
	for (size_t i = 0; i < count; i++) {
		waits[i]->known = true;
		waits[i]->usual_ns = usual.usual_ns;
		waits[i]->low_ns = usual.low_ns;
		waits[i]->high_ns = usual.high_ns;
		waits[i]->period_ns = usual.period_ns;
	}
}

static int find_usual(struct inferring *of)
{
	size_t count = of->waits.count;
	_cleanup_free_ struct seen_wait **sorted = calloc(count + 1, sizeof(*sorted));
	_cleanup_free_ uint64_t *values = calloc(count + 1, sizeof(*values));

	if (!sorted || !values)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		sorted[i] = &of->waits.items[i];
	qsort(sorted, count, sizeof(struct seen_wait *), by_place);
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from + 1; to < count && sorted[to]->place == sorted[from]->place;)
			to++;
		set_usual(of, sorted + from, to - from, values);
	}
	return 0;
}

/* Takes @made_up_ns from the oldest first: what is done of it is not there for the others. */
static void make_up(struct pending *pending, size_t count, uint64_t made_up_ns, size_t field)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t *left = (uint64_t *)((char *)&pending[i] + field);
		uint64_t part = made_up_ns < *left ? made_up_ns : *left;

		*left -= part;
		made_up_ns -= part;
	}
}

static uint64_t shorter(uint64_t usual_ns, uint64_t waited_ns)
{
	return usual_ns > waited_ns ? usual_ns - waited_ns : 0;
}

static void add_known(struct gpu_inferred *inferred, const struct gpu_cost *cost)
{
	inferred->known++;
	stats_add(&inferred->pause_ns, cost->hidden_ns + cost->exposed_ns);
	stats_add(&inferred->lost_ns, cost->lost_ns);
	stats_add(&inferred->lost_low_ns, cost->lost_low_ns);
	stats_add(&inferred->lost_high_ns, cost->lost_high_ns);
}

/* What is pending is over: nothing makes up for the rest. */
static void settle(struct inferring *of, struct gpu_charges *charges)
{
	for (size_t i = 0; i < of->pending.count; i++) {
		const struct pending *pending = &of->pending.items[i];
		const struct gpu_pause *pause = &of->pauses[pending->pause];
		uint64_t late_ns = shorter(pending->took_ns, pending->usual_ns);

		charges->pauses.items[pending->pause] = (struct gpu_cost){
			.hidden_ns = pause->end_ns - pause->start_ns - pending->left_ns,
			.exposed_ns = pending->left_ns,
			.lost_ns = pending->left_ns,
			/* It may also have been made up for where a launch waited for room, which shows in the time alone. */
			.lost_low_ns = pending->low_ns < late_ns ? pending->low_ns : late_ns,
			.lost_high_ns = pending->high_ns,
			.device = GPU_DEVICE_NONE,
			.known = true,
		};
		if (charges->pauses.items[pending->pause].lost_low_ns > pending->left_ns)
			charges->pauses.items[pending->pause].lost_low_ns = pending->left_ns;
		add_known(&charges->inferred, &charges->pauses.items[pending->pause]);
	}
	of->pending.count = 0;
}

static void take_wait(struct inferring *of, const struct seen_wait *wait,
	struct gpu_charges *charges)
{
	uint64_t waited_ns = wait->end_ns - wait->start_ns;
	struct pending *pending = of->pending.items;
	size_t count = of->pending.count;

	if (!count)
		return;
	if (!wait->known || ++of->passed > WAITS_MOST) {
		of->pending.count = 0; /* not known */
		return;
	}
	for (size_t i = 0; i < count; i++) {
		stats_add(&pending[i].took_ns, wait->end_ns - wait->since_ns);
		stats_add(&pending[i].usual_ns, wait->period_ns);
	}
	if (!of->informs) {
		settle(of, charges);
		return;
	}
	if (wait->usual_ns < GPU_WAITED_NS)
		return; /* it says nothing of the device */
	make_up(pending, count, shorter(wait->usual_ns, waited_ns),
		offsetof(struct pending, left_ns));
	make_up(pending, count, shorter(wait->high_ns, waited_ns),
		offsetof(struct pending, low_ns));
	make_up(pending, count, shorter(wait->low_ns, waited_ns),
		offsetof(struct pending, high_ns));
	if (waited_ns >= wait->usual_ns / 2)
		settle(of, charges);
}

/* By how much it holds up the thread: not while that waits anyway, nor once more where another pause lasts. */
static uint64_t held_up(const struct inferring *of, const struct gpu_pause *pause, size_t from,
	uint64_t covered_ns)
{
	uint64_t start_ns = pause->start_ns > covered_ns ? pause->start_ns : covered_ns;
	uint64_t held_ns = pause->end_ns > start_ns ? pause->end_ns - start_ns : 0;

	for (size_t i = from; i < of->waits.count; i++) {
		const struct seen_wait *wait = &of->waits.items[i];
		uint64_t a = wait->start_ns > start_ns ? wait->start_ns : start_ns;
		uint64_t b = wait->end_ns < pause->end_ns ? wait->end_ns : pause->end_ns;

		if (wait->start_ns >= pause->end_ns)
			break;
		held_ns -= b > a ? b - a : 0;
	}
	return held_ns;
}

static int walk(struct inferring *of, struct gpu_charges *charges)
{
	uint64_t covered_ns = 0;
	size_t at = 0, beyond = 0; /* of the waits before covered_ns */

	for (size_t i = 0; i < of->own.count; i++) {
		const struct gpu_pause *pause = &of->pauses[of->own.items[i]];
		struct pending *pending;
		uint64_t held_ns;

		while (at < of->waits.count && of->waits.items[at].end_ns <= pause->start_ns)
			take_wait(of, &of->waits.items[at++], charges);
		pending = vec_add(&of->pending);
		if (!pending)
			return -ENOMEM;
		while (beyond < of->waits.count && of->waits.items[beyond].end_ns <= covered_ns)
			beyond++;
		held_ns = held_up(of, pause, at > beyond ? at : beyond, covered_ns);
		*pending = (struct pending){of->own.items[i], held_ns, held_ns, held_ns, 0, 0};
		covered_ns = pause->end_ns > covered_ns ? pause->end_ns : covered_ns;
		of->passed = 0;
	}
	while (at < of->waits.count)
		take_wait(of, &of->waits.items[at++], charges);
	return 0;
}

int gpu_infer(const struct gpu_driver *driver, const struct gpu_pause *pauses, size_t count,
	struct gpu_charges *charges)
{
	_cleanup_(inferring_release) struct inferring of = {
		.pauses = pauses, .driver = driver, .tid = choose_thread(driver)};
	int r = list_waits(&of);

	if (!r)
		r = list_pauses(&of, count);
	if (!r)
		r = find_usual(&of);
	charges->inferred.pauses += of.own.count;
	return r || !of.own.count ? r : walk(&of, charges);
}
