/* The workload that `gctrace run` starts: its own user, its own signals, its own exit status. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture.h"
#include "cleanup.h"

/* Under sudo: back to the user who called it, groups and environment included. 0 or -errno. */
static int become_caller(void)
{
	const char *uid_text = getenv("SUDO_UID"), *gid_text = getenv("SUDO_GID");
	const struct passwd *user;
	uid_t uid;
	gid_t gid;

	if (geteuid() || !uid_text || !gid_text)
		return 0;
	uid = (uid_t)strtoul(uid_text, NULL, 10);
	gid = (gid_t)strtoul(gid_text, NULL, 10);
	user = getpwuid(uid);
	if (user && initgroups(user->pw_name, gid))
		return -errno;
	if (setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return -errno;
	if (user) {
		setenv("HOME", user->pw_dir, 1);
		setenv("USER", user->pw_name, 1);
		setenv("LOGNAME", user->pw_name, 1);
	}
	return 0;
}

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
	code = -become_caller();
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
