/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Whose collection it is: the registers and _PyRuntime's address → the thread state, its
 * interpreter and that one's collector, kept in state->tstate, state->interpreter and state->gc.
 */
#pragma once

#include "cpython_thread.bpf.h"

/* Whether the thread whose pointer the kernel has as @pointer calls itself @id. */
static __always_inline bool is_self(__u64 pointer, __u64 id)
{
	return pointer && id && pointer - id <= MACHINE_SELF_SPAN;
}

/*
 * The GIL holder of the interpreter that this very thread runs (3.12+): thread_id is its pthread_self(). Where the kernel
 * does not know the thread's pointer yet, the holder of the only interpreter's GIL: whoever collects holds one.
 */
static __always_inline __u64 tstate_by_gil(const struct gc_layout *layout, __u64 runtime)
{
	__u64 self =
		BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), MACHINE_THREAD_POINTER);
	__u64 interpreter = read_u64(runtime + layout->runtime_head);

	for (int i = 0; i < 32 && interpreter; i++) {
		__u64 gil = read_u64(interpreter + layout->interp_gil);
		__u64 holder = read_u64(gil + layout->gil_holder);

		if (holder && is_self(self, read_u64(holder + layout->tstate_thread)))
			return holder;
		interpreter = read_u64(interpreter + layout->interp_next);
		if (MACHINE_SELF_SPAN && holder && !self && !i && !interpreter)
			return holder;
	}
	return 0;
}

#define LINKS_MOST 256 /* interpreters and their thread states, together */

/* Free-threaded builds, where no thread holds a GIL. Threads that come and go meanwhile: what is found is this thread's own. */
static __noinline __u64 tstate_by_threads(const struct gc_layout *layout, __u64 runtime)
{
	__u64 self =
		BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), MACHINE_THREAD_POINTER);
	__u64 interpreter = read_u64(runtime + layout->runtime_head), tstate;

	tstate = read_u64(interpreter + layout->interp_threads);
	for (int i = 0; i < LINKS_MOST && interpreter; i++) {
		if (!tstate) {
			interpreter = read_u64(interpreter + layout->interp_next);
			tstate = interpreter ? read_u64(interpreter + layout->interp_threads) : 0;
			continue;
		}
		if (is_self(self, read_u64(tstate + layout->tstate_thread)))
			return tstate;
		tstate = read_u64(tstate + layout->tstate_next);
	}
	return 0;
}

static __always_inline bool is_clone(const struct thread_state *state)
{
	return state->site == GC_SITE_CLONE || state->site == GC_SITE_CLONE_MANUAL;
}

static __always_inline __u64 find_tstate(struct pt_regs *ctx, const struct thread_state *state,
	const struct gc_layout *layout, __u64 runtime)
{
	if (is_clone(state))
		return tstate_by_threads(layout, runtime);
	switch (layout->tstate_source) {
	case GC_TSTATE_ARG1:
		return PT_REGS_PARM1(ctx);
	case GC_TSTATE_CURRENT:
		return read_u64(runtime + layout->runtime_current);
	case GC_TSTATE_THREADS:
		return tstate_by_threads(layout, runtime);
	}
	return tstate_by_gil(layout, runtime);
}

/*
 * Notes the process's interpreter; a second one ends the caching of find_interpreter(). So does one that comes
 * first and is not the main one: the next may lie where it was.
 */
static __always_inline void note_interpreter(__u64 *several, const struct gc_layout *layout,
	__u64 interpreter)
{
	__u32 tgid = current_tgid();
	struct gc_target *target = bpf_map_lookup_elem(&targets, &tgid);

	if (!target)
		return;
	if (target->owner == interpreter)
		return;
	if (target->owner || read_u64(interpreter + layout->interp_number))
		*several = 1;
	if (!target->owner)
		target->owner = interpreter;
}

/*
 * Reading user memory is the most expensive step of all, so a thread state's interpreter is read once, as long
 * as each process has only one: with several, an address may be reused for the thread state of another. The
 * same goes for a library that was closed and opened again elsewhere. If the first such reuse comes before a
 * second interpreter was ever seen, its books do not move, which settle_books() notices.
 */
static __always_inline void find_interpreter(struct thread_state *state,
	const struct gc_layout *layout, __u64 tstate)
{
	__u32 zero = 0;
	__u64 *several = bpf_map_lookup_elem(&several_interpreters, &zero);

	if (!several || (tstate && tstate == state->tstate &&
				state->runtime == state->known.runtime && !*several))
		return;
	state->tstate = tstate;
	state->interpreter = read_u64(tstate + layout->tstate_interp);
	state->gc = layout->runtime_gc ? state->runtime + layout->runtime_gc
				       : state->interpreter + layout->interp_gc;
	note_interpreter(several, layout, state->interpreter);
}
