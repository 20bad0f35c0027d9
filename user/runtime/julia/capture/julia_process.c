/* A record's registers and stack → frames of the process that it is of. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "cleanup.h"
#include "julia_find.h"
#include "julia_process.h"
#include "julia_unwind.h"
#include "trace_runtime.h"

static struct julia_process *find(struct julia_processes *processes, pid_t pid)
{
	for (size_t i = 0; i < processes->list.count; i++)
		if (processes->list.items[i].pid == pid)
			return &processes->list.items[i];
	return NULL;
}

struct julia_process *julia_process(struct julia_processes *processes, pid_t pid)
{
	struct julia_process *process = find(processes, pid);
	struct julia_stacks *stacks;

	if (process)
		return process;
	stacks = julia_stacks_new(pid, processes->numbered);
	process = stacks ? vec_add(&processes->list) : NULL;
	if (!process) {
		julia_stacks_free(stacks);
		return NULL;
	}
	*process = (struct julia_process){pid, stacks};
	return process;
}

void julia_process_over(struct julia_processes *processes, pid_t pid)
{
	struct julia_process *process = find(processes, pid);

	if (!process)
		return;
	julia_stacks_free(process->stacks);
	*process = processes->list.items[--processes->list.count];
	for (size_t i = processes->waiting.count; i--;)
		if (processes->waiting.items[i].pid == (uint32_t)pid)
			processes->waiting.items[i] =
				processes->waiting.items[--processes->waiting.count];
}

void julia_processes_release(struct julia_processes *processes)
{
	for (size_t i = 0; i < processes->list.count; i++)
		julia_stacks_free(processes->list.items[i].stacks);
	vec_free(&processes->list);
	vec_free(&processes->waiting);
}

struct telling {
	struct trace *trace;
	pid_t pid;
};

static void tell_function(const struct julia_function *function, void *arg)
{
	const struct telling *telling = arg;
	const struct step_at at = {
		function->map, function->offset, function->address, function->symbol};

	trace_step_at(telling->trace, telling->pid, &at);
}

static void tell_other(const char *name, void *arg)
{
	const struct telling *telling = arg;

	trace_step_near(telling->trace, name);
}

void julia_process_find(struct julia_processes *processes, struct trace *trace, pid_t pid,
	const char *name)
{
	struct julia_process *process = find(processes, pid);
	struct telling telling = {trace, pid};
	const struct julia_finding finding = {name, tell_function, tell_other, &telling};

	if (process)
		julia_find(process->stacks, &finding);
}

#define FRAMES_MOST 128

static struct julia_snapshot snapshot_of(const struct gc_julia_stack *wire)
{
	struct julia_snapshot snapshot = {.ip = wire->ip, .stack = wire->bytes, .size = wire->size};

	snapshot.registers[ELF_RSP] = wire->sp;
	snapshot.registers[ELF_RBP] = wire->bp;
	snapshot.registers[ELF_RBX] = wire->bx;
	for (size_t i = 0; i < ARRAY_SIZE(wire->r); i++)
		snapshot.registers[ELF_R12 + i] = wire->r[i];
	return snapshot;
}

/* The place of one that waits for the same, as the record of its pause was lost, or a new one. */
static struct waiting_stack *slot_of(struct julia_processes *processes,
	const struct gc_header *header)
{
	for (size_t i = 0; i < processes->waiting.count; i++) {
		struct waiting_stack *slot = &processes->waiting.items[i];

		if (slot->type == header->type && slot->pid == header->pid &&
			slot->tid == header->tid)
			return slot;
	}
	return vec_add(&processes->waiting);
}

int julia_process_stack(struct julia_processes *processes, const void *bytes, size_t size,
	struct stack_table *table)
{
	const struct gc_julia_stack *wire = bytes;
	struct julia_snapshot snapshot;
	struct julia_process *process;
	struct waiting_stack *slot;
	uint64_t addresses[FRAMES_MOST];
	size_t count;
	bool cut;

	if (size < offsetof(struct gc_julia_stack, bytes) ||
		wire->size > size - offsetof(struct gc_julia_stack, bytes))
		return -EBADMSG;
	process = julia_process(processes, (pid_t)wire->header.pid);
	slot = process ? slot_of(processes, &wire->header) : NULL;
	if (!slot)
		return 0;
	snapshot = snapshot_of(wire);
	count = julia_unwind(process->stacks, &snapshot, addresses, FRAMES_MOST, &cut);
	*slot = (struct waiting_stack){
		.type = wire->header.type,
		.pid = wire->header.pid,
		.tid = wire->header.tid,
		.node = julia_stack(process->stacks, addresses, count, cut, table),
		.generation = table->generation,
		.time_ns = wire->header.time_ns,
	};
	return 0;
}

uint32_t julia_process_take(struct julia_processes *processes, const struct julia_moment *moment,
	const struct stack_table *table)
{
	for (size_t i = 0; i < processes->waiting.count; i++) {
		const struct waiting_stack found = processes->waiting.items[i];

		if (found.type != moment->type || found.pid != moment->pid ||
			found.tid != moment->tid || found.time_ns != moment->time_ns)
			continue;
		processes->waiting.items[i] = processes->waiting.items[--processes->waiting.count];
		return found.generation == table->generation ? found.node : STACK_NONE;
	}
	return STACK_NONE;
}
