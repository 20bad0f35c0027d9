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
	struct gc_model model; /* fitted before advice is asked for */
};

static inline const struct gc_facts *gc_facts(const struct advising *advising)
{
	return &((const struct gc_state *)advising->state)->facts;
}

static inline const struct gc_model *gc_model(const struct advising *advising)
{
	return &((const struct gc_state *)advising->state)->model;
}

/* Each adds what it finds worth advising. 0 or -ENOMEM. */
int advise_freeze(struct advising *advising);
int advise_threshold(struct advising *advising);
int advise_manual(struct advising *advising);
int advise_disable(struct advising *advising);
int advise_remove(struct advising *advising);
int advise_cycles(struct advising *advising);
