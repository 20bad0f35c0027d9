/* An image in a process → a row of the recording's runtime table. */
#include <string.h>

#include "clock.h"
#include "runtimes.h"

static uint64_t key_of(uint32_t process, uint32_t image)
{
	return (uint64_t)process * GC_MAX_IMAGES + image;
}

void runtimes_release(struct runtimes *runtimes)
{
	u64map_release(&runtimes->rows);
	u64map_release(&runtimes->aged);
	u64map_release(&runtimes->begun);
	u64map_release(&runtimes->inherited);
	u64map_release(&runtimes->former);
}

struct runtime *runtimes_by_id(const struct runtimes *runtimes, uint32_t id)
{
	return (struct runtime *)recording_runtime(&runtimes->feed->recording, id);
}

bool runtimes_have(const struct runtimes *runtimes, uint32_t process, uint32_t image)
{
	return u64map_get(&runtimes->rows, key_of(process, image));
}

struct runtime *runtimes_find(const struct runtimes *runtimes, uint32_t process, uint32_t image)
{
	const uint64_t *id = u64map_get(&runtimes->rows, key_of(process, image));

	return id ? runtimes_by_id(runtimes, (uint32_t)*id) : NULL;
}

/*
 * From when on a runtime's pauses are known: a forked child's from its fork, if it has its parent's; those of a program
 * that was started under our eyes from then, or from when its file was probed: its counters began at zero, so that what is
 * missed shows. That we looked at it later, as of one that is soon over, takes nothing away.
 */
static uint64_t known_since(const struct runtimes *runtimes, uint32_t process, uint32_t image)
{
	const struct process *child = recording_process(&runtimes->feed->recording, process);
	const uint64_t *inherited = u64map_get(&runtimes->inherited, process);
	const uint64_t *begun = u64map_get(&runtimes->begun, process);
	uint64_t probed_ns = runtimes->images->items[image].attached_ns;

	if (child && inherited && *inherited >> image & 1)
		return child->seen_ns;
	if (begun && !runtimes_aged(runtimes, process, image))
		return *begun > probed_ns ? *begun : probed_ns;
	return now_ns();
}

struct runtime *runtimes_get(struct runtimes *runtimes, uint32_t process, uint32_t image)
{
	const struct probe_plan *plan = &runtimes->images->items[image].plan;
	struct runtime *runtime;

	if (runtimes_have(runtimes, process, image))
		return runtimes_find(runtimes, process, image);
	if (image >= runtimes->images->count)
		return NULL;
	runtime = vec_add(&runtimes->feed->recording.runtimes);
	if (!runtime)
		return NULL;
	runtime->id = ++runtimes->ids;
	runtime->process = process;
	memcpy(runtime->kind, plan->kind, sizeof(runtime->kind));
	memcpy(runtime->version, plan->version, sizeof(runtime->version));
	memcpy(runtime->tier, plan->tier, sizeof(runtime->tier));
	runtime->path = strdup(plan->shown_path);
	runtime->detail = strdup(plan->detail);
	runtime->idle_calls = UNKNOWN;
	runtime->disabled_calls = UNKNOWN;
	runtime->attached_ns = known_since(runtimes, process, image);
	if (u64map_put(&runtimes->rows, key_of(process, image), runtime->id))
		return NULL;
	feed_runtime(runtimes->feed, runtime);
	return runtime;
}

bool runtimes_aged(const struct runtimes *runtimes, uint32_t process, uint32_t image)
{
	return u64map_get(&runtimes->aged, key_of(process, image));
}

void runtimes_age(struct runtimes *runtimes, uint32_t process, uint32_t image)
{
	u64map_put(&runtimes->aged, key_of(process, image), 1);
}

static void forget_age(struct runtimes *runtimes, uint32_t process)
{
	for (uint32_t image = 0; image < runtimes->images->count; image++)
		u64map_remove(&runtimes->aged, key_of(process, image));
}

void runtimes_rejuvenate(struct runtimes *runtimes, uint32_t process, uint64_t time_ns)
{
	forget_age(runtimes, process);
	u64map_put(&runtimes->begun, process, time_ns);
}

void runtimes_forget(struct runtimes *runtimes, uint32_t process)
{
	for (uint32_t image = 0; image < runtimes->images->count; image++)
		u64map_remove(&runtimes->rows, key_of(process, image));
	forget_age(runtimes, process);
	u64map_remove(&runtimes->begun, process);
	u64map_remove(&runtimes->inherited, process);
	u64map_remove(&runtimes->former, process);
}
