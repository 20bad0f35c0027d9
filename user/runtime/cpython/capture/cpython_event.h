/* One record of CPython's programs, decoded and bounds-checked. In: ring-buffer bytes. Out: struct cpython_event. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"

enum cpython_event_type {
	EVENT_PAUSE, /* a collection ended */
	EVENT_CODE,  /* names of a code object, after its line table */
	EVENT_TABLE, /* a piece of a line table */
};

enum event_pause_flag {
	EVENT_SLEPT = 1,
	EVENT_NESTED = 2,
	EVENT_TRUNCATED = 4,
	EVENT_NO_BOOKS = 8,
	EVENT_BROKEN_STACK = 16,
	EVENT_HEAP = 32,
	EVENT_RSS = 64,
	EVENT_WAITED = 128,
	EVENT_LEFT = 256, /* by exit or exec, at time_ns; the runtime's counters are not known */
	EVENT_THRESHOLDS = 512,
	EVENT_STOPS = 1024,
	EVENT_GIL = 2048, /* of a free-threaded build, it was on */
};

enum event_cause { EVENT_CAUSE_UNKNOWN, EVENT_AUTOMATIC, EVENT_MANUAL, EVENT_SHUTDOWN };

struct event_frame {
	uint64_t code;
	int32_t lasti; /* bytes into the code object's instructions */
	uint32_t pad;
};

/* When all other threads were to stop, had, and could go on. */
struct event_stop {
	uint64_t request_ns, stopped_ns, end_ns;
};

#define EVENT_STOPS_MOST 2

struct event_text {
	const uint8_t *bytes;
	size_t characters; /* that are here */
	uint32_t kind;	   /* bytes a character; 0: could not be read */
	size_t cut;	   /* characters left out at the end */
};

struct cpython_event {
	enum cpython_event_type type;
	struct event_head head;
	union {
		struct {
			uint64_t start_ns, interpreter;
			uint32_t image, cause, flags;
			int32_t generation;
			int32_t number; /* of the interpreter; -1: not read */
			uint64_t collected, uncollectable, collections[3];
			uint64_t heap_objects, heap_pending; /* with EVENT_HEAP */
			uint64_t rss_start, rss_end;	     /* with EVENT_RSS; bytes */
			uint64_t waited_ns;		     /* with EVENT_WAITED */
			int32_t thresholds[3]; /* with EVENT_THRESHOLDS; none is negative */
			/* With EVENT_STOPS: within the pause, one after the other. */
			struct event_stop stops[EVENT_STOPS_MOST];
			size_t stop_count;
			const struct event_frame *frames; /* innermost first */
			size_t frame_count;
		} pause;
		struct {
			uint64_t id;
			uint32_t image, first_line, table_bytes;
			bool has_table; /* its pieces came before; else it could not be read */
			struct event_text name, file;
		} code;
		struct {
			uint64_t id;
			uint32_t offset, length;
			const uint8_t *bytes;
		} table;
	};
};

/*
 * Decodes one record, which event_check() has found to be whole; pointers in @ret reach into @bytes. 0, or
 * -EBADMSG for bytes that no BPF program of this version writes (@ret untouched).
 */
int cpython_decode(const void *bytes, size_t size, struct cpython_event *ret);
