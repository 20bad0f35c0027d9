// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A thread of a JVM that waits for the collector → one gc_stall record when it goes on; concurrent
 * phases → a gc_phase record at each end. Neither stops the world.
 */
#include "java_stack.bpf.h"

#define KINDS	(GC_STALL_LOCKER + 1)
#define SPUN_NS 1000000 /* a call of the locker this long has waited, asleep or not */

/* A call that has not returned. */
struct wait {
	__u64 start_ns;	      /* 0: there is none */
	unsigned long sleeps; /* of the thread before it: task_struct.nvcsw */
};

/* Of one thread. Different kinds nest, of the same kind the outer one counts. */
struct wait_state {
	struct wait waits[KINDS];
	__u32 depth[KINDS];
	__u32 sent;
	__u64 collections[GC_COLLECTORS]; /* at the begin of the EXPLICIT one */
	struct gc_stall record;
	struct java_walk walk;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct wait_state);
} waits SEC(".maps");

static __always_inline struct wait_state *wait_state(__u64 flags)
{
	if (state_is_refused())
		return NULL;
	return bpf_task_storage_get(&waits, bpf_get_current_task_btf(), NULL, flags);
}

/* Returns how many collectors the JVM counts. */
static __always_inline __u32 read_collections(const struct gc_jvm *plan, __u64 ret[GC_COLLECTORS])
{
	__u32 count = 0;

	for (int i = 0; i < GC_COLLECTORS; i++)
		ret[i] = 0;
	for (int i = 0; i < GC_COLLECTORS; i++) {
		if (!plan->collections[i] ||
			bpf_probe_read_user(&ret[i], 8, (void *)plan->collections[i]))
			break;
		count++;
	}
	return count;
}

/* False if that is none of ours, and its end need not be seen. */
static __always_inline bool wait_begins(__u32 kind)
{
	__u32 tgid = current_tgid();
	const struct gc_jvm *plan;
	struct wait_state *state;
	struct wait *wait;

	if (kind >= KINDS || !bpf_map_lookup_elem(&targets, &tgid))
		return false;
	state = wait_state(BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!state) {
		count_drop(GC_DROP_THREAD);
		return false;
	}
	if (state->depth[kind]++)
		return true;
	if (kind == GC_STALL_EXPLICIT) {
		plan = jvm_plan();
		if (plan)
			read_collections(plan, state->collections);
	}
	wait = &state->waits[kind];
	wait->sleeps = bpf_get_current_task_btf()->nvcsw;
	wait->start_ns = bpf_ktime_get_ns();
	return true;
}

/* A global function: verified once. */
__noinline int send_stall(struct wait_state *state, __u32 kind, __u64 start_ns, __u64 now)
{
	const struct gc_jvm *plan = jvm_plan();
	struct gc_stall *record;
	__u64 count;

	if (!state)
		return 0;
	record = &state->record;
	record->kind = kind;
	record->start_ns = start_ns;
	record->thread = 0;
	record->unloaded = ~0ull;
	record->collectors = 0;
	state->walk.count = state->walk.flags = 0;
	if (plan) {
		record->thread = own_thread(plan);
		if (kind == GC_STALL_EXPLICIT) {
			record->collectors = read_collections(plan, record->collections_end);
			__builtin_memcpy(record->collections_start, state->collections,
				sizeof(state->collections));
		}
		if (plan->unloaded[0])
			record->unloaded = read_u64(plan->unloaded[0]) +
					   (plan->unloaded[1] ? read_u64(plan->unloaded[1]) : 0);
		if (record->thread && (kind == GC_STALL_EXPLICIT || now - start_ns >= min_stack_ns))
			walk_java((struct java_frames *)record->frames, &state->walk,
				record->thread, false);
	}
	count = at_most(state->walk.count, GC_JAVA_FRAMES);
	record->frame_count = count;
	record->stack_flags = state->walk.flags;
	fill_header(&record->header, GC_EVENT_STALL, GC_STALL_SIZE(count), now);
	send_record(record, GC_STALL_SIZE(count), &state->sent);
	return 0;
}

/*
 * All but System.gc() are functions that are also called when there is nothing to wait for, some
 * for each allocation: a stall is a call in which the thread has slept. From 25 on the locker spins
 * and yields its processor before it sleeps (SpinYield), on a busy machine to the end.
 */
static __always_inline bool has_waited(__u32 kind, const struct wait *wait, __u64 now)
{
	if (kind == GC_STALL_LOCKER && now - wait->start_ns >= SPUN_NS)
		return true;
	return kind == GC_STALL_EXPLICIT || bpf_get_current_task_btf()->nvcsw != wait->sleeps;
}

static __always_inline void wait_ends(__u32 kind, __u64 now)
{
	struct wait_state *state = wait_state(0);
	struct wait *wait;

	if (!state || kind >= KINDS || !state->depth[kind] || --state->depth[kind])
		return;
	wait = &state->waits[kind];
	if (has_waited(kind, wait, now))
		send_stall(state, kind, wait->start_ns, now);
}

SEC("uprobe")
int on_wait_begin(struct pt_regs *ctx)
{
	OWN_STACK(ctx, no_programs);
	wait_begins(GC_COOKIE_KIND(bpf_get_attach_cookie(ctx)));
	return 0;
}

SEC("uprobe")
int on_wait_end(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns();

	OWN_STACK(ctx, no_programs);
	wait_ends(GC_COOKIE_KIND(bpf_get_attach_cookie(ctx)), now);
	return 0;
}

/* Both in one uprobe session (kernel 6.13), see on_collect_session. */
SEC("uprobe")
int on_wait_session(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 kind = GC_COOKIE_KIND(bpf_get_attach_cookie(ctx));

	OWN_STACK(ctx, no_sessions);
	if (!session_returns(ctx))
		return !wait_begins(kind);
	wait_ends(kind, now);
	return 0;
}

static __always_inline void send_phase(const char *name)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 tgid = current_tgid();
	struct gc_phase *phase;
	long length = 0;

	if (!bpf_map_lookup_elem(&targets, &tgid))
		return;
	phase = bpf_ringbuf_reserve(&events, sizeof(*phase), 0);
	if (!phase) {
		count_drop(GC_DROP_RING);
		return;
	}
	fill_header(&phase->header, GC_EVENT_PHASE, sizeof(*phase), now);
	phase->begins = !!name;
	/* With its NUL, which it lacks when it is longer. */
	if (name)
		length = bpf_probe_read_user_str(phase->name, sizeof(phase->name), name);
	phase->name_bytes = length > 0 ? length - 1 : 0;
	bpf_ringbuf_submit(phase, BPF_RB_NO_WAKEUP);
}

/* ConcurrentGCTimer::register_gc_concurrent_start(this, name, time) */
SEC("uprobe")
int on_phase_begin(struct pt_regs *ctx)
{
	OWN_STACK(ctx, no_programs);
	send_phase((const char *)PT_REGS_PARM2(ctx));
	return 0;
}

SEC("uprobe")
int on_phase_end(struct pt_regs *ctx)
{
	OWN_STACK(ctx, no_programs);
	send_phase(NULL);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
