/*
 * Frames, processes and figures in; the words for them in sentences out.
 */
#pragma once

#include "attrib.h"

/* "Trainer.step (train.py:41)", or "" for frame 0. Returns @text. */
const char *describe_frame(const struct stack_table *stacks, uint32_t frame, char *text,
	size_t size);
#define DESCRIBE_FRAME(stacks, frame) describe_frame((stacks), (frame), (char[96]){0}, 96)

/* "train (pid 4711)" */
const char *describe_process(const struct recording *recording, uint32_t id, char *text,
	size_t size);
#define DESCRIBE_PROCESS(recording, id) describe_process((recording), (id), (char[48]){0}, 48)

/* "8.1 %", to the significant digits. */
const char *describe_share(double share, char *text, size_t size);
#define DESCRIBE_SHARE(share) describe_share((share), (char[24]){0}, 24)

/* "measured", "estimated", "untold": how it is known what a track lost. */
const char *describe_source(enum cost_source source);

/* The same for a reader: "cannot be told" instead of "untold". */
const char *describe_known(const struct track_cost *cost);
/* The same of all tracks; of some that differ "measured or estimated", as the case may be. NULL: there are none. */
const char *describe_known_all(const struct attribution *attribution);

/*
 * ", 95 % interval 23.2–25.1 %" of a cost that can be told, as shares of training time or as times; "" where both ends
 * would read the same.
 */
const char *describe_interval(const struct track_cost *cost, bool shares, char *text, size_t size);
#define DESCRIBE_INTERVAL(cost, shares) describe_interval((cost), (shares), (char[80]){0}, 80)

/* Why it cannot be told, and what would tell: a clause. It begins with the most that it may be, if less than was stopped. */
const char *describe_untold(const struct track_cost *cost, char *text, size_t size);
#define DESCRIBE_UNTOLD(cost) describe_untold((cost), (char[320]){0}, 320)

/* What was lost as a time that is shown: chance may put it below 0. */
static inline uint64_t describe_lost_ns(int64_t ns)
{
	return ns > 0 ? (uint64_t)ns : 0;
}

/* "1,234,567" */
const char *describe_count(uint64_t count, char *text, size_t size);
#define DESCRIBE_COUNT(count) describe_count((count), (char[32]){0}, 32)

/* "12 MiB" */
const char *describe_bytes(double bytes, char *text, size_t size);
#define DESCRIBE_BYTES(bytes) describe_bytes((bytes), (char[24]){0}, 24)
