/* What the machine code of a file that holds Julia's collector says: in: the file; out: addresses in it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "elf_file.h"
#include "err.h"
#include "julia_flow.h"
#include "julia_layout.h"

#define JULIA_RUNS 4 /* places from which one collection is run */
#define JULIA_ENDS 8

struct julia_code {
	const char *name;   /* of the collector: "ijl_gc_collect" */
	uint64_t entry;	    /* of it */
	uint64_t collector; /* the function that stops nothing and collects: _jl_gc_collect() */
	uint64_t runs[JULIA_RUNS]; /* where the first calls the second */
	size_t run_count;
	uint64_t collected[JULIA_RUNS]; /* the places behind them: elf_returns.h */
	uint64_t finalize;		/* where finalizers are run; 0: not found */
	struct julia_end ends[JULIA_ENDS];
	size_t end_count;
};

/*
 * Whether the file holds the collector, and not at the most jumps to another that does; its code need not be understood,
 * and it may be MMTk's.
 */
bool julia_code_holds(const struct elf_file *file);
/* It was built for MMTk (1.12 on): what MMTk calls to collect is exported, and no automatic collection is Julia's own. */
bool julia_code_is_mmtk(const struct elf_file *file);

/* The collector's entry point; false: it is not there, or nothing says where it ends. */
bool julia_code_entry(const struct elf_file *file, struct julia_code *ret);

/* Where it calls what collects: @code->collector, runs, collected. 0, or -ENOENT with a sentence. */
int julia_code_runs(const struct elf_file *file, struct julia_code *code, struct err *err);

/* What comes once it has been at @from, where all threads stand still: @code->finalize, ends. Likewise. */
int julia_code_ends(const struct elf_file *file, uint64_t from, struct julia_code *code,
	struct err *err);

/*
 * The place in @collector that is passed as all is marked, for versions whose gc_num does not say how long that took. 0 or
 * -ENOENT.
 */
int julia_code_marked(const struct elf_file *file, uint64_t collector, uint64_t *ret);

/*
 * The address of the variable that the exported function [i]@name returns (or, if @address, whose address), and nothing
 * else: "mov disp(%rip), %rax; ret". 0 or -ENOENT.
 */
int julia_code_variable(const struct elf_file *file, const char *name, bool address, uint64_t *ret);

/*
 * jl_gc_disable_counter, which has no exported name, but is counted up and down by the exported [i]jl_gc_enable(): "lock
 * addl $1, disp(%rip)" and "lock subl $1, disp(%rip)". 0 or -ENOENT.
 */
int julia_code_disabled(const struct elf_file *file, uint64_t *ret);

/* 0 or -ENOENT. */
int julia_code_version(const struct elf_file *file, struct julia_version *ret);
