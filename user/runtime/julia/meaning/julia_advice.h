/* What the files about Julia's advice share. Not for other rooms. */
#pragma once

#include "julia_events.h"

enum julia_advice {
	ADVICE_EVERY =
		1, /* GC.gc(false) every N steps, ahead of full collections or in place of GC.gc() */
	ADVICE_ENABLE,	   /* GC.enable(false) between collections of the program's own */
	ADVICE_HEAP_HINT,  /* full collections at the limit that --heap-size-hint set: raise it */
	ADVICE_GC_THREADS, /* marking by several threads */
	ADVICE_FINALIZERS, /* fewer of them */
	ADVICE_SAFEPOINT,  /* a loop without safepoints keeps the others waiting */
	ADVICE_GPU_MEMORY, /* a GPU's memory was short: free arrays earlier */
	JULIA_ADVICES
};

extern const struct advice_kind julia_advice_kinds[JULIA_ADVICES];
extern const struct runtime_advice julia_adviser;

static inline const struct julia_events *julia_events(const struct advising *advising)
{
	return advising->state;
}

/* Each adds what it finds worth advising. 0 or -ENOMEM. */
int advise_every(struct advising *advising);
int advise_enable(struct advising *advising);
int advise_heap_hint(struct advising *advising);
int advise_gc_threads(struct advising *advising);
int advise_finalizers(struct advising *advising);
int advise_safepoint(struct advising *advising);
int advise_gpu_memory(struct advising *advising);
