#include "launches.h"

#include <errno.h>

#define LAUNCHERS_MAX 1024

static struct launch *slot(const struct launches *launches, uint32_t correlation)
{
	return &launches->slots[correlation % LAUNCH_SLOTS];
}

int launches_init(struct launches *launches)
{
	*launches = (struct launches){0};
	launches->slots = calloc(LAUNCH_SLOTS, sizeof(*launches->slots));
	return launches->slots ? 0 : -ENOMEM;
}

void launches_release(struct launches *launches)
{
	for (size_t i = 0; i < launches->launchers.count; i++)
		free(launches->launchers.items[i]);
	list_free(&launches->launchers);
	free(launches->slots);
	*launches = (struct launches){0};
}

static struct launcher *launcher_of(struct launches *launches, uint32_t tid)
{
	struct launcher *launcher = launches->recent;

	if (launcher && launcher->tid == tid)
		return launcher;
	for (size_t i = 0; i < launches->launchers.count; i++)
		if (launches->launchers.items[i]->tid == tid)
			return launches->recent = launches->launchers.items[i];
	if (launches->launchers.count == LAUNCHERS_MAX)
		return NULL;
	launcher = calloc(1, sizeof(*launcher));
	if (!launcher)
		return NULL;
	launcher->tid = tid;
	if (!list_add(&launches->launchers, launcher)) {
		free(launcher);
		return NULL;
	}
	return launches->recent = launcher;
}

/* Sixteen buckets to an octave: the position of the highest bit, and the four bits below it. */
static unsigned int bucket_of(uint64_t gap_ns)
{
	unsigned int octave;

	if (gap_ns < 16)
		return gap_ns;
	octave = 63 - __builtin_clzll(gap_ns);
	if (octave >= GAP_BUCKETS / 16 + 3)
		return GAP_BUCKETS - 1;
	return (octave - 3) * 16 + (gap_ns >> (octave - 4) & 15);
}

/* The least that does not fit into it any more. */
static uint64_t bucket_end(unsigned int bucket)
{
	return bucket < 16 ? bucket + 1 : (bucket % 16 + 17ULL) << (bucket / 16 - 1);
}

uint64_t launcher_gap_ns(const struct launcher *launcher)
{
	uint64_t above = launcher->gaps / 100, seen = 0;

	if (!launcher->gaps)
		return 0;
	for (unsigned int i = GAP_BUCKETS; i-- > 0;) {
		seen += launcher->buckets[i];
		if (seen > above)
			return bucket_end(i);
	}
	return 0;
}

/* The launch of the same thread that comes next after @launch, which came late; NULL: it is not remembered. */
static struct launch *next_of(struct launches *launches, const struct launch *launch, uint32_t last)
{
	uint32_t ahead = last - launch->correlation;

	if (ahead > LAUNCH_SLOTS)
		ahead = LAUNCH_SLOTS;
	for (uint32_t i = 1; i <= ahead; i++) {
		struct launch *other = slot(launches, launch->correlation + i);

		if (other->correlation == launch->correlation + i && other->tid == launch->tid &&
			other->start_ns > launch->start_ns)
			return other;
	}
	return NULL;
}

/* Puts @launch at its place among those of its thread. */
static void chain(struct launches *launches, struct launcher *launcher, struct launch *launch)
{
	struct launch *next;

	launcher->launches++;
	if (launch->start_ns >= launcher->last_ns) {
		launch->previous_ns = launcher->last_ns;
		if (launcher->last_ns) {
			launcher->gaps++;
			launcher->buckets[bucket_of(launch->start_ns - launcher->last_ns)]++;
		}
		launcher->last_ns = launch->start_ns;
		launcher->last = launch->correlation;
		return;
	}
	next = next_of(launches, launch, launcher->last);
	if (!next)
		return;
	if (next->previous_ns < launch->start_ns) {
		launch->previous_ns = next->previous_ns;
		next->previous_ns = launch->start_ns;
	}
}

/* The outer call of @launch has come after the one inside it. */
static void widen(struct launches *launches, struct launch *launch, uint64_t start_ns,
	uint64_t end_ns)
{
	struct launcher *launcher = launcher_of(launches, launch->tid);
	struct launch *next;

	if (end_ns > launch->end_ns)
		launch->end_ns = end_ns;
	if (start_ns >= launch->start_ns)
		return;
	if (launcher && launcher->last == launch->correlation &&
		launcher->last_ns == launch->start_ns) {
		launcher->last_ns = start_ns;
	} else if (launcher) {
		next = next_of(launches, launch, launcher->last);
		if (next && next->previous_ns == launch->start_ns)
			next->previous_ns = start_ns;
	}
	launch->start_ns = start_ns;
}

void launches_add(struct launches *launches, uint32_t correlation, uint32_t tid, uint64_t start_ns,
	uint64_t end_ns)
{
	struct launch *launch = slot(launches, correlation);
	struct launcher *launcher;

	if (launch->start_ns && launch->correlation == correlation && launch->tid == tid) {
		widen(launches, launch, start_ns, end_ns);
		return;
	}
	*launch = (struct launch){correlation, tid, start_ns, end_ns};
	launcher = launcher_of(launches, tid);
	if (launcher)
		chain(launches, launcher, launch);
}

const struct launch *launches_find(const struct launches *launches, uint32_t correlation)
{
	const struct launch *launch = slot(launches, correlation);

	return launch->start_ns && launch->correlation == correlation ? launch : NULL;
}
