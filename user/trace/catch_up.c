/*
 * Runs of the programs that follow processes, left out by the kernel → what they would have reported. It does
 * so where one is in the program already on the same CPU: from Linux 7 on it can be preempted there.
 */
#include <bpf/bpf.h>

#include "clock.h"
#include "gctrace.skel.h"
#include "trace_priv.h"

static uint64_t left_out(const struct bpf_program *program)
{
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info);

	return bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size)
		       ? 0
		       : info.recursion_misses;
}

/* Targets that are not known to live: forked a moment ago, or dead. */
static void list_unknown_targets(const struct trace *trace, struct proc_pids *ret)
{
	size_t kept = ret->pids.count;

	targets_list(&trace->targets, ret);
	for (size_t i = kept; i < ret->pids.count; i++)
		if (!processes_find(&trace->processes, ret->pids.items[i]))
			ret->pids.items[kept++] = ret->pids.items[i];
	ret->pids.count = kept;
}

/* An exec or a fork that was not reported. What they collected until now is not known. */
static void note_changed(struct trace *trace)
{
	struct proc_pids live = {};

	processes_list(&trace->processes, &live);
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

	if (trace->gaps.ended.pids.count || now - trace->gaps.round_ns < ROUND_NS)
		return;
	trace->gaps.round_ns = now;
	processes_list(&trace->processes, &all);
	list_unknown_targets(trace, &all);
	for (size_t i = 0; i < all.pids.count; i++) {
		pid_t *slot = proc_has_exited(all.pids.items[i]) ? vec_add(&trace->gaps.ended.pids)
								 : NULL;

		if (slot)
			*slot = all.pids.items[i];
	}
	vec_free(&all.pids);
}

/* A number that was given anew in the meantime is another's. */
static void note_ended(struct trace *trace)
{
	for (size_t i = 0; i < trace->gaps.ended.pids.count; i++) {
		pid_t pid = trace->gaps.ended.pids.items[i];

		if (!proc_has_exited(pid))
			continue;
		targets_remove(&trace->targets, pid);
		trace_process_exit(trace, pid, now_ns());
		if (!proc_has_exited(pid)) /* forked just then: it was no target for a moment */
			note_changed(trace);
	}
	trace->gaps.ended.pids.count = 0;
}

void trace_catch_up(struct trace *trace)
{
	const struct gctrace_bpf *bpf = trace->programs.bpf;
	uint64_t changes = left_out(bpf->progs.on_fork) + left_out(bpf->progs.on_exec);

	if (changes != trace->gaps.skipped) {
		trace->gaps.skipped = changes;
		note_changed(trace);
	}
	if (!trace->ring.more)
		note_ended(trace);
}
