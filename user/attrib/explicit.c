/*
 * Stalls, threads and the pauses that calls for a collection may have caused in; one line for each
 * caller and for each kind of stall out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "spans.h"
#include "stats.h"
#include "cleanup.h"
#include "origin.h"

#define REGULAR	      0.25 /* half of the distances lie within this share of the median on each side */
#define FEW_CALLS     3	   /* that show a period */
#define REGULAR_CALLS 5	   /* that show whether it is regular */
#define BESIDE	      10 /* of a stall, one part in so many outside pauses is worth a word */
#define LOOK_BACK     64 /* calls that may be under way at once, looked at for one pause */

/* One stall. */
struct call {
	const struct stall *stall;
	uint64_t end_ns;    /* not before its begin */
	uint64_t latest_ns; /* the latest end of all of its process up to here */
	uint32_t process, caller, who;
	uint32_t owner;	  /* index into callers */
	const char *name; /* of its thread */
};

struct summing {
	struct attribution *attribution;
	const struct charging *charging;
	struct call *calls;
	size_t count;
	struct u64map training; /* process << 32 | tid of threads that make steps */
};

uint32_t explicit_asked(const struct stack_table *stacks, uint32_t stack)
{
	if (!stacks || stack >= stacks->node_count)
		return 0;
	for (uint32_t node = stack; node; node = stacks->nodes[node].parent)
		if (frame_origin(stacks, stacks->nodes[node].frame) != ORIGIN_RUNTIME)
			return stacks->nodes[node].frame;
	return 0;
}

uint32_t explicit_who(const struct stack_table *stacks, uint32_t stack)
{
	uint32_t outermost = 0;

	if (!stacks || stack >= stacks->node_count)
		return 0;
	for (uint32_t node = stack; node; node = stacks->nodes[node].parent) {
		enum origin origin = frame_origin(stacks, stacks->nodes[node].frame);

		if (origin == ORIGIN_USER)
			return stacks->nodes[node].frame;
		if (origin == ORIGIN_FRAMEWORK)
			outermost = stacks->nodes[node].frame;
	}
	return outermost;
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_process_and_kind(const void *a, const void *b)
{
	const struct call *one = a, *other = b;
	int order = compare(one->process, other->process);

	if (!order)
		order = compare(one->stall->kind, other->stall->kind);
	if (!order)
		order = compare(one->stall->start_ns, other->stall->start_ns);
	return order ? order : compare(one->stall->id, other->stall->id);
}

static int by_caller(const void *a, const void *b)
{
	const struct call *one = a, *other = b;
	int order = compare(one->process, other->process);

	if (!order)
		order = compare(one->caller, other->caller);
	if (!order)
		order = compare(one->who, other->who);
	if (!order)
		order = strcmp(one->name, other->name);
	if (!order && !*one->name)
		order = compare(one->stall->tid, other->stall->tid);
	if (!order)
		order = compare(one->stall->start_ns, other->stall->start_ns);
	return order ? order : compare(one->stall->id, other->stall->id);
}

static bool same_caller(const struct call *one, const struct call *other)
{
	return one->process == other->process && one->caller == other->caller &&
	       one->who == other->who && !strcmp(one->name, other->name) &&
	       (*one->name || one->stall->tid == other->stall->tid);
}

static bool is_training(const struct summing *summing, const struct call *call)
{
	return u64map_get(&summing->training, (uint64_t)call->process << 32 | call->stall->tid);
}

static uint64_t call_duration(const struct call *call)
{
	return call->end_ns - call->stall->start_ns;
}

/* All stalls whose process is known. */
static int read_calls(struct summing *summing)
{
	const struct recording *recording = summing->attribution->recording;
	const struct steps *steps = summing->attribution->steps;

	summing->calls = calloc(recording->stalls.count + 1, sizeof(*summing->calls));
	if (!summing->calls)
		return -ENOMEM;
	for (size_t i = 0; i < recording->stalls.count; i++) {
		const struct stall *stall = &recording->stalls.items[i];
		const struct runtime *runtime = recording_runtime(recording, stall->runtime);
		const struct thread *thread =
			runtime ? recording_thread(recording, runtime->process, stall->tid) : NULL;

		if (!runtime)
			continue;
		summing->calls[summing->count++] = (struct call){
			.stall = stall,
			.end_ns = stall->end_ns > stall->start_ns ? stall->end_ns : stall->start_ns,
			.process = runtime->process,
			.name = thread ? thread->name : "",
		};
	}
	for (size_t i = 0; i < steps->tracks.count; i++) {
		const struct step_track *track = &steps->tracks.items[i];

		if (u64map_put(&summing->training, (uint64_t)track->process << 32 | track->tid, 1))
			return -ENOMEM;
	}
	return 0;
}

/* The time in which @process stood still, of a pass in which pauses are by process. */
static int stopped_of(const struct charging *charging, uint32_t process, struct spans *ret)
{
	ret->count = 0;
	for (size_t i = 0; i < charging->stopped.count; i++) {
		const struct stopped *stopped = &charging->stopped.items[i];

		if (stopped->process == process &&
			span_add(ret, stopped->start_ns, stopped->end_ns))
			return -ENOMEM;
	}
	spans_unite(ret);
	return 0;
}

/* What of @call no pause covers: those are in other figures already. */
static void add_beside(const struct call *call, const struct spans *pauses, size_t *at,
	struct stall_sum *sum)
{
	uint64_t ns = call_duration(call), beside_ns;

	beside_ns = ns - spans_covered(pauses, at, call->stall->start_ns, call->end_ns);
	if (!beside_ns || beside_ns < ns / BESIDE)
		return;
	sum->beside++;
	stats_add(&sum->beside_ns, beside_ns);
	if (beside_ns <= sum->beside_max_ns)
		return;
	sum->beside_max_ns = beside_ns;
	sum->beside_longest = call->stall->id;
}

static int sum_kinds(struct summing *summing)
{
	struct explicit_calls *ret = &summing->attribution->explicit_calls;
	_cleanup_(spans_release) struct spans pauses = {};
	struct stall_sum *sum = NULL;
	size_t at = 0;

	qsort(summing->calls, summing->count, sizeof(*summing->calls), by_process_and_kind);
	for (size_t i = 0; i < summing->count; i++) {
		const struct call *call = &summing->calls[i];
		uint64_t ns = call_duration(call);

		if ((!sum || sum->process != call->process) &&
			stopped_of(summing->charging, call->process, &pauses))
			return -ENOMEM;
		if (!sum || sum->process != call->process || sum->kind != call->stall->kind) {
			sum = vec_add(&ret->sums);
			if (!sum)
				return -ENOMEM;
			sum->process = call->process;
			sum->kind = call->stall->kind;
			at = 0;
		}
		add_beside(call, &pauses, &at, sum);
		if (!sum->count++ || ns > sum->max_ns) {
			sum->max_ns = ns;
			sum->longest = call->stall->id;
		}
		stats_add(&sum->total_ns, ns);
		if (is_training(summing, call))
			stats_add(&sum->training_ns, ns);
	}
	return 0;
}

/* Keeps the calls for a collection alone. */
static void keep_explicit(struct summing *summing)
{
	const struct stack_table *stacks = summing->attribution->stacks;
	size_t kept = 0;

	for (size_t i = 0; i < summing->count; i++) {
		struct call *call = &summing->calls[i];

		if (call->stall->kind != STALL_EXPLICIT)
			continue;
		call->caller = explicit_asked(stacks, call->stall->stack);
		call->who = explicit_who(stacks, call->stall->stack);
		summing->calls[kept++] = *call;
	}
	summing->count = kept;
}

/* *ret: their median. Whether half of them lie close to it. */
static bool find_median(const uint64_t *times, size_t count, uint64_t *ret)
{
	double median;

	*ret = stats_median(times, count);
	median = (double)*ret;
	return count + 1 >= REGULAR_CALLS &&
	       (double)stats_quantile(times, count, 0.25) >= (1 - REGULAR) * median &&
	       (double)stats_quantile(times, count, 0.75) <= (1 + REGULAR) * median;
}

/* @durations: room for @count. */
static void sum_caller(const struct summing *summing, const struct call *calls, size_t count,
	uint64_t *durations, struct explicit_caller *ret)
{
	uint64_t returned_ns = 0;

	ret->process = calls->process;
	ret->tid = calls->stall->tid;
	ret->caller = calls->caller;
	ret->who = calls->who;
	ret->stack = calls->stall->stack;
	ret->freed_bytes = UNKNOWN;
	strncpy(ret->thread, calls->name, sizeof(ret->thread) - 1);
	ret->first_ns = calls[0].stall->start_ns;
	ret->last_ns = calls[count - 1].stall->start_ns;
	for (size_t i = 0; i < count; i++) {
		uint64_t ns = durations[i] = call_duration(&calls[i]);
		int64_t collections = calls[i].stall->collections;

		ret->calls++;
		ret->training |= is_training(summing, &calls[i]);
		*(collections > 0     ? &ret->collected
			: collections ? &ret->unknown
				      : &ret->idle) += 1;
		stats_add(&ret->blocked_ns, ns);
		if (ns > ret->blocked_max_ns)
			ret->blocked_max_ns = ns;
	}
	ret->blocked_median_ns = stats_median(durations, count);
	if (count < FEW_CALLS)
		return;
	for (size_t i = 0; i + 1 < count; i++)
		durations[i] = calls[i + 1].stall->start_ns - calls[i].stall->start_ns;
	ret->regular = find_median(durations, count - 1, &ret->period_ns);
	for (size_t i = 0; i + 1 < count; i++) {
		if (calls[i].end_ns > returned_ns)
			returned_ns = calls[i].end_ns;
		durations[i] = calls[i + 1].stall->start_ns > returned_ns
				       ? calls[i + 1].stall->start_ns - returned_ns
				       : 0;
	}
	ret->rests = find_median(durations, count - 1, &ret->rest_ns) && ret->rest_ns;
}

static int sum_callers(struct summing *summing)
{
	struct explicit_calls *ret = &summing->attribution->explicit_calls;
	_cleanup_free_ uint64_t *durations = calloc(summing->count + 1, sizeof(*durations));

	if (!durations)
		return -ENOMEM;
	qsort(summing->calls, summing->count, sizeof(*summing->calls), by_caller);
	for (size_t from = 0, to; from < summing->count; from = to) {
		struct explicit_caller *caller = vec_add(&ret->callers);

		if (!caller)
			return -ENOMEM;
		for (to = from; to < summing->count &&
				same_caller(&summing->calls[from], &summing->calls[to]);
			to++)
			summing->calls[to].owner = (uint32_t)ret->callers.count - 1;
		sum_caller(summing, &summing->calls[from], to - from, durations, caller);
	}
	return 0;
}

/* The first call that @pause can have come of; NULL: none. Calls are by process and time. */
static const struct call *call_of(const struct summing *summing, const struct explicit_pause *pause)
{
	const struct call *found = NULL, *calls = summing->calls;
	size_t low = 0, high = summing->count;

	/* The calls of its process that began before its end. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (calls[middle].process < pause->process ||
			(calls[middle].process == pause->process &&
				calls[middle].stall->start_ns < pause->end_ns))
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low, looked = 0; i-- && looked < LOOK_BACK; looked++) {
		if (calls[i].process != pause->process || calls[i].latest_ns <= pause->start_ns)
			break;
		if (calls[i].end_ns <= pause->start_ns)
			continue;
		if (calls[i].stall->tid == pause->tid)
			return &calls[i];
		if (pause->named)
			found = &calls[i];
	}
	return found;
}

static void add_pause(const struct summing *summing, const struct explicit_pause *pause,
	struct explicit_caller *caller)
{
	uint64_t ns = pause->end_ns - pause->start_ns;

	caller->pauses++;
	stats_add(&caller->pause_ns, ns);
	if (ns > caller->pause_max_ns)
		caller->pause_max_ns = ns;
	if (pause->charge != ATTRIB_NONE)
		stats_add(&caller->overlap_ns,
			summing->attribution->charges.items[pause->charge].overlap_ns);
	if (pause->heap_before < 0 || pause->heap_after < 0)
		return;
	if (!caller->measured++)
		caller->freed_bytes = 0;
	stats_add(&caller->before_bytes, (uint64_t)pause->heap_before);
	if (pause->heap_before > pause->heap_after &&
		__builtin_add_overflow(caller->freed_bytes, pause->heap_before - pause->heap_after,
			&caller->freed_bytes))
		caller->freed_bytes = INT64_MAX;
}

static void match_pauses(struct summing *summing)
{
	struct explicit_calls *ret = &summing->attribution->explicit_calls;

	qsort(summing->calls, summing->count, sizeof(*summing->calls), by_process_and_kind);
	for (size_t i = 0; i < summing->count; i++) {
		struct call *call = &summing->calls[i];
		bool first = !i || summing->calls[i - 1].process != call->process;

		call->latest_ns = first || summing->calls[i - 1].latest_ns < call->end_ns
					  ? call->end_ns
					  : summing->calls[i - 1].latest_ns;
	}
	for (size_t i = 0; i < summing->charging->explicit.count; i++) {
		const struct explicit_pause *pause = &summing->charging->explicit.items[i];
		const struct call *call = call_of(summing, pause);

		if (call) {
			add_pause(summing, pause, &ret->callers.items[call->owner]);
		} else if (pause->named) {
			ret->stray++;
			stats_add(&ret->stray_ns, pause->end_ns - pause->start_ns);
		}
	}
}

static int dearest_first(const void *a, const void *b)
{
	const struct explicit_caller *one = a, *other = b;
	int order = compare(other->harm_ns, one->harm_ns);

	if (!order)
		order = compare(other->blocked_ns, one->blocked_ns);
	if (!order)
		order = compare(one->process, other->process);
	return order ? order : compare(one->first_ns, other->first_ns);
}

static void order_callers(struct explicit_calls *calls)
{
	for (size_t i = 0; i < calls->callers.count; i++) {
		struct explicit_caller *caller = &calls->callers.items[i];

		caller->harm_ns = caller->training && caller->blocked_ns > caller->pause_ns
					  ? caller->blocked_ns
					  : caller->pause_ns;
	}
	if (calls->callers.count)
		qsort(calls->callers.items, calls->callers.count, sizeof(*calls->callers.items),
			dearest_first);
}

int explicit_sum(struct attribution *attribution, struct charging *charging)
{
	struct summing summing = {.attribution = attribution, .charging = charging};
	int r = read_calls(&summing);

	if (!r)
		r = sum_kinds(&summing);
	if (!r) {
		keep_explicit(&summing);
		r = sum_callers(&summing);
	}
	if (!r) {
		match_pauses(&summing);
		order_callers(&attribution->explicit_calls);
	}
	free(summing.calls);
	u64map_release(&summing.training);
	return r;
}
