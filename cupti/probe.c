#include "probe.h"

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

/* Where the note of the probe says that it is; the kernel writes to it. */
__extension__ volatile unsigned short gctrace_gpu_semaphore
	__attribute__((section(".probes"), visibility("hidden")));

bool probe_attached(void)
{
	return gctrace_gpu_semaphore != 0;
}

/* The arguments of a function of their own are in registers, where BPF can read them without an address. */
static __attribute__((noinline)) void fire(const struct gc_gpu_record *records, uint32_t count)
{
	STAP_PROBE2(gctrace, gpu, records, count);
}

void probe_hand_over(const struct gc_gpu_record *records, uint32_t count)
{
	while (count && probe_attached()) {
		uint32_t some = count < GC_GPU_RECORDS ? count : GC_GPU_RECORDS;

		fire(records, some);
		records += some;
		count -= some;
	}
}
