/* A scan that has found something, a look that is due → the reader wakes, long before its next tick. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "cleanup.h"
#include "wake.h"

/* Nobody asks the ring's epoll instance which descriptor it was. */
static int add(const struct wake *wake, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return fd < 0 || epoll_ctl(wake->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int wake_open(struct wake *wake, int epoll, struct err *err)
{
	int r;

	wake->epoll = epoll;
	wake->called = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = add(wake, wake->called);
	if (!r) {
		wake->due = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
		r = add(wake, wake->due);
	}
	return r ? err_set(err, -r, "no timer or event of the kernel's: %s", strerror(-r)) : 0;
}

void wake_close(struct wake *wake)
{
	cleanup_close(&wake->called);
	cleanup_close(&wake->due);
}

void wake_now(int called)
{
	eventfd_write(called, 1);
}

void wake_at(struct wake *wake, uint64_t time_ns)
{
	const struct itimerspec at = {
		.it_value = {(time_t)(time_ns / 1000000000), (long)(time_ns % 1000000000)}};

	if (wake->due_ns && wake->due_ns <= time_ns)
		return;
	wake->due_ns = time_ns;
	timerfd_settime(wake->due, TFD_TIMER_ABSTIME, &at, NULL);
}

void wake_clear(struct wake *wake)
{
	eventfd_t count;
	uint64_t ticks;

	eventfd_read(wake->called, &count);
	if (read(wake->due, &ticks, sizeof(ticks)) == sizeof(ticks))
		wake->due_ns = 0;
}
