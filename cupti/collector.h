/*
 * CUPTI's records, in whatever order they come → the records of bpf/gpu_wire.h. One thread at a time: the owner locks.
 *
 * What has come waits until the tick after next, so that a call whose record came later than that of the kernel it
 * launched is found. Nothing here calls CUPTI.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "gpu_wire.h"
#include "launches.h"
#include "layout.h"
#include "list.h"
#include "runs.h"

#define COLLECTOR_DEVICES  64
#define COLLECTOR_CANARIES 64 /* calls of ours whose records have not come */

/* A copy: the call waited for it if it returned no earlier than the copy ended. */
struct copy {
	uint64_t end_ns;
	uint32_t correlation, device;
};

/* What came between two ticks. */
struct generation {
	struct runs runs[COLLECTOR_DEVICES];
	LIST(struct copy) copies;
	uint64_t complete_ns; /* what had begun before has come by then */
	uint64_t lost, lost_ns,
		lost_until_ns; /* calls whose records are missing, made then at most; 0: none */
};

struct device {
	uint32_t id, stream;	     /* stream: that of its first activity */
	bool streams;		     /* there are others */
	uint64_t begin_ns, until_ns; /* as the tracer knows them; 0: it does not */
	uint64_t run_ns,
		run_end_ns;	  /* of the run that was said last; since when it has not starved */
	int64_t allocated;	  /* bytes, since the beginning */
	uint64_t memory_ns;	  /* when the tracer was last told of them */
	unsigned int memory_said; /* sums since the last tick */
	struct gc_gpu_record memory; /* not told yet, if kind is set */
};

/* A call that the shim makes: its record shows that calls are recorded, by this clock, and up to when. */
struct canary {
	uint64_t before_ns, after_ns;
	uint64_t buffer; /* number of the buffer that its record came in; 0: it has not come */
};

/* CUPTI was asked how many records it had dropped since it was last asked. */
struct check {
	uint64_t since_ns, before_ns; /* .checked_ns before that; when it was asked */
	size_t missing;
};

struct collector {
	const struct layout *layout;
	struct clock clock;
	uint32_t own_tid; /* the thread that makes canaries; 0: not known */
	struct launches launches;
	struct device devices[COLLECTOR_DEVICES];
	unsigned int device_count;
	struct generation generations[2];
	struct generation *fresh, *ready;
	struct canary canaries[COLLECTOR_CANARIES]; /* by time */
	unsigned int canary_count;
	uint64_t canary_ns;	/* when the last one that has come was called */
	uint64_t complete_ns;	/* see struct generation */
	uint64_t delay_ns;	/* the longest from a launch to its activity */
	uint64_t checked_ns;	/* what was missing by then has been counted */
	uint64_t clock_said_ns; /* the error that the tracer knows of, plus one */
	unsigned int ticks;
	LIST(struct gc_gpu_record) out; /* for the owner to hand over, and to empty */
};

/* Recording begins. 0 or -ENOMEM. */
int collector_init(struct collector *collector, const struct layout *layout, bool same_clock);
void collector_release(struct collector *collector);

/* One record of CUPTI's, of buffer number @buffer. */
void collector_record(struct collector *collector, const void *record, uint64_t buffer);

/* All records of a buffer have been given. */
void collector_match(struct collector *collector);

/* @count records are missing that were or should have been written between the last check and now. */
void collector_lost(struct collector *collector, uint64_t count);

/* A buffer that was requested at @requested_ns has not come, and may never. */
void collector_late(struct collector *collector, uint64_t requested_ns);

/* Whether canaries come: the last one within @late_ns. */
bool collector_alive(const struct collector *collector, uint64_t late_ns);

/* What is missing, as CUPTI said. Two threads may ask at a time: only one of them is told. */
void collector_checked(struct collector *collector, const struct check *check);

/* Thread own_tid is about to call cuDriverGetVersion, which is recorded; it has returned. */
void collector_canary(struct collector *collector, uint64_t before_ns);
void collector_canary_done(struct collector *collector, uint64_t after_ns);

/* Appends to .out; what there is no room for counts as lost. */
void collector_put(struct collector *collector, struct gc_gpu_record record);

/*
 * Fills .out with what is known by now. Buffers with numbers below @oldest have all come. @last: everything, without
 * waiting for more.
 */
void collector_tick(struct collector *collector, uint64_t oldest, bool last);
