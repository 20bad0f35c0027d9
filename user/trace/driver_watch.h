/*
 * CUDA's driver in traced processes without the shim: its calls, by uprobes → facts. What is seen so is not what a device
 * did, but what the program asked of it. Launches are only counted, and let go where even that costs too much.
 */
#pragma once

#include "driver_call.h"
#include "event.h"
#include "feed.h"
#include "gpu_fact.h"
#include "proc.h"
#include "programs.h"
#include "u64map.h"

struct driver_process {
	pid_t pid;
	uint32_t process; /* struct process.id */
	VEC(struct driver_probe {
		struct uprobe at_entry;
		struct uprobe at_return;
		bool launches;
	})
	probes;
	uint64_t weight; /* what a launch costs, in hits of cheap instructions */
	uint64_t attached_ns, let_go_ns, failed;
	bool changed;
	/* The leaky bucket: how far the hits so far reach, at what they may cost. */
	uint64_t due_ns;
	struct driver_hits {
		uint64_t launches, calls;
	} hits, before; /* so far, and at the look before */
	bool let_go_all;
	struct u64map sizes; /* of what is allocated, by address */
};

struct driver_watch {
	struct feed *feed;
	const struct programs *programs;
	bool on, launches; /* launches: they are counted, too */
	VEC(struct driver_process) processes;
	struct u64map told; /* launches, by pid and tid */
	uint64_t looked_ns;
	size_t attached; /* so far */
	uint64_t facts, unprobed, bad;
	struct err why; /* the last that could not be probed */
};

void driver_watch_close(struct driver_watch *watch);
/* Probes the driver among @maps, of @pid. */
void driver_watch_look(struct driver_watch *watch, pid_t pid, uint32_t process,
	const struct proc_maps *maps);
void driver_watch_event(struct driver_watch *watch, const struct event *event);
/* Lets go of the program that @pid was, or whose GPUs the shim records from now on. */
void driver_watch_over(struct driver_watch *watch, pid_t pid);
/* Tells what is known by now, and lets go what costs too much. */
void driver_watch_turn(struct driver_watch *watch);
/* The last word, when the ring is empty. */
void driver_watch_finish(struct driver_watch *watch);
