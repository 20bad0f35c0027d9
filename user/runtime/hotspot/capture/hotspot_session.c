/* JVMs among the targets: what each says of itself → struct gc_jvm for BPF, runtimes of the recording. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "hotspot_session.h"
#include "log.h"
#include "mem.h"

/* Between two tries while a JVM starts: twice as long each time, as one that lies never gets ready. */
#define FIRST_WAIT_NS 10000000ull
#define LAST_WAIT_NS  5000000000ull

static void instance_free(struct jvm_instance *instance)
{
	if (!instance)
		return;
	hotspot_free(instance->hotspot);
	java_stacks_free(instance->stacks);
	phases_release(&instance->phases);
	free(instance);
}

DEFINE_CLEANUP(struct jvm_instance *, instance_free);

/* Hands BPF what is known by now, and the entry where it keeps its state. */
static int put_plan(struct jvms *jvms, const struct jvm_instance *instance, bool first)
{
	const struct bpf_map *states = trace_map(jvms->trace, "jvm_states");
	struct gc_jvm wire = hotspot_plan(instance->hotspot)->wire;
	uint32_t key = (uint32_t)instance->pid;
	_cleanup_free_ void *zero = NULL;
	int r;

	wire.image = instance->image;
	wire.late_ns = trace_options(jvms->trace)->late_ns;
	if (first) {
		zero = calloc(1, bpf_map__value_size(states));
		if (!zero)
			return -ENOMEM;
		r = bpf_map__update_elem(states, &key, sizeof(key), zero,
			bpf_map__value_size(states), BPF_ANY);
		if (r)
			return r;
	}
	return bpf_map__update_elem(trace_map(jvms->trace, "jvm_plans"), &key, sizeof(key), &wire,
		sizeof(wire), BPF_ANY);
}

/* The JVM says what it is only once it runs: the runtime's row is told again. */
static void describe(struct jvms *jvms, const struct jvm_instance *instance)
{
	struct probe_plan *plan = trace_plan(jvms->trace, instance->image);
	struct runtime *runtime = trace_runtime(jvms->trace, instance->process, instance->image);
	const struct jvm *jvm = hotspot_jvm(instance->hotspot);
	const char *collector = jvm ? jvm_collector(jvm) : NULL;

	if (!runtime || !jvm)
		return;
	snprintf(plan->version, sizeof(plan->version), "%s", jvm_version(jvm));
	snprintf(runtime->version, sizeof(runtime->version), "%s", jvm_version(jvm));
	snprintf(runtime->collector, sizeof(runtime->collector), "%s", collector ? collector : "");
	trace_tell_runtime(jvms->trace, runtime);
	if (hotspot_plan(instance->hotspot)->lacks[0])
		log_info("process %d: %s", instance->pid, hotspot_plan(instance->hotspot)->lacks);
}

static void learn(struct jvms *jvms, struct jvm_instance *instance)
{
	struct err err = {};
	uint64_t number = 0;
	int r = hotspot_learn(instance->hotspot, &err);

	instance->wait_ns = instance->wait_ns ? 2 * instance->wait_ns : FIRST_WAIT_NS;
	if (instance->wait_ns > LAST_WAIT_NS)
		instance->wait_ns = LAST_WAIT_NS;
	instance->retry_ns = now_ns() + instance->wait_ns;
	instance->settled = r != -EAGAIN;
	if (put_plan(jvms, instance, false))
		trace_note_unprobed(jvms->trace);
	if (!instance->settled)
		return;
	if (r)
		log_warning("process %d: %s", instance->pid, err.text);
	if (!instance->born && !hotspot_safepoints(instance->hotspot, &number))
		books_settle(trace_books(jvms->trace), instance->process, BOOKS_PROCESS,
			&(struct books_counts){hotspot_counters, &number});
	describe(jvms, instance);
}

static bool probes(const struct probe_plan *plan, enum hotspot_site kind)
{
	for (size_t i = 0; i < plan->site_count; i++)
		if (plan->sites[i].kind == kind && !plan->sites[i].missing)
			return true;
	return false;
}

static int found(void *state, pid_t pid, uint32_t process, uint32_t image,
	const struct proc_map *map, struct err *err)
{
	struct jvms *jvms = state;
	_cleanup_(cleanup_instance_free) struct jvm_instance *instance = NULL;
	static const uint64_t zero;
	struct jvm_instance **slot;
	int r;

	if (jvms_find(jvms, pid))
		return 0;
	instance = calloc(1, sizeof(*instance));
	if (!instance)
		return -ENOMEM;
	instance->pid = pid;
	instance->fresh = true;
	instance->process = process;
	instance->image = image;
	instance->sums_up = probes(trace_plan(jvms->trace, image), SITE_HEAP_SUMMARY);
	instance->stacks = java_stacks_new();
	if (!instance->stacks)
		return -ENOMEM;
	r = hotspot_open(pid, map, trace_plan(jvms->trace, image), &instance->hotspot, err);
	if (!r)
		r = put_plan(jvms, instance, true);
	if (r == -E2BIG)
		return err_set(err, E2BIG, "more than %d JVMs in one session", GC_MAX_JVMS);
	if (r)
		return r;
	slot = vec_add(&jvms->list);
	if (!slot)
		return -ENOMEM;
	*slot = steal_ptr(instance);
	(*slot)->born = !trace_ran_before(jvms->trace, process, image) &&
			books_open(trace_books(jvms->trace), process, BOOKS_PROCESS,
				&(struct books_counts){hotspot_counters, &zero});
	learn(jvms, *slot);
	return 0;
}

/* Safepoints up to now were not ours: it has just become a target. Later calls do nothing. */
static void targeted(void *state, pid_t pid)
{
	struct jvms *jvms = state;
	struct jvm_instance *instance = jvms_find(jvms, pid);
	uint64_t number = 0;

	if (!instance || !instance->fresh)
		return;
	instance->fresh = false;
	hotspot_settle(instance->hotspot);
	if (!instance->settled || hotspot_safepoints(instance->hotspot, &number))
		return;
	hotspot_counters_now(instance->hotspot);
	if (!instance->born)
		books_settle(trace_books(jvms->trace), instance->process, BOOKS_PROCESS,
			&(struct books_counts){hotspot_counters, &number});
}

/* Asks those JVMs again that were starting. */
static void turn(void *state)
{
	struct jvms *jvms = state;

	for (size_t i = 0; i < jvms->list.count; i++) {
		struct jvm_instance *instance = jvms->list.items[i];

		if (!instance->settled && now_ns() >= instance->retry_ns)
			learn(jvms, instance);
	}
}

static void forget(struct jvms *jvms, pid_t pid)
{
	uint32_t key = (uint32_t)pid;

	for (size_t i = 0; i < jvms->list.count; i++) {
		if (jvms->list.items[i]->pid != pid)
			continue;
		bpf_map__delete_elem(trace_map(jvms->trace, "jvm_plans"), &key, sizeof(key), 0);
		bpf_map__delete_elem(trace_map(jvms->trace, "jvm_states"), &key, sizeof(key), 0);
		instance_free(jvms->list.items[i]);
		jvms->list.items[i] = jvms->list.items[--jvms->list.count];
		return;
	}
}

static void over(void *state, pid_t pid, uint64_t time_ns)
{
	jvms_over(state, pid, time_ns);
	forget(state, pid);
}

static void *jvms_open(struct trace *trace)
{
	struct jvms *jvms = calloc(1, sizeof(*jvms));

	if (jvms)
		jvms->trace = trace;
	return jvms;
}

static void jvms_close(void *state)
{
	struct jvms *jvms = state;

	for (size_t i = 0; i < jvms->list.count; i++)
		instance_free(jvms->list.items[i]);
	vec_free(&jvms->list);
	free(jvms);
}

static int ask_books(void *state, pid_t pid, struct probe_books *ret)
{
	const struct jvm_instance *instance = jvms_find(state, pid);

	*ret = (struct probe_books){};
	return instance ? hotspot_safepoints(instance->hotspot, &ret->counts[0]) : -ENOENT;
}

/* Only the VM Thread writes these counters. */
static int watch(void *state, uint32_t image, pid_t pid, const struct probe_site *site,
	uint64_t cookie, struct err *err)
{
	struct jvms *jvms = state;
	pid_t tid = hotspot_vm_thread(pid);

	if (!tid)
		return err_set(err, ENOENT, "process %d has no thread \"VM Thread\"", pid);
	return trace_watch(jvms->trace, image, site, tid, sizeof(uint64_t), false, cookie, err);
}

/* Ids that outlive a record. */
static void move_strings(void *state, const struct strtab *from, struct strtab *to)
{
	struct jvms *jvms = state;

	for (size_t i = 0; i < jvms->list.count; i++) {
		struct jvm_instance *instance = jvms->list.items[i];

		instance->late.stack = STACK_NONE;
		for (size_t j = 0; j < instance->phases.list.count; j++) {
			uint32_t *name = &instance->phases.list.items[j].name;

			*name = strtab_add(to, strtab_get(from, *name), strtab_len(from, *name));
			*name = *name == STRTAB_NONE ? 0 : *name;
		}
	}
}

static void drops(void *state)
{
	struct jvms *jvms = state;
	uint64_t unready = 0;
	uint32_t zero = 0;

	bpf_map__lookup_elem(trace_map(jvms->trace, "jvm_unready"), &zero, sizeof(zero), &unready,
		sizeof(unready), 0);
	trace_note_drop(jvms->trace, "unready-jvm", unready,
		"a JVM paused before it had started up");
	trace_note_drop(jvms->trace, "unknown-safepoint", jvms->unsure,
		"a JVM without symbols may have stood in one safepoint all the time: keep its .symtab");
	trace_note_drop(jvms->trace, "killed-in-safepoint", jvms->killed,
		"a JVM was killed or called exec in a safepoint: how long it would have lasted is not known");
}

static const struct capture_program programs[] = {
	{"on_hotspot_exit", 0, USE_ALWAYS},
	{"on_wait_session", 1, USE_SESSION},
	{"on_wait_begin", 1, USE_PAIR},
	{"on_wait_end", 1, USE_PAIR},
	{"on_safepoint_begin", 1, USE_ALWAYS},
	{"on_safepoint_sync", 1, USE_ALWAYS},
	{"on_safepoint_end", 1, USE_ALWAYS},
	{"on_safepoint_block", 1, USE_ALWAYS},
	{"on_heap_summary", 1, USE_ALWAYS},
	{"on_vm_request", 1, USE_ALWAYS},
	{"on_vm_begin", 1, USE_ALWAYS},
	{"on_phase_begin", 1, USE_ALWAYS},
	{"on_phase_end", 1, USE_ALWAYS},
	{"on_perf_write", 2, USE_ALWAYS},
	{},
};

const struct capture_ops hotspot_capture = {
	.programs = programs,
	.first_record = GC_EVENT_SAFEPOINT,
	.last_record = GC_EVENT_KILLED,
	.ends_at_fork = true, /* a forked JVM has no VM Thread: all that it does is exec */
	.open = jvms_open,
	.close = jvms_close,
	.watch = watch,
	.record = jvms_record,
	.found = found,
	.targeted = targeted,
	.over = over,
	.turn = turn,
	.books = ask_books,
	.move_strings = move_strings,
	.look = jvms_look,
	.finish = jvms_finish,
	.drops = drops,
};
