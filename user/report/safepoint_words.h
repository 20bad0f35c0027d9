/* A JVM's pauses and stalls in; the words that reports use for them out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meaning.h"
#include "pause.h"
#include "stack_table.h"

/* The order of a safepoint's class. The first four are the places of HTML's colours. */
enum safepoint_kind {
	SAFEPOINT_YOUNG,
	SAFEPOINT_STEP, /* of a concurrent cycle */
	SAFEPOINT_FULL, /* at least one collection in it was */
	SAFEPOINT_OTHER, /* nothing was collected */
	SAFEPOINT_UNKNOWN,
	SAFEPOINT_KINDS
};

/* Its facts have the names of struct safepoint: those of a runtime that has a table of that layout in the store. */
static inline bool pause_is_safepoint(const struct pause *pause)
{
	return pause->flags & PAUSE_SAFEPOINT && pause->class && pause->class->of->fact_table;
}

/* Of a pause that is a safepoint. */
static inline enum safepoint_kind safepoint_kind(const struct pause *pause)
{
	return pause->class->order;
}

const char *safepoint_kind_name(enum safepoint_kind kind); /* "young": of whichever runtime has safepoints */

/* Bytes; UNKNOWN also where the heap had grown: what was freed then cannot be told. */
int64_t safepoint_freed(const struct safepoint *safepoint);
/* Of a generation's number as charges have it, for a JVM: "young", "full", or "" if not known. */
const char *safepoint_generation(int generation);

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
bool runtime_is_jvm(const struct runtime *runtime); /* whether its pauses are safepoints; NULL: no */
/* The entry of a runtime of @recording whose pauses are safepoints; that of an unknown one if there is none. */
const struct runtime_meaning *meaning_with_safepoints(const struct recording *recording);
enum runtime_kinds recording_kinds(const struct recording *recording);
bool process_is_jvm(const struct recording *recording, uint32_t process); /* all its runtimes are */

/* The name of thread @tid of the process of runtime @runtime; NULL: not known. Not safe to show as it is. */
const char *runtime_thread(const struct recording *recording, uint32_t runtime, int64_t tid);
