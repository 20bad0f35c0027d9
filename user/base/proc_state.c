/* /proc/PID/stat → enum proc_state. */
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "proc.h"
#include "proc_state.h"

/* include/linux/sched.h */
#define PF_FORKNOEXEC 0x00000040u
#define PF_KTHREAD    0x00200000u

/* The letter and the flags in /proc/PID/stat. */
static bool read_stat(pid_t pid, char *ret_state, unsigned int *ret_flags)
{
	_cleanup_fclose_ FILE *stream = NULL;
	char line[512], *rest;
	size_t len;

	snprintf(line, sizeof(line), "/proc/%d/stat", pid);
	stream = fopen(line, "re");
	if (!stream)
		return false;
	len = fread(line, 1, sizeof(line) - 1, stream);
	line[len] = '\0';
	/* The name before the last parenthesis may hold any character. */
	rest = strrchr(line, ')');
	return rest && sscanf(rest + 1, " %c %*d %*d %*d %*d %*d %u", ret_state, ret_flags) == 2;
}

bool proc_is_forked(pid_t pid)
{
	unsigned int flags;
	char state;

	return read_stat(pid, &state, &flags) && flags & PF_FORKNOEXEC;
}

enum proc_state proc_state(pid_t pid)
{
	unsigned int flags;
	char state;

	if (!read_stat(pid, &state, &flags))
		return PROC_GONE;
	if (flags & PF_KTHREAD)
		return PROC_KERNEL;
	if (state == 'X')
		return PROC_GONE;
	if (state == 'Z')
		return proc_has_exited(pid) ? PROC_ZOMBIE : PROC_HEADLESS;
	return PROC_PROGRAM;
}
