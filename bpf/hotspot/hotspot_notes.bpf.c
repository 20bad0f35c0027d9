// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What probes other than the safepoint's own say of it → fields of its record: the heap's use, by GCTracer;
 * the operation and who asked for it, by USDT.
 */
#include "vm_thread.bpf.h"
#include "vm_register.bpf.h"

/* GCHeapSummary::_used: behind a vtable and a VirtualSpaceSummary of three words (11 to 27). */
#define SUMMARY_USED 32

/*
 * GCTracer::report_gc_heap_summary(this, when, summary). Threads other than the VM Thread report their own
 * cycles, which belong to no safepoint.
 */
SEC("uprobe")
int on_heap_summary(struct pt_regs *ctx)
{
	__u64 summary = PT_REGS_PARM3(ctx), used;
	struct vm_thread *vm = vm_thread(0);

	OWN_STACK(ctx, no_programs);
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

	OWN_STACK(ctx, no_programs);
	if (!state || !plan || !is_stop(ctx, cookie))
		return 0;
	state->request.name = vm_register(ctx, GC_VM_NAME(cookie));
	state->request.thread = own_thread(plan);
	state->request.tid = (__u32)current_ids();
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

	OWN_STACK(ctx, no_programs);
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
