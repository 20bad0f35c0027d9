/* CPython in a session: its records → pauses for the sink. See trace/trace_runtime.h. */
#pragma once

#include "trace_runtime.h"

extern const struct capture_ops cpython_capture;
extern const char *const cpython_counters[]; /* what its books count; NULL-terminated */
