/* What the files about CPython's advice share. Not for other rooms. */
#pragma once

#include "gc_model.h"

enum gc_advice {
	ADVICE_FREEZE = 1, /* gc.freeze() after warm-up */
	ADVICE_THRESHOLD,  /* gc.set_threshold(higher) */
	ADVICE_MANUAL,	   /* gc.disable() and gc.collect() every N steps */
	ADVICE_REMOVE,	   /* the workload's own gc.collect() frees next to nothing: drop it */
	ADVICE_CYCLES,	   /* the line that makes the reference cycles: break them */
	ADVICE_DISABLE,	   /* gc.disable(): nothing was ever collected */
	GC_ADVICES
};

extern const struct advice_kind gc_advice_kinds[GC_ADVICES];
extern const struct runtime_advice gc_adviser;

struct gc_state {
	struct gc_facts facts;
	/* Fitted before advice is asked for; the other two as if objects were freed as quickly, or as slowly, as may be. */
	struct gc_model model, quick, slow;
};

static inline const struct gc_facts *gc_facts(const struct advising *advising)
{
	return &((const struct gc_state *)advising->state)->facts;
}

static inline const struct gc_model *gc_model(const struct advising *advising)
{
	return &((const struct gc_state *)advising->state)->model;
}

/* The three, the likely one first. */
#define GC_MODELS 3
static inline const struct gc_model *gc_model_of(const struct advising *advising, size_t i)
{
	const struct gc_state *state = advising->state;
	const struct gc_model *models[GC_MODELS] = {&state->model, &state->quick, &state->slow};

	return models[i];
}

/* What is true of any setting: processes that are forked later have it, too. To the end of @advice->risk. */
void gc_say_inherited(const struct advising *advising, struct advice *advice);
/* Whether a GPU is used, whose memory garbage may hold. */
bool gc_holds_tensors(const struct advising *advising);

/* Each adds what it finds worth advising. 0 or -ENOMEM. */
int advise_freeze(struct advising *advising);
int advise_threshold(struct advising *advising);
int advise_manual(struct advising *advising);
int advise_disable(struct advising *advising);
int advise_remove(struct advising *advising);
int advise_cycles(struct advising *advising);
