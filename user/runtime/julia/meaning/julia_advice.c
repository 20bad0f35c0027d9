/* What Julia's collector did in; the changes that would have helped out. */
#include "cleanup.h"
#include "julia_advice.h"
#include "parse.h"
#include "stats.h"

const struct advice_kind julia_advice_kinds[JULIA_ADVICES] = {
	[ADVICE_EVERY] = {"incremental", 0.8},
	[ADVICE_ENABLE] = {"enable", 0.7},
	[ADVICE_HEAP_HINT] = {"heap-size-hint", 0.85},
	[ADVICE_GC_THREADS] = {"gcthreads", 0.4},
	[ADVICE_FINALIZERS] = {"finalizers", 0.7},
	[ADVICE_SAFEPOINT] = {"safepoint", 0.9},
	[ADVICE_GPU_MEMORY] = {"gpu-memory", 0.7},
};

static void release(void *state)
{
	vec_free(&((struct julia_events *)state)->events);
}

static int add(void *state, const struct advice_pause *pause)
{
	return julia_events_add(state, pause);
}

static int advise(struct advising *advising)
{
	static int (*const advisers[])(struct advising *) = {advise_every, advise_enable,
		advise_heap_hint, advise_gc_threads, advise_finalizers, advise_safepoint,
		advise_gpu_memory};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(advisers) && !r; i++)
		r = advisers[i](advising);
	return r;
}

static bool is_known(const struct julia_event *event)
{
	return event->known;
}

/* Of a build whose gc_num is not understood only the brackets are known, and of one that was not seen to begin. */
static const char *blind(const struct advising *advising, const char **ret_title)
{
	const struct julia_events *events = julia_events(advising);

	if (julia_sum(events, is_known).overlap * 2 >= julia_sum(events, julia_all).overlap)
		return NULL;
	*ret_title = "What was collected is not known";
	return "Julia's own account of its collections (gc_num) is not understood, so nothing can be "
	       "computed";
}

/* Where no setting helps: what else to look at. */
static void say_parts(const struct advising *advising, struct advice *advice)
{
	const struct julia_sums sums = julia_sum(julia_events(advising), julia_all);
	const struct {
		double ns;
		const char *is;
	} parts[] = {
		{sums.sweep, "sweeping, which goes with what was allocated"},
		{sums.post, "finalizers"},
		{sums.ttsp, "the time until all threads had stopped"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i].ns * 2 > sums.overlap)
			APPEND_TO(advice->estimate, "; %s of it is %s",
				FORMAT_DURATION(stats_whole(parts[i].ns)), parts[i].is);
}

const struct runtime_advice julia_adviser = {
	.kinds = julia_advice_kinds,
	.state_bytes = sizeof(struct julia_events),
	.release = release,
	.add = add,
	.advise = advise,
	.blind = blind,
	.say_parts = say_parts,
};
