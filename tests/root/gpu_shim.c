/* A shim to test with: the real one's probe and its semaphore, and records as they are asked for. */
#include <stdint.h>
#include <string.h>
#include <time.h>

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#include "gpu_wire.h"

#define CALLED __attribute__((noinline, noclone, visibility("default")))

__extension__ volatile unsigned short gctrace_gpu_semaphore
	__attribute__((section(".probes"), visibility("hidden")));

CALLED int attached(void)
{
	return gctrace_gpu_semaphore;
}

CALLED void hand_over(const struct gc_gpu_record *records, uint32_t count)
{
	STAP_PROBE2(gctrace, gpu, records, count);
}

CALLED uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/*
 * @count records at @rate a second, 64 at a time, round @devices: of each device @length ns long, and @apart ns from one's
 * start to the next one's. Their times end now. Returns how long it took.
 */
CALLED uint64_t flood(uint64_t count, uint64_t rate, uint32_t devices, uint64_t length,
	uint64_t apart)
{
	const uint64_t begun = now(), first = begun - (count / devices + 1) * apart;
	struct gc_gpu_record records[GC_GPU_RECORDS];
	uint32_t filled = 0;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t start = first + i / devices * apart;

		records[filled++] = (struct gc_gpu_record){
			.kind = GC_GPU_BUSY,
			.device = (uint32_t)(i % devices),
			.start_ns = start,
			.end_ns = start + length,
		};
		if (filled < GC_GPU_RECORDS && i + 1 < count)
			continue;
		hand_over(records, filled);
		filled = 0;
		while (now() < begun + i * 1000000000 / rate)
			;
	}
	return now() - begun;
}
