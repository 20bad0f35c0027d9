/* Whether bytes from the ring are a record of Julia's that means something. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Of type GC_EVENT_JULIA_PAUSE, with times in their order. */
bool julia_record_makes_sense(const void *bytes, size_t size);
