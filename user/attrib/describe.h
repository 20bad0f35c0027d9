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

/* "1,234,567" */
const char *describe_count(uint64_t count, char *text, size_t size);
#define DESCRIBE_COUNT(count) describe_count((count), (char[32]){0}, 32)

/* "12 MiB" */
const char *describe_bytes(double bytes, char *text, size_t size);
#define DESCRIBE_BYTES(bytes) describe_bytes((bytes), (char[24]){0}, 24)
