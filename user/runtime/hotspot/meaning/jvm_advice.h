/* What the files about HotSpot's advice share. Not for other rooms. */
#pragma once

#include <string.h>

#include "jvm_facts.h"

enum jvm_advice {
	ADVICE_YOUNG = 1,	/* a larger young generation */
	ADVICE_EXPLICIT_WINDOW, /* DL4J's periodic System.gc(): a longer period */
	ADVICE_EXPLICIT_TOGGLE, /* the same: none */
	ADVICE_EXPLICIT_OFF, /* System.gc() costs more than it frees, or only blocks: ignore it */
	ADVICE_EXPLICIT_CONCURRENT, /* G1: let System.gc() start a concurrent cycle */
	ADVICE_WORKSPACES,	    /* DL4J: arrays in workspaces, so that JavaCPP need not call the
				       collector */
	ADVICE_MEMORY_LIMIT, /* JavaCPP calls the collector at its limit of memory: raise it */
	ADVICE_TTSP,	     /* counted loops keep the others waiting: safepoints within them */
	ADVICE_METASPACE,    /* collections for want of class metadata: a higher first threshold */
	ADVICE_HEAP,	     /* full collections, or allocation stalls: a larger heap */
	JVM_ADVICES
};

extern const struct advice_kind jvm_advice_kinds[JVM_ADVICES];
extern const struct runtime_advice jvm_adviser;

static inline const struct jvm_facts *jvm_facts(const struct advising *advising)
{
	return advising->state;
}

/* Each adds what it finds worth advising. 0 or -ENOMEM. */
int advise_young(struct advising *advising);
int advise_explicit(struct advising *advising);
int advise_ttsp(struct advising *advising);
int advise_metaspace(struct advising *advising);
int advise_heap(struct advising *advising);
int advise_stalls(struct advising *advising);

/* Whether the steps are DL4J's. */
static inline bool advice_of_dl4j(const struct advising *advising)
{
	const struct step_track *track = advising->subject->track;

	return track && !strncmp(track->signal, "dl4j:", 5);
}
