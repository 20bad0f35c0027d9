/*
 * Steps that work, sleep, and wait in calls of a driver, with books of the CPU time at each: after the mark, so that the
 * kernel has not just been asked for it when the mark is made.
 */
#include <stddef.h>
#include <time.h>

#define CALLED __attribute__((noinline, noclone, visibility("default")))

typedef int (*driver_call)(void *stream);

struct book {
	long cpu_ns;  /* of the thread, just after the mark */
	long spun_ns; /* of that, in the driver, by its own books */
	long gone_ns; /* likewise, with what its callers do to get there and back: probes are hit there */
};

static volatile long marks;

static long clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

CALLED void work_step(void)
{
	marks++;
}

/* By the clock, without a system call: the scheduler does not look. */
static void keep_busy(long ns)
{
	long until = clock_ns(CLOCK_MONOTONIC) + ns;

	while (clock_ns(CLOCK_MONOTONIC) < until)
		;
}

CALLED void work_run(long steps, long busy_ns, long sleep_ns, driver_call driver, void *stream,
	long calls, struct book *books)
{
	const struct timespec nap = {.tv_nsec = sleep_ns};
	long spun = 0, gone = 0;

	for (long i = 0; i < steps; i++) {
		work_step();
		books[i] = (struct book){clock_ns(CLOCK_THREAD_CPUTIME_ID), spun, gone};
		keep_busy(busy_ns);
		if (sleep_ns)
			nanosleep(&nap, NULL);
		gone -= clock_ns(CLOCK_THREAD_CPUTIME_ID);
		for (long j = 0; driver && j < calls; j++)
			spun += driver(stream);
		gone += clock_ns(CLOCK_THREAD_CPUTIME_ID);
	}
	work_step();
	books[steps] = (struct book){clock_ns(CLOCK_THREAD_CPUTIME_ID), spun, gone};
}
