/*
 * Runs of the programs that follow processes, left out by the kernel → what they would have told. It
 * does so where one is in the program already on the same CPU: from Linux 7 on it can be preempted there.
 */
#include <bpf/bpf.h>

#include "mem.h"
#include "trace_priv.h"

static uint64_t left_out(const struct bpf_program *program)
{
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info);

	return bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size)
		       ? 0
		       : info.recursion_misses;
}

/* Pids of the live, for what may change their table. */
static void list_live(const struct trace *trace, struct proc_pids *ret)
{
	for (size_t i = 0; i < trace->live.capacity; i++) {
		pid_t *slot = trace->live.used[i] ? vec_add(&ret->pids) : NULL;

		if (slot)
			*slot = (pid_t)trace->live.slots[i].key;
	}
}

bool trace_is_target(const struct trace *trace, pid_t pid)
{
	const struct bpf_map *targets = trace->programs.bpf->maps.targets;
	uint32_t key = (uint32_t)pid;
	struct gc_target target;

	return !bpf_map__lookup_elem(targets, &key, sizeof(key), &target, sizeof(target), 0);
}

/* Targets that are not known to live: forked a moment ago, or dead. */
static void list_unknown_targets(const struct trace *trace, struct proc_pids *ret)
{
	uint32_t key, last = 0;
	int r = bpf_map__get_next_key(trace->programs.bpf->maps.targets, NULL, &key, sizeof(key));

	for (size_t i = 0; !r && i < GC_MAX_TARGETS; i++) {
		pid_t *slot = u64map_get(&trace->live, key) ? NULL : vec_add(&ret->pids);

		if (slot)
			*slot = (pid_t)key;
		last = key;
		r = bpf_map__get_next_key(trace->programs.bpf->maps.targets, &last, &key,
			sizeof(key));
	}
}

/* An exec that nobody told, and children likewise. What they collected until now is not known. */
static void note_changed(struct trace *trace)
{
	struct proc_pids live = {};

	list_live(trace, &live);
	for (size_t i = 0; i < live.pids.count; i++) {
		trace_look_again(trace, live.pids.items[i]);
		if (trace->options.children)
			trace_add_descendants(trace, live.pids.items[i]);
	}
	vec_free(&live.pids);
}

#define ROUND_NS 1000000000ull /* between two looks for the dead */

void trace_list_ended(struct trace *trace)
{
	struct proc_pids all = {};
	uint64_t now = now_ns();

	if (trace->ended.pids.count || now - trace->round_ns < ROUND_NS)
		return;
	trace->round_ns = now;
	list_live(trace, &all);
	list_unknown_targets(trace, &all);
	for (size_t i = 0; i < all.pids.count; i++) {
		pid_t *slot =
			proc_has_exited(all.pids.items[i]) ? vec_add(&trace->ended.pids) : NULL;

		if (slot)
			*slot = all.pids.items[i];
	}
	vec_free(&all.pids);
}

/* A number that was given anew in the meantime is another's. */
static void note_ended(struct trace *trace)
{
	for (size_t i = 0; i < trace->ended.pids.count; i++) {
		uint32_t pid = (uint32_t)trace->ended.pids.items[i];

		if (!proc_has_exited((pid_t)pid))
			continue;
		bpf_map__delete_elem(trace->programs.bpf->maps.targets, &pid, sizeof(pid), 0);
		trace_process_exit(trace, (pid_t)pid, now_ns());
		if (!proc_has_exited((pid_t)
				    pid)) /* forked just then: it was no target for a moment */
			note_changed(trace);
	}
	trace->ended.pids.count = 0;
}

void trace_catch_up(struct trace *trace)
{
	const struct gctrace_bpf *bpf = trace->programs.bpf;
	uint64_t changes = left_out(bpf->progs.on_fork) + left_out(bpf->progs.on_exec);

	if (changes != trace->skipped_changes) {
		trace->skipped_changes = changes;
		note_changed(trace);
	}
	if (!trace->more)
		note_ended(trace);
}
