/* Slots shared with BPF → pauses in progress. */
#include "clock.h"
#include "slots.h"

size_t slots_open(const struct gc_shared *shared, uint64_t least_ns, struct trace_open_pause *ret,
	size_t max)
{
	uint64_t now = now_ns();
	size_t count = 0;

	for (int i = 0; i < GC_OPEN_SLOTS && count < max; i++) {
		const volatile struct gc_open *slot = &shared->open[i];
		uint32_t tid = slot->tid, pid = slot->pid;
		uint64_t start_ns = slot->start_ns;

		/* Not a snapshot: a slot that changed under us is looked at next time. */
		if (start_ns && start_ns + least_ns <= now && slot->tid == tid &&
			slot->start_ns == start_ns)
			ret[count++] = (struct trace_open_pause){
				pid, tid, start_ns, slot->image, slot->cause, slot->kind};
	}
	return count;
}
