/* Forks, execs and exits → every part of the session that keeps something of a process. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "trace_priv.h"

void trace_process_exit(struct trace *trace, pid_t pid, uint64_t time_ns)
{
	uint32_t id = processes_find(&trace->processes, pid);
	struct process *process;

	if (!id)
		return;
	runtimes_keep_inherited(&trace->runtimes, id);
	process = processes_by_id(&trace->processes, id);
	process->exit_ns = time_ns;
	ledger_begun_over(&trace->ledger, id);
	feed_process(&trace->feed, process);
	ledger_early_settle(&trace->ledger, id, time_ns);
	trace_forget_looks(trace, pid);
	u64map_remove(&trace->looks.blind, (uint64_t)pid);
	images_disown(&trace->images, pid);
	steps_over(&trace->steps, pid);
	request_watch_over(&trace->requests, pid);
	gpu_watch_over(&trace->gpu, pid, true);
	driver_watch_over(&trace->driver, pid);
	captures_over(&trace->captures, pid, time_ns);
	in_vain_settle(&trace->in_vain, pid);
	processes_bury(&trace->processes, pid);
}

void trace_process_fork(struct trace *trace, pid_t parent, pid_t child, uint64_t time_ns)
{
	uint32_t from = processes_get(&trace->processes, parent);
	uint32_t known = processes_find(&trace->processes, child);
	struct process *process;

	if (!from || (known && processes_by_id(&trace->processes, known)->seen_ns >= time_ns))
		return;
	if (known) /* another had its number, and its end was not reported */
		trace_process_exit(trace, child, time_ns);
	process = processes_fork(&trace->processes, from, parent, child, time_ns);
	if (!process)
		return;
	books_fork(&trace->ledger.books, from, process->id);
	runtimes_inherit(&trace->runtimes, from, process->id);
	captures_fork(&trace->captures, from, process->id);
	ledger_early_fork(&trace->ledger, from, process->id);
}

/*
 * Whether a program called @comm may have had a runtime that nobody saw: it has the name of one, and no
 * file of that runtime is probed.
 */
static bool may_hide_runtime(const struct trace *trace, const char *comm)
{
	for (size_t i = 0; probe_runtimes[i]; i++) {
		const char *const *command = probe_runtimes[i]->commands;
		bool probed = false;

		while (*command && strncmp(comm, *command, strlen(*command)))
			command++;
		for (uint32_t j = 0; *command && j < trace->images.count; j++)
			probed |= trace->images.items[j].plan.ops == probe_runtimes[i];
		if (*command && !probed)
			return true;
	}
	return false;
}

void trace_process_exec(struct trace *trace, pid_t pid, const char *comm, uint64_t time_ns)
{
	uint32_t id = processes_get(&trace->processes, pid);
	struct process *process;

	if (!id)
		return;
	ledger_begun_over(&trace->ledger, id);
	captures_over(&trace->captures, pid, time_ns);
	in_vain_settle(&trace->in_vain, pid);
	process = processes_by_id(&trace->processes, id);
	processes_rename(&trace->processes, process, comm);
	ledger_early_settle(&trace->ledger, id, time_ns);
	books_exec(&trace->ledger.books, id);
	runtimes_rejuvenate(&trace->runtimes, id, time_ns);
	runtimes_forget_inherited(&trace->runtimes, id);
	runtimes_leave(&trace->runtimes, id);
	images_forget(&trace->images, pid);
	steps_over(&trace->steps, pid);
	request_watch_over(&trace->requests, pid);
	gpu_watch_over(&trace->gpu, pid, false);
	driver_watch_over(&trace->driver, pid);
	trace_forget_looks(trace, pid);
	u64map_remove(&trace->looks.blind, (uint64_t)pid);
	if (trace_look_again(trace, pid) == -ESRCH && !targets_have(&trace->targets, pid))
		trace->looks.unseen += may_hide_runtime(trace, comm);
}

int trace_add_descendants(struct trace *trace, pid_t pid)
{
	struct proc_pids list = {};
	struct err err;
	int total = 0;

	if (proc_descendants(pid, &list))
		return 0;
	for (size_t i = 0; i < list.pids.count; i++) {
		int r;

		if (processes_find(&trace->processes, list.pids.items[i]))
			continue;
		r = trace_look(trace, list.pids.items[i], true, &err);
		if (r == -ESRCH)
			trace_process_exit(trace, list.pids.items[i], now_ns());
		if (r < 0)
			trace_note_blind(trace, list.pids.items[i], r, &err);
		else
			total += r;
	}
	vec_free(&list.pids);
	return total;
}
