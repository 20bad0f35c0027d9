/* Records of JVMs → pauses, stalls and phases for the sink. */
#include <errno.h>
#include <string.h>

#include "hotspot_facts.h"
#include "cleanup.h"
#include "hotspot_session.h"

const char *const hotspot_counters[] = {"sun.rt.safepoints", NULL};

struct jvm_instance *jvms_find(const struct jvms *jvms, pid_t pid)
{
	for (size_t i = jvms->list.count; i--;)
		if (jvms->list.items[i]->pid == pid)
			return jvms->list.items[i];
	return NULL;
}

static uint32_t intern(struct jvms *jvms, const char *text, size_t len)
{
	uint32_t id = len ? strtab_add(trace_stack_table(jvms->trace)->strings, text, len) : 0;

	return id == STRTAB_NONE ? 0 : id;
}

/* Classes unloaded by now: what was named before may be gone. */
static uint64_t unloaded_now(void *arg)
{
	const struct jvm_instance *instance = arg;
	const struct jvm *jvm = hotspot_jvm(instance->hotspot);
	uint64_t own, shared = 0;

	if (jvm_counter_now(jvm, hotspot_plan(instance->hotspot), JVM_UNLOADED, &own))
		return UINT64_MAX;
	jvm_counter_now(jvm, hotspot_plan(instance->hotspot), JVM_SHARED_UNLOADED, &shared);
	return own + shared;
}

static uint32_t name_stack(struct jvms *jvms, struct jvm_instance *instance,
	const struct event_java_stack *stack, uint64_t unloaded)
{
	const struct jvm *jvm = hotspot_jvm(instance->hotspot);

	if (!jvm || !stack->count)
		return STACK_NONE;
	return java_stack(instance->stacks, jvm, stack, unloaded, unloaded_now, instance,
		trace_stack_table(jvms->trace));
}

static uint64_t unloaded_then(const struct jvm_instance *instance,
	const struct hotspot_event *event)
{
	const struct jvm_plan *plan = hotspot_plan(instance->hotspot);
	uint64_t own, shared = 0;

	if (!(event->safepoint.flags & EVENT_SAFEPOINT_PERF) ||
		jvm_counter(plan, JVM_UNLOADED, event->safepoint.perf, event->safepoint.perf_bytes,
			&own))
		return UINT64_MAX;
	jvm_counter(plan, JVM_SHARED_UNLOADED, event->safepoint.perf, event->safepoint.perf_bytes,
		&shared);
	return own + shared;
}

/* Who asked for it, as the host counts; the VM Thread itself where that is not known. */
static uint32_t requester(struct jvm_instance *instance, const struct hotspot_event *event)
{
	uint32_t tid = event->safepoint.requester_host_tid;

	if (!tid && event->safepoint.requester_tid)
		tid = hotspot_host_tid(instance->hotspot, event->safepoint.requester_tid);
	return tid ? tid : event->head.tid;
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Operations that are a step of a cycle whose work is done while the program runs. */
static bool is_concurrent_step(const char *operation)
{
	static const char *const names[] = {"G1PauseRemark", "G1PauseCleanup", "CGC_Operation",
		"CMS_", "ZMark", "ZRelocate", "ZVerify", "ZOperation", "XMark", "XRelocate",
		"XVerify", "XOperation", "ZYoung", "ZOld", "ZFlip", "ShenandoahInit",
		"ShenandoahFinal", "ShenandoahVerify"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (begins(operation, names[i]))
			return true;
	return false;
}

/*
 * Operations that collect all of the heap. Of others the name does not say: GenCollectFull,
 * ParallelGCSystemGC and their successors collect the young part where a JNI critical section had kept
 * the collector away, and what is called for allocation or metadata goes on to a full one if it must.
 */
static bool is_full(const char *operation)
{
	return !strcmp(operation, "G1CollectFull") || !strcmp(operation, "ShenandoahFullGC");
}

/* Operations that may collect, for want of counters. */
static bool may_collect(const char *operation)
{
	static const char *const names[] = {"G1", "GenCollect", "Serial", "ParallelGC",
		"ParallelCollect", "CollectFor", "Shenandoah", "CMS_", "PSFull"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (begins(operation, names[i]))
			return true;
	return false;
}

/*
 * Whether sun.gc.collector.0 and .1 count young and full collections. ZGC and Shenandoah count every
 * pause of a cycle there (seen on 17 and 25), CMS its concurrent ones.
 */
static bool counts_collections(const struct runtime *runtime)
{
	static const char *const names[] = {"Serial", "Parallel", "G1"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(runtime->collector, names[i]))
			return true;
	return false;
}

/* Where the operation is not known, what counts the pauses of a cycle tells. */
static bool is_step(const char *operation, const struct runtime *runtime,
	const int64_t collections[EVENT_COLLECTORS])
{
	size_t first = counts_collections(runtime) ? 2 : 0;

	if (operation[0])
		return is_concurrent_step(operation);
	for (size_t i = first; i < EVENT_COLLECTORS; i++)
		if (collections[i] > 0)
			return collections[0] <= 0 || !counts_collections(runtime);
	return false;
}

/* Serial, Parallel and G1 sum up their heap around each collection: a safepoint seen whole without that held none. */
static bool none_by_summaries(const struct hotspot_event *event, const struct runtime *runtime,
	bool sums_up)
{
	return sums_up && event->safepoint.begin_ns && !event->safepoint.summaries &&
	       counts_collections(runtime);
}

/*
 * What was collected: by the JVM's counters, else by its heap summaries, else by the operation's name.
 * @merges: 8 and 11 run all operations that wait in one safepoint, which bears the name of the first: that
 * it did not collect says nothing of the others.
 */
static void judge(struct pause *pause, const char *operation, const struct hotspot_event *event,
	const struct runtime *runtime, const int64_t collections[EVENT_COLLECTORS], bool merges,
	bool sums_up)
{
	int64_t young = collections[0], full = collections[1];
	bool step = is_step(operation, runtime, collections);
	bool counted = young != UNKNOWN && full != UNKNOWN && counts_collections(runtime);

	if (step)
		pause->flags |= PAUSE_CONCURRENT;
	if (counted && young + full > 0) {
		pause->facts[HOTSPOT_YOUNG_COLLECTIONS] = young;
		pause->facts[HOTSPOT_FULL_COLLECTIONS] = full;
		pause->generation = full ? 1 : 0;
		pause->flags |= full ? PAUSE_FULL : 0;
		return;
	}
	if (is_full(operation) && !none_by_summaries(event, runtime, sums_up)) {
		pause->flags |= PAUSE_FULL;
		return;
	}
	if (begins(operation, "ShenandoahDegenerated"))
		return;
	if (counted && !step) {
		pause->facts[HOTSPOT_YOUNG_COLLECTIONS] = pause->facts[HOTSPOT_FULL_COLLECTIONS] =
			0;
		pause->flags |= PAUSE_NO_COLLECTION;
		return;
	}
	/* ZGC and Shenandoah sum up their heap while the program runs, also on its way to a safepoint. */
	if (!step && none_by_summaries(event, runtime, sums_up))
		pause->flags |= PAUSE_NO_COLLECTION;
	else if (operation[0] && !step && !merges && !may_collect(operation) &&
		 !(counts_collections(runtime) && event->safepoint.summaries))
		pause->flags |= PAUSE_NO_COLLECTION;
}

/*
 * Generational ZGC collects the young beside the old part of a major collection: the cause is that of
 * either. What is not known to be of the young may be of the old.
 */
static bool shares_cause(const char *operation, const struct runtime *runtime)
{
	size_t len = strlen(operation);

	if (!len)
		return !strcmp(runtime->collector, "Generational ZGC");
	return operation[0] == 'Z' && len > 3 && !strcmp(operation + len - 3, "Old") &&
	       strcmp(operation, "ZMarkStartYoungAndOld");
}

static void take_heap(struct pause *pause, const struct runtime *runtime,
	const struct hotspot_event *event)
{
	if (event->safepoint.summaries < 2 || !pause_collects(pause) ||
		!counts_collections(runtime))
		return;
	pause->facts[HOTSPOT_HEAP_BEFORE] = (int64_t)event->safepoint.heap_before;
	pause->facts[HOTSPOT_HEAP_AFTER] = (int64_t)event->safepoint.heap_after;
}

static void take_late(struct jvms *jvms, struct jvm_instance *instance, struct pause *pause,
	const struct hotspot_event *event)
{
	if (instance->late.begin_ns && instance->late.begin_ns == event->safepoint.begin_ns) {
		pause->facts[HOTSPOT_LATE_TID] = instance->late.tid;
		pause->facts[HOTSPOT_LATE_STACK] = instance->late.stack;
		pause->facts[HOTSPOT_LATE_RAN_NS] = instance->late.ran_ns;
	} else if (event->safepoint.late_tid) {
		pause->facts[HOTSPOT_LATE_TID] = event->safepoint.late_tid;
	}
	instance->late.begin_ns = 0;
	if (pause->facts[HOTSPOT_LATE_TID] > 0)
		trace_thread(jvms->trace, instance->process, instance->pid,
			(uint32_t)pause->facts[HOTSPOT_LATE_TID]);
}

/* What the times say; the rest is not known yet. */
static struct pause begin_pause(const struct hotspot_times *times)
{
	struct pause pause = trace_unknown_pause(0, times->start_ns, times->end_ns);

	pause.flags = PAUSE_HAS_FACTS | (times->exact ? 0 : PAUSE_INEXACT) |
		      (times->begun_before ? PAUSE_BEGUN_BEFORE : 0);
	pause.facts[HOTSPOT_TTSP_NS] = times->ttsp_ns;
	pause.facts[HOTSPOT_CLEANUP_NS] = times->cleanup_ns;
	pause.facts[HOTSPOT_CORE_NS] = times->core_ns;
	pause.facts[HOTSPOT_LEAVE_NS] = times->leave_ns;
	pause.facts[HOTSPOT_HEAP_BEFORE] = UNKNOWN;
	pause.facts[HOTSPOT_HEAP_AFTER] = UNKNOWN;
	pause.facts[HOTSPOT_YOUNG_COLLECTIONS] = UNKNOWN;
	pause.facts[HOTSPOT_FULL_COLLECTIONS] = UNKNOWN;
	pause.facts[HOTSPOT_LATE_TID] = UNKNOWN;
	pause.facts[HOTSPOT_LATE_RAN_NS] = UNKNOWN;
	return pause;
}

void jvms_put_unknown(struct jvms *jvms, const struct runtime *runtime, uint64_t start_ns,
	uint64_t end_ns, uint32_t flags, uint32_t tid)
{
	const struct hotspot_times times = {start_ns, end_ns, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN};
	struct pause pause = begin_pause(&times);

	if (end_ns <= start_ns)
		return;
	pause.runtime = runtime->id;
	pause.tid = tid;
	pause.flags |= flags;
	trace_put_pause(jvms->trace, &pause);
}

/* Whether it collected, and not only: may have. */
static bool collects_for_sure(const struct pause *pause, const char *operation)
{
	return pause_collects(pause) &&
	       (pause->flags & PAUSE_CONCURRENT || may_collect(operation) ||
		       pause->facts[HOTSPOT_YOUNG_COLLECTIONS] != UNKNOWN);
}

/* Its operation, and what that collected and why. */
static void take_operation(struct jvms *jvms, struct jvm_instance *instance,
	const struct runtime *runtime, const struct hotspot_event *event,
	const struct hotspot_safepoint *read, struct pause *pause)
{
	const char *operation = hotspot_operation(instance->hotspot, event), *cause;
	bool sure;

	pause->facts[HOTSPOT_OPERATION] = intern(jvms, operation, strlen(operation));
	judge(pause, operation, event, runtime, read->collections,
		!hotspot_file(trace_plan(jvms->trace, instance->image))->arguments,
		instance->sums_up);
	sure = collects_for_sure(pause, operation);
	if (sure)
		instance->collected_ns = pause->end_ns;
	else if (pause_collects(pause))
		instance->unsure_ns = pause->end_ns;
	if (sure && !shares_cause(operation, runtime)) {
		cause = hotspot_cause(instance->hotspot, event, pause->flags & PAUSE_CONCURRENT);
		pause->facts[HOTSPOT_CAUSE] = intern(jvms, cause, strlen(cause));
		pause->cause = pause->facts[HOTSPOT_CAUSE] ? CAUSE_RUNTIME : CAUSE_UNKNOWN;
	}
}

/* The JVM that @event is from and its row; NULL if it is not one of ours. */
static struct jvm_instance *instance_of(struct jvms *jvms, const struct hotspot_event *event,
	struct runtime **ret)
{
	struct jvm_instance *instance = jvms_find(jvms, (pid_t)event->head.pid);

	*ret = instance ? trace_runtime(jvms->trace, instance->process, instance->image) : NULL;
	return *ret ? instance : NULL;
}

void jvms_put_safepoint(struct jvms *jvms, struct jvm_instance *instance, struct runtime *runtime,
	const struct hotspot_event *event, const struct hotspot_safepoint *read, uint32_t flags)
{
	struct pause pause = begin_pause(&read->times);

	pause.flags |= flags;
	pause.runtime = runtime->id;
	pause.tid = requester(instance, event);
	trace_thread(jvms->trace, instance->process, instance->pid, pause.tid);
	take_operation(jvms, instance, runtime, event, read, &pause);
	take_heap(&pause, runtime, event);
	take_late(jvms, instance, &pause, event);
	pause.stack =
		name_stack(jvms, instance, &event->safepoint.stack, unloaded_then(instance, event));
	if (pause.start_ns < runtime->attached_ns) /* it was under way then */
		runtime->attached_ns = pause.start_ns;
	if (read->number != UNKNOWN) {
		uint64_t number = (uint64_t)read->number;

		runtime->missed += books_pause(trace_books(jvms->trace), instance->process,
			BOOKS_PROCESS, 0, &(struct books_counts){hotspot_counters, &number});
	} else if (instance->born) {
		books_count(trace_books(jvms->trace), instance->process, BOOKS_PROCESS, 0);
	}
	trace_put_pause(jvms->trace, &pause);
}

static int on_safepoint(struct jvms *jvms, const struct hotspot_event *event)
{
	struct runtime *runtime;
	struct jvm_instance *instance = instance_of(jvms, event, &runtime);
	struct hotspot_safepoint read;

	if (!instance)
		return -EBADMSG;
	instance->record_ns = event->head.time_ns;
	if (!hotspot_read(instance->hotspot, event, &read))
		jvms_put_safepoint(jvms, instance, runtime, event, &read, 0);
	return 0;
}

/* Killed inside a safepoint: nothing is left to read of what it was for. */
static int on_killed(struct jvms *jvms, const struct hotspot_event *event)
{
	struct runtime *runtime;
	struct jvm_instance *instance = instance_of(jvms, event, &runtime);

	if (!instance)
		return -EBADMSG;
	instance->record_ns = event->head.time_ns;
	jvms->killed++;
	jvms_put_unknown(jvms, runtime, event->killed.start_ns, event->head.time_ns,
		PAUSE_UNFINISHED | PAUSE_INEXACT, event->head.tid);
	return 0;
}

static int on_late(struct jvms *jvms, const struct hotspot_event *event)
{
	struct jvm_instance *instance = jvms_find(jvms, (pid_t)event->head.pid);

	if (!instance)
		return -EBADMSG;
	instance->late.begin_ns = event->late.begin_ns;
	instance->late.tid = event->late.tid;
	instance->late.ran_ns = event->late.ran_ns;
	instance->late.stack =
		name_stack(jvms, instance, &event->late.stack, unloaded_now(instance));
	return 0;
}

/*
 * Collections between the call and its return, whoever asked for them; 1 for any number of them where
 * only the pauses of a cycle are seen.
 */
static int64_t count_collections(const struct jvm_instance *instance, const struct runtime *runtime,
	const struct hotspot_event *event)
{
	int64_t sum = 0;

	if (event->stall.kind != EVENT_STALL_EXPLICIT)
		return UNKNOWN;
	if (!counts_collections(runtime)) {
		if (instance->collected_ns > event->stall.start_ns)
			return 1;
		return instance->unsure_ns > event->stall.start_ns ? UNKNOWN : 0;
	}
	for (size_t i = 0; i < event->stall.collectors; i++)
		sum += (int64_t)(event->stall.collections_end[i] -
				 event->stall.collections_start[i]);
	return event->stall.collectors ? sum : UNKNOWN;
}

static int on_stall(struct jvms *jvms, const struct hotspot_event *event)
{
	struct runtime *runtime;
	struct jvm_instance *instance = instance_of(jvms, event, &runtime);
	struct stall stall;

	if (!instance)
		return -EBADMSG;
	trace_thread(jvms->trace, instance->process, instance->pid, event->head.tid);
	stall = (struct stall){
		.start_ns = event->stall.start_ns,
		.end_ns = event->head.time_ns,
		.runtime = runtime->id,
		.tid = event->head.tid,
		.kind = event->stall.kind,
		.collections = count_collections(instance, runtime, event),
		.stack = name_stack(jvms, instance, &event->stall.stack, event->stall.unloaded),
	};
	trace_put_stall(jvms->trace, &stall);
	return 0;
}

static void end_phase(struct jvms *jvms, struct jvm_instance *instance,
	const struct runtime *runtime, const struct hotspot_event *event)
{
	struct open_phase open;
	struct phase phase;

	if (phases_end(&instance->phases, event->head.tid, &open))
		return; /* its begin was before us */
	trace_thread(jvms->trace, instance->process, instance->pid, event->head.tid);
	phase = (struct phase){
		0, open.start_ns, event->head.time_ns, runtime->id, event->head.tid, open.name};
	trace_put_phase(jvms->trace, &phase);
}

static int on_phase(struct jvms *jvms, const struct hotspot_event *event)
{
	struct runtime *runtime;
	struct jvm_instance *instance = instance_of(jvms, event, &runtime);

	if (!instance)
		return -EBADMSG;
	if (!event->phase.begins) {
		end_phase(jvms, instance, runtime, event);
		return 0;
	}
	phases_begin(&instance->phases,
		(struct open_phase){event->head.tid,
			intern(jvms, (const char *)event->phase.name, event->phase.name_bytes),
			event->head.time_ns});
	return 0;
}

int jvms_record(void *state, const void *bytes, size_t size)
{
	struct hotspot_event event;
	int r = hotspot_decode(bytes, size, &event);

	if (r)
		return r;
	switch (event.type) {
	case EVENT_SAFEPOINT:
		return on_safepoint(state, &event);
	case EVENT_LATE:
		return on_late(state, &event);
	case EVENT_STALL:
		return on_stall(state, &event);
	case EVENT_PHASE:
		return on_phase(state, &event);
	case EVENT_KILLED:
		return on_killed(state, &event);
	}
	return -EBADMSG;
}
