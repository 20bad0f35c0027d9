/*
 * What would be probed in a process, and how. In: a pid and its maps. Out: plans, which trace/
 * attaches. A runtime is one ops table, in user/runtime/NAME/capture/, and its programs in bpf/NAME/.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "elf_file.h"
#include "err.h"
#include "gc_wire.h"
#include "load.h"
#include "proc.h"
#include "settings.h"
#include "u64map.h"

struct runtime_ops;
struct capture_ops;
struct probe_books;
struct stranger;

/* A place to probe. Programs are BPF programs by their names. */
struct probe_site {
	unsigned int kind;  /* what the runtime calls it */
	uint64_t offset;    /* in the file */
	uint64_t semaphore; /* USDT: its offset in the file, 0 without */
	uint64_t address;   /* of a watchpoint: in the process; 0: it is a uprobe */
	uint64_t
		cookie; /* what the program is told besides the site, from bit 40 on: GC_COOKIE_OF() */
	const char *
		program; /* at the place; of a call: at the function's entry; NULL: only its end is seen */
	const char *
		end; /* of a call, from the function's entry to its return: at the return; else NULL */
	const char *
		session; /* of a call: in the place of both, where the kernel has uprobe sessions */
	bool at_return;	 /* @program, at the return of the function at @offset */
	bool ends;	 /* attached first, so that no begin is seen whose end is not */
	bool optional;	 /* may fail to attach: then some facts are unknown */
	bool missing;	 /* it is optional, and could not be attached */
};

#define PROBE_OWN_BYTES 1024

struct probe_plan {
	const struct runtime_ops *ops;
	char kind[16], version[32], tier[24];
	char detail[160];	   /* for people: "gc_collect_main+4 (push, emulated)" */
	char path[PATH_MAX];	   /* by which the file can be opened from here */
	char shown_path[PATH_MAX]; /* as the target names it */
	uint64_t device, inode;
	uint64_t page_vaddr; /* address in the file of where its first executable mapping begins */
	bool per_process;    /* addresses of one process: not to be used for another */
	struct probe_site sites[GC_MAX_SITES];
	size_t site_count;
	bool single_stepped; /* a probe sits on an instruction that costs ten times more */
	/* What the runtime keeps of the file: a struct of its own. */
	_Alignas(16) unsigned char own[PROBE_OWN_BYTES];
};

/* A mapped file that holds a runtime. */
struct probe_image {
	const struct runtime_ops *ops;
	struct proc_map map; /* its first executable mapping; path owned by the maps it came from */
};

#define PROBE_MAX_IMAGES 8
#define PROBE_COUNTERS	 4

struct runtime_ops {
	const char *kind;	   /* of struct runtime, for good */
	const char *label;	   /* what people call it: name and versions */
	const char *debug_package; /* Debian's name for its debug symbols, "fooX.Y-dbg", or NULL */
	const char *const *commands; /* by which it is usually started; NULL-terminated */
	/* Paths from its launcher's folder to what that loads by itself, or NULL; NULL-terminated. */
	const char *const *beside;
	const char *const *tiers; /* ways to see a pause, best first; NULL-terminated */
	/* A cheap guess by the file's name, tried before any file is opened. */
	bool (*likely)(const char *path);
	/* Whether the opened file is this runtime. */
	bool (*match)(const struct elf_file *file);
	/* Fills version, layout, sites and detail for exactly one tier. -ENOENT: not this way. */
	int (*plan)(pid_t pid, const struct probe_image *image, const struct elf_file *file,
		const char *tier, struct probe_plan *ret, struct err *err);
	const char *const *
		counters; /* what its books count: "generation 0"; NULL-terminated, at most PROBE_COUNTERS */
	/* See probe_books(); @bias: what the process added to the file's addresses. NULL: otherwise. */
	int (*books)(pid_t pid, uint64_t bias, const struct probe_plan *plan,
		struct probe_books *ret);
	/* See probe_fits(). NULL: nothing is assumed that the file does not say. */
	int (*fits)(pid_t pid, uint64_t bias, const struct probe_plan *plan);
	/*
	 * For people: what only the running process knows, "17.0.15 (G1)", and what cannot be known of it.
	 * NULL: the plan's version is all there is.
	 */
	void (*describe)(pid_t pid, const struct probe_image *image, const struct probe_plan *plan,
		char *ret, size_t size, char *ret_lacks, size_t lacks_size);
	/* Its kin, which it does not trace, or NULL; ordered, up to one without a name. */
	const struct stranger *strangers;
	/*
	 * Finds a library beside a traced runtime that collects for itself: a sentence into @ret. NULL: there
	 * is nothing of the kind.
	 */
	bool (*beside_it)(pid_t pid, const struct proc_maps *maps, char *ret, size_t size);
	const struct capture_ops *capture; /* trace/trace_runtime.h */
	const struct settings_ops
		*settings;	     /* settings.h; NULL: none can be changed while it runs */
	const struct load_ops *load; /* load.h; NULL: it cannot be asked to load a library */
	const char *no_load;	     /* then: who can have it do so, a clause; or NULL */
	const char *no_settings;     /* then: what to do instead, a clause; or NULL */
};

extern const struct runtime_ops
	*const probe_runtimes[]; /* NULL-terminated; user/runtime/meson.build */

/*
 * Lists the runtimes mapped by @pid: files with likely names first, the others only if none of those was one.
 * Returns how many.
 */
size_t probe_find(pid_t pid, const struct proc_maps *maps, struct probe_image *ret, size_t max);

/* What files were found to be, by their stat(2) data. A zeroed one is empty and ready. */
struct probe_known {
	struct u64map files;		 /* index into probe_runtimes + 1; 0: no runtime */
	const struct stranger *stranger; /* the first that was met; NULL: none */
};
void probe_known_release(struct probe_known *known);

/* The same, but opens no file again that has not changed since. */
size_t probe_find_known(struct probe_known *known, pid_t pid, const struct proc_maps *maps,
	struct probe_image *ret, size_t max);

/*
 * Why probe_find() found nothing, where that has a reason: -ENOEXEC if the program itself is not one that
 * gctrace can read, -ENOTSUP if a library that should be a runtime is not, -EMFILE, -ENFILE or -ENOMEM if
 * gctrace ran out of files or memory; each with a sentence. Else 0.
 */
int probe_foreign(pid_t pid, const struct proc_maps *maps, struct err *err);

/*
 * Plans one image by the first tier, from index *@tier on, that the file allows, and leaves its index in
 * *@tier; a tier with a single-stepped probe yields to a later one with cheap probes, except the watchpoint,
 * which costs even more. If attaching fails, try again from *@tier + 1. @only: name of the one tier allowed,
 * or NULL. 0, or -ENOENT with the sentences of all tiers that said no.
 */
int probe_plan(pid_t pid, const struct probe_image *image, const char *only, size_t *tier,
	struct probe_plan *ret, struct err *err);

/* The runtime's own books: of its main interpreter, if it has several. */
struct probe_books {
	uint64_t
		owner; /* the interpreter that counts them, or 0: the process has but one place for them */
	uint64_t counts[PROBE_COUNTERS];
	const char *const *names; /* of the counts: the runtime's .counters */
	bool collecting;	  /* one is under way that the counts do not hold */
};

/* Reads them in @pid, where @map is the image's mapping. 0, or -errno if they cannot be read (yet). */
int probe_books(pid_t pid, const struct proc_map *map, const struct probe_plan *plan,
	struct probe_books *ret);

/*
 * Whether the runtime in @pid keeps its state where @plan says. 0, -EPROTO if not, or -EAGAIN: that is not
 * known yet, for instance because it is still starting up.
 */
int probe_fits(pid_t pid, const struct proc_map *map, const struct probe_plan *plan);

/* For runtimes: the address in the file at which @map begins. 0 or -ENOENT. */
int probe_first_page(const struct elf_file *file, const struct proc_map *map, uint64_t *ret);

/* For runtimes: the debug file of @file, in the file system as @pid sees it, else in ours. 0 or -ENOENT. */
int probe_open_debug(pid_t pid, const struct proc_map *map, const struct elf_file *file,
	struct elf_file **ret, struct err *err);

/* Whether a mapped file is called like a dynamic linker. */
bool probe_is_linker(const char *path);

/*
 * The dynamic linker's r_brk hook of @pid: told when libraries come and go. 0, -ENOENT if it has none,
 * or why its linker could not be opened.
 */
int probe_linker_hook(pid_t pid, const struct proc_maps *maps, char *ret_path, size_t size,
	uint64_t *ret_offset);
