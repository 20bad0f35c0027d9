/*
 * What a recording and its summary come to, in figures and in one sentence; shared by the formats.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "pause.h"
#include "report.h"
#include "summary.h"

/* When the recording ended; if it was cut off, the last moment known. */
uint64_t verdict_end_ns(const struct recording *recording, const struct summary *summary);
/* From the start to verdict_end_ns(). */
uint64_t verdict_span_ns(const struct recording *recording, const struct summary *summary);
/* The part of the recording in which @process was traced. */
uint64_t verdict_process_span_ns(const struct recording *recording, const struct summary *summary,
	const struct process *process);
/* The sum of the above over the processes with a runtime: what shares of time relate to. */
uint64_t verdict_traced_ns(const struct recording *recording, const struct summary *summary);

/* Whether nothing that was to be recorded is missing. */
bool verdict_complete(const struct recording *recording);

/*
 * "GC paused train (1234) for …": safe for a terminal, always terminated. @stacks NULL: without causes in a runtime's own
 * words. @attribution: as for verdict_stalls(). Returns @text.
 */
const char *verdict_sentence(const struct recording *recording, const struct stack_table *stacks,
	const struct attribution *attribution, const struct summary *summary, char *text,
	size_t size);

/*
 * What stalls of single threads add to the answer, a sentence after a blank: what of them no pause covers. "" without
 * stalls that matter: none is longer than what a pause may harmlessly be, and all of them are a thousandth of @time_ns.
 * @attribution NULL: which of them pauses cover is not known, and all are told.
 */
const char *verdict_stalls(const struct recording *recording, const struct attribution *attribution,
	uint64_t time_ns, char *text, size_t size);
#define VERDICT_STALLS_BYTES 192

/*
 * What GPUs add to it, a sentence after a blank: "GPU 0 stood idle 412.0 ms of 12.40 s (3.3 %, measured); 61.0 % of that was
 * caused by GC." "" without a timeline of GPUs; @attribution may be NULL. Returns @text.
 */
const char *verdict_gpu(const struct attribution *attribution, char *text, size_t size);
#define VERDICT_GPU_BYTES 1024

/*
 * What pauses stopped of the requests to the busiest server, likewise: "Pauses stopped 915 of 11032 requests to uvicorn
 * (4711) (8.3 %), for …". And those that cannot be told: "Connections to python3 (4711) are encrypted: …". "" without
 * either; @attribution may be NULL. Returns @text.
 */
const char *verdict_requests(const struct attribution *attribution, char *text, size_t size);
#define VERDICT_REQUESTS_BYTES 1024

/* What is missing of an incomplete recording, in one clause without a full stop: "3 events were lost (ring-full)". */
void verdict_missing(const struct recording *recording, char *text, size_t size);

/*
 * The answer, line by line: what it cost, what of that is felt, by what, where, how sure that is, what to try first; then what
 * else there is to say. By steps where some speak for their process ("GC stopped training for 3.1 s (8.1 % of its time) …"), else
 * verdict_sentence() and why none do. Lines of which there is nothing to say are left out.
 */
struct verdict_line {
	const char *label; /* "cost", "felt", "cause", "where", "sure", "try", "also", "gpu" */
	char text[1024];   /* sentences, safe for a terminal */
};
#define VERDICT_LINES 12
struct verdict {
	struct verdict_line lines[VERDICT_LINES];
	size_t count;
};
void verdict_make(const struct report_input *input, const struct summary *summary,
	struct verdict *ret);

/* The same in one paragraph. Returns @text. */
const char *verdict_paragraph(const struct report_input *input, const struct summary *summary,
	char *text, size_t size);
#define VERDICT_PARAGRAPH_BYTES 4096

/* "train (1234)", or "an unknown process" for NULL; safe for a terminal. */
const char *verdict_process_name(const struct process *process, char *text, size_t size);
#define VERDICT_NAME(process) verdict_process_name((process), (char[96]){0}, 96)

/* "4.1 %" of @part in @whole; "-" when @whole is 0. */
const char *verdict_share(uint64_t part, uint64_t whole, char *text, size_t size);
#define VERDICT_SHARE(part, whole) verdict_share((part), (whole), (char[16]){0}, 16)
