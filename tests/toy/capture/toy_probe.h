/* The toy's part in a session. */
#pragma once

#include "trace_runtime.h"

extern const struct capture_ops toy_capture;
