/*
 * A process's memory that no file on a disk is behind: where code is that was made while it ran, and where its data. In:
 * /proc/PID/maps and pagemap. Out: ranges of addresses, and the pages of them that are in memory.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "vec.h"

struct jit_range {
	uint64_t start, end;
	unsigned int rank; /* in which order it is searched */
};

struct jit_memory {
	VEC(struct jit_range) code, data; /* data: what is to be searched first comes first */
	uint64_t code_start, code_end;	  /* around all of code */
};

/* A run of pages that are in memory: what is read brings no other in. */
struct jit_run {
	uint64_t start, end;
};

#define JIT_RUN_MOST (1u << 20) /* bytes of one */

/* Reads the maps of @pid anew; what they said before is gone only if this succeeds. */
bool jit_memory_read(struct jit_memory *memory, pid_t pid);
void jit_memory_release(struct jit_memory *memory);

/*
 * Whether the mapping of this name has the JIT's code: a memfd, if Julia cannot write /proc/self/mem (cgmemmgr.cpp); else
 * it has no name.
 */
bool jit_memory_is_named(const char *name);

/* Whether @address lies in memory that was made for code. */
bool jit_memory_is_code(const struct jit_memory *memory, uint64_t address);

/* Calls @visit for the runs of @range, by /proc/PID/pagemap, until it says false. Returns what it said last. */
typedef bool (*jit_run_fn)(const struct jit_run *run, void *arg);
bool jit_memory_visit(int pagemap, const struct jit_range *range, jit_run_fn visit, void *arg);
