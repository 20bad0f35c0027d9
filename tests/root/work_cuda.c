/* A driver to test with, as libcuda.so.1: its calls wait as told, by spinning or asleep, and return their own CPU time. */
#include <time.h>

#define CALLED __attribute__((noinline, noclone, visibility("default")))

struct stream {
	long spin_ns, sleep_ns;
};

static long clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static int do_as_told(const struct stream *stream)
{
	const struct timespec nap = {.tv_nsec = stream->sleep_ns};
	long start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	long until = clock_ns(CLOCK_MONOTONIC) + stream->spin_ns;

	while (clock_ns(CLOCK_MONOTONIC) < until)
		;
	if (stream->sleep_ns)
		nanosleep(&nap, NULL);
	return (int)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - start);
}

CALLED int cuStreamSynchronize(const struct stream *stream)
{
	return do_as_told(stream);
}

/* A call that waits within one. */
CALLED int cuMemcpyDtoH_v2(const struct stream *stream)
{
	int first = cuStreamSynchronize(stream);

	return first + cuStreamSynchronize(stream) + do_as_told(stream);
}

/* The driver's own returns at once: a loop that polls it is at work. */
CALLED int cuStreamQuery(const struct stream *stream)
{
	return do_as_told(stream);
}

static volatile long calls;

CALLED int cuEventSynchronize(const struct stream *stream)
{
	calls++;
	return 0;
}
