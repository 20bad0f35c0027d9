/*
 * The BPF programs: loaded in parts, as this kernel can probe with them, and attached to what is not a place in a
 * file. What is a runtime's comes as a list of its own; no runtime is known here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <bpf/libbpf.h>

#include "err.h"
#include "uprobe.h"
#include "vec.h"

struct gctrace_bpf; /* gctrace.skel.h */

/* With uprobe sessions one program serves both ends of a function, else each has its own. */
enum program_use { USE_ALWAYS, USE_SESSION, USE_PAIR };

/*
 * A BPF program of a runtime, in a list that ends with one without a name. Those of part 0 are loaded as the
 * session begins; each other part when a program of it is first to be attached. Those of tracepoints are attached
 * with their part.
 */
struct capture_program {
	const char *name;
	unsigned int part;
	enum program_use use;
};

/* What is to be loaded, and what the programs are told as they are. */
struct program_settings {
	const struct capture_program *const *lists; /* a runtime's each; ends with NULL */
	uint64_t min_stack_ns;
	uint64_t buffer_bytes; /* of the ring buffer; rounded up to a power of two */
	bool children;	       /* forked ones are followed */
	bool steps;	       /* the program of step signals is needed */
	bool step_watches;     /* that for places that no uprobe can be at, too */
	bool gpu;	       /* that of the CUPTI shim is */
	bool gpu_driver;       /* those of CUDA's driver are */
};

/* Further programs of a runtime, with the maps of the first. */
struct program_part {
	const struct capture_program *list;
	unsigned int part;
	struct gctrace_bpf *bpf;
};

/* All zero: nothing is loaded. */
struct programs {
	struct program_settings settings;
	struct gctrace_bpf *bpf; /* the first: those of no runtime, and of each its part 0 */
	VEC(struct program_part) parts;
	VEC(struct bpf_link *) tracepoints;
	struct bpf_link *last[2]; /* what has to run behind those at the same tracepoints */
	unsigned int refused;	  /* features that a test forbids */
	enum uprobe_way way; /* how functions are probed: by sessions, or by pairs of uprobes */
};

/*
 * Loads the first programs, once this kernel and its limits allow it. What @settings points to must outlive
 * @programs. 0 or -errno with the remedy.
 */
int programs_load(struct programs *programs, const struct program_settings *settings,
	struct err *err);
/* Loads what has not been of every runtime, to learn whether the kernel takes it. 0 or -errno with the remedy. */
int programs_load_rest(struct programs *programs, struct err *err);
/* Attaches those of tracepoints: from here on processes are followed. 0 or -errno with a sentence. */
int programs_follow(struct programs *programs, struct err *err);
/* The program called @name, of @list, loaded with its part if it was not. 0 or -errno with the remedy. */
int programs_find(struct programs *programs, const struct capture_program *list, const char *name,
	struct bpf_program **ret, struct err *err);
void programs_release(struct programs *programs); /* detaches the tracepoints, too */

/* Puts a uprobe on gctrace itself and hits it. 0, or -errno with a sentence: it was not seen. */
int programs_hit_ourselves(struct programs *programs, struct err *err);
/* Offset in our own executable of what is at @code; 0: not found. */
uint64_t programs_own_offset(const void *code);
