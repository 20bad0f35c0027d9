/* Julia's part in a session. */
#pragma once

#include "trace_runtime.h"

extern const struct capture_ops julia_capture;
extern const char *const julia_counters[];
