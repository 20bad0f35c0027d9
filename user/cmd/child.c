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
#include "log.h"

/*
 * The new process: waits at the gate, then becomes the workload or reports why it cannot. If the
 * gate closes without a byte, the tracer has died, and nothing may run untraced.
 */
static void __attribute__((noreturn)) become_workload(char **argv, const char *shim, int gate,
	int complaint)
{
	int code;
	char byte;
	ssize_t len;

	do
		len = read(gate, &byte, 1);
	while (len < 0 && errno == EINTR);
	if (len != 1)
		_exit(126);
	code = -caller_become();
	if (!code) {
		/* What is there is the user's, also if it is empty: their own shim, or none. */
		if (shim) {
			setenv("CUDA_INJECTION64_PATH", shim, false);
			setenv("NVTX_INJECTION64_PATH", shim, false);
		}
		execvp(argv[0], argv);
		code = errno;
	}
	if (write(complaint, &code, sizeof(code)) < 0)
		_exit(126);
	_exit(code == ENOENT ? 127 : 126);
}

int child_start(char **argv, const char *shim, struct capture_child *ret, struct err *err)
{
	int gate[2], complaint[2];
	pid_t pid;

	if (pipe2(gate, O_CLOEXEC) || pipe2(complaint, O_CLOEXEC))
		return err_set(err, errno, "no pipe: %s", strerror(errno));
	caller_look_up();
	pid = fork();
	if (pid < 0)
		return err_set(err, errno, "no new process: %s", strerror(errno));
	if (!pid) {
		close(gate[1]);
		become_workload(argv, shim, gate[0], complaint[1]);
	}
	close(gate[0]);
	close(complaint[1]);
	*ret = (struct capture_child){.pid = pid,
		.argv = argv,
		.name = argv[0],
		.gate = gate[1],
		.complaint = complaint[0]};
	return 0;
}

int child_release(struct capture_child *child, struct err *err)
{
	int code = 0;

	if (write(child->gate, "", 1) != 1)
		log_debug("%s ended before it was started", child->name);
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

static volatile sig_atomic_t workload; /* the process that our signals are forwarded to; 0: none */

/* Signals from the kernel, as from a keyboard, go to the whole foreground process group. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	if (workload && info->si_code != SI_KERNEL)
		kill(workload, number);
	errno = saved;
}

void child_pass_signals(const struct capture_child *child, const sigset_t *signals)
{
	struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};
	sigset_t passed = *signals;

	sigdelset(&passed, SIGCHLD);
	workload = child->ended ? 0 : child->pid;
	for (int number = 1; number < NSIG; number++)
		if (sigismember(&passed, number) == 1)
			sigaction(number, &action, NULL);
	sigprocmask(SIG_UNBLOCK, &passed, NULL);
}

void child_reap(struct capture_child *child)
{
	if (child->pid && !child->ended &&
		waitpid(child->pid, &child->status, WNOHANG) == child->pid)
		child->ended = true;
}

bool child_finish(struct capture_child *child)
{
	bool released = child->gate < 0;
	siginfo_t end;

	if (child->ended)
		return released;
	if (!released)
		kill(child->pid, SIGKILL);
	/* Its pid is not reused until it is reaped. */
	while (waitid(P_PID, (id_t)child->pid, &end, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	workload = 0;
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
