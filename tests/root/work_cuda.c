/* A driver to test with, as libcuda.so.1: its calls wait as told, by spinning or asleep, and return their own CPU time. */
#include "thread_time.h"

#define CALLED __attribute__((noinline, noclone, visibility("default")))

struct stream {
	long spin_ns, sleep_ns;
	long slept_ns; /* in all */
};

static int do_as_told(struct stream *stream)
{
	long start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	long until;

	do { /* again where another had the processor meanwhile: a quarter of it is CPU time */
		until = clock_ns(CLOCK_MONOTONIC) + stream->spin_ns;
		while (clock_ns(CLOCK_MONOTONIC) < until)
			;
	} while (clock_ns(CLOCK_THREAD_CPUTIME_ID) - start < stream->spin_ns / 4);
	stream->slept_ns += sleep_ns(stream->sleep_ns);
	return (int)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - start);
}

CALLED int cuStreamSynchronize(struct stream *stream)
{
	return do_as_told(stream);
}

/* A call that waits within one. */
CALLED int cuMemcpyDtoH_v2(struct stream *stream)
{
	int first = cuStreamSynchronize(stream);

	return first + cuStreamSynchronize(stream) + do_as_told(stream);
}

/* The driver's own returns at once: a loop that polls it is at work. */
CALLED int cuStreamQuery(struct stream *stream)
{
	return do_as_told(stream);
}

static volatile long calls;

CALLED int cuEventSynchronize(struct stream *stream)
{
	calls++;
	return 0;
}
