/* Processes as they come and go: /proc and lifecycle events → the recording's process table. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "mem.h"
#include "trace_priv.h"

static struct process *process_by_id(struct trace *trace, uint32_t id)
{
	return (struct process *)recording_process(&trace->recording, id);
}

static int tell(struct trace *trace, const struct process *process)
{
	int r = trace->sink.process ? trace->sink.process(trace->sink.arg, process) : 0;

	trace_note_sink(trace, r);
	return r;
}

/*
 * Fills what /proc says now; a process that is gone already keeps what was known. @followed: BPF
 * follows it. If it is a target still, its number was no stranger's when /proc was read.
 */
static void describe(struct trace *trace, struct process *process, bool followed)
{
	struct proc_info info;

	if (proc_info_read(process->pid, &info))
		return;
	if (followed && !trace_is_target(trace, process->pid)) {
		proc_info_release(&info);
		return;
	}
	process->ns_pid = info.ns_pid;
	process->ppid = info.ppid;
	memcpy(process->comm, info.comm, sizeof(process->comm));
	free(process->cmdline);
	process->cmdline = steal_ptr(info.cmdline);
	process->cmdline_len = (uint32_t)info.cmdline_len;
}

static struct process *add_process(struct trace *trace, pid_t pid, uint64_t seen_ns)
{
	struct process *process = vec_add(&trace->recording.processes);

	if (!process)
		return NULL;
	process->id = trace->process_ids + 1;
	process->pid = process->ns_pid = pid;
	process->seen_ns = seen_ns;
	if (u64map_put(&trace->live, (uint64_t)pid, process->id)) {
		trace->recording.processes.count--;
		return NULL;
	}
	trace->process_ids++;
	return process;
}

uint32_t trace_process(struct trace *trace, pid_t pid)
{
	const uint64_t *id = u64map_get(&trace->live, (uint64_t)pid);
	struct process *process;

	if (id)
		return (uint32_t)*id;
	process = add_process(trace, pid, now_ns());
	if (!process)
		return 0;
	describe(trace, process, false);
	tell(trace, process);
	return process->id;
}

void trace_process_fork(struct trace *trace, pid_t parent, pid_t child, uint64_t time_ns)
{
	uint32_t from = trace_process(trace, parent);
	const uint64_t *known = u64map_get(&trace->live, (uint64_t)child);
	struct process *process;

	if (!from || (known && process_by_id(trace, (uint32_t)*known)->seen_ns >= time_ns))
		return;
	if (known) /* another of its number, whose end nobody told */
		trace_process_exit(trace, child, time_ns);
	process = add_process(trace, child, time_ns);
	if (!process)
		return;
	process->ppid = parent;
	/* It may be gone before we look: until exec it is its parent's image. */
	memcpy(process->comm, process_by_id(trace, from)->comm, sizeof(process->comm));
	describe(trace, process, true);
	tell(trace, process);
	trace_inherit(trace, from, process->id);
	trace_disown_former(trace, from, process->id);
	trace_early_fork(trace, from, process->id);
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
		for (uint32_t j = 0; *command && j < trace->image_count; j++)
			probed |= trace->images[j].plan.ops == probe_runtimes[i];
		if (*command && !probed)
			return true;
	}
	return false;
}

/* It may be gone before we look: then its name is all that is known. */
static void rename_process(struct process *process, const char *comm)
{
	snprintf(process->comm, sizeof(process->comm), "%s", comm);
	free(process->cmdline);
	process->cmdline = NULL;
	process->cmdline_len = 0;
}

void trace_process_exec(struct trace *trace, pid_t pid, const char *comm, uint64_t time_ns)
{
	uint32_t id = trace_process(trace, pid);
	struct process *process;

	if (!id)
		return;
	trace_begun_over(trace, id);
	trace_captures_over(trace, pid, time_ns);
	process = process_by_id(trace, id);
	rename_process(process, comm);
	describe(trace, process, true);
	tell(trace, process);
	trace_early_settle(trace, id, time_ns);
	books_exec(&trace->books, id);
	for (uint32_t image = 0; image < trace->image_count; image++)
		u64map_remove(&trace->aged, trace_runtime_key(id, image));
	trace_forget_inherited(trace, id);
	trace_leave_runtimes(trace, id);
	trace_forget_image(trace, pid);
	trace_forget_looks(trace, pid);
	trace_look_again(trace, pid);
	if (!u64map_get(&trace->looks, (uint64_t)pid) && !trace_is_target(trace, pid))
		trace->unseen_programs += may_hide_runtime(trace, comm);
}

void trace_process_exit(struct trace *trace, pid_t pid, uint64_t time_ns)
{
	const uint64_t *id = u64map_get(&trace->live, (uint64_t)pid);
	struct process *process;

	if (!id)
		return;
	trace_keep_inherited(trace, (uint32_t)*id);
	process = process_by_id(trace, (uint32_t)*id);
	process->exit_ns = time_ns;
	trace_begun_over(trace, process->id);
	tell(trace, process);
	trace_early_settle(trace, process->id, time_ns);
	trace_forget_looks(trace, pid);
	trace_disown_image(trace, pid);
	trace_captures_over(trace, pid, time_ns);
	u64map_remove(&trace->live, (uint64_t)pid);
}

/* In ascending order, see struct recording. */
static void insert_thread(struct recording *recording, const struct thread *thread)
{
	struct thread *slot = vec_add(&recording->threads);

	if (!slot)
		return;
	for (; slot > recording->threads.items; slot--) {
		if (slot[-1].process < thread->process ||
			(slot[-1].process == thread->process && slot[-1].tid < thread->tid))
			break;
		*slot = slot[-1];
	}
	*slot = *thread;
}

void trace_thread(struct trace *trace, uint32_t process, pid_t pid, uint32_t tid)
{
	struct thread thread = {.process = process, .tid = tid};
	_cleanup_fclose_ FILE *stream = NULL;
	char path[64];
	int r;

	if (recording_thread(&trace->recording, process, tid))
		return;
	snprintf(path, sizeof(path), "/proc/%d/task/%u/comm", pid, tid);
	stream = fopen(path, "re");
	if (!stream || !fgets(thread.name, sizeof(thread.name), stream))
		return; /* gone: a namesake of its number may come */
	thread.name[strcspn(thread.name, "\n")] = '\0';
	insert_thread(&trace->recording, &thread);
	r = trace->sink.thread ? trace->sink.thread(trace->sink.arg, &thread) : 0;
	trace_note_sink(trace, r);
}
