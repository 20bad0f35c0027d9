/* Whether a process id stands for a running program. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

enum proc_state {
	PROC_GONE,     /* no such process, or none that we may see */
	PROC_ZOMBIE,   /* ended, not yet waited for */
	PROC_HEADLESS, /* its main thread has ended, others run: /proc/PID has no maps */
	PROC_KERNEL,   /* a thread of the kernel */
	PROC_PROGRAM,
};

enum proc_state proc_state(pid_t pid);

/* Whether it was forked and has not called exec since: it is a copy of what its parent was. */
bool proc_is_forked(pid_t pid);
