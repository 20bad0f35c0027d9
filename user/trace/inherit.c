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

void trace_leave_runtimes(struct trace *trace, uint32_t process)
{
	uint64_t images = 0;

	for (uint32_t image = 0; image < trace->image_count; image++)
		if (u64map_get(&trace->runtimes, trace_runtime_key(process, image)))
			images |= 1ull << image;
	if (images)
		u64map_put(&trace->former, process, images);
}

void trace_meet_runtime(struct trace *trace, uint32_t process, uint32_t image)
{
	uint64_t *images = u64map_get(&trace->former, process);

	if (images)
		*images &= ~(1ull << image);
}

void trace_disown_former(struct trace *trace, uint32_t parent, uint32_t child)
{
	const uint64_t *former = u64map_get(&trace->former, parent);
	uint64_t *images = u64map_get(&trace->inherited, child);

	if (former && images)
		*images &= ~*former;
}

void trace_inherited_turn(struct trace *trace, uint64_t before_ns)
{
	for (size_t i = 0; trace->inherited.count && i < trace->inherited.capacity;) {
		uint32_t id = (uint32_t)trace->inherited.slots[i].key;
		const struct process *process =
			trace->inherited.used[i] ? recording_process(&trace->recording, id) : NULL;

		if (process && process->seen_ns <= before_ns)
			trace_keep_inherited(trace,
				id); /* its removal may move another to slot i */
		else
			i++;
	}
}

void trace_inherit(struct trace *trace, uint32_t parent, uint32_t child)
{

	books_fork(&trace->books, parent, child);
	for (uint32_t image = 0; image < trace->image_count; image++)
		if (!trace->images[image].plan.per_process &&
			!trace_capture(trace, image)->ops->ends_at_fork &&
			u64map_get(&trace->runtimes, trace_runtime_key(parent, image)))
			trace_bequeath(trace, child, 1ull << image);
	trace_bequeath(trace, child, trace_bequeathed(trace, parent));
	for (uint32_t image = 0; image < trace->image_count; image++)
		if (u64map_get(&trace->aged, trace_runtime_key(parent, image)))
			u64map_put(&trace->aged, trace_runtime_key(child, image), 1);
	trace_captures_fork(trace, parent, child);
}
