/* The dynamic linkers that are probed, each once: they say when a process maps a new library. */
#pragma once

#include "probe.h"
#include "programs.h"

struct linker {
	uint64_t device, inode;
};

struct linkers {
	const struct programs *programs;
	VEC(struct linker) known; /* probed, or not to be probed */
	VEC(struct uprobe) probes;
	uint64_t unprobed;
};

/* Probes the linker among @maps, of @pid (0: of a file). */
void linkers_hook(struct linkers *linkers, pid_t pid, const struct proc_maps *maps);
void linkers_close(struct linkers *linkers);
