/*
 * Full collections: those that came, and those that each setting leads to by itself. In: what the collector counted at
 * each collection. Out: what to leave out of a block, and what to charge it.
 *
 * A collector makes a full collection once enough of the others have promoted enough objects, and it goes on counting across a
 * switch of settings. So a block may have full collections for what other blocks have promoted, and a setting that
 * leads to one in minutes has them all in the few seconds of a block. What a block promotes is its own. That is charged to it,
 * and full collections are left out as they came.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "settings.h"

struct block;
struct step;

struct fulls_collection {
	uint64_t start_ns, end_ns;
	/* Before it: objects that the last full one left, and those promoted since. UNKNOWN if not known. */
	int64_t heap, promoted;
	bool full;
	bool automatic; /* not asked for by the program */
};

struct fulls {
	const struct fulls_collection *items; /* by time */
	size_t count;
	struct settings_pace pace[2]; /* as it is, tried */
};

struct fulls_blocks {
	const struct block *items; /* by time */
	size_t count;
	uint64_t settle_ns;
};

struct fulls_steps {
	const struct step *items; /* by time */
	size_t count;
};

/*
 * What a full collection usually takes, per object that it looks at: of the automatic ones that came while the settings were as
 * they are, but for the first part of a block, when one may do what the block before has put off. With what the few steps after it
 * take longer than those that follow, and without what one that promotes would have taken in its place. 0: none came.
 */
double fulls_object_ns(const struct fulls *fulls, struct fulls_blocks blocks,
	struct fulls_steps steps);

/*
 * When a block has settled: after its first @settle_ns, or what a collection takes longer that came in the first half of that: it
 * does what was put off.
 */
uint64_t fulls_settled(const struct fulls *fulls, const struct block *block, uint64_t settle_ns);

/* What those between two moments usually take, each as far as it lies there, ns. */
double fulls_usual_ns(const struct fulls *fulls, double object_ns, uint64_t from_ns,
	uint64_t to_ns);

/* What was counted in some stretches, as it is or tried. */
struct fulls_tally {
	double steps;
	double collections; /* automatic */
	double promoted;    /* objects */
	double manual;	    /* full ones that the program asked for */
};

void fulls_count(const struct fulls *fulls, uint64_t from_ns, uint64_t to_ns,
	struct fulls_tally *tally);

/* Objects of the heap at an automatic full collection, on average; 0: none came. */
double fulls_heap(const struct fulls *fulls);

/* Full collections a step to which a setting leads. */
struct fulls_rate {
	double per_step;
	bool by_size; /* it is the objects promoted that decide, else the number of collections */
};

/* @tallies: as it is, tried. Of the setting @tried. */
struct fulls_rate fulls_rate(const struct fulls *fulls, const struct fulls_tally tallies[2],
	bool tried);
