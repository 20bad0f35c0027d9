/* What became of the current thread's time, by the kernel's books of it. */
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static inline long clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

/* For how long it has waited for a processor. */
static inline long waited_ns(void)
{
	static _Thread_local int file = -1;
	char text[100];

	if (file < 0)
		file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	text[pread(file, text, sizeof(text) - 1, 0)] = '\0';
	return atol(strchr(text, ' '));
}

/* For how long it has neither run nor waited for a processor: it slept, or a hypervisor or an interrupt had its processor. */
static inline long away_ns(void)
{
	long waited, away;

	do { /* until it did not wait meanwhile */
		waited = waited_ns();
		away = clock_ns(CLOCK_MONOTONIC) - clock_ns(CLOCK_THREAD_CPUTIME_ID) - waited;
	} while (waited_ns() != waited);
	return away;
}

/* Returns what of it away_ns() counts. */
static inline long sleep_ns(long ns)
{
	const struct timespec nap = {.tv_nsec = ns};
	long before;

	if (!ns)
		return 0;
	before = away_ns();
	nanosleep(&nap, NULL);
	return away_ns() - before;
}
