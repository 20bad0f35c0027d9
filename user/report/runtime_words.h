/* A recording's runtimes, pauses and waits in; the words that reports use for them out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meaning.h"
#include "pause.h"

/* What all runtimes of @recording are; NULL: they differ, or there is none. */
const struct runtime_meaning *words_sole(const struct recording *recording);

/* Whether a runtime of @recording is one. */
bool words_has(const struct recording *recording, const struct runtime_meaning *meaning);
/* The first entry, in the order in which they were built in, that a runtime of @recording has and that @fits; NULL: none. */
const struct runtime_meaning *words_any(const struct recording *recording,
	bool (*fits)(const struct runtime_meaning *meaning));

/* For words_any(): */
bool words_generations(const struct runtime_meaning *meaning); /* its classes are generations */
bool words_apart(const struct runtime_meaning *meaning); /* some of its pauses collect nothing */
bool words_waits(const struct runtime_meaning *meaning); /* single threads wait for its collector */
bool words_reach(const struct runtime_meaning *meaning); /* it tells times to safepoint */

/* Whether the time until all threads stood still is worth a look: 1 ms, or a tenth of the pause. */
bool words_reach_matters(const struct pause *pause, int64_t ttsp_ns);

/* "512M", "1.5G", "-" when UNKNOWN: at most 5 columns. */
const char *words_bytes(int64_t bytes, char *text, size_t size);
#define WORDS_BYTES(bytes) words_bytes((bytes), (char[24]){0}, 24)

/* "gc(), 2 collections", "allocation stall": what happened, in at most 32 columns. */
const char *words_wait(const struct recording *recording, const struct stall *stall, char *text,
	size_t size);
#define WORDS_WAIT(recording, stall) words_wait((recording), (stall), (char[48]){0}, 48)

/* The call for a collection as programs of @recording's runtimes have it; "the collector" if none is known. */
const char *words_call(const struct recording *recording);

/* "Left out everywhere (--gc-only): 3 pauses in which nothing was collected." */
const char *words_left_out(const struct recording *recording, uint64_t count, char *text,
	size_t size);
#define WORDS_LEFT_OUT(recording, count) words_left_out((recording), (count), (char[112]){0}, 112)

/* "HH:MM:SS.mmm" of CLOCK_MONOTONIC @ns, in local time; "-" if the recording does not say. */
const char *words_time(const struct recording *recording, uint64_t ns, char *text, size_t size);
#define WORDS_TIME(recording, ns) words_time((recording), (ns), (char[32]){0}, 32)

/* The zone of these times, "UTC", "CET"; "" if the recording does not say. */
const char *words_zone(const struct recording *recording, char *text, size_t size);
#define WORDS_ZONE(recording) words_zone((recording), (char[16]){0}, 16)

/* The name of thread @tid of the process of runtime @runtime; NULL: not known. Not safe to show as it is. */
const char *words_thread(const struct recording *recording, uint32_t runtime, int64_t tid);
