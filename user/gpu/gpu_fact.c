/* Numbers of facts in, their words out. */
#include "cleanup.h"
#include "gpu_fact.h"

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
