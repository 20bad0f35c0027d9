/* What CUPTI is asked to record: activities, and of all calls those that launch, wait or allocate. */
#pragma once

#include "library.h"

enum kinds {
	KINDS_ALL,
	KINDS_OURS, /* those that no profiler is likely to have asked for, too */
};

/* CUPTI's error if one refuses without which the rest is worth nothing. */
CUptiResult kinds_enable(const struct library *library);

void kinds_disable(const struct library *library, enum kinds which);
