/* A trace whose calls and work are matched in; launches that should have a record and have none out. */
#include <errno.h>
#include <stdlib.h>

#include "kineto_trace.h"

/* In which a process keeps launches in a graph: they run when the graph is launched. */
struct capture {
	uint32_t pid;
	int64_t start_ns, end_ns;
};

struct captures {
	VEC(struct capture) items; /* by process and start, apart */
};

static bool same_thread(const struct kineto_call *one, const struct kineto_call *other)
{
	return one->pid == other->pid && one->tid == other->tid;
}

static int compare_captures(const void *a, const void *b)
{
	const struct capture *one = a, *other = b;

	if (one->pid != other->pid)
		return one->pid < other->pid ? -1 : 1;
	return (one->start_ns > other->start_ns) - (one->start_ns < other->start_ns);
}

/* A capture that no call begins, or ends, in the trace goes on from its begin, or to its end. */
static int add_capture(struct captures *captures, uint32_t pid, int64_t start_ns, int64_t end_ns)
{
	struct capture *made = vec_add(&captures->items);

	if (!made)
		return -ENOMEM;
	*made = (struct capture){pid, start_ns, end_ns};
	return 0;
}

static int find_captures(const struct kineto_trace *trace, struct captures *ret)
{
	const struct kineto_call *begin = NULL;
	int r = 0;

	for (size_t i = 0; !r && i < trace->calls.count; i++) {
		const struct kineto_call *call = &trace->calls.items[i];

		if (begin && !same_thread(begin, call)) {
			r = add_capture(ret, begin->pid, begin->start_ns, INT64_MAX);
			begin = NULL;
		}
		if (call->kinds & KINETO_CAPTURE && !begin)
			begin = call;
		if (!r && call->kinds & KINETO_CAPTURED) {
			r = add_capture(ret, call->pid, begin ? begin->start_ns : INT64_MIN,
				call->end_ns);
			begin = NULL;
		}
	}
	if (!r && begin)
		r = add_capture(ret, begin->pid, begin->start_ns, INT64_MAX);
	return r;
}

/* Sorts and joins them, so that one search finds all. */
static void settle(struct captures *captures)
{
	struct capture *items = captures->items.items;
	size_t kept = 0;

	if (captures->items.count)
		qsort(items, captures->items.count, sizeof(*items), compare_captures);
	for (size_t i = 0; i < captures->items.count; i++) {
		struct capture *last = kept ? &items[kept - 1] : NULL;

		if (!last || last->pid != items[i].pid || last->end_ns < items[i].start_ns)
			items[kept++] = items[i];
		else if (items[i].end_ns > last->end_ns)
			last->end_ns = items[i].end_ns;
	}
	captures->items.count = kept;
}

static bool is_captured(const struct captures *captures, const struct kineto_call *call)
{
	const struct capture key = {call->pid, call->start_ns, 0};
	size_t low = 0, high = captures->items.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_captures(&captures->items.items[middle], &key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low && captures->items.items[low - 1].pid == call->pid &&
	       captures->items.items[low - 1].end_ns >= call->start_ns;
}

/* Whether the call next to it, of its thread, is within it or around it: the runtime's call and the driver's are one. */
static bool is_one_with(const struct kineto_call *call, const struct kineto_call *other)
{
	return same_thread(call, other) && other->done_ns != KINETO_NONE &&
	       other->start_ns <= call->end_ns && call->start_ns <= other->end_ns;
}

/* What the calls after one, of its thread, say of when its work was done. */
struct later {
	const struct kineto_call
		*launch; /* the next that launched something; its work began no earlier */
	const struct kineto_call *wait; /* the next that waited for a device, or NULL */
};

static int add_gap(struct kineto_gaps *gaps, const struct kineto_call *call,
	const struct later *later)
{
	struct kineto_gap *gap = vec_add(&gaps->items);
	int64_t end_ns = later->launch ? later->launch->begun_ns : KINETO_NONE;

	if (!gap)
		return -ENOMEM;
	if (later->wait && (end_ns == KINETO_NONE || later->wait->end_ns < end_ns))
		end_ns = later->wait->end_ns;
	*gap = (struct kineto_gap){call->start_ns, end_ns, call->pid,
		later->launch ? later->launch->device : call->device};
	return 0;
}

static bool lacks_record(const struct kineto_call *call, const struct kineto_call *before,
	const struct later *later, const struct captures *captures)
{
	return call->kinds & KINETO_STARTS && call->done_ns == KINETO_NONE &&
	       !is_captured(captures, call) &&
	       !(later->launch && is_one_with(call, later->launch)) &&
	       !(before && is_one_with(call, before));
}

int kineto_find_gaps(const struct kineto_trace *trace, struct kineto_gaps *ret)
{
	struct captures captures = {};
	struct later later = {};
	bool connected = false;
	int r = find_captures(trace, &captures);

	settle(&captures);
	for (size_t i = 0; i < trace->calls.count; i++)
		connected |= trace->calls.items[i].done_ns != KINETO_NONE;
	for (size_t i = trace->calls.count; !r && connected && i-- > 0;) {
		const struct kineto_call *call = &trace->calls.items[i];

		if (i + 1 < trace->calls.count && !same_thread(call, call + 1))
			later = (struct later){};
		if (lacks_record(call, i ? call - 1 : NULL, &later, &captures))
			r = add_gap(ret, call, &later);
		if (call->done_ns != KINETO_NONE)
			later.launch = call;
		if (call->kinds & KINETO_WAITS)
			later.wait = call;
	}
	vec_free(&captures.items);
	return r;
}
