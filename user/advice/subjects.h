/*
 * Who is advised. In: the pauses of a recording once more. Out: the processes, and what the adviser of each of their
 * runtimes keeps of them. Not for other rooms.
 */
#pragma once

#include "advising.h"

/* A kind of runtime that a subject has. */
struct advised {
	const struct runtime_meaning *meaning;
	void *state;
	uint64_t overlap_ns; /* of its pauses that count */
};

struct subject {
	struct advice_subject about;
	VEC(struct advised) runtimes; /* those that have an adviser */
};

struct subjects {
	VEC(struct subject) items;
};

/* 0, -ENOMEM, or what @next returned; *ret holds what came before. The caller releases it. */
int subjects_gather(const struct attribution *attribution, attrib_next_fn next, void *source,
	struct subjects *ret, struct err *err);
void subjects_release(struct subjects *subjects);
