/* What CPython's collector did in; the changes that would have helped out. */
#include <string.h>

#include "cleanup.h"
#include "gc_advice.h"

const struct advice_kind gc_advice_kinds[GC_ADVICES] = {
	[ADVICE_FREEZE] = {"freeze", 0.95},
	[ADVICE_THRESHOLD] = {"threshold", 0.82},
	[ADVICE_MANUAL] = {"manual", 0.82},
	[ADVICE_REMOVE] = {"remove", 1},
	[ADVICE_CYCLES] = {"cycles", 0.4},
	[ADVICE_DISABLE] = {"disable", 0.6},
};

static void release(void *state)
{
	vec_free(&((struct gc_state *)state)->facts.events);
}

/* Of the main interpreter, and of a generation that there is. */
static bool counts(const struct pause *pause)
{
	return pause->interpreter <= 0 && pause->generation <= 2;
}

static int add(void *state, const struct advice_pause *pause)
{
	return gc_facts_add(&((struct gc_state *)state)->facts, pause);
}

static int advise(struct advising *advising)
{
	static int (*const advisers[])(struct advising *) = {advise_remove, advise_disable,
		advise_freeze, advise_threshold, advise_manual, advise_cycles};
	enum { WITHOUT_MODEL = 2 }; /* the first of them hold for free-threaded builds, too */
	struct gc_state *state = advising->state;
	size_t count;
	int r;

	if (!state->facts.of) /* none of its pauses */
		return 0;
	r = gc_model_fit(&state->facts, GC_FREEING_USUAL, &state->model);
	r = r ? r : gc_model_fit(&state->facts, GC_FREEING_LEAST, &state->quick);
	r = r ? r : gc_model_fit(&state->facts, GC_FREEING_MOST, &state->slow);
	count = state->facts.free_threaded ? WITHOUT_MODEL : ARRAY_SIZE(advisers);
	for (size_t i = 0; i < count && !r; i++)
		r = advisers[i](advising);
	return r;
}

static const char *blind(const struct advising *advising, const char **ret_title)
{
	if (gc_facts(advising)->free_threaded)
		return "this Python is free-threaded: it decides by the memory in use when to collect, and "
		       "always collects all of the heap, for which gctrace has no model";
	return gc_facts(advising)->incremental
		       ? "this Python collects in increments, for which gctrace has no model"
		       : NULL;
}

const struct runtime_advice gc_adviser = {
	.kinds = gc_advice_kinds,
	.state_bytes = sizeof(struct gc_state),
	.release = release,
	.counts = counts,
	.add = add,
	.advise = advise,
	.blind = blind,
};
