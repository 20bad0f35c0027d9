/* The end of a pipe → the settings put back. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "watcher.h"

enum { PIPE, MEMORY, STATE, FOLDER, KEPT };

/* *@fd becomes @number, unless it is none. */
static void move(int *fd, int number)
{
	if (*fd >= 0)
		*fd = dup2(*fd, number);
	else
		close(number);
}

/*
 * Keeps four descriptors. The rest above all the BPF links, which would outlive gctrace with it; and whoever reads our
 * output would wait for its end. The system call is as old as Linux 5.9, but not every libc has it.
 */
static void keep(int pipe, struct subject *subject)
{
	move(&pipe, PIPE);
	move(&subject->memory, MEMORY);
	move(&subject->undo.file, STATE);
	move(&subject->undo.folder, FOLDER);
	syscall(SYS_close_range, (unsigned int)KEPT, ~0u, 0u);
}

/* The OOM killer leaves it alone, even where it kills a whole cgroup. May be refused: then it does not. */
static void stay_out_of_memory_killings(void)
{
	_cleanup_close_ int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "-1000", 5) < 0)
		return;
}

/* What is sent to gctrace's group is not for it: it must outlive that. */
static void watch(struct subject subject, int pipe)
{
	const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE};
	struct err ignored;
	char byte;

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		signal(signals[i], SIG_IGN);
	setsid();
	prctl(PR_SET_NAME, "gctrace-watcher");
	stay_out_of_memory_killings();
	keep(pipe, &subject);
	while (read(PIPE, &byte, 1) < 0 && errno == EINTR)
		;
	subject_restore(&subject, &ignored);
	state_close(&subject.undo);
}

int watcher_start(const struct subject *subject, struct watcher *ret, struct err *err)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return err_set(err, errno, "a pipe cannot be made: %s", strerror(errno));
	pid = fork();
	if (!pid) {
		close(ends[1]);
		watch(*subject, ends[0]);
		_exit(0);
	}
	close(ends[0]);
	if (pid < 0) {
		int error = errno;

		close(ends[1]);
		return err_set(err, error, "the watcher cannot be started: %s", strerror(error));
	}
	*ret = (struct watcher){.pid = pid, .pipe = ends[1]};
	return 0;
}

bool watcher_lives(struct watcher *watcher)
{
	if (watcher->pid > 0 && waitpid(watcher->pid, NULL, WNOHANG) == watcher->pid)
		watcher->pid = 0;
	return watcher->pid > 0;
}

void watcher_end(struct watcher *watcher)
{
	if (watcher->pipe > 0)
		close(watcher->pipe);
	if (watcher->pid > 0)
		while (waitpid(watcher->pid, NULL, 0) < 0 && errno == EINTR)
			;
	*watcher = (struct watcher){};
}
