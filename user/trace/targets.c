/* Processes → entries of BPF's map of targets. */
#include <errno.h>
#include <string.h>

#include "gc_wire.h"
#include "targets.h"

bool targets_have(const struct targets *targets, pid_t pid)
{
	uint32_t key = (uint32_t)pid;
	struct gc_target target;

	return !bpf_map__lookup_elem(targets->map, &key, sizeof(key), &target, sizeof(target), 0);
}

void targets_list(const struct targets *targets, struct proc_pids *ret)
{
	uint32_t key, last = 0;
	int r = bpf_map__get_next_key(targets->map, NULL, &key, sizeof(key));

	for (size_t i = 0; !r && i < GC_MAX_TARGETS; i++) {
		pid_t *slot = vec_add(&ret->pids);

		if (slot)
			*slot = (pid_t)key;
		last = key;
		r = bpf_map__get_next_key(targets->map, &last, &key, sizeof(key));
	}
}

/* It is a target; a forked child's entry is its parent's. */
static void update_watched(const struct targets *targets, uint32_t key, struct gc_target target,
	uint32_t watched)
{
	if (!watched || target.watched == watched)
		return;
	target.watched = watched;
	bpf_map__update_elem(targets->map, &key, sizeof(key), &target, sizeof(target), BPF_EXIST);
}

/* What BPF follows and is no target any more has ended: its number may be a stranger's by now. */
int targets_keep(const struct targets *targets, pid_t pid, bool add, uint32_t watched,
	struct err *err)
{
	uint32_t key = (uint32_t)pid;
	struct gc_target target = {.space = key, .watched = watched};
	int r = 0;

	if (!bpf_map__lookup_elem(targets->map, &key, sizeof(key), &target, sizeof(target), 0)) {
		update_watched(targets, key, target, watched);
		return 0;
	}
	if (add)
		r = bpf_map__update_elem(targets->map, &key, sizeof(key), &target, sizeof(target),
			BPF_NOEXIST);
	if (r && r != -EEXIST)
		return err_set(err, -r, "process %d cannot be made a target: %s%s", pid,
			strerror(-r), r == -E2BIG ? "; there are too many" : "");
	/* The end of what was no target yet is not reported. */
	if (add && !proc_has_exited(pid))
		return 0;
	targets_remove(targets, pid);
	return err_set(err, ESRCH, "process %d ended while gctrace attached to it", pid);
}

void targets_remove(const struct targets *targets, pid_t pid)
{
	uint32_t key = (uint32_t)pid;

	bpf_map__delete_elem(targets->map, &key, sizeof(key), 0);
}
