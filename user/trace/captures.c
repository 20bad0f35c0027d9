/* The registered runtimes → their parts of a session, asked one by one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "captures.h"

const struct capture_program **captures_programs(void)
{
	const struct capture_program **lists;
	size_t count = 0;

	while (probe_runtimes[count])
		count++;
	lists = calloc(count + 1, sizeof(const struct capture_program *));
	for (size_t i = 0; lists && i < count; i++)
		lists[i] = probe_runtimes[i]->capture->programs;
	return lists;
}

int captures_open(struct captures *captures, struct trace *trace)
{
	for (size_t i = 0; probe_runtimes[i]; i++) {
		const struct capture_ops *ops = probe_runtimes[i]->capture;
		struct runtime_part *slot = vec_add(&captures->parts);

		if (!slot)
			return -ENOMEM;
		slot->ops = ops;
		slot->state = ops->open(trace);
		if (!slot->state)
			return -ENOMEM;
	}
	return 0;
}

void captures_close(struct captures *captures)
{
	for (size_t i = 0; i < captures->parts.count; i++)
		if (captures->parts.items[i].state)
			captures->parts.items[i].ops->close(captures->parts.items[i].state);
	vec_free(&captures->parts);
}

const struct runtime_part *captures_of(const struct captures *captures,
	const struct capture_ops *ops)
{
	for (size_t i = 0; i < captures->parts.count; i++)
		if (captures->parts.items[i].ops == ops)
			return &captures->parts.items[i];
	return NULL; /* each plan is of a registered runtime */
}

const struct runtime_part *captures_of_record(const struct captures *captures, uint32_t type)
{
	for (size_t i = 0; i < captures->parts.count; i++) {
		const struct runtime_part *part = &captures->parts.items[i];

		if (type >= part->ops->first_record && type <= part->ops->last_record)
			return part;
	}
	return NULL;
}

/* Asks all of those that have an answer. */
#define ASK(captures, question, ...)                                                               \
	do {                                                                                       \
		for (size_t i_ = 0; i_ < (captures)->parts.count; i_++) {                          \
			const struct runtime_part *part_ = &(captures)->parts.items[i_];           \
			if (part_->ops->question)                                                  \
				part_->ops->question(part_->state, ##__VA_ARGS__);                 \
		}                                                                                  \
	} while (0)

void captures_targeted(const struct captures *captures, pid_t pid)
{
	ASK(captures, targeted, pid);
}

void captures_over(const struct captures *captures, pid_t pid, uint64_t time_ns)
{
	ASK(captures, over, pid, time_ns);
}

void captures_fork(const struct captures *captures, uint32_t parent, uint32_t child)
{
	ASK(captures, fork, parent, child);
}

void captures_retire(const struct captures *captures)
{
	ASK(captures, retire);
}

void captures_turn(const struct captures *captures)
{
	ASK(captures, turn);
}

void captures_move_strings(const struct captures *captures, const struct strtab *from,
	struct strtab *to)
{
	ASK(captures, move_strings, from, to);
}

void captures_look(const struct captures *captures)
{
	ASK(captures, look);
}

void captures_finish(const struct captures *captures)
{
	ASK(captures, finish);
}

void captures_drops(const struct captures *captures)
{
	ASK(captures, drops);
}

const struct runtime_ops *captures_asked(const struct signal_wish *wish)
{
	for (size_t i = 0; wish && !wish->usdt && probe_runtimes[i]; i++)
		if (probe_runtimes[i]->capture->find_step &&
			!strcmp(probe_runtimes[i]->kind, wish->library))
			return probe_runtimes[i];
	return NULL;
}

void captures_find_step(const struct captures *captures, const struct runtime_ops *asked, pid_t pid,
	const char *name)
{
	asked->capture->find_step(captures_of(captures, asked->capture)->state, pid, name);
}
