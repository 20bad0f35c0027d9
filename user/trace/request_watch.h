/*
 * HTTP/1 requests of traced processes that serve, by uprobes on the C library's functions that receive and send, in
 * those processes alone → marks of three signals, whose number is the connection's descriptor, and one of what is not told.
 */
#pragma once

#include "request_call.h"
#include "steps.h"

/* A process that has been looked at, and its probes. */
struct request_process {
	pid_t pid;
	uint64_t due_ns, wait_ns; /* when it is looked at again, after how long */
	bool serves, failed;
	VEC(struct request_probe {
		struct uprobe at_entry;
		struct uprobe at_return; /* of those that accept or receive */
	})
	probes;
};

struct request_watch {
	struct step_watch *steps;
	const struct processes *processes;
	VEC(struct request_process) servers; /* and those that may become some */
	uint64_t rated_ns, rated_hits; /* when hits were last counted, and how many there were */
	bool let_go;
};

void request_watch_close(struct request_watch *watch);
/* Looks for servers among the processes, and lets go of their calls if they cost too much. */
void request_watch_turn(struct request_watch *watch);
/* Lets go of the program that @pid was. */
void request_watch_over(struct request_watch *watch, pid_t pid);
