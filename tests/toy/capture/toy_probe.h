/* What is kept of the toy's file, and its part in a session. */
#pragma once

#include "trace_runtime.h"

struct toy_plan {
	uint64_t books; /* where they are in the file */
};

extern const struct capture_ops toy_capture;
