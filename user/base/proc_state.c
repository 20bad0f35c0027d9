/* /proc/PID/stat → enum proc_state. */
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "proc.h"
#include "proc_state.h"

#define PF_KTHREAD 0x00200000u /* include/linux/sched.h */

enum proc_state proc_state(pid_t pid)
{
	_cleanup_fclose_ FILE *stream = NULL;
	unsigned int flags;
	char line[512], state, *rest;
	size_t len;

	snprintf(line, sizeof(line), "/proc/%d/stat", pid);
	stream = fopen(line, "re");
	if (!stream)
		return PROC_GONE;
	len = fread(line, 1, sizeof(line) - 1, stream);
	line[len] = '\0';
	/* The name before the last parenthesis may hold any character. */
	rest = strrchr(line, ')');
	if (!rest || sscanf(rest + 1, " %c %*d %*d %*d %*d %*d %u", &state, &flags) != 2)
		return PROC_GONE;
	if (flags & PF_KTHREAD)
		return PROC_KERNEL;
	if (state == 'X')
		return PROC_GONE;
	if (state == 'Z')
		return proc_has_exited(pid) ? PROC_ZOMBIE : PROC_HEADLESS;
	return PROC_PROGRAM;
}
