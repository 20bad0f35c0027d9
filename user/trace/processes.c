/* Pids → rows of the recording's process table, with what /proc says of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cleanup.h"
#include "clock.h"
#include "processes.h"

#define CPU_ROUND_NS 200000000ull /* the last look at one that ends was no earlier */

uint32_t processes_find(const struct processes *processes, pid_t pid)
{
	const uint64_t *id = u64map_get(&processes->live, (uint64_t)pid);

	return id ? (uint32_t)*id : 0;
}

struct process *processes_by_id(const struct processes *processes, uint32_t id)
{
	return (struct process *)recording_process(&processes->feed->recording, id);
}

void processes_list(const struct processes *processes, struct proc_pids *ret)
{
	for (size_t i = 0; i < processes->live.capacity; i++) {
		pid_t *slot = processes->live.used[i] ? vec_add(&ret->pids) : NULL;

		if (slot)
			*slot = (pid_t)processes->live.slots[i].key;
	}
}

/*
 * Fills what /proc says now; a process that is gone already keeps what was known. @followed: BPF
 * follows it. If it is a target still, its number was no stranger's when /proc was read.
 */
static void describe(const struct processes *processes, struct process *process, bool followed)
{
	struct proc_info info;

	if (proc_info_read(process->pid, &info))
		return;
	if (followed && !targets_have(processes->targets, process->pid)) {
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

static struct process *add_process(struct processes *processes, pid_t pid, uint64_t seen_ns)
{
	struct process *process = vec_add(&processes->feed->recording.processes);

	if (!process)
		return NULL;
	process->id = processes->ids + 1;
	process->pid = process->ns_pid = pid;
	process->seen_ns = seen_ns;
	if (u64map_put(&processes->live, (uint64_t)pid, process->id)) {
		processes->feed->recording.processes.count--;
		return NULL;
	}
	processes->ids++;
	return process;
}

uint32_t processes_get(struct processes *processes, pid_t pid)
{
	uint32_t id = processes_find(processes, pid);
	struct process *process;

	if (id)
		return id;
	process = add_process(processes, pid, now_ns());
	if (!process)
		return 0;
	describe(processes, process, false);
	feed_process(processes->feed, process);
	return process->id;
}

struct process *processes_fork(struct processes *processes, uint32_t from, pid_t parent,
	pid_t child, uint64_t time_ns)
{
	struct process *process = add_process(processes, child, time_ns);

	if (!process)
		return NULL;
	process->ppid = parent;
	/* It may be gone before we look: until exec it is its parent's image. */
	memcpy(process->comm, processes_by_id(processes, from)->comm, sizeof(process->comm));
	describe(processes, process, true);
	feed_process(processes->feed, process);
	return process;
}

/* It may be gone before we look: then its name is all that is known. */
void processes_rename(struct processes *processes, struct process *process, const char *comm)
{
	snprintf(process->comm, sizeof(process->comm), "%s", comm);
	free(process->cmdline);
	process->cmdline = NULL;
	process->cmdline_len = 0;
	describe(processes, process, true);
	feed_process(processes->feed, process);
}

void processes_bury(struct processes *processes, pid_t pid)
{
	u64map_remove(&processes->live, (uint64_t)pid);
}

/* @process may have ended: then what was last known stays. */
static void look_at_cpu(struct process *process, uint64_t now)
{
	struct process_cpu *cpu = &process->cpu;
	struct timespec used;
	clockid_t clock;
	uint64_t total;

	if (clock_getcpuclockid(process->pid, &clock) || clock_gettime(clock, &used))
		return;
	total = (uint64_t)used.tv_sec * 1000000000ull + (uint64_t)used.tv_nsec;
	if (!cpu->from_ns) {
		cpu->from_ns = now;
		cpu->before_ns = total;
	} else if (total >= cpu->before_ns) { /* else another has got its pid */
		cpu->until_ns = now;
		cpu->used_ns = total - cpu->before_ns;
	}
}

void processes_turn(struct processes *processes)
{
	struct recording *recording = &processes->feed->recording;
	uint64_t now = now_ns();

	if (now - processes->looked_ns < CPU_ROUND_NS)
		return;
	processes->looked_ns = now;
	for (size_t i = 0; i < recording->processes.count; i++)
		if (!recording->processes.items[i].exit_ns)
			look_at_cpu(&recording->processes.items[i], now);
}

void processes_release(struct processes *processes)
{
	u64map_release(&processes->live);
}
