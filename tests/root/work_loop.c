/* Steps that work, sleep, and wait in calls of a driver, with books of the CPU time at each. */
#include <stddef.h>

#include "thread_time.h"

#define CALLED __attribute__((noinline, noclone, visibility("default")))

struct stream; /* of the driver */

typedef int (*driver_call)(struct stream *stream);

struct book {
	long cpu_ns;  /* of the thread, just after the mark */
	long spun_ns; /* of that, in the driver, by its own books */
	long gone_ns; /* likewise, with what its callers do to get there and back: probes are hit there */
	long taken_ns; /* from the thread, which neither ran, nor waited for a processor, nor meant to sleep */
	long took_ns; /* from before the mark until cpu_ns was read */
};

static volatile long marks;

CALLED void work_step(void)
{
	marks++;
}

/* The books are written after it, so that the kernel has not just been asked for the CPU time when the mark is made. */
static struct book set_mark(long spun, long gone, long slept)
{
	struct book book = {.spun_ns = spun, .gone_ns = gone};
	long start = clock_ns(CLOCK_MONOTONIC);

	work_step();
	book.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	book.took_ns = clock_ns(CLOCK_MONOTONIC) - start;
	book.taken_ns = away_ns() - slept;
	return book;
}

/* By the clock, without a system call: the scheduler does not look. */
static void keep_busy(long ns)
{
	long until = clock_ns(CLOCK_MONOTONIC) + ns;

	while (clock_ns(CLOCK_MONOTONIC) < until)
		;
}

/* @driver_slept: in its calls. */
CALLED void work_run(long steps, long busy, long nap, driver_call driver, struct stream *stream,
	const long *driver_slept, long calls, struct book *books)
{
	long spun = 0, gone = 0, slept = 0;

	for (long i = 0; i < steps; i++) {
		books[i] = set_mark(spun, gone, slept + *driver_slept);
		keep_busy(busy);
		slept += sleep_ns(nap);
		gone -= clock_ns(CLOCK_THREAD_CPUTIME_ID);
		for (long j = 0; driver && j < calls; j++)
			spun += driver(stream);
		gone += clock_ns(CLOCK_THREAD_CPUTIME_ID);
	}
	books[steps] = set_mark(spun, gone, slept + *driver_slept);
}
