/* Numbers of facts in, their words out. */
#include <string.h>

#include "cleanup.h"
#include "gpu_fact.h"

const char *const gpu_driver_functions[GPU_DRIVER_FUNCTIONS] = {
	"",
	"cuStreamSynchronize",
	"cuStreamSynchronize_ptsz",
	"cuCtxSynchronize",
	"cuCtxSynchronize_v2",
	"cuEventSynchronize",
	"cuMemcpyDtoH_v2",
	"cuMemcpyDtoH_v2_ptds",
	"cuMemcpyDtoHAsync_v2",
	"cuMemcpyDtoHAsync_v2_ptsz",
	"cuMemAlloc_v2",
	"cuMemAllocManaged",
	"cuMemAllocAsync",
	"cuMemAllocAsync_ptsz",
	"cuMemAllocFromPoolAsync",
	"cuMemAllocFromPoolAsync_ptsz",
	"cuMemCreate",
	"cuMemFree_v2",
	"cuMemFreeAsync",
	"cuMemFreeAsync_ptsz",
	"cuMemRelease",
};

uint32_t gpu_driver_function(const char *name)
{
	for (uint32_t i = 1; i < GPU_DRIVER_FUNCTIONS; i++)
		if (!strcmp(name, gpu_driver_functions[i]))
			return i;
	return 0;
}

const char *gpu_refusal(uint64_t why)
{
	static const char *const words[] = {
		[GPU_UNKNOWN_NO_CUPTI] = "no libcupti was found",
		[GPU_UNKNOWN_NO_VERSION] = "libcupti has a version that the shim does not know",
		[GPU_UNKNOWN_NO_DRIVER] = "CUPTI found no driver or no device",
		[GPU_UNKNOWN_NO_ENABLE] = "CUPTI refused to record",
		[GPU_UNKNOWN_NO_ANSWER] = "a call of CUPTI did not return",
	};

	return why < ARRAY_SIZE(words) ? words[why] : NULL;
}
