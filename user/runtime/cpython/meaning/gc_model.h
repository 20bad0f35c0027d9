/*
 * What CPython's collector would have cost under other settings. In: what it did. Out: figures
 * fitted to it, and simulations that rest on them. Not for other rooms.
 */
#pragma once

#include "gc_facts.h"

/*
 * A collection costs a time per object that it looks at and a time per object that it frees. Of the
 * objects that are promoted into the oldest generation some stay for good (growth), some turn out
 * to be cyclic garbage that a full collection frees, and the rest dies by its reference count in
 * between and costs nothing more.
 */
struct gc_model {
	bool known;	  /* the recording has sizes; else only durations */
	double object_ns; /* to look at one */
	double late_ns; /* to look at one that came during the recording, as full collections grew; 0: they did not */
	double near_ns, far_ns; /* to free one: in a small collection, in one of a large heap */
	double spread;		/* one collection of two lies within this factor of the model */
	double heap;		/* objects that a full collection leaves */
	double heap_most;	/* that one would look at by the end, which stay */
	double full_ns;		/* mean duration of a full one */
	double gen1_ns;		/* mean duration of one of generation 1 */
	double promoted;	/* objects by one collection of generation 1 */
	double promoted_sum, growth,
		garbage; /* of full collections: promoted before, of which stayed, were freed */
	double growth_share, garbage_share; /* of promoted_sum */
	double garbage_in_all;		    /* objects freed by all collections that count */
	/* What waits for a full collection that is no longer recorded, and is garbage or stays, by what they found of it. */
	double garbage_due, growth_due;
	bool garbage_known;
	double threshold;	/* of generation 0: the default, or what the pauses suggest */
	bool threshold_guessed; /* it is not the default */
};

/*
 * Durations of full collections alone do not say how much of them went into looking and how much into freeing, if each
 * found about as much of both. So there are three fits: @freeing is as how many looks it takes to free an object of a
 * large heap, GC_FREEING_… . 0 or -ENOMEM.
 */
#define GC_FREEING_LEAST 0.7
#define GC_FREEING_USUAL 2.5
#define GC_FREEING_MOST	 5.0
int gc_model_fit(const struct gc_facts *facts, double freeing, struct gc_model *ret);

/*
 * What the full collection at index @at left: the next event says. Without one: all that was there
 * before, though of what was promoted much may have died since.
 */
double gc_left_by(const struct gc_facts *facts, size_t at);

/* What full collections would cost. */
struct gc_outcome {
	double ns;     /* of all of them that count */
	double max_ns; /* of one */
	double count;
	double *by_step; /* NULL, or of each step of the subject what they cost it: added to; not owned */
};

/*
 * Into @outcome, whose .by_step may be set: with gc.freeze() after warm-up, of the objects that died by reference count the share @replaced
 * having been frozen ones, so that what replaced them is looked at; freeing one taking @garbage_ns.
 * Covers the events after warm-up.
 */
void gc_model_freeze(const struct gc_model *model, const struct gc_facts *facts, double replaced,
	double garbage_ns, struct gc_outcome *outcome);

/* Objects a step that only the collector frees; of a subject with steps. */
double gc_model_garbage(const struct gc_model *model, const struct gc_facts *facts);

/* One full collection every @every steps, nothing else. */
struct gc_outcome gc_model_manual(const struct gc_model *model, const struct gc_facts *facts,
	double every);

/*
 * The share of full collections that is left when the threshold of generation 0 is @factor times as
 * high.
 */
double gc_model_kept(const struct gc_model *model, const struct gc_facts *facts, double factor);

/* How many collections of generation 0 are left then. */
double gc_model_young_left(const struct gc_model *model, const struct gc_facts *facts,
	double factor);

/*
 * Of the cost of generations 0 and 1, the share that a threshold @factor times as high would save.
 */
double gc_model_young_saved(const struct gc_model *model, const struct gc_facts *facts,
	double factor);

/* What it took to free, in collections of generations 0 and 1, what they freed. */
double gc_freeing_young(const struct gc_model *model, const struct gc_facts *facts);
