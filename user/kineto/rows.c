/* A trace whose calls and work are matched in; devices, launchers and waits of a timeline out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kineto_rows.h"
#include "stats.h"

/* No machine has as many devices, no process as many threads that launch: searches through them stay short. */
#define DEVICES_MOST 4096
#define THREADS_MOST 65536

struct rows {
	const struct kineto_trace *trace;
	const struct recording *recording;
	struct gpu_timeline *timeline;
	int64_t shift_ns;
	uint32_t
		main; /* the process of work that no call launched: the one with most calls; 0: none */
};

/* On the recording's clock; what would be before its zero is at it. */
static uint64_t moved(const struct rows *rows, int64_t time_ns)
{
	int64_t ret;

	return __builtin_add_overflow(time_ns, rows->shift_ns, &ret) || ret < 0 ? 0 : (uint64_t)ret;
}

static uint32_t process_of(const struct rows *rows, const struct kineto_work *work)
{
	if (work->call == KINETO_LOST)
		return rows->main;
	return rows->trace->pids.items[rows->trace->calls.items[work->call].pid].process;
}

static uint32_t tid_of(const struct rows *rows, const struct kineto_call *call)
{
	uint32_t id = rows->trace->pids.items[call->pid].process;
	const struct process *process = recording_process(rows->recording, id);

	return process ? kineto_tid(process, call->tid) : call->tid;
}

/* ── devices ── */

/* The row of a device that is seen in this trace, too: between this trace and those before nothing is known. */
static struct gpu_device *open_device(struct rows *rows, uint32_t process, uint32_t number,
	uint64_t start_ns, uint64_t end_ns)
{
	struct gpu_device *device = gpu_device(rows->timeline, process, number);
	struct gpu_span *unknown;

	if (!device)
		return NULL;
	if (!device->until_ns) {
		device->seen_ns = start_ns;
		device->until_ns = end_ns;
	} else if (start_ns > device->until_ns || end_ns < device->seen_ns) {
		bool after = start_ns > device->until_ns;

		unknown = vec_add(&device->unknown);
		if (!unknown)
			return NULL;
		*unknown = after ? (struct gpu_span){device->until_ns, start_ns}
				 : (struct gpu_span){end_ns, device->seen_ns};
	}
	if (start_ns < device->seen_ns)
		device->seen_ns = start_ns;
	if (end_ns > device->until_ns)
		device->until_ns = end_ns;
	for (size_t i = 0; !*device->name && i < rows->trace->names.count; i++) {
		const struct kineto_name *name = &rows->trace->names.items[i];

		if (name->device != number)
			continue;
		memcpy(device->name, name->name, sizeof(device->name));
		device->memory_bytes = name->memory_bytes > 0 ? (uint64_t)name->memory_bytes : 0;
	}
	return device;
}

/* One device of one process, as far as this trace goes. */
struct extent {
	uint32_t process, device;
	uint64_t start_ns, end_ns;
};

struct extents {
	VEC(struct extent) items;
};

static struct extent *find_extent(struct extents *extents, uint32_t process, uint32_t device)
{
	struct extent *made;

	for (size_t i = 0; i < extents->items.count; i++)
		if (extents->items.items[i].process == process &&
			extents->items.items[i].device == device)
			return &extents->items.items[i];
	made = vec_add(&extents->items);
	if (made)
		*made = (struct extent){process, device, UINT64_MAX, 0};
	return made;
}

static int measure(const struct rows *rows, struct extents *ret, uint64_t *ret_ignored)
{
	for (size_t i = 0; i < rows->trace->work.count; i++) {
		const struct kineto_work *work = &rows->trace->work.items[i];
		uint64_t start_ns = moved(rows, work->start_ns), end_ns = moved(rows, work->end_ns);
		uint32_t process = process_of(rows, work);
		struct extent *extent;

		if (!process) {
			++*ret_ignored;
			continue;
		}
		if (ret->items.count > DEVICES_MOST)
			return -E2BIG;
		extent = find_extent(ret, process, work->device);
		if (!extent)
			return -ENOMEM;
		extent->start_ns = start_ns < extent->start_ns ? start_ns : extent->start_ns;
		extent->end_ns = end_ns > extent->end_ns ? end_ns : extent->end_ns;
	}
	return 0;
}

static int add_devices(struct rows *rows, uint64_t *ret_ignored)
{
	struct extents extents = {};
	int r = measure(rows, &extents, ret_ignored);

	for (size_t i = 0; !r && i < extents.items.count; i++) {
		const struct extent *extent = &extents.items.items[i];

		if (!open_device(rows, extent->process, extent->device, extent->start_ns,
			    extent->end_ns))
			r = -ENOMEM;
	}
	vec_free(&extents.items);
	return r;
}

static int add_work(struct rows *rows)
{
	const struct kineto_trace *trace = rows->trace;

	for (size_t i = 0; i < trace->work.count; i++) {
		const struct kineto_work *work = &trace->work.items[i];
		const struct kineto_call *call =
			work->call == KINETO_LOST ? NULL : &trace->calls.items[work->call];
		uint32_t process = process_of(rows, work);
		struct gpu_device *device =
			process ? gpu_device(rows->timeline, process, work->device) : NULL;
		struct gpu_busy *busy = device ? vec_add(&device->busy) : NULL;

		if (!process)
			continue;
		if (!busy)
			return -ENOMEM;
		busy->start_ns = moved(rows, work->start_ns);
		busy->end_ns = moved(rows, work->end_ns);
		if (!call)
			continue;
		busy->launch_ns = moved(rows, call->start_ns);
		busy->previous_ns =
			call->previous_ns == KINETO_NONE ? 0 : moved(rows, call->previous_ns);
		busy->tid = tid_of(rows, call);
	}
	return 0;
}

/* Launches without a record: what they launched ran until the next of their thread began, at the latest. */
static int add_gaps(struct rows *rows)
{
	struct kineto_gaps gaps = {};
	int r = kineto_find_gaps(rows->trace, &gaps);

	for (size_t i = 0; !r && i < gaps.items.count; i++) {
		const struct kineto_gap *gap = &gaps.items.items[i];
		uint32_t process = rows->trace->pids.items[gap->pid].process;
		struct gpu_device *device =
			process ? gpu_device(rows->timeline, process, gap->device) : NULL;
		struct gpu_span *span = device ? vec_add(&device->unknown) : NULL;

		if (!process)
			continue;
		if (!span) {
			r = -ENOMEM;
			break;
		}
		span->start_ns = moved(rows, gap->start_ns);
		span->end_ns =
			gap->end_ns == KINETO_NONE ? device->until_ns : moved(rows, gap->end_ns);
		device->dropped++;
	}
	vec_free(&gaps.items);
	return r;
}

/* The row of a device that has one. */
static struct gpu_device *find_device(const struct rows *rows, uint32_t process, uint32_t number)
{
	for (size_t i = 0; process && i < rows->timeline->devices.count; i++)
		if (rows->timeline->devices.items[i].process == process &&
			rows->timeline->devices.items[i].device == number)
			return &rows->timeline->devices.items[i];
	return NULL;
}

static int add_bytes(struct gpu_device *device, uint64_t time_ns, int64_t bytes)
{
	struct gpu_bytes *added = vec_add(&device->memory);

	if (!added)
		return -ENOMEM;
	*added = (struct gpu_bytes){time_ns, bytes};
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct kineto_bytes *one = a, *other = b;

	return (one->time_ns > other->time_ns) - (one->time_ns < other->time_ns);
}

/* What tensors take: of a device that worked, and from when its work is known on. */
static int add_memory(struct rows *rows)
{
	const struct kineto_trace *trace = rows->trace;
	int r = 0;

	if (trace->memory.count)
		qsort(trace->memory.items, trace->memory.count, sizeof(*trace->memory.items),
			by_time);
	for (size_t i = 0; i < trace->memory.count && !r; i++) {
		const struct kineto_bytes *memory = &trace->memory.items[i];
		uint64_t time_ns = moved(rows, memory->time_ns);
		struct gpu_device *device =
			find_device(rows, trace->pids.items[memory->pid].process, memory->device);
		int64_t before;

		if (!device)
			continue;
		if (!device->memory.count && device->seen_ns < time_ns &&
			!__builtin_sub_overflow(memory->bytes, memory->change, &before))
			r = add_bytes(device, device->seen_ns, before);
		device->memory_total = true;
		if (!r)
			r = add_bytes(device, time_ns, memory->bytes);
	}
	return r;
}

/* ── threads ── */

static bool launched(const struct kineto_call *call)
{
	return call->done_ns != KINETO_NONE;
}

/* The device that @process uses, if it is one. */
static uint32_t only_device(const struct rows *rows, uint32_t process)
{
	uint32_t found = GPU_DEVICE_NONE;

	for (size_t i = 0; i < rows->timeline->devices.count; i++) {
		const struct gpu_device *device = &rows->timeline->devices.items[i];

		if (device->process == process && found != GPU_DEVICE_NONE)
			return GPU_DEVICE_NONE;
		if (device->process == process)
			found = device->device;
	}
	return found;
}

/* A call that certainly waited, or a copy whose call returned after the copy was done. */
static bool waited(const struct kineto_call *call)
{
	return call->kinds & KINETO_WAITS ||
	       (call->kinds & KINETO_COPIES && launched(call) && call->end_ns >= call->done_ns);
}

/* Of one thread, whose calls are [from, to). */
static int add_launcher(struct rows *rows, size_t from, size_t to)
{
	const struct kineto_call *calls = rows->trace->calls.items;
	uint32_t process = rows->trace->pids.items[calls[from].pid].process;
	struct gpu_launcher *launcher =
		process ? gpu_launcher(rows->timeline, process, tid_of(rows, &calls[from])) : NULL;
	VEC(uint64_t)
	gaps = {};
	int r = launcher || !process ? 0 : -ENOMEM;

	for (size_t i = from; launcher && !r && i < to; i++) {
		const struct kineto_call *call = &calls[i];
		struct gpu_wait *wait = waited(call) ? vec_add(&launcher->waits) : NULL;
		bool allocates = call->kinds & KINETO_ALLOCATES;
		struct gpu_allocation *allocation =
			allocates ? vec_add(&launcher->allocations) : NULL;
		uint64_t *gap = call->previous_ns == KINETO_NONE ? NULL : vec_add(&gaps);

		launcher->launches += launched(call);
		if (wait)
			*wait = (struct gpu_wait){moved(rows, call->start_ns),
				moved(rows, call->end_ns),
				launched(call) ? moved(rows, call->done_ns) : 0,
				launched(call) ? call->device : only_device(rows, process),
				.copy = !(call->kinds & KINETO_WAITS)};
		if (allocation)
			*allocation = (struct gpu_allocation){moved(rows, call->start_ns),
				moved(rows, call->end_ns), call->device, call->kinds & KINETO_FREES,
				false};
		if (gap)
			*gap = (uint64_t)call->start_ns - (uint64_t)call->previous_ns;
		if ((!wait && waited(call)) || (!allocation && allocates) ||
			(!gap && call->previous_ns != KINETO_NONE))
			r = -ENOMEM;
	}
	if (!r && gaps.count)
		launcher->gap_ns = stats_quantile(gaps.items, gaps.count, 0.99);
	vec_free(&gaps);
	return r;
}

/* Whether a thread has anything to say: most that call CUDA never launch or wait. */
static bool is_launcher(const struct kineto_call *calls, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if (launched(&calls[i]) || waited(&calls[i]) || calls[i].kinds & KINETO_ALLOCATES)
			return true;
	return false;
}

static int add_launchers(struct rows *rows)
{
	const struct kineto_call *calls = rows->trace->calls.items;
	size_t count = rows->trace->calls.count, threads = 0;
	int r = 0;

	for (size_t from = 0, to = 0; !r && from < count; from = to) {
		while (to < count && calls[to].pid == calls[from].pid &&
			calls[to].tid == calls[from].tid)
			to++;
		if (is_launcher(calls, from, to))
			r = threads++ < THREADS_MOST ? add_launcher(rows, from, to) : -E2BIG;
	}
	return r;
}

int kineto_rows(const struct kineto_trace *trace, const struct recording *recording,
	const struct kineto_clock *clock, struct gpu_timeline *timeline, uint64_t *ret_ignored)
{
	struct rows rows = {trace, recording, timeline, clock->shift_ns, 0};
	uint64_t most = 0;
	int r;

	for (size_t i = 0; i < trace->pids.count; i++)
		if (trace->pids.items[i].process && trace->pids.items[i].calls >= most) {
			most = trace->pids.items[i].calls;
			rows.main = trace->pids.items[i].process;
		}
	*ret_ignored = 0;
	r = add_devices(&rows, ret_ignored);
	if (!r)
		r = add_work(&rows);
	if (!r)
		r = add_gaps(&rows);
	if (!r)
		r = add_memory(&rows);
	return r ? r : add_launchers(&rows);
}
