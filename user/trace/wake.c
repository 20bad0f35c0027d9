/* A scan that has found something, a look that is due → the reader wakes, long before its next tick. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "cleanup.h"
#include "trace_priv.h"

/* Nobody asks the ring's epoll instance which descriptor it was. */
static int add(struct trace *trace, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return fd < 0 || epoll_ctl(trace_fd(trace), EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int trace_wake_open(struct trace *trace, struct err *err)
{
	int r;

	trace->scanned = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = add(trace, trace->scanned);
	if (!r) {
		trace->due = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
		r = add(trace, trace->due);
	}
	return r ? err_set(err, -r, "no timer or event of the kernel's: %s", strerror(-r)) : 0;
}

void trace_wake_close(struct trace *trace)
{
	cleanup_close(&trace->scanned);
	cleanup_close(&trace->due);
}

void trace_wake_now(int fd)
{
	eventfd_write(fd, 1);
}

void trace_wake_at(struct trace *trace, uint64_t time_ns)
{
	const struct itimerspec at = {
		.it_value = {(time_t)(time_ns / 1000000000), (long)(time_ns % 1000000000)}};

	if (trace->due_ns && trace->due_ns <= time_ns)
		return;
	trace->due_ns = time_ns;
	timerfd_settime(trace->due, TFD_TIMER_ABSTIME, &at, NULL);
}

void trace_woken(struct trace *trace)
{
	eventfd_t count;
	uint64_t ticks;

	eventfd_read(trace->scanned, &count);
	if (read(trace->due, &ticks, sizeof(ticks)) == sizeof(ticks))
		trace->due_ns = 0;
}
