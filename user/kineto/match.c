/* A trace's calls and work in; which call launched what, and what its thread had launched before, out. */
#include <errno.h>
#include <stdlib.h>

#include "kineto_trace.h"

#define SAME_MOST                                                                                  \
	64 /* calls of one correlation that are looked at: one for each process of a merged trace */

static int compare_calls(const void *a, const void *b)
{
	const struct kineto_call *one = a, *other = b;

	if (one->pid != other->pid)
		return one->pid < other->pid ? -1 : 1;
	if (one->tid != other->tid)
		return one->tid < other->tid ? -1 : 1;
	return (one->start_ns > other->start_ns) - (one->start_ns < other->start_ns);
}

/* The call of @work's correlation that was entered last before it, from @first on. */
static uint32_t nearest(const struct kineto_trace *trace, const struct kineto_work *work,
	uint32_t first)
{
	uint32_t best = first;

	for (uint32_t i = first, seen = 0; i != KINETO_LOST && seen < SAME_MOST; seen++) {
		const struct kineto_call *call = &trace->calls.items[i];
		int64_t than = trace->calls.items[best].start_ns;

		if (call->start_ns <= work->start_ns &&
			(call->start_ns > than || than > work->start_ns))
			best = i;
		i = call->next;
	}
	return best;
}

static int index_calls(struct kineto_trace *trace, struct u64map *calls)
{
	for (size_t i = trace->calls.count; i-- > 0;) {
		struct kineto_call *call = &trace->calls.items[i];
		const uint64_t *other;

		if (!call->correlation)
			continue;
		other = u64map_get(calls, call->correlation);
		call->next = other ? (uint32_t)*other : KINETO_LOST;
		if (u64map_put(calls, call->correlation, i))
			return -ENOMEM;
	}
	return 0;
}

int kineto_match(struct kineto_trace *trace)
{
	const struct kineto_call *before =
		NULL; /* the last of its thread that launched something */
	struct u64map calls = {};
	int r;

	if (trace->calls.count)
		qsort(trace->calls.items, trace->calls.count, sizeof(*trace->calls.items),
			compare_calls);
	r = index_calls(trace, &calls);
	for (size_t i = 0; !r && i < trace->work.count; i++) {
		struct kineto_work *work = &trace->work.items[i];
		const uint64_t *first =
			work->correlation ? u64map_get(&calls, work->correlation) : NULL;
		struct kineto_call *call;

		if (!first)
			continue;
		work->call = nearest(trace, work, (uint32_t)*first);
		call = &trace->calls.items[work->call];
		if (call->done_ns == KINETO_NONE || work->start_ns < call->begun_ns)
			call->begun_ns = work->start_ns;
		if (work->end_ns > call->done_ns)
			call->done_ns = work->end_ns;
		call->device = work->device;
	}
	u64map_release(&calls);
	for (size_t i = 0; !r && i < trace->calls.count; i++) {
		struct kineto_call *call = &trace->calls.items[i];

		if (before && (before->pid != call->pid || before->tid != call->tid))
			before = NULL;
		if (call->done_ns == KINETO_NONE) {
			call->device = before ? before->device : 0;
			continue;
		}
		call->previous_ns = before ? before->start_ns : KINETO_NONE;
		before = call;
	}
	return r;
}
