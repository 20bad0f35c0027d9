/* Concurrent phases of a JVM that have begun, and not ended yet. In: begins and ends, by thread. */
#pragma once

#include <stdint.h>

#include "vec.h"

struct open_phase {
	uint32_t tid, name;
	uint64_t start_ns;
};

/* In the order in which they began: those of one thread nest. */
struct open_phases {
	VEC(struct open_phase) list;
};

/* 0 or -ENOMEM. */
int phases_begin(struct open_phases *phases, struct open_phase phase);

/* Takes the innermost phase of thread @tid away. -ENOENT: it has begun none that we saw. */
int phases_end(struct open_phases *phases, uint32_t tid, struct open_phase *ret);

void phases_release(struct open_phases *phases);
