/*
 * Calls that may mark the steps of a training loop: which functions of a mapped file, and where to
 * probe them. In: an open file. Out: plans, which trace/ attaches. (Not "signal.h": that is libc's.)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_file.h"
#include "err.h"
#include "gc_wire.h"
#include "step_spec.h"
#include "vec.h"

#define SIGNAL_MAX_SITES 16

struct signal_site {
	uint64_t offset;    /* in the file */
	uint64_t semaphore; /* USDT: its offset in the file, 0 without */
	uint32_t variant;   /* tells the functions of one signal apart; 0: they are all the same */
	const char *label;  /* of the variant's marks; static, or NULL */
};

/* One signal in one file. */
struct signal_plan {
	char name[SIGNAL_NAME_BYTES]; /* struct signal.name */
	const char *spare_of;	      /* see struct signal_entry; static, or NULL */
	uint32_t spare_rate;
	bool thinned;		       /* see struct signal_entry */
	uint8_t key, argument, offset; /* of its marks: GC_KEY_… and where it comes from */
	bool kept;		       /* never let go: the user asked for it */
	struct signal_site sites[SIGNAL_MAX_SITES];
	size_t site_count;
	char detail
		[256]; /* for people: "libtorch_cpu.so: torch::autograd::Engine::execute (push)" */
};

struct signal_plans {
	VEC(struct signal_plan) plans;
};

/* Names that were not asked for but resemble what was, best first. */
struct signal_near {
	struct {
		char name[128];
		unsigned int distance;
	} best[3];
	size_t count;
};

/* Notes @name if it resembles @wanted more than what is there. */
void signal_near_note(struct signal_near *near, const char *wanted, const char *name);

/* Whether the file at @path may hold a signal, by its name. @wish may be NULL. */
bool signal_likely(const char *path, const struct signal_wish *wish);

/* The same, of what the user asked for only. */
bool signal_wish_likely(const char *path, const struct signal_wish *wish);

/*
 * Appends the signals that @file (mapped as @path) holds, by its symbols. If what the
 * user asked for should be in this file but is not, @near gains what resembles it. 0 or -ENOMEM.
 */
int signal_plan_file(const struct elf_file *file, const char *path, const struct signal_wish *wish,
	struct signal_plans *ret, struct signal_near *near);
