#include "probe.h"

#define _SDT_HAS_SEMAPHORES 1
#define STAP_SDT_ARG_CONSTRAINT                                                                    \
	r /* clang would take memory, in which BPF does not look for arguments */
#include <sys/sdt.h>

/* Where the notes of the probes say that they are; the kernel writes to them. */
__extension__ volatile unsigned short gctrace_gpu_semaphore
	__attribute__((section(".probes"), visibility("hidden")));

__extension__ volatile unsigned short gctrace_nvtx_semaphore
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

bool probe_ranges_wanted(void)
{
	return gctrace_nvtx_semaphore != 0;
}

void probe_range(const char *name, size_t length)
{
	const struct gc_nvtx_range range = {(uintptr_t)name, length};
	/* Where step signals look for the first argument. */
	register const struct gc_nvtx_range *argument __asm__("rdi") = &range;

	__asm__ volatile(""
			 :
			 : "r"(&range)
			 : "memory"); /* it is read there, which sdt.h does not say */
	STAP_PROBE1(gctrace, nvtx, argument);
}
