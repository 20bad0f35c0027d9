/* Calls that allocate and free in; those that freed memory to get more out. */
#include <errno.h>
#include <stdlib.h>

#include "cleanup.h"
#include "gpu_memory.h"
#include "gpu_priv.h"
#include "u64map.h"

/* A call of one thread: a wait for a device neither is one of an allocator nor ends a chain of such. */
struct call {
	uint64_t start_ns, end_ns;
	bool waits, frees, failed;
};

struct calls {
	VEC(struct call) items;
};

static void calls_release(struct calls *calls)
{
	vec_free(&calls->items);
}

static int by_start(const void *a, const void *b)
{
	const struct call *one = a, *other = b;

	if (one->start_ns != other->start_ns)
		return one->start_ns < other->start_ns ? -1 : 1;
	return (one->end_ns < other->end_ns) - (one->end_ns > other->end_ns);
}

static int collect(const struct gpu_launcher *launcher, struct calls *ret)
{
	struct call *added;

	for (size_t i = 0; i < launcher->allocations.count; i++) {
		const struct gpu_allocation *one = &launcher->allocations.items[i];

		added = vec_add(&ret->items);
		if (!added)
			return -ENOMEM;
		*added = (struct call){one->start_ns, one->end_ns, false, one->frees, one->failed};
	}
	for (size_t i = 0; i < launcher->waits.count; i++) {
		added = vec_add(&ret->items);
		if (!added)
			return -ENOMEM;
		*added = (struct call){launcher->waits.items[i].start_ns,
			launcher->waits.items[i].end_ns, true, false, false};
	}
	if (ret->items.count)
		qsort(ret->items.items, ret->items.count, sizeof(struct call), by_start);
	return 0;
}

/*
 * Adds the retries of the calls [@from, @to), which follow one another: each is from the first free, or from the failed
 * allocation before it, to the last allocation that follows a free.
 */
static int add_chain(const struct calls *calls, size_t from, size_t to, struct gpu_spans *ret)
{
	size_t first = to, last = to;
	bool freed = false;

	for (size_t i = from; i < to; i++) {
		const struct call *call = &calls->items.items[i];

		if (call->waits)
			continue;
		if (first == to && (call->frees || call->failed))
			first = i;
		freed |= call->frees;
		if (freed && !call->frees)
			last = i;
	}
	for (size_t i = first; i <= last && last < to; i++) {
		const struct call *call = &calls->items.items[i];
		struct gpu_span *span = call->waits ? NULL : vec_add(&ret->items);

		if (!call->waits && !span)
			return -ENOMEM;
		if (span)
			*span = (struct gpu_span){call->start_ns, call->end_ns};
	}
	return 0;
}

/* By start. */
static int add_chains(const struct calls *calls, struct gpu_spans *ret)
{
	uint64_t end_ns = 0;
	size_t from = 0;
	int r = 0;

	for (size_t i = 0; i < calls->items.count && !r; i++) {
		const struct call *call = &calls->items.items[i];

		if (i > from && call->start_ns > end_ns &&
			call->start_ns - end_ns > GPU_RETRY_GAP_NS) {
			r = add_chain(calls, from, i, ret);
			from = i;
		}
		if (call->end_ns > end_ns)
			end_ns = call->end_ns;
	}
	return r ? r : add_chain(calls, from, calls->items.count, ret);
}

static int add_launcher(const struct gpu_launcher *launcher, struct gpu_spans *ret)
{
	_cleanup_(calls_release) struct calls calls = {};
	int r = launcher->allocations.count ? collect(launcher, &calls) : 0;

	return r ? r : add_chains(&calls, ret);
}

/* The calls of thread @tid that probes on the driver saw. */
static int add_thread(const struct gpu_driver *driver, uint32_t tid, struct gpu_spans *ret)
{
	_cleanup_(calls_release) struct calls calls = {};

	for (size_t i = 0; i < driver->calls.count; i++) {
		const struct gpu_driver_call *one = &driver->calls.items[i];
		struct call *added;

		if (one->tid != tid)
			continue;
		added = vec_add(&calls.items);
		if (!added)
			return -ENOMEM;
		*added = (struct call){one->start_ns, one->end_ns, one->kind == GPU_DRIVER_WAIT,
			one->kind == GPU_DRIVER_FREE, false};
	}
	return add_chains(&calls, ret);
}

static int add_driver(const struct gpu_driver *driver, struct gpu_spans *ret)
{
	struct u64map tids = {};
	int r = 0;

	for (size_t i = 0; i < driver->calls.count && !r; i++) {
		uint32_t tid = driver->calls.items[i].tid;

		if (driver->calls.items[i].kind != GPU_DRIVER_FREE || u64map_get(&tids, tid))
			continue;
		r = u64map_put(&tids, tid, 1);
		if (!r)
			r = add_thread(driver, tid, ret);
	}
	u64map_release(&tids);
	return r;
}

int gpu_retries_find(const struct gpu_timeline *timeline, uint32_t process, struct gpu_spans *ret)
{
	int r = 0;

	for (size_t i = 0; i < timeline->launchers.count && !r; i++)
		if (timeline->launchers.items[i].process == process)
			r = add_launcher(&timeline->launchers.items[i], ret);
	for (size_t i = 0; i < timeline->drivers.count && !r; i++)
		if (timeline->drivers.items[i].process == process)
			r = add_driver(&timeline->drivers.items[i], ret);
	if (ret->items.count)
		qsort(ret->items.items, ret->items.count, sizeof(struct gpu_span), gpu_span_order);
	return r;
}
