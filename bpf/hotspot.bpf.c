// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * HotSpot's VM Thread stops the world and lets it go → one gc_safepoint record at the end, before
 * it a gc_late one if a thread kept it waiting.
 */
#include "java_stack.bpf.h"
#include "vm_register.bpf.h"

#define COMERS 256 /* of CPUs: two that share an entry may lose who was late */

/* Who came to the safepoint on this CPU last. Torn where @tid, written first, is not @again, last. */
struct comer {
	__u32 tid, again;
	__u64 thread, time_ns;
};

/* An operation handed to the VM Thread, which takes one at a time. */
struct request {
	__u64 name; /* address of its text; 0: none is waiting */
	__u64 thread;
	__u32 tid, pad;
};

/* What threads of a JVM tell its VM Thread. User space makes the entry, zeros, with the plan. */
struct jvm_state {
	struct request request;
	struct comer comers[COMERS];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GC_MAX_JVMS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* tgid */
	__type(value, struct jvm_state);
} jvm_states SEC(".maps");

/* Of one VM Thread. */
struct vm_thread {
	__u64 begin_ns; /* of the safepoint in progress; 0: none */
	__u32 sent, op_thread;
	__u64 current_op, late_ns; /* these and op_thread: the plan's; 0: not known yet */
	struct gc_safepoint record;
	struct gc_late late;
	struct java_walk walk;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct vm_thread);
} vm_threads SEC(".maps");

static __always_inline struct vm_thread *vm_thread(__u64 flags)
{
	return bpf_task_storage_get(&vm_threads, bpf_get_current_task_btf(), NULL, flags);
}

static __always_inline struct jvm_state *jvm_state(void)
{
	__u32 tgid = current_tgid();

	return bpf_map_lookup_elem(&jvm_states, &tgid);
}

static __always_inline const struct gc_jvm *jvm_plan(void)
{
	__u32 tgid = current_tgid();

	return bpf_map_lookup_elem(&jvm_plans, &tgid);
}

/* A safepoint in progress shows in a slot that user space sees; a collision hides one of two. */
static __always_inline void show_open(__u64 start_ns)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct shared *s = shared();
	struct gc_open *slot;

	if (!s)
		return;
	slot = &s->open[(__u32)id % GC_OPEN_SLOTS];
	slot->pid = id >> 32;
	slot->tid = (__u32)id;
	slot->start_ns = start_ns;
}

#define OP_WORDS 4 /* of a VM_Operation, in which its vtable and its calling thread are */

/* Before the safepoint's end the operation may be gone (11). */
static __always_inline void note_operation(struct vm_thread *vm)
{
	__u64 op = vm->current_op ? read_u64(vm->current_op) : 0, words[OP_WORDS];
	struct gc_safepoint *record = &vm->record;

	record->op_vtable = record->thread = 0;
	if (!op || bpf_probe_read_user(words, sizeof(words), (void *)op))
		return;
	record->op_vtable = words[0];
	if (vm->op_thread < sizeof(words))
		record->thread = words[vm->op_thread >> 3 & (OP_WORDS - 1)];
}

/* The state of a VM Thread whose JVM is planned; NULL for any other. */
static __always_inline struct vm_thread *planned_thread(void)
{
	struct vm_thread *vm = vm_thread(0);
	const struct gc_jvm *plan;
	__u32 tgid = current_tgid();

	if (vm && vm->current_op)
		return vm; /* what is known of the plan stays true */
	if (!bpf_map_lookup_elem(&targets, &tgid))
		return NULL;
	plan = jvm_plan();
	if (!plan) {
		count_drop(GC_DROP_UNREADY);
		return NULL;
	}
	vm = vm_thread(BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!vm) {
		count_drop(GC_DROP_THREAD);
		return NULL;
	}
	vm->current_op = plan->current_op;
	vm->op_thread = plan->op_thread;
	vm->late_ns = plan->late_ns;
	return vm;
}

static __always_inline void begin(__u64 now, __u64 argument)
{
	struct vm_thread *vm = planned_thread();
	struct gc_safepoint *record;

	if (!vm)
		return;
	record = &vm->record;
	vm->begin_ns = record->begin_ns = now;
	record->begin_argument = argument;
	record->sync_ns = record->sync_argument = 0;
	record->requester_tid = record->requester_host_tid = record->late_tid = 0;
	record->heap_before = record->heap_after = 0;
	record->summaries = record->name_bytes = record->stack_flags = 0;
	note_operation(vm);
	show_open(now);
}

struct last_comer {
	const struct jvm_state *state;
	__u64 from_ns, until_ns; /* the latest one so far, and the latest that counts */
	__u64 thread;
	__u32 tid;
};

static long take_later(__u32 i, struct last_comer *last)
{
	const struct comer *comer = &last->state->comers[i & (COMERS - 1)];
	__u64 time_ns = comer->time_ns, thread = comer->thread;
	__u32 tid = comer->tid;

	if (time_ns <= last->from_ns || time_ns > last->until_ns || tid != comer->again)
		return 0;
	last->from_ns = time_ns;
	last->thread = thread;
	last->tid = tid;
	return 0;
}

/* What the VM Thread may need to notice the last arrival: it naps for 1 ms (17+). */
#define NOTICE_NS 1500000ull

/*
 * Who came last is who was waited for, if the wait ended with that: a thread in native code or in
 * the VM is safe without coming. A global function: verified once.
 */
__noinline int tell_late(struct vm_thread *vm, __u64 begin_ns, __u64 sync_ns)
{
	struct last_comer last = {.from_ns = begin_ns, .until_ns = sync_ns};
	__u64 waited_ns = sync_ns - begin_ns, count;
	struct gc_late *late;

	last.state = jvm_state();
	if (!vm || !last.state)
		return 0;
	bpf_loop(COMERS, take_later, &last, 0);
	if (!last.tid ||
		(sync_ns - last.from_ns > NOTICE_NS && sync_ns - last.from_ns > waited_ns / 2))
		return 0;
	late = &vm->late;
	walk_java((struct java_frames *)late->frames, &vm->walk, last.thread, true);
	count = at_most(vm->walk.count, GC_JAVA_FRAMES);
	fill_header(&late->header, GC_EVENT_LATE, GC_LATE_SIZE(count), sync_ns);
	late->begin_ns = begin_ns;
	late->arrived_ns = last.from_ns;
	late->late_tid = last.tid;
	late->stack_flags = vm->walk.flags;
	late->frame_count = count;
	send_record(late, GC_LATE_SIZE(count), &vm->sent);
	vm->record.late_tid = last.tid;
	return 0;
}

static __always_inline void synchronized(__u64 now, __u64 argument)
{
	struct vm_thread *vm = vm_thread(0);

	if (!vm || !vm->begin_ns)
		return;
	vm->record.sync_ns = now;
	vm->record.sync_argument = argument;
	if (now - vm->begin_ns > vm->late_ns)
		tell_late(vm, vm->begin_ns, now);
}

/* How many windows of counters are worth their copy. */
static __always_inline __u32 choose_windows(const struct gc_jvm *plan,
	const struct gc_safepoint *record, __u64 now)
{
	__u32 type;

	if (!(plan->gc_types[0] | plan->gc_types[1]) || !(record->flags & GC_SAFEPOINT_STATICS) ||
		record->summaries || now - record->begin_ns >= min_stack_ns)
		return plan->window_count;
	type = *(__u32 *)(record->statics + (plan->statics_type & (GC_STATICS_BYTES - 4)));
	if (type >= 128 || plan->gc_types[type >> 6 & 1] >> (type & 63) & 1)
		return plan->window_count;
	return plan->short_windows;
}

/* The counters, in windows that user space has laid out. */
static __always_inline void copy_perf(const struct gc_jvm *plan, struct gc_safepoint *record,
	__u64 now)
{
	__u64 count = choose_windows(plan, record, now), bytes = 0;

	record->perf_bytes = 0;
	for (__u32 i = 0; i < GC_PERF_WINDOWS && i < count; i++) {
		const struct gc_jvm_window *window = &plan->windows[i];
		__u64 offset = at_most(window->offset, GC_PERF_BYTES);
		__u64 length = at_most(window->bytes, GC_PERF_BYTES);

		/* Should a window not fit, then frames, which come later, lie behind. */
		if (bpf_probe_read_user(record->perf + offset, length, (void *)window->address))
			return;
		if (offset + length > bytes)
			bytes = offset + length;
	}
	if (!bytes || bytes > GC_PERF_BYTES)
		return;
	record->perf_bytes = bytes;
	record->flags |= GC_SAFEPOINT_PERF;
}

static __always_inline void copy_statics(const struct gc_jvm *plan, struct gc_safepoint *record)
{
	__u64 length = at_most(plan->statics_bytes, GC_STATICS_BYTES);

	record->statics_bytes = 0;
	if (!plan->statics || bpf_probe_read_user(record->statics, length, (void *)plan->statics))
		return;
	record->statics_bytes = length;
	record->flags |= GC_SAFEPOINT_STATICS;
}

#define MOST_TID (1u << 22) /* linux/threads.h: PID_MAX_LIMIT */

/* It still waits for its operation's end. */
static __always_inline void note_requester(const struct gc_jvm *plan, struct gc_safepoint *record)
{
	__u64 os_thread;
	__u32 tid;

	if (!record->thread || !plan->thread_osthread || plan->thread_osthread == GC_NO_FIELD ||
		plan->osthread_tid == GC_NO_FIELD)
		return;
	os_thread = read_u64(record->thread + plan->thread_osthread);
	tid = os_thread ? read_u64(os_thread + plan->osthread_tid) : 0;
	record->requester_tid = tid < MOST_TID ? tid : 0;
}

/* @has_arguments: they were given to the probes. A global function: verified once. */
__noinline int send_safepoint(struct vm_thread *vm, __u64 now, bool has_arguments)
{
	const struct gc_jvm *plan = jvm_plan();
	struct gc_safepoint *record;
	__u64 count, size;

	if (!vm || !plan)
		return 0;
	record = &vm->record;
	vm->walk.count = vm->walk.flags = 0;
	record->flags = has_arguments && plan->arguments ? GC_SAFEPOINT_ARGUMENTS : 0;
	if (!record->flags)
		record->begin_argument = record->sync_argument = record->end_argument = 0;
	copy_statics(plan, record);
	copy_perf(plan, record, now);
	note_requester(plan, record);
	record->thread_vtable = 0;
	if (record->thread && now - record->begin_ns >= min_stack_ns)
		record->thread_vtable = read_u64(record->thread);
	if (record->thread_vtable && record->thread_vtable == plan->java_vtable)
		walk_java((struct java_frames *)record->frames, &vm->walk, record->thread, false);
	count = at_most(vm->walk.count, GC_JAVA_FRAMES);
	record->frame_count = count;
	record->stack_flags = vm->walk.flags;
	size = count ? GC_SAFEPOINT_SIZE(count)
		     : GC_SAFEPOINT_SHORT_SIZE(at_most(record->perf_bytes, GC_PERF_BYTES));
	fill_header(&record->header, GC_EVENT_SAFEPOINT, size, now);
	send_record(record, at_most(size, sizeof(*record)), &vm->sent);
	return 0;
}

static __always_inline void end(__u64 now, __u64 argument, bool has_arguments)
{
	struct vm_thread *vm = vm_thread(0);

	if (!vm || !vm->begin_ns)
		return; /* not planned, or its begin was before us */
	vm->begin_ns = 0;
	show_open(0);
	vm->record.end_argument = argument;
	send_safepoint(vm, now, has_arguments);
}

SEC("uprobe")
int on_safepoint_begin(struct pt_regs *ctx)
{
	begin(bpf_ktime_get_ns(), PT_REGS_PARM1(ctx));
	return 0;
}

SEC("uprobe")
int on_safepoint_sync(struct pt_regs *ctx)
{
	synchronized(bpf_ktime_get_ns(), PT_REGS_PARM1(ctx));
	return 0;
}

SEC("uprobe")
int on_safepoint_end(struct pt_regs *ctx)
{
	end(bpf_ktime_get_ns(), PT_REGS_PARM1(ctx), true);
	return 0;
}

/* Writes of the VM Thread to the counters of safepoints, where no function can be found. */
SEC("perf_event")
int on_perf_write(struct bpf_perf_event_data *ctx)
{
	__u64 now = bpf_ktime_get_ns();

	switch (GC_COOKIE_KIND(bpf_get_attach_cookie(ctx))) {
	case GC_PERF_BEGIN:
		begin(now, 0);
		break;
	case GC_PERF_SYNC:
		synchronized(now, 0);
		break;
	case GC_PERF_END:
		end(now, 0, false);
		break;
	}
	return 0;
}

/* Every thread that ran Java code pays for this, at each safepoint. */
SEC("uprobe")
int on_safepoint_block(struct pt_regs *ctx)
{
	struct jvm_state *state = jvm_state();
	struct comer *comer;
	__u32 tid;

	if (!state)
		return 0;
	comer = &state->comers[bpf_get_smp_processor_id() & (COMERS - 1)];
	tid = (__u32)bpf_get_current_pid_tgid();
	comer->tid = tid;
	barrier();
	comer->thread = PT_REGS_PARM1(ctx);
	comer->time_ns = bpf_ktime_get_ns();
	barrier();
	comer->again = tid;
	return 0;
}

/* GCHeapSummary::_used: behind a vtable and a VirtualSpaceSummary of three words (11 to 27). */
#define SUMMARY_USED 32

/*
 * GCTracer::report_gc_heap_summary(this, when, summary). Others than the VM Thread tell of cycles of
 * theirs, which are no safepoint's.
 */
SEC("uprobe")
int on_heap_summary(struct pt_regs *ctx)
{
	__u64 summary = PT_REGS_PARM3(ctx), used;
	struct vm_thread *vm = vm_thread(0);

	if (!vm || !vm->begin_ns ||
		bpf_probe_read_user(&used, sizeof(used), (void *)(summary + SUMMARY_USED)))
		return 0;
	if (!vm->record.summaries++)
		vm->record.heap_before = used;
	vm->record.heap_after = used;
	return 0;
}

/* VM_Operations that stop the world have the flag 0; handshakes and the like have 1. */
static __always_inline bool is_stop(struct pt_regs *ctx, __u64 cookie)
{
	return !(__u32)vm_register(ctx, GC_VM_FLAG(cookie));
}

/* By the requester, as its operation becomes the VM Thread's next one. */
SEC("uprobe")
int on_vm_request(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	struct jvm_state *state = jvm_state();
	const struct gc_jvm *plan = jvm_plan();

	if (!state || !plan || !is_stop(ctx, cookie))
		return 0;
	state->request.name = vm_register(ctx, GC_VM_NAME(cookie));
	state->request.thread = own_thread(plan);
	state->request.tid = (__u32)bpf_get_current_pid_tgid();
	return 0;
}

/* By the VM Thread, within the safepoint; a nested operation is not what it was called for. */
SEC("uprobe")
int on_vm_begin(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), name, length;
	struct vm_thread *vm = vm_thread(0);
	struct gc_safepoint *record;
	struct jvm_state *state;

	if (!vm || !vm->begin_ns || vm->record.name_bytes || !is_stop(ctx, cookie))
		return 0;
	record = &vm->record;
	name = vm_register(ctx, GC_VM_NAME(cookie));
	length = at_most(vm_register(ctx, GC_VM_LENGTH(cookie)), GC_VM_NAME_BYTES);
	if (name && length && !bpf_probe_read_user(record->name, length, (void *)name))
		record->name_bytes = length;
	state = jvm_state();
	if (!state || !name || state->request.name != name)
		return 0;
	state->request.name = 0;
	record->requester_host_tid = state->request.tid;
	if (!record->thread)
		record->thread = state->request.thread;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
