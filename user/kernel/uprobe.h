/*
 * One uprobe: a program at a place in a file, in every process that maps it, present and future. How
 * it gets there is the kernel's choice: by a link of its own (uprobe_multi, Linux 6.6, of which a
 * session, 6.13, is one kind), or by a perf event.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <bpf/libbpf.h>

/* Best first. A session is one program for a function's entry and its return. */
enum uprobe_way { UPROBE_SESSION, UPROBE_MULTI, UPROBE_PERF };

/* A uprobe in place, owned by whoever holds it; all zero: none. */
struct uprobe {
	struct bpf_link *link; /* a perf event's; or else */
	int fd; /* of the kernel's link: libbpf 1.1, which Debian 12 has, has no handle for this kind */
};

struct uprobe_place {
	const char *path;
	uint64_t offset;    /* in the file */
	uint64_t semaphore; /* of a USDT probe, offset in the file; 0: none */
	uint64_t cookie;
	bool at_return; /* of the function at @offset; not for a session's program, which sees it anyway */
	pid_t pid; /* the only process that has it, and counts its semaphore; 0: all that map the file */
};

/* The best that this kernel has, found by trying, of those that bits of @refused (1 << way) leave. */
enum uprobe_way uprobe_best_way(unsigned int refused);
const char *uprobe_way_name(enum uprobe_way way); /* plural, as in a sentence */

/* Prepares a program of type uprobe for @way, before it is loaded. @session: it is a session's. */
void uprobe_prepare(struct bpf_program *program, enum uprobe_way way, bool session);

/* Puts the loaded @program at @place, in the way for which it was prepared. 0 or -errno. */
int uprobe_attach(const struct bpf_program *program, const struct uprobe_place *place,
	struct uprobe *ret);
void uprobe_detach(struct uprobe *probe); /* waits until no CPU is in it; none is fine */
