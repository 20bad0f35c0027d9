/* An exit status in; out comes the same, or EXIT_FAILED if stdout could not be written. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "log.h"
#include "streams.h"

static void nothing(int signal)
{
	(void)signal;
}

void streams_open(void)
{
	/* A handler, because exec resets it: what `gctrace run` starts has the default again. */
	const struct sigaction action = {.sa_handler = nothing, .sa_flags = SA_RESTART};
	struct sigaction old;

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
			open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC) < 0)
			return;
	if (!sigaction(SIGXFSZ, NULL, &old) && old.sa_handler == SIG_DFL)
		sigaction(SIGXFSZ, &action, NULL);
}

bool streams_reader_left(void)
{
	struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

	return poll(&out, 1, 0) == 1 && out.revents & POLLERR;
}

int streams_close(int status)
{
	bool broken = ferror(stdout);
	int error = 0;

	if (fflush(stdout)) {
		error = errno;
		broken = true;
	}
	if (!broken || streams_reader_left() || status == EXIT_FAILED) /* which has been reported */
		return status;
	log_error("stdout could not be written in full%s%s", error ? ": " : "",
		error ? strerror(error) : "");
	return status ? status : EXIT_FAILED;
}
