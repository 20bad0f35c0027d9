// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * HotSpot's VM Thread stops the world and lets it go → one gc_safepoint record at the end, before
 * it a gc_late one if a thread kept it waiting.
 */
#include "vm_thread.bpf.h"

/* Safepoints of JVMs that user space does not know yet: lost. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} jvm_unready SEC(".maps");

static __always_inline void count_unready(void)
{
	__u32 zero = 0;
	__u64 *count = bpf_map_lookup_elem(&jvm_unready, &zero);

	if (count)
		__sync_fetch_and_add(count, 1);
}

static __always_inline void show_open(const struct vm_thread *vm, __u64 start_ns)
{
	__u64 id = current_ids();
	struct gc_open *slot = open_slot((__u32)id);

	if (!slot)
		return;
	slot->pid = id >> 32;
	slot->tid = (__u32)id;
	slot->start_ns = start_ns;
	slot->sp = 0;
	slot->image = vm->image;
	slot->kind = -1;
	slot->cause = GC_CAUSE_UNKNOWN;
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
static __always_inline struct vm_thread *planned_thread(bool begins)
{
	struct vm_thread *vm = refuse_ends && !begins ? NULL : vm_thread(0);
	const struct gc_jvm *plan;
	__u32 tgid = current_tgid();

	if (vm && vm->current_op)
		return vm; /* what is known of the plan stays true */
	if (!bpf_map_lookup_elem(&targets, &tgid))
		return NULL;
	plan = jvm_plan();
	if (!plan) {
		if (begins)
			count_unready();
		return NULL;
	}
	vm = refuse_ends && !begins ? NULL : vm_thread(BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!vm) {
		count_drop(GC_DROP_THREAD);
		return NULL;
	}
	vm->image = plan->image;
	vm->current_op = plan->current_op;
	vm->op_thread = plan->op_thread;
	vm->late_ns = plan->late_ns;
	return vm;
}

static __always_inline void clear_record(struct vm_thread *vm, __u64 begin_ns, __u64 argument)
{
	struct gc_safepoint *record = &vm->record;

	vm->begin_ns = record->begin_ns = begin_ns;
	record->begin_argument = argument;
	record->sync_ns = record->sync_argument = 0;
	record->requester_tid = record->requester_host_tid = record->late_tid = 0;
	record->heap_before = record->heap_after = 0;
	record->summaries = record->name_bytes = record->stack_flags = 0;
	note_operation(vm);
}

static __always_inline void begin(__u64 now, __u64 argument)
{
	struct vm_thread *vm = planned_thread(true);

	if (!vm)
		return;
	clear_record(vm, now, argument);
	vm->ahead_ns = clock_ahead(now);
	show_open(vm, now);
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

		/* A window that does not fit runs into the room of the frames, which are written later. */
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
	struct vm_thread *vm = refuse_ends ? NULL : vm_thread(0);

	if (!vm || !vm->begin_ns) {
		vm = planned_thread(false);
		if (!vm) {
			lose_slot((__u32)current_ids(), 0);
			return;
		}
		if (!vm->begin_ns) /* it was before us */
			clear_record(vm, 0, 0);
	}
	vm->before_ns = vm->begin_ns;
	vm->ended_ns = now;
	vm->begin_ns = 0;
	show_open(vm, 0);
	vm->record.end_argument = argument;
	send_safepoint(vm, now, has_arguments);
}

SEC("uprobe")
int on_safepoint_begin(struct pt_regs *ctx)
{
	OWN_STACK(ctx, no_programs);
	begin(bpf_ktime_get_ns(), PT_REGS_PARM1(ctx));
	return 0;
}

SEC("uprobe")
int on_safepoint_sync(struct pt_regs *ctx)
{
	OWN_STACK(ctx, no_programs);
	synchronized(bpf_ktime_get_ns(), PT_REGS_PARM1(ctx));
	return 0;
}

SEC("uprobe")
int on_safepoint_end(struct pt_regs *ctx)
{
	OWN_STACK(ctx, no_programs);
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

char LICENSE[] SEC("license") = "Dual BSD/GPL";
