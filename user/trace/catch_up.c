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

	return bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) ? 0
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

static void note_dead(struct trace *trace)
{
	struct proc_pids live = {};

	list_live(trace, &live);
	for (size_t i = 0; i < live.pids.count; i++) {
		uint32_t pid = (uint32_t)live.pids.items[i];

		if (!proc_has_exited((pid_t)pid))
			continue;
		bpf_map__delete_elem(trace->bpf->maps.targets, &pid, sizeof(pid), 0);
		trace_process_exit(trace, (pid_t)pid, now_ns());
	}
	vec_free(&live.pids);
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

void trace_catch_up(struct trace *trace)
{
	const struct gctrace_bpf *bpf = trace->bpf;
	uint64_t changes = left_out(bpf->progs.on_fork) + left_out(bpf->progs.on_exec);
	uint64_t now = now_ns();

	if (changes != trace->skipped_changes) {
		trace->skipped_changes = changes;
		note_changed(trace);
	}
	/* Once one was left out, for good: it was when the process began to exit, which takes its time. */
	if (now - trace->round_ns >= ROUND_NS && left_out(bpf->progs.on_exit)) {
		trace->round_ns = now;
		note_dead(trace);
	}
}
