/* A timeline of devices and pauses in; who made each device stand idle, and what each pause cost, out. */
#include <errno.h>
#include <stdlib.h>

#include "cleanup.h"
#include "gpu_priv.h"
#include "stats.h"

void gpu_charges_release(struct gpu_charges *charges)
{
	if (!charges)
		return;
	vec_free(&charges->pauses);
	vec_free(&charges->idles);
	vec_free(&charges->devices);
}

/* What pauses of one process cost one of its devices. */
struct pass {
	const struct gpu_subject *subject;
	const struct gpu_device *device;
	struct gpu_cost *costs; /* as subject->own */
	uint64_t *reach;	/* the latest end of a pause up to each, likewise */
	struct charged {
		size_t *items; /* in subject->own, the last first */
		size_t count, capacity;
	} charged;
};

static const struct gpu_pause *pause_at(const struct pass *pass, size_t index)
{
	return &pass->subject->pauses[pass->subject->own.items[index]];
}

/* How long after a pause what its thread launches was still held up by it: what it takes between two launches. */
static uint64_t gap_of(const struct pass *pass, uint32_t tid)
{
	const struct gpu_timeline *timeline = pass->subject->timeline;

	for (size_t i = 0; i < timeline->launchers.count; i++) {
		const struct gpu_launcher *launcher = &timeline->launchers.items[i];

		if (launcher->process == pass->subject->process && launcher->tid == tid &&
			launcher->gap_ns)
			return launcher->gap_ns;
	}
	return GPU_IDLE_NS;
}

/* What ended an idle interval. */
struct ending {
	uint64_t launch_ns, previous_ns;
	uint64_t gap_ns; /* gap_of(tid) */
	uint32_t tid;
};

/* C1 to C3 of docs/gpu.md. @idle was starved. */
static bool is_charged(const struct gpu_idle *idle, const struct ending *ending,
	const struct gpu_pause *pause)
{
	if (!pause->stops_all && pause->tid != ending->tid)
		return false;
	if (ending->launch_ns < pause->start_ns ||
		(ending->launch_ns > pause->end_ns &&
			ending->launch_ns - pause->end_ns > ending->gap_ns))
		return false;
	return idle->start_ns < pause->end_ns ||
	       (ending->previous_ns && ending->previous_ns < pause->end_ns);
}

/* The first pause that begins after @time_ns: its index, or the count. */
static size_t pauses_until(const struct pass *pass, uint64_t time_ns)
{
	size_t low = 0, high = pass->subject->own.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (pause_at(pass, middle)->start_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint64_t within(const struct gpu_idle *idle, uint64_t from, uint64_t to)
{
	uint64_t start = from > idle->start_ns ? from : idle->start_ns;
	uint64_t end = to < idle->end_ns ? to : idle->end_ns;

	return end > start ? end - start : 0;
}

/*
 * Gives each moment of the idle interval to one of the charged pauses: to the earliest that lasts then, or to the one that
 * was over last.
 */
static void share_idle(struct pass *pass, struct gpu_idle *idle)
{
	size_t first = pass->charged.items[pass->charged.count - 1], over = first;
	uint64_t at = pause_at(pass, first)->start_ns;

	idle->cause = GPU_CAUSE_PAUSE;
	idle->pause = pass->subject->own.items[first];
	idle->pause_ns = within(idle, at, UINT64_MAX);
	for (size_t i = pass->charged.count; i--;) {
		size_t index = pass->charged.items[i];
		const struct gpu_pause *pause = pause_at(pass, index);

		if (pause->start_ns > at) {
			stats_add(&pass->costs[over].recovery_ns,
				within(idle, at, pause->start_ns));
			at = pause->start_ns;
		}
		if (pause->end_ns <= at && i + 1 != pass->charged.count)
			continue;
		stats_add(&pass->costs[index].exposed_ns, within(idle, at, pause->end_ns));
		at = pause->end_ns;
		over = index;
	}
	stats_add(&pass->costs[over].recovery_ns, within(idle, at, UINT64_MAX));
}

/* Charges a starved interval to the pauses that kept its launch back. 0 or -ENOMEM. */
static int charge_idle(struct pass *pass, struct gpu_idle *idle)
{
	size_t at = gpu_busy_from(pass->device, idle->end_ns);
	bool last = at == pass->device->busy.count;
	struct ending ending = {.launch_ns = idle->end_ns};

	if (!last) {
		const struct gpu_busy *next = &pass->device->busy.items[at];

		ending = (struct ending){
			next->launch_ns, next->previous_ns, gap_of(pass, next->tid), next->tid};
	}
	pass->charged.count = 0;
	for (size_t i = pauses_until(pass, ending.launch_ns); i--;) {
		size_t *added;

		if (ending.launch_ns > pass->reach[i] &&
			ending.launch_ns - pass->reach[i] > ending.gap_ns)
			break;
		if (!is_charged(idle, &ending, pause_at(pass, i)))
			continue;
		added = vec_add(&pass->charged);
		if (!added)
			return -ENOMEM;
		*added = i;
	}
	if (pass->charged.count)
		share_idle(pass, idle);
	return 0;
}

/* Until when in its time the device still had work: the first idle interval of [@idles, @end) that is not over. */
static void set_hidden(const struct pass *pass, const struct gpu_idle *idles, size_t count)
{
	size_t at = 0;

	for (size_t i = 0; i < pass->subject->own.count; i++) {
		const struct gpu_pause *pause = pause_at(pass, i);
		uint64_t until = pause->end_ns;

		while (at < count && idles[at].end_ns <= pause->start_ns)
			at++;
		if (at < count && idles[at].start_ns < until)
			until = idles[at].start_ns;
		pass->costs[i].hidden_ns = until > pause->start_ns ? until - pause->start_ns : 0;
	}
}

/* Whether nothing is missing while the pause lasted, nor in what is charged to it. */
static bool is_seen(const struct gpu_device *device, const struct gpu_pause *pause,
	const struct gpu_cost *cost)
{
	uint64_t from, to, until = pause->end_ns;

	stats_add(&until, cost->recovery_ns);
	return gpu_seen(device, &from, &to) && pause->start_ns >= from && pause->start_ns < to &&
	       gpu_all_known(device, pause->start_ns, until);
}

/* The device that lost most, or stood idle longest, counts. */
static bool is_worse(const struct gpu_cost *cost, const struct gpu_cost *than)
{
	if (cost->known != than->known)
		return cost->known;
	if (cost->lost_ns != than->lost_ns)
		return cost->lost_ns > than->lost_ns;
	return cost->exposed_ns + cost->recovery_ns > than->exposed_ns + than->recovery_ns;
}

static void keep_worst(const struct pass *pass, const struct gpu_lost *lost, size_t lane,
	struct gpu_cost *costs)
{
	const struct gpu_subject *subject = pass->subject;
	uint64_t error_ns = subject->timeline->clock_error_ns;

	for (size_t i = 0; i < subject->own.count; i++) {
		const struct gpu_pause *pause = pause_at(pass, i);
		struct gpu_cost *cost = &pass->costs[i], *kept = &costs[subject->own.items[i]];
		size_t at = lane * subject->own.count + i;
		uint64_t high_ns = lost->ns[at], most_ns = pause->end_ns - pause->start_ns;

		if (lost->unknown[at] || !is_seen(pass->device, pause, cost))
			continue;
		if (lost->high_ns[at] > high_ns)
			high_ns = lost->high_ns[at];
		stats_add(&high_ns, error_ns);
		cost->known = true;
		cost->device = (uint32_t)subject->devices.items[lane];
		cost->lost_ns = cost->lost_low_ns = lost->ns[at];
		if (lost->low_ns[at] < cost->lost_ns)
			cost->lost_low_ns = lost->low_ns[at];
		cost->lost_low_ns -= error_ns < cost->lost_low_ns ? error_ns : cost->lost_low_ns;
		cost->lost_high_ns = high_ns < most_ns ? high_ns : most_ns;
		if (is_worse(cost, kept))
			*kept = *cost;
	}
}

static void pass_release(struct pass *pass)
{
	free(pass->costs);
	free(pass->reach);
	vec_free(&pass->charged);
}

static int charge_device(const struct gpu_subject *subject, size_t lane,
	const struct gpu_lost *lost, struct gpu_charges *charges)
{
	uint32_t index = (uint32_t)subject->devices.items[lane];
	size_t count = subject->own.count, from = gpu_idles_of(charges, index);
	size_t to = gpu_idles_of(charges, index + 1);
	_cleanup_(pass_release) struct pass pass = {
		.subject = subject,
		.device = &subject->timeline->devices.items[index],
		.costs = calloc(count + 1, sizeof(*pass.costs)),
		.reach = calloc(count + 1, sizeof(*pass.reach)),
	};

	if (!pass.costs || !pass.reach)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		pass.reach[i] = pause_at(&pass, i)->end_ns;
		if (i && pass.reach[i - 1] > pass.reach[i])
			pass.reach[i] = pass.reach[i - 1];
	}
	for (size_t i = from; i < to; i++)
		if (charges->idles.items[i].cause == GPU_CAUSE_HOST &&
			charge_idle(&pass, &charges->idles.items[i]))
			return -ENOMEM;
	set_hidden(&pass, charges->idles.items + from, to - from);
	keep_worst(&pass, lost, lane, charges->pauses.items);
	return 0;
}

static void subject_release(struct gpu_subject *subject)
{
	vec_free(&subject->own);
	vec_free(&subject->devices);
}

static int subject_make(struct gpu_subject *subject, size_t count)
{
	size_t *added;

	for (size_t i = 0; i < subject->timeline->devices.count; i++) {
		if (subject->timeline->devices.items[i].process != subject->process)
			continue;
		added = vec_add(&subject->devices);
		if (!added)
			return -ENOMEM;
		*added = i;
	}
	for (size_t i = 0; i < count; i++) {
		if (subject->pauses[i].process != subject->process ||
			subject->pauses[i].end_ns < subject->pauses[i].start_ns)
			continue;
		added = vec_add(&subject->own);
		if (!added)
			return -ENOMEM;
		*added = i;
	}
	return 0;
}

static int charge_process(const struct gpu_timeline *timeline, const struct gpu_pause *pauses,
	size_t count, uint32_t process, struct gpu_charges *charges)
{
	_cleanup_(subject_release) struct gpu_subject subject = {
		.timeline = timeline, .pauses = pauses, .process = process};
	_cleanup_(gpu_lost_release) struct gpu_lost lost = {};
	int r = subject_make(&subject, count);

	if (!r && subject.own.count)
		r = gpu_lost_find(&subject, &lost);
	for (size_t i = 0; i < subject.devices.count && subject.own.count && !r; i++)
		r = charge_device(&subject, i, &lost, charges);
	return r;
}

/* Whether the device at @index is the first of its process. */
static bool is_first(const struct gpu_timeline *timeline, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (timeline->devices.items[i].process == timeline->devices.items[index].process)
			return false;
	return true;
}

static void add_causes(struct gpu_charges *charges)
{
	for (size_t i = 0; i < charges->idles.count; i++) {
		const struct gpu_idle *idle = &charges->idles.items[i];
		uint64_t *causes = charges->devices.items[idle->device].cause_ns;
		enum gpu_cause rest = idle->cause == GPU_CAUSE_PAUSE ? GPU_CAUSE_HOST : idle->cause;

		stats_add(&causes[GPU_CAUSE_PAUSE], idle->pause_ns);
		stats_add(&causes[rest], idle->end_ns - idle->start_ns - idle->pause_ns);
	}
}

int gpu_charge(const struct gpu_timeline *timeline, const struct gpu_pause *pauses, size_t count,
	struct gpu_charges *ret)
{
	int r = 0;

	*ret = (struct gpu_charges){};
	for (size_t i = 0; i < count; i++)
		if (!vec_add(&ret->pauses))
			return -ENOMEM;
	for (size_t i = 0; i < timeline->devices.count && !r; i++)
		r = gpu_idle_find(timeline, (uint32_t)i, ret);
	for (size_t i = 0; i < timeline->devices.count && !r; i++)
		if (is_first(timeline, i))
			r = charge_process(timeline, pauses, count,
				timeline->devices.items[i].process, ret);
	for (size_t i = 0; timeline->inferred && i < timeline->drivers.count && !r; i++)
		r = gpu_infer(&timeline->drivers.items[i], pauses, count, ret);
	add_causes(ret);
	return r;
}
