/* What a safepoint's record means. In: the bytes that BPF copied. Out: times, collections, names. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "hotspot_priv.h"
#include "mem.h"

#define FIRST_COUNTED_APART 13
#define MOST_LATE_NS	    1000000000ull /* a probe, after what it tells of */

static int counter(const struct hotspot *hotspot, const struct hotspot_event *event,
	enum jvm_counter which, uint64_t *ret)
{
	if (!(event->safepoint.flags & EVENT_SAFEPOINT_PERF))
		return -ENOENT;
	return jvm_counter(&hotspot->plan, which, event->safepoint.perf,
		event->safepoint.perf_bytes, ret);
}

/* A time among SafepointTracing's variables, by the kernel's clock. False: not there. */
static bool read_static(const struct hotspot *hotspot, const struct hotspot_event *event,
	enum hotspot_static which, uint64_t *ret)
{
	uint8_t at = hotspot->symbols.at[which];

	if (at == 0xff || hotspot->clock_unknown ||
		!(event->safepoint.flags & EVENT_SAFEPOINT_STATICS) ||
		at + sizeof(*ret) > event->safepoint.statics_bytes)
		return false;
	memcpy(ret, event->safepoint.statics + at, sizeof(*ret));
	*ret -= (uint64_t)hotspot->clock_offset;
	return true;
}

/*
 * SafepointTracing::end() of 17 to 27: reaching = sync − begin; cleanup (17, 21) = cleanup − sync; at
 * = (leave or end) − (cleanup or sync); leaving (21+) = end − leave.
 */
static bool times_by_statics(const struct hotspot *hotspot, const struct hotspot_event *event,
	struct hotspot_times *ret)
{
	uint64_t begin, sync, end, cleanup, leave;
	bool cleans, leaves;

	if (!read_static(hotspot, event, HOTSPOT_BEGIN, &begin) ||
		!read_static(hotspot, event, HOTSPOT_SYNC, &sync) ||
		!read_static(hotspot, event, HOTSPOT_END, &end))
		return false;
	cleans = read_static(hotspot, event, HOTSPOT_CLEANUP, &cleanup);
	leaves = read_static(hotspot, event, HOTSPOT_LEAVE, &leave);
	cleanup = cleans ? cleanup : sync;
	leave = leaves ? leave : end;
	if (begin > sync || sync > cleanup || cleanup > leave || leave > end ||
		end > event->head.time_ns ||
		(event->safepoint.begin_ns && begin > event->safepoint.begin_ns))
		return false;
	*ret = (struct hotspot_times){
		.start_ns = begin,
		.end_ns = end,
		.ttsp_ns = (int64_t)(sync - begin),
		.cleanup_ns = cleans ? (int64_t)(cleanup - sync) : HOTSPOT_UNKNOWN,
		.core_ns = (int64_t)(leave - cleanup),
		.leave_ns = leaves ? (int64_t)(end - leave) : HOTSPOT_UNKNOWN,
		.exact = true,
	};
	return true;
}

static int64_t to_ns(const struct hotspot *hotspot, uint64_t ticks)
{
	uint64_t rate = hotspot->plan.ticks_per_second;

	if (!rate || rate == 1000000000)
		return (int64_t)ticks;
	return (int64_t)((double)ticks * 1e9 / (double)rate);
}

/* The record's counters, or those of the target now if @event is NULL. */
static int take(const struct hotspot *hotspot, const struct hotspot_event *event,
	enum jvm_counter which, uint64_t *ret)
{
	return event ? counter(hotspot, event, which, ret)
		     : jvm_counter_now(hotspot->jvm, &hotspot->plan, which, ret);
}

static void take_all(const struct hotspot *hotspot, const struct hotspot_event *event,
	struct hotspot_counters *ret)
{
	*ret = (struct hotspot_counters){};
	ret->known = !take(hotspot, event, JVM_SAFEPOINTS, &ret->safepoints) &&
		     !take(hotspot, event, JVM_SYNC_TIME, &ret->sync_time) &&
		     !take(hotspot, event, JVM_SAFEPOINT_TIME, &ret->safepoint_time);
	for (int i = 0; ret->known && i < EVENT_COLLECTORS; i++)
		ret->has_collections[i] =
			!take(hotspot, event, JVM_COLLECTOR_0 + i, &ret->collections[i]);
}

/* SafepointSynchronize::_state, where symbols tell where it is: 0 while the program runs. */
static bool in_safepoint(const struct hotspot *hotspot)
{
	uint64_t at = jvm_symbol(hotspot->jvm, "_ZN20SafepointSynchronize6_stateE");

	return at && jvm_read_u32(hotspot->jvm, at, NULL);
}

void hotspot_counters_now(struct hotspot *hotspot)
{
	bool stopped = in_safepoint(hotspot);
	uint64_t now = now_ns();

	take_all(hotspot, NULL, &hotspot->before);
	hotspot->before.taken_ns = now;
	/* In the midst of a safepoint some have moved, and others will. */
	if (stopped || in_safepoint(hotspot))
		hotspot->before.known = false;
}

/* The safepoint before @event ended when @before had been taken, and moved counters after that. */
static bool straddles(const struct hotspot *hotspot, const struct hotspot_counters *before,
	const struct hotspot_event *event)
{
	return before->taken_ns && event->safepoint.begin_ns && hotspot->symbols.arguments &&
	       event->safepoint.begin_ns - event->safepoint.begin_argument > before->taken_ns;
}

/*
 * Whether sun.rt.safepointTime moves by the time from the synchronisation to the end (seen on 17 to 27), or
 * by the whole stop (8, 11).
 */
static bool counts_apart(const struct hotspot *hotspot)
{
	return hotspot->jvm && atoi(jvm_version(hotspot->jvm)) >= FIRST_COUNTED_APART;
}

/*
 * Without the statics. 17+: the end's argument is the time from the synchronisation to the end (in
 * 25 as the log's "At" and "Leaving" together), so that with the time to safepoint the sum is the
 * log's total; the counter moves by as much. The begin's probe may come late, as may the end's: the
 * earlier of what the two say is the start.
 */
static void times_by_counters(const struct hotspot *hotspot, const struct hotspot_event *event,
	int64_t sync_ns, int64_t moved_ns, struct hotspot_times *ret)
{
	uint64_t begin_ns = event->safepoint.begin_ns, total_ns;
	int64_t rest_ns = counts_apart(hotspot) ? moved_ns : moved_ns - sync_ns;

	*ret = (struct hotspot_times){begin_ns, event->head.time_ns, HOTSPOT_UNKNOWN,
		HOTSPOT_UNKNOWN, HOTSPOT_UNKNOWN, HOTSPOT_UNKNOWN, .exact = false};
	if (hotspot->symbols.arguments) {
		rest_ns = (int64_t)event->safepoint.end_argument;
		if (event->safepoint.sync_ns)
			sync_ns = (int64_t)event->safepoint.sync_argument;
	}
	if (sync_ns < 0 || rest_ns < 0 || begin_ns > event->head.time_ns)
		return;
	total_ns = (uint64_t)sync_ns + (uint64_t)rest_ns;
	if (total_ns > event->head.time_ns - begin_ns + MOST_LATE_NS ||
		total_ns > event->head.time_ns)
		return;
	ret->ttsp_ns = sync_ns;
	ret->core_ns = rest_ns;
	if (event->head.time_ns - total_ns < begin_ns)
		ret->start_ns = event->head.time_ns - total_ns;
	ret->end_ns = ret->start_ns + total_ns;
	ret->exact = true;
}

/* Counters between two neighbours: what they moved by in one safepoint, in ns; HOTSPOT_UNKNOWN. */
struct moved {
	int64_t sync_ns, total_ns;
};

static struct moved count(struct hotspot *hotspot, const struct hotspot_event *event,
	struct hotspot_safepoint *ret)
{
	const struct hotspot_counters *before = &hotspot->before;
	struct moved moved = {HOTSPOT_UNKNOWN, HOTSPOT_UNKNOWN};
	struct hotspot_counters now;
	bool follows;

	take_all(hotspot, event, &now);
	follows = now.known && before->known && now.safepoints == before->safepoints + 1 &&
		  !straddles(hotspot, before, event);
	if (follows && now.sync_time >= before->sync_time &&
		now.safepoint_time >= before->safepoint_time) {
		moved.sync_ns = to_ns(hotspot, now.sync_time - before->sync_time);
		moved.total_ns = to_ns(hotspot, now.safepoint_time - before->safepoint_time);
	}
	for (int i = 0; i < EVENT_COLLECTORS; i++) {
		bool counted = follows && now.has_collections[i] && before->has_collections[i];

		ret->collections[i] =
			counted ? (int64_t)(now.collections[i] - before->collections[i])
				: HOTSPOT_UNKNOWN;
	}
	/* A short safepoint that cannot have collected does not bring these: they are as they were. */
	for (int i = 0; follows && i < EVENT_COLLECTORS; i++) {
		if (now.has_collections[i] || !before->has_collections[i])
			continue;
		now.has_collections[i] = true;
		now.collections[i] = before->collections[i];
	}
	ret->number = now.known ? (int64_t)now.safepoints : HOTSPOT_UNKNOWN;
	hotspot->before = now;
	return moved;
}

void hotspot_count(struct hotspot *hotspot, const struct hotspot_event *event,
	struct hotspot_safepoint *ret)
{
	count(hotspot, event, ret);
}

/*
 * No probe saw its begin, and there are no statics: it was under way when the JVM became a target. What
 * the end's argument tells of may reach further back.
 */
static int times_from_first(const struct hotspot *hotspot, const struct hotspot_event *event,
	struct hotspot_times *ret)
{
	uint64_t argument = hotspot->symbols.arguments ? event->safepoint.end_argument : 0;
	uint64_t start =
		hotspot->first.begin_ns ? hotspot->first.begin_ns : hotspot->first.since_ns;

	if (!start || start > event->head.time_ns)
		return -ENODATA;
	if (argument <= event->head.time_ns && event->head.time_ns - argument < start)
		start = event->head.time_ns - argument;
	*ret = (struct hotspot_times){start, event->head.time_ns, HOTSPOT_UNKNOWN, HOTSPOT_UNKNOWN,
		HOTSPOT_UNKNOWN, HOTSPOT_UNKNOWN, .begun_before = !hotspot->first.begin_ns};
	return 0;
}

int hotspot_read(struct hotspot *hotspot, const struct hotspot_event *event,
	struct hotspot_safepoint *ret)
{
	struct moved moved = count(hotspot, event, ret);
	int r = 0;

	if (!times_by_statics(hotspot, event, &ret->times)) {
		if (event->safepoint.begin_ns)
			times_by_counters(hotspot, event, moved.sync_ns, moved.total_ns,
				&ret->times);
		else
			r = times_from_first(hotspot, event, &ret->times);
	}
	memset(&hotspot->first, 0, sizeof(hotspot->first));
	return r;
}

int hotspot_first(const struct hotspot *hotspot, uint64_t *ret_ns, bool *ret_known)
{
	if (!hotspot->first.stopped)
		return -ENOENT;
	*ret_known = hotspot->first.begin_ns;
	*ret_ns = *ret_known ? hotspot->first.begin_ns : hotspot->first.since_ns;
	return 0;
}

bool hotspot_was_seen(const struct hotspot *hotspot)
{
	return !hotspot->first.since_ns;
}

/* VM_Operation::_names[@number], read once each; "": cannot be read. */
static const char *name_by_number(struct hotspot *hotspot, uint32_t number)
{
	uint64_t table = hotspot->bias + hotspot->symbols.operation_names, text;

	if (number >= MAX_NAMES || !hotspot->symbols.operation_names || !hotspot->jvm)
		return "";
	if (!hotspot->names)
		hotspot->names = calloc(MAX_NAMES, sizeof(*hotspot->names));
	if (!hotspot->names)
		return "";
	if (!hotspot->names[number][0] &&
		!jvm_read(hotspot->jvm, table + 8ull * number, &text, sizeof(text)) &&
		jvm_read_text(hotspot->jvm, text, hotspot->names[number], NAME_BYTES))
		hotspot->names[number][0] = '\0';
	return hotspot->names[number];
}

/* Operations that never collect; all others may, known or not. */
static bool is_harmless(const char *operation)
{
	static const char *const names[] = {"None", "Cleanup", "ThreadDump", "PrintThreads",
		"FindDeadlocks", "ForceSafepoint", "ForceAsyncSafepoint", "ICBufferFull",
		"Deoptimize", "DeoptimizeFrame", "DeoptimizeAll", "EnableBiasedLocking",
		"RevokeBias", "BulkRevokeBias", "CleanClassLoaderDataMetaspaces", "GetStackTrace",
		"GetThreadListStackTraces", "GetAllStackTraces", "GetOrSetLocal",
		"ChangeBreakpoints", "ChangeSingleStep", "SetFramePop", "RedefineClasses",
		"JFRCheckpoint", "JFROldObject", "HandshakeAllThreads", "RendezvousGCThreads"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(operation, names[i]))
			return true;
	return false;
}

void hotspot_read_names(struct hotspot *hotspot)
{
	struct gc_jvm *wire = &hotspot->plan.wire;
	bool named = false;

	for (uint32_t i = 0; i < MAX_NAMES / 4; i++) {
		const char *name = name_by_number(hotspot, i);

		named |= name[0] != '\0';
		if (!is_harmless(name))
			wire->gc_types[i >> 6 & 1] |= 1ull << (i & 63);
	}
	wire->statics_type = hotspot->symbols.at[HOTSPOT_TYPE];
	if (!named || wire->statics_type == 0xff)
		memset(wire->gc_types, 0, sizeof(wire->gc_types));
}

struct vtable_search {
	uint64_t vaddr;
	char name[NAME_BYTES];
};

/* Classes of 11 whose operations are called otherwise; the first is a template: what begins so. */
static const struct {
	const char *class, *operation;
	bool prefix;
} renamed[] = {
	{"JfrVMOperationI", "JFRCheckpoint", true},
	{"StartOperation", "JFROldObject", false},
	{"StopOperation", "JFROldObject", false},
	{"PathToGcRootsOperation", "JFROldObject", false},
	{"ClassLoaderStatsVMOperation", "ClassLoaderStatsOperation", false},
	{"JfrClassLoaderStatsVMOperation", "ClassLoaderStatsOperation", false},
	{"ClassLoaderHierarchyVMOperation", "ClassLoaderHierarchyOperation", false},
	{"VM_HandshakeFallbackOperation", "HandshakeFallback", false},
};

/* "VM_GenCollectForAllocation" is GenCollectForAllocation; a class of no such name is not known. */
static const char *operation_of_class(const char *class)
{
	for (size_t i = 0; i < ARRAY_SIZE(renamed); i++)
		if (renamed[i].prefix ? !strncmp(class, renamed[i].class, strlen(renamed[i].class))
				      : !strcmp(class, renamed[i].class))
			return renamed[i].operation;
	return strncmp(class, "VM_", 3) ? "" : class + 3;
}

/* "_ZTV26VM_GenCollectForAllocation" at the address wanted, less the 16 bytes before the first entry. */
static int note_vtable(const struct elf_symbol *symbol, void *arg)
{
	struct vtable_search *search = arg;
	const char *name = symbol->name;

	if (symbol->vaddr + 16 != search->vaddr || strncmp(name, "_ZTV", 4))
		return 0;
	name += 4;
	name += strspn(name, "0123456789");
	snprintf(search->name, sizeof(search->name), "%s", operation_of_class(name));
	return 1;
}

static const char *name_by_vtable(struct hotspot *hotspot, uint64_t vtable)
{
	const uint64_t *known = u64map_get(&hotspot->vtables, vtable);
	struct vtable_search search = {.vaddr = vtable - hotspot->bias};
	struct operation_class *class;

	if (known)
		return hotspot->classes.items[*known - 1].name;
	if (!elf_file_symbols(hotspot->file, true, note_vtable, &search) && hotspot->debug)
		elf_file_symbols(hotspot->debug, true, note_vtable, &search);
	class = vec_add(&hotspot->classes);
	if (!class)
		return "";
	memcpy(class->name, search.name, sizeof(class->name));
	u64map_put(&hotspot->vtables, vtable, hotspot->classes.count);
	return class->name;
}

const char *hotspot_operation(struct hotspot *hotspot, const struct hotspot_event *event)
{
	size_t len = event->safepoint.name_bytes;
	uint8_t at = hotspot->symbols.at[HOTSPOT_TYPE];
	uint32_t number;

	if (at != 0xff && event->safepoint.flags & EVENT_SAFEPOINT_STATICS &&
		at + sizeof(number) <= event->safepoint.statics_bytes) {
		memcpy(&number, event->safepoint.statics + at, sizeof(number));
		if (name_by_number(hotspot, number)[0])
			return name_by_number(hotspot, number);
	}
	if (len) {
		len = len < NAME_BYTES - 1 ? len : NAME_BYTES - 1;
		memcpy(hotspot->name, event->safepoint.name, len);
		hotspot->name[len] = '\0';
		return hotspot->name;
	}
	return event->safepoint.op_vtable ? name_by_vtable(hotspot, event->safepoint.op_vtable)
					  : "";
}

const char *hotspot_cause(struct hotspot *hotspot, const struct hotspot_event *event, bool current)
{
	static const enum jvm_counter order[] = {JVM_CAUSE, JVM_LAST_CAUSE};

	for (size_t i = 0; i < (current ? 1 : ARRAY_SIZE(order)); i++)
		if (event->safepoint.flags & EVENT_SAFEPOINT_PERF &&
			!jvm_counter_text(&hotspot->plan, order[i], event->safepoint.perf,
				event->safepoint.perf_bytes, hotspot->cause, NAME_BYTES) &&
			hotspot->cause[0] && strcmp(hotspot->cause, "No GC") &&
			strcmp(hotspot->cause, "unknown GCCause"))
			return hotspot->cause;
	return "";
}
