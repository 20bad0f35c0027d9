/* A JVM's pauses and stalls in; the words that reports use for them out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meaning.h"
#include "pause.h"
#include "stack_table.h"

/*
 * The facts of a safepoint. All times in ns; ttsp + cleanup + core + leave is the pause's duration
 * where all of them are known. Strings are ids in stack_table.strings (and .gct's table string).
 */
struct safepoint {
	int64_t operation;  /* "G1CollectForAllocation": as -Xlog:safepoint calls it */
	int64_t cause;	    /* "G1 Evacuation Pause": HotSpot's own words; 0 without a collection */
	int64_t ttsp_ns;    /* from the request until all threads stood still */
	int64_t cleanup_ns; /* JDK 17 to 22 */
	int64_t core_ns;    /* "At safepoint": the operation itself */
	int64_t leave_ns;   /* "Leaving": threads run again one by one; JDK 25+, 21.0.8+ */
	int64_t heap_before, heap_after; /* bytes used, around the collections within */
	int64_t young, full;		 /* collections within; UNKNOWN: not counted */
	int64_t late_tid; /* the thread that reached the safepoint last, host's number; only after a long ttsp */
	int64_t late_stack; /* node of the stack table: where it was; STACK_NONE if not taken */
};

/* The facts of a pause that is one, by these names. */
static inline const struct safepoint *pause_safepoint(const struct pause *pause)
{
	_Static_assert(sizeof(struct safepoint) <= PAUSE_FACTS * sizeof(int64_t),
		"a place for each");
	return (const struct safepoint *)pause->facts;
}

/* The order of a safepoint's class. The first four are the places of HTML's colours. */
enum safepoint_kind {
	SAFEPOINT_YOUNG,
	SAFEPOINT_STEP,	 /* of a concurrent cycle */
	SAFEPOINT_FULL,	 /* at least one collection in it was */
	SAFEPOINT_OTHER, /* nothing was collected */
	SAFEPOINT_UNKNOWN,
	SAFEPOINT_KINDS
};

/* Its facts have the names of struct safepoint. */
static inline bool pause_is_safepoint(const struct pause *pause)
{
	return pause->flags & PAUSE_HAS_FACTS && pause->class && pause->class->of->safepoints;
}

/* Of a pause that is a safepoint. */
static inline enum safepoint_kind safepoint_kind(const struct pause *pause)
{
	return pause->class->order;
}

const char *
safepoint_kind_name(enum safepoint_kind kind); /* "young": of whichever runtime has safepoints */

/* Bytes; UNKNOWN also where the heap had grown: what was freed then cannot be told. */
int64_t safepoint_freed(const struct safepoint *safepoint);

/* The string that says most about why it was. 0: not known. */
static inline uint32_t safepoint_reason(const struct pause *pause)
{
	return pause->class->of->reason ? pause->class->of->reason(pause) : 0;
}

/* Whether its time to safepoint is worth a look: 1 ms, or a tenth of it. */
bool safepoint_reach_matters(const struct pause *pause);

/* "512M", "1.5G", "-" when UNKNOWN: at most 5 columns. */
const char *safepoint_bytes(int64_t bytes, char *text, size_t size);
#define SAFEPOINT_BYTES(bytes) safepoint_bytes((bytes), (char[24]){0}, 24)

/* "System.gc(), 2 collections", "allocation stall": what happened, in at most 32 columns. */
const char *stall_words(const struct stall *stall, char *text, size_t size);
#define STALL_WORDS(stall) stall_words((stall), (char[48]){0}, 48)

/* Which kinds of runtimes a recording has. */
enum runtime_kinds { RUNTIMES_NONE = 0, RUNTIMES_OTHER = 1, RUNTIMES_JVM = 2, RUNTIMES_BOTH = 3 };
bool runtime_is_jvm(const struct runtime
		*runtime); /* whether its pauses are safepoints; NULL: no */
/* The entry of a runtime of @recording whose pauses are safepoints; that of an unknown one if there is none. */
const struct runtime_meaning *meaning_with_safepoints(const struct recording *recording);
enum runtime_kinds recording_kinds(const struct recording *recording);
bool process_is_jvm(const struct recording *recording, uint32_t process); /* all its runtimes are */

/* The name of thread @tid of the process of runtime @runtime; NULL: not known. Not safe to show as it is. */
const char *runtime_thread(const struct recording *recording, uint32_t runtime, int64_t tid);
