/* What /proc says about a process. Everything read here comes from the target: bounded, never trusted. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "vec.h"

/* One line of /proc/PID/maps that is backed by a file. */
struct proc_map {
	uint64_t start, end, offset;
	uint64_t device, inode; /* device as makedev(major, minor) */
	bool exec, deleted;
	char *path; /* as the target sees or saw it, without " (deleted)" */
};

struct proc_maps {
	VEC(struct proc_map) maps;
};

/* Reads the file-backed mappings of @pid. 0 or -errno (-ESRCH: no such process). */
int proc_maps_read(pid_t pid, struct proc_maps *ret);
void proc_maps_release(struct proc_maps *maps);

struct proc_info {
	pid_t pid, ns_pid, ppid; /* ns_pid: as the process itself sees it */
	uid_t uid;
	uint64_t start_ticks; /* since boot: with the pid, names one process for ever */
	uint64_t stack_start; /* another after an exec, at random; 0 where we may not know */
	char comm[17];
	char *cmdline; /* arguments separated by NUL, cmdline_len bytes in all, secrets masked; may be NULL */
	size_t cmdline_len;
};

/* 0 or -errno (-ESRCH: no such process). The caller releases. */
int proc_info_read(pid_t pid, struct proc_info *ret);
void proc_info_release(struct proc_info *info);

/*
 * Opens the file behind @map of @pid: by map_files (survives deletion, chroot and mount namespaces),
 * else by /proc/PID/root, else by the plain path, whichever has the map's device and inode.
 * Writes the path that worked into @path. Returns a descriptor or -errno.
 */
int proc_map_open(pid_t pid, const struct proc_map *map, char *path, size_t size);

/* The same, without opening it: what stat(2) says of the file. 0 or -errno. */
struct stat;
int proc_map_stat(pid_t pid, const struct proc_map *map, struct stat *ret);

/* Lists the children of @pid, all generations, oldest first. 0 or -errno. */
struct proc_pids {
	VEC(pid_t) pids;
};
int proc_descendants(pid_t pid, struct proc_pids *ret);

/*
 * The process that thread @pid belongs to (its own id for a main thread); 0: there is no such
 * thread.
 */
pid_t proc_of_thread(pid_t pid);

/* Whether the process has ended, reaped or not: all of its threads. */
bool proc_has_exited(pid_t pid);
/* The same, but true already when it has begun to end: it maps nothing any more. */
bool proc_has_no_memory(pid_t pid);
