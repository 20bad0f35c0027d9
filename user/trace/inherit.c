/* The runtimes of forked children: their parents', until it is known whether they become their own. */
#include "runtimes.h"
#include "trace_runtime.h"

static uint64_t inherited_of(const struct runtimes *runtimes, uint32_t process)
{
	const uint64_t *images = u64map_get(&runtimes->inherited, process);

	return images ? *images : 0;
}

/* What it has rows of. */
static uint64_t images_of(const struct runtimes *runtimes, uint32_t process)
{
	uint64_t images = 0;

	for (uint32_t image = 0; image < runtimes->images->count; image++)
		if (runtimes_have(runtimes, process, image))
			images |= 1ull << image;
	return images;
}

/* What a child can have of its parent. */
static uint64_t heritable(const struct runtimes *runtimes)
{
	uint64_t images = 0;

	for (uint32_t image = 0; image < runtimes->images->count; image++) {
		const struct probe_plan *plan = &runtimes->images->items[image].plan;

		if (!plan->per_process && !plan->ops->capture->ends_at_fork)
			images |= 1ull << image;
	}
	return images;
}

void runtimes_inherit(struct runtimes *runtimes, uint32_t parent, uint32_t child)
{
	const uint64_t *former = u64map_get(&runtimes->former, parent);
	uint64_t images = (images_of(runtimes, parent) & heritable(runtimes)) |
			  inherited_of(runtimes, parent);

	if (former)
		images &= ~*former;
	if (images)
		u64map_put(&runtimes->inherited, child, images);
	for (uint32_t image = 0; image < runtimes->images->count; image++)
		if (runtimes_aged(runtimes, parent, image))
			runtimes_age(runtimes, child, image);
}

void runtimes_keep_inherited(struct runtimes *runtimes, uint32_t process)
{
	uint64_t images = inherited_of(runtimes, process);

	for (uint32_t image = 0; image < runtimes->images->count; image++)
		if (images >> image & 1)
			runtimes_get(runtimes, process, image);
	u64map_remove(&runtimes->inherited, process);
}

void runtimes_forget_inherited(struct runtimes *runtimes, uint32_t process)
{
	u64map_remove(&runtimes->inherited, process);
}

void runtimes_leave(struct runtimes *runtimes, uint32_t process)
{
	uint64_t images = images_of(runtimes, process);

	if (images)
		u64map_put(&runtimes->former, process, images);
}

void runtimes_meet(struct runtimes *runtimes, uint32_t process, uint32_t image)
{
	uint64_t *images = u64map_get(&runtimes->former, process);

	if (images)
		*images &= ~(1ull << image);
}

void runtimes_inherited_turn(struct runtimes *runtimes, uint64_t before_ns)
{
	const struct u64map *inherited = &runtimes->inherited;

	for (size_t i = 0; inherited->count && i < inherited->capacity;) {
		uint32_t id = (uint32_t)inherited->slots[i].key;
		const struct process *process =
			inherited->used[i] ? recording_process(&runtimes->feed->recording, id)
					   : NULL;

		if (process && process->seen_ns <= before_ns)
			runtimes_keep_inherited(runtimes,
				id); /* which may move another to slot i */
		else
			i++;
	}
}
