/* What wakes the reader beside the ring, by the same descriptor. */
#pragma once

#include <stdint.h>

#include "err.h"

struct wake {
	int epoll;	 /* the ring's; not owned */
	int called, due; /* -1: none. An event, and a timer */
	uint64_t due_ns; /* when the latter will wake it; 0: it is not set */
};

#define WAKE_NONE ((struct wake){.called = -1, .due = -1})

int wake_open(struct wake *wake, int epoll, struct err *err); /* 0 or -errno with a sentence */
void wake_close(struct wake *wake);
void wake_now(int called); /* from any thread, with the descriptor */
void wake_at(struct wake *wake, uint64_t time_ns);
void wake_clear(struct wake *wake); /* it is awake */
