/* The runtimes of forked children: their parents', until it is known whether they become their own. */
#include "trace_priv.h"

uint64_t trace_bequeathed(const struct trace *trace, uint32_t process)
{
	const uint64_t *images = u64map_get(&trace->inherited, process);

	return images ? *images : 0;
}

void trace_bequeath(struct trace *trace, uint32_t child, uint64_t images)
{
	if (images)
		u64map_put(&trace->inherited, child, trace_bequeathed(trace, child) | images);
}

void trace_keep_inherited(struct trace *trace, uint32_t process)
{
	uint64_t images = trace_bequeathed(trace, process);

	for (uint32_t image = 0; image < trace->image_count; image++)
		if (images >> image & 1)
			trace_runtime(trace, process, image);
	u64map_remove(&trace->inherited, process);
}

void trace_forget_inherited(struct trace *trace, uint32_t process)
{
	u64map_remove(&trace->inherited, process);
}

void trace_inherited_turn(struct trace *trace, uint64_t before_ns)
{
	for (size_t i = 0; trace->inherited.count && i < trace->inherited.capacity;) {
		uint32_t id = (uint32_t)trace->inherited.slots[i].key;
		const struct process *process = trace->inherited.used[i]
			? recording_process(&trace->recording, id) : NULL;

		if (process && process->seen_ns <= before_ns)
			trace_keep_inherited(trace, id); /* its removal may move another to slot i */
		else
			i++;
	}
}
