/*
 * What Julia's collector did, and what advice computes from it. In: pauses of a Julia. Out: events of the process that
 * is advised, and sums of them. Not for other rooms.
 */
#pragma once

#include "advising.h"
#include "julia_facts.h"

/* What a program asked for. */
enum julia_asked { JULIA_ASKED_NOTHING, JULIA_ASKED_INCREMENTAL, JULIA_ASKED_FULL };

struct julia_event {
	uint64_t start_ns, end_ns;
	int64_t ttsp_ns, core_ns, post_ns, mark_ns, sweep_ns; /* UNKNOWN if not known */
	int64_t allocated;	/* bytes since the collection before; UNKNOWN if not known */
	int64_t after;		/* bytes that it left; UNKNOWN if not known */
	uint32_t tid, late_tid; /* late_tid 0: not known */
	uint32_t late;		/* frame: where the thread was that was last; 0: not known */
	float weight;  /* the part of it that counts: in steps, or all where there are none */
	uint8_t asked; /* enum julia_asked */
	bool full;
	bool known;  /* what it collected is */
	bool paired; /* GC.gc(true) directly after a GC.gc(false), or the latter */
};

/* What the command line and the version say. */
struct julia_events {
	VEC(struct julia_event) events; /* as they came */
	int minor;			/* of Julia 1; UNKNOWN: not known */
	uint64_t heap_hint;		/* --heap-size-hint in bytes; 0: not there */
	bool gc_threads;		/* --gcthreads is there */
	long threads;			/* -t; 0: not there */
	int64_t left;			/* bytes, by the last one; UNKNOWN if not known */
};

/* Of the events for which @takes, as far as each counts; ns. */
struct julia_sums {
	double count; /* of those that count at all */
	double overlap, ttsp, core, mark, sweep, post;
	double marked;	  /* core of those whose mark and sweep are known */
	double allocated; /* bytes of those that have it, … */
	double measured;  /* … and how many they are */
};

typedef bool (*julia_takes_fn)(const struct julia_event *event);

static inline double julia_overlap(const struct julia_event *event)
{
	return (double)event->weight * (double)(event->end_ns - event->start_ns);
}

/* Adds a pause to a zeroed one. 0 or -ENOMEM. */
int julia_events_add(struct julia_events *events, const struct advice_pause *pause);

struct julia_sums julia_sum(const struct julia_events *events, julia_takes_fn takes);

bool julia_all(const struct julia_event *event);
bool julia_automatic(const struct julia_event *event);
bool julia_automatic_full(const struct julia_event *event);
bool julia_automatic_incremental(const struct julia_event *event);
bool julia_incremental(const struct julia_event *event);
bool julia_asked_full(const struct julia_event
		*event); /* not those directly after a GC.gc(false) */
bool julia_paired(const struct julia_event *event);
