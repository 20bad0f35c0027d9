/* The workload that `gctrace run` starts: its own user, its own signals, its own exit status. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "caller.h"
#include "capture.h"
#include "cleanup.h"

/* The new process: waits at the gate, then becomes the workload or says why it cannot. */
static void __attribute__((noreturn)) become_workload(char **argv, int gate, int complaint)
{
	sigset_t none;
	int code;
	char byte;

	while (read(gate, &byte, 1) < 0 && errno == EINTR)
		;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	code = -caller_become();
	if (!code) {
		execvp(argv[0], argv);
		code = errno;
	}
	if (write(complaint, &code, sizeof(code)) < 0)
		_exit(126);
	_exit(code == ENOENT ? 127 : 126);
}

int child_start(char **argv, struct capture_child *ret, struct err *err)
{
	int gate[2], complaint[2];
	pid_t pid;

	if (pipe2(gate, O_CLOEXEC) || pipe2(complaint, O_CLOEXEC))
		return err_set(err, errno, "no pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		return err_set(err, errno, "no new process: %s", strerror(errno));
	if (!pid) {
		close(gate[1]);
		become_workload(argv, gate[0], complaint[1]);
	}
	close(gate[0]);
	close(complaint[1]);
	*ret = (struct capture_child){.pid = pid, .name = argv[0], .gate = gate[1], .complaint = complaint[0]};
	return 0;
}

int child_release(struct capture_child *child, struct err *err)
{
	int code = 0;

	close(steal_fd(&child->gate));
	/* Nothing to read: the exec succeeded and closed the other end. */
	if (read(child->complaint, &code, sizeof(code)) <= 0)
		code = 0;
	close(steal_fd(&child->complaint));
	if (!code)
		return 0;
	waitpid(child->pid, &child->status, 0);
	child->ended = true;
	return err_set(err, code, "%s cannot be run: %s", child->name, strerror(code));
}

void child_reap(struct capture_child *child)
{
	if (child->pid && !child->ended && waitpid(child->pid, &child->status, WNOHANG) == child->pid)
		child->ended = true;
}

bool child_finish(struct capture_child *child)
{
	bool released = child->gate < 0;

	if (child->ended)
		return released;
	if (!released)
		kill(child->pid, SIGKILL);
	while (waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR)
		;
	child->ended = true;
	return released;
}

int child_exit_status(const struct capture_child *child)
{
	if (WIFSIGNALED(child->status))
		return 128 + WTERMSIG(child->status);
	return WEXITSTATUS(child->status);
}
