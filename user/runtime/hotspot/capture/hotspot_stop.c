/* A JVM's own variables → whether it stands in a safepoint just now, since when, and what for. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "hotspot_priv.h"
#include "mem.h"

#define MOST_TRIES 16

/* SafepointTracing's variables as they are now. False: there are none, or they cannot be read. */
static bool read_statics(const struct hotspot *hotspot, uint8_t ret[GC_STATICS_BYTES])
{
	const struct hotspot_file *symbols = &hotspot->symbols;

	return symbols->statics && symbols->statics_bytes <= GC_STATICS_BYTES &&
	       !mem_read(hotspot->pid, hotspot->bias + symbols->statics, ret,
		       symbols->statics_bytes);
}

static uint64_t static_at(const struct hotspot *hotspot, const uint8_t *statics,
	enum hotspot_static which)
{
	uint64_t value = 0;

	if (hotspot->symbols.at[which] != 0xff)
		memcpy(&value, statics + hotspot->symbols.at[which], sizeof(value));
	return value;
}

/* 17+: the last begin is later than the last end. Twice, as they are not read at once. */
static int stopped_by_statics(const struct hotspot *hotspot, uint64_t *ret_begin_ns)
{
	uint8_t first[GC_STATICS_BYTES], second[GC_STATICS_BYTES];
	uint64_t begin;

	for (int tries = 0; tries < MOST_TRIES; tries++) {
		if (!read_statics(hotspot, first) || !read_statics(hotspot, second))
			return -ENOTSUP;
		if (!memcmp(first, second, hotspot->symbols.statics_bytes))
			break;
	}
	begin = static_at(hotspot, first, HOTSPOT_BEGIN);
	if (begin <= static_at(hotspot, first, HOTSPOT_END))
		return 0;
	*ret_begin_ns = hotspot->clock_unknown ? 0 : begin - (uint64_t)hotspot->clock_offset;
	return 1;
}

/* Up to 16: RuntimeService's timer is set at each begin, in ns since os::init(). 0: not known. */
static uint64_t begin_by_timer(const struct hotspot *hotspot)
{
	uint64_t timer = jvm_symbol(hotspot->jvm, "_ZN14RuntimeService16_safepoint_timerE");
	uint64_t origin = jvm_symbol(hotspot->jvm, "_ZL18initial_time_count");
	bool failed = !timer || !origin || hotspot->clock_unknown;
	uint64_t ticks = failed ? 0 : jvm_read_u64(hotspot->jvm, timer, &failed);
	uint64_t zero = failed ? 0 : jvm_read_u64(hotspot->jvm, origin, &failed);

	return failed || !ticks ? 0 : zero + ticks - (uint64_t)hotspot->clock_offset;
}

/* Without symbols: a collection is under way. That none is says nothing of other safepoints. */
static int collects_now(const struct hotspot *hotspot)
{
	static const char *const names[] = {"_is_stw_gc_active", "_is_gc_active"}; /* 23+, before */
	uint64_t at, heap;
	uint32_t offset;
	uint8_t active;

	if (jvm_static(hotspot->jvm, "Universe", "_collectedHeap", &at))
		return -ENOTSUP;
	heap = jvm_read_u64(hotspot->jvm, at, NULL);
	for (size_t i = 0; heap && i < 2; i++)
		if (!jvm_field(hotspot->jvm, "CollectedHeap", names[i], &offset) &&
			!jvm_read(hotspot->jvm, heap + offset, &active, sizeof(active)))
			return active == 1 ? 1 : -ENOTSUP;
	return -ENOTSUP;
}

pid_t hotspot_vm_thread(pid_t pid)
{
	struct dirent *entry;
	char path[280], name[32];
	pid_t found = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	while (tasks && !found && (entry = readdir(tasks))) {
		_cleanup_fclose_ FILE *stream = NULL;

		snprintf(path, sizeof(path), "/proc/%d/task/%s/comm", pid, entry->d_name);
		stream = fopen(path, "re");
		if (stream && fgets(name, sizeof(name), stream) && !strcmp(name, "VM Thread\n"))
			found = atoi(entry->d_name);
	}
	if (tasks)
		closedir(tasks);
	return found;
}

#define FUTEX_SYSCALL "202"

/*
 * Up to 21 the VM Thread waits for operations with a time limit, for the threads that help it with one
 * without. False: it may be in an operation.
 */
static bool waits_for_operations(pid_t pid)
{
	pid_t tid = hotspot_vm_thread(pid);
	_cleanup_fclose_ FILE *stream = NULL;
	unsigned long limit = 0;
	char path[64], number[8];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, tid);
	stream = tid ? fopen(path, "re") : NULL;
	return stream && fscanf(stream, "%7s %*x %*x %*x %lx", number, &limit) == 2 &&
	       !strcmp(number, FUTEX_SYSCALL) && limit;
}

int hotspot_stopped(const struct hotspot *hotspot, uint64_t *ret_begin_ns)
{
	uint64_t state_at;
	int r;

	*ret_begin_ns = 0;
	r = stopped_by_statics(hotspot, ret_begin_ns);
	if (r >= 0 || !hotspot->jvm)
		return r;
	state_at = jvm_symbol(hotspot->jvm, "_ZN20SafepointSynchronize6_stateE");
	if (!state_at && waits_for_operations(hotspot->pid))
		return 0;
	if (!state_at)
		return collects_now(hotspot);
	if (!jvm_read_u32(hotspot->jvm, state_at, NULL))
		return 0;
	*ret_begin_ns = begin_by_timer(hotspot);
	return 1;
}

void hotspot_settle(struct hotspot *hotspot)
{
	uint64_t now, begin_ns;
	int r = hotspot_stopped(hotspot, &begin_ns);

	now = now_ns();
	hotspot->first.since_ns = now;
	hotspot->first.begin_ns = r == 1 && begin_ns < now ? begin_ns : 0;
	hotspot->first.stopped = r == 1;
}

/* The VM operation of now, as a record would name it: the VM Thread may be done with it. */
static uint64_t operation_now(const struct hotspot *hotspot)
{
	uint64_t operation =
		hotspot->plan.wire.current_op
			? jvm_read_u64(hotspot->jvm, hotspot->plan.wire.current_op, NULL)
			: 0;

	return operation ? jvm_read_u64(hotspot->jvm, operation, NULL) : 0;
}

void hotspot_look(struct hotspot *hotspot, struct hotspot_snapshot *ret)
{
	struct hotspot_event *event = &ret->event;

	*ret = (struct hotspot_snapshot){
		.event = {.type = EVENT_SAFEPOINT,
			.head = {.pid = (uint32_t)hotspot->pid, .time_ns = now_ns()}}};
	event->safepoint.statics = ret->statics;
	event->safepoint.perf = ret->perf;
	if (read_statics(hotspot, ret->statics)) {
		event->safepoint.flags |= EVENT_SAFEPOINT_STATICS;
		event->safepoint.statics_bytes = hotspot->symbols.statics_bytes;
	}
	if (!hotspot->jvm)
		return;
	event->safepoint.op_vtable = operation_now(hotspot);
	for (uint32_t i = 0; i < hotspot->plan.wire.window_count; i++) {
		const struct gc_jvm_window *window = &hotspot->plan.wire.windows[i];

		if (jvm_read(hotspot->jvm, window->address, ret->perf + window->offset,
			    window->bytes))
			return;
		event->safepoint.flags |= EVENT_SAFEPOINT_PERF;
		event->safepoint.perf_bytes = sizeof(ret->perf);
	}
}

void hotspot_read_open(struct hotspot *hotspot, const struct hotspot_snapshot *snapshot,
	uint64_t begin_ns, struct hotspot_safepoint *ret)
{
	uint64_t sync = static_at(hotspot, snapshot->statics, HOTSPOT_SYNC) -
			(uint64_t)hotspot->clock_offset;
	bool synchronized = snapshot->event.safepoint.flags & EVENT_SAFEPOINT_STATICS &&
			    !hotspot->clock_unknown && sync >= begin_ns &&
			    sync <= snapshot->event.head.time_ns;

	hotspot_count(hotspot, &snapshot->event, ret);
	ret->times = (struct hotspot_times){
		.start_ns = begin_ns,
		.end_ns = snapshot->event.head.time_ns,
		.ttsp_ns = synchronized ? (int64_t)(sync - begin_ns) : HOTSPOT_UNKNOWN,
		.cleanup_ns = HOTSPOT_UNKNOWN,
		.core_ns = HOTSPOT_UNKNOWN,
		.leave_ns = HOTSPOT_UNKNOWN,
	};
}
