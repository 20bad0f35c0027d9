/* JVMs among the targets: what each says of itself → struct gc_jvm for BPF, runtimes of the recording. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "jvm_instance.h"
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

struct jvm_instance *trace_jvm_find(const struct trace *trace, pid_t pid)
{
	for (size_t i = trace->jvms.count; i--;)
		if (trace->jvms.items[i]->pid == pid)
			return trace->jvms.items[i];
	return NULL;
}

/* Hands BPF what is known by now, and the entry where it keeps its state. */
static int put_plan(struct trace *trace, const struct jvm_instance *instance, bool first)
{
	const struct bpf_map *states = trace->jvm->maps.jvm_states;
	struct gc_jvm wire = hotspot_plan(instance->hotspot)->wire;
	uint32_t key = (uint32_t)instance->pid;
	_cleanup_free_ void *zero = NULL;
	int r;

	wire.image = instance->image;
	wire.late_ns = trace->options.late_ns;
	if (first) {
		zero = calloc(1, bpf_map__value_size(states));
		if (!zero)
			return -ENOMEM;
		r = bpf_map__update_elem(states, &key, sizeof(key), zero,
			bpf_map__value_size(states), BPF_ANY);
		if (r)
			return r;
	}
	return bpf_map__update_elem(trace->jvm->maps.jvm_plans, &key, sizeof(key), &wire, sizeof(wire),
		BPF_ANY);
}

/* The JVM says what it is only once it runs: the runtime's row is told again. */
static void describe(struct trace *trace, const struct jvm_instance *instance)
{
	struct probe_plan *plan = &trace->images[instance->image].plan;
	struct runtime *runtime = trace_runtime(trace, instance->process, instance->image);
	const struct jvm *jvm = hotspot_jvm(instance->hotspot);
	const char *collector = jvm ? jvm_collector(jvm) : NULL;

	if (!runtime || !jvm)
		return;
	snprintf(plan->version, sizeof(plan->version), "%s", jvm_version(jvm));
	snprintf(runtime->version, sizeof(runtime->version), "%s", jvm_version(jvm));
	snprintf(runtime->collector, sizeof(runtime->collector), "%s", collector ? collector : "");
	trace_tell_runtime(trace, runtime);
	if (hotspot_plan(instance->hotspot)->lacks[0])
		log_info("process %d: %s", instance->pid, hotspot_plan(instance->hotspot)->lacks);
}

static void learn(struct trace *trace, struct jvm_instance *instance)
{
	struct err err = {};
	uint64_t counts[3] = {};
	int r = hotspot_learn(instance->hotspot, &err);

	instance->wait_ns = instance->wait_ns ? 2 * instance->wait_ns : FIRST_WAIT_NS;
	if (instance->wait_ns > LAST_WAIT_NS)
		instance->wait_ns = LAST_WAIT_NS;
	instance->retry_ns = now_ns() + instance->wait_ns;
	instance->settled = r != -EAGAIN;
	if (put_plan(trace, instance, false))
		trace->unprobed++;
	if (!instance->settled)
		return;
	if (r)
		log_warning("process %d: %s", instance->pid, err.text);
	if (!instance->born && !hotspot_safepoints(instance->hotspot, &counts[0]))
		books_settle(&trace->books, instance->process, 0, counts);
	describe(trace, instance);
}

static bool probes(const struct probe_plan *plan, enum site_kind kind)
{
	for (size_t i = 0; i < plan->site_count; i++)
		if (plan->sites[i].kind == kind)
			return true;
	return false;
}

int trace_jvm_add(struct trace *trace, pid_t pid, uint32_t process, uint32_t image,
	const struct proc_map *map, struct err *err)
{
	_cleanup_(cleanup_instance_free) struct jvm_instance *instance = NULL;
	static const uint64_t zero[3];
	struct jvm_instance **slot;
	int r;

	if (trace_jvm_find(trace, pid))
		return 0;
	instance = calloc(1, sizeof(*instance));
	if (!instance)
		return -ENOMEM;
	instance->pid = pid;
	instance->fresh = true;
	instance->process = process;
	instance->image = image;
	instance->sums_up = !trace->images[image].lacks_sums &&
		probes(&trace->images[image].plan, SITE_HEAP_SUMMARY);
	instance->stacks = java_stacks_new();
	if (!instance->stacks)
		return -ENOMEM;
	r = hotspot_open(pid, map, &trace->images[image].plan, &instance->hotspot, err);
	if (!r)
		r = put_plan(trace, instance, true);
	if (r == -E2BIG)
		return err_set(err, E2BIG, "more than %d JVMs in one session", GC_MAX_JVMS);
	if (r)
		return r;
	slot = vec_add(&trace->jvms);
	if (!slot)
		return -ENOMEM;
	*slot = steal_ptr(instance);
	(*slot)->born = !u64map_get(&trace->aged, trace_runtime_key(process, image)) &&
		books_open(&trace->books, process, 0, zero);
	learn(trace, *slot);
	return 0;
}

void trace_jvm_settle(struct trace *trace, pid_t pid)
{
	struct jvm_instance *instance = trace_jvm_find(trace, pid);
	uint64_t counts[3] = {};

	if (!instance || !instance->fresh)
		return;
	instance->fresh = false;
	hotspot_settle(instance->hotspot);
	if (!instance->settled || hotspot_safepoints(instance->hotspot, &counts[0]))
		return;
	hotspot_counters_now(instance->hotspot);
	if (!instance->born)
		books_settle(&trace->books, instance->process, 0, counts);
}

void trace_jvms_turn(struct trace *trace)
{
	for (size_t i = 0; i < trace->jvms.count; i++) {
		struct jvm_instance *instance = trace->jvms.items[i];

		if (!instance->settled && now_ns() >= instance->retry_ns)
			learn(trace, instance);
	}
}

void trace_jvm_forget(struct trace *trace, pid_t pid)
{
	uint32_t key = (uint32_t)pid;

	for (size_t i = 0; i < trace->jvms.count; i++) {
		if (trace->jvms.items[i]->pid != pid)
			continue;
		bpf_map__delete_elem(trace->jvm->maps.jvm_plans, &key, sizeof(key), 0);
		bpf_map__delete_elem(trace->jvm->maps.jvm_states, &key, sizeof(key), 0);
		instance_free(trace->jvms.items[i]);
		trace->jvms.items[i] = trace->jvms.items[--trace->jvms.count];
		return;
	}
}

void trace_jvms_close(struct trace *trace)
{
	for (size_t i = 0; i < trace->jvms.count; i++)
		instance_free(trace->jvms.items[i]);
	vec_free(&trace->jvms);
}

int trace_jvm_books(const struct trace *trace, pid_t pid, struct probe_books *ret)
{
	const struct jvm_instance *instance = trace_jvm_find(trace, pid);

	*ret = (struct probe_books){};
	return instance ? hotspot_safepoints(instance->hotspot, &ret->counts[0]) : -ENOENT;
}
