/* Descendants of a process → those that inherited the settings that are tried, put right. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "children.h"
#include "cleanup.h"
#include "proc.h"
#include "proc_state.h"
#include "write.h"

#define MOST_FORKS 64 /* from the process to its descendant */

static int ascending(const void *a, const void *b)
{
	pid_t one = *(const pid_t *)a, other = *(const pid_t *)b;

	return (one > other) - (one < other);
}

int children_note(pid_t pid, struct state *ret, struct err *err)
{
	struct proc_pids all = {};
	int r = proc_descendants(pid, &all);

	if (r && r != -ESRCH)
		return err_set(err, -r, "the children of process %d cannot be listed: %s", pid,
			strerror(-r));
	r = 0;
	if (all.pids.count > STATE_CHILDREN)
		r = err_set(err, E2BIG, "process %d has more than %d children", pid,
			STATE_CHILDREN);
	ret->count = 0;
	for (size_t i = 0; !r && i < all.pids.count; i++)
		ret->children[ret->count++] = all.pids.items[i];
	qsort(ret->children, ret->count, sizeof(pid_t), ascending);
	vec_free(&all.pids);
	return r;
}

/* Whether @pid is what forks alone have made of the process: then all is where it is there. */
static bool is_copy(const struct subject *subject, pid_t pid)
{
	for (int i = 0; i < MOST_FORKS && pid != subject->pid; i++) {
		struct proc_info info;

		if (!proc_is_forked(pid) || proc_info_read(pid, &info))
			return false;
		pid = info.ppid;
		proc_info_release(&info);
	}
	return pid == subject->pid;
}

static void restore_one(const struct subject *subject, pid_t pid)
{
	_cleanup_close_ int memory = -1;
	struct err ignored;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	memory = open(path, O_RDWR | O_CLOEXEC);
	/* Asked after that is open: if it calls exec later, the descriptor leads to nothing. */
	if (memory < 0 || !is_copy(subject, pid) ||
		settings_verify(memory, &subject->tried, &ignored))
		return;
	settings_write(memory, &subject->tried, &subject->as_it_is, &ignored);
}

void children_restore(const struct subject *subject)
{
	const struct state *state = subject->undo.state;
	struct proc_pids all = {};

	proc_descendants(subject->pid, &all);
	for (size_t i = 0; i < all.pids.count; i++)
		if (!bsearch(&all.pids.items[i], state->children, state->count, sizeof(pid_t),
			    ascending))
			restore_one(subject, all.pids.items[i]);
	vec_free(&all.pids);
}
