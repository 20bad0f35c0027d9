/*
 * What a JVM's collector did, and what advice computes from it. In: pauses of a HotSpot runtime.
 * Out: events of the process that is advised. Not for other rooms.
 */
#pragma once

#include "advising.h"
#include "hotspot_meaning.h"

/* Why it collected, as far as advice cares. */
enum jvm_why {
	JVM_WHY_OTHER,	    /* or not known */
	JVM_WHY_ALLOCATION, /* there was no room */
	JVM_WHY_METADATA,
	JVM_WHY_EXPLICIT,
};

struct jvm_event {
	uint64_t duration_ns;
	int64_t heap_before, heap_after, ttsp_ns; /* UNKNOWN if not known */
	int64_t late_ran_ns; /* of ttsp_ns the thread that came last had its processor; UNKNOWN */
	uint32_t late;	     /* frame: where the thread was that came last; 0: not known */
	float weight;	     /* the part of it that counts: in steps, or all where there are none */
	uint8_t class, why;  /* enum hotspot_class, enum jvm_why */
	bool uncounted;	     /* no counter of the JVM shows what was collected, if anything */
};

static inline double jvm_event_overlap(const struct jvm_event *event)
{
	return (double)event->weight * (double)event->duration_ns;
}

struct jvm_facts {
	VEC(struct jvm_event) events; /* as they came */
	uint64_t overlap_ns;	      /* of all of them that counts */
	char collector[24];
	int release;	     /* 8, 11, 17, …; 0: not known */
	bool polls_in_loops; /* counted loops stop at safepoints, or so it seems */
	uint64_t heap_max;   /* -Xmx as the command line has it; 0: not there */
};

/* Adds a pause to a zeroed one. 0 or -ENOMEM. */
int jvm_facts_add(struct jvm_facts *facts, const struct advice_pause *pause);

/* "1536m": as the JVM's options take it, rounded up. Returns @text. */
const char *jvm_size(double bytes, char *text, size_t size);
#define JVM_SIZE(bytes) jvm_size((bytes), (char[24]){0}, 24)
