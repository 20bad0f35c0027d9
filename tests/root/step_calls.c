/*
 * Functions to be called a known number of times. The one source becomes several libraries: a signal's
 * library is known by its file's name.
 */
#include <pthread.h>
#include <stddef.h>

#if __has_include(<sys/sdt.h>)
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
__extension__ unsigned short steps_guarded_semaphore __attribute__((section(".probes")));
#else
#define DTRACE_PROBE(provider, name)
static unsigned short steps_guarded_semaphore;
#endif

#define CALLED __attribute__((noinline, noclone, visibility("default")))

static volatile long work;

CALLED void step_once(void)
{
	work++;
}

/* Begins with an instruction that no kernel lets a uprobe replace: is_prefix_bad(), uprobes.c. */
__attribute__((naked, visibility("default"))) void step_locked(void)
{
	__asm__("lock orq $0, (%rsp)\n\tret");
}

/* The same place in the code, with and without a tracer. */
CALLED void step_usdt(void)
{
	if (__atomic_load_n(&steps_guarded_semaphore, __ATOMIC_RELAXED))
		DTRACE_PROBE(steps, guarded);
	work++;
}

CALLED void cblas_sgemm(int order, int a, int b, int m, int n, int k, float alpha)
{
	work += m + n + k;
}

CALLED int ncclAllReduce(const void *from, void *to, size_t count, int type)
{
	work += (long)count;
	return 0;
}

CALLED void once_many(long calls)
{
	while (calls--)
		step_once();
}

CALLED void gemm_many(long calls, int m, int n, int k)
{
	while (calls--)
		cblas_sgemm(101, 111, 111, m, n, k, 1.0f);
}

CALLED void reduce_many(long calls, size_t count)
{
	while (calls--)
		ncclAllReduce(NULL, NULL, count, 7);
}

CALLED void usdt_many(long calls)
{
	while (calls--)
		step_usdt();
}
