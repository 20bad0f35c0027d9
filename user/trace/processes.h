/* The processes of a session: who lives, and the recording's table of them. */
#pragma once

#include "feed.h"
#include "proc.h"
#include "targets.h"
#include "u64map.h"

struct processes {
	struct feed *feed;
	const struct targets *targets;
	struct u64map live; /* pid → struct process.id */
	uint32_t ids;	    /* given out so far */
	uint64_t looked_ns; /* when their CPU time was last read */
};

/* Ids are struct process.id, 0 is none. That of @pid while it lives; get: a new one if it is not known. */
uint32_t processes_find(const struct processes *processes, pid_t pid);
uint32_t processes_get(struct processes *processes, pid_t pid);
/* NULL if it has been retired. */
struct process *processes_by_id(const struct processes *processes, uint32_t id);
/* Appends the live to what *@ret lists, for what may change their table. */
void processes_list(const struct processes *processes, struct proc_pids *ret);

/* A forked child, which is its parent, of id @from, until its exec. NULL: memory is out. */
struct process *processes_fork(struct processes *processes, uint32_t from, pid_t parent,
	pid_t child, uint64_t time_ns);
/* It became the program called @comm, at its exec. */
void processes_rename(struct processes *processes, struct process *process, const char *comm);
/* @pid has ended: its row stays until it is retired. */
void processes_bury(struct processes *processes, pid_t pid);
/* Looks how much CPU time those that live have used so far, if that is due. */
void processes_turn(struct processes *processes);
void processes_release(struct processes *processes);
