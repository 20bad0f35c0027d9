/*
 * NVIDIA's libcupti: found among what the process has mapped, beside the CUDA libraries that it uses, or where the loader
 * looks; opened, never linked. If there is none, or of a version that no table knows, there is nothing to record.
 */
#pragma once

#include <cupti.h>
#include <stdbool.h>
#include <stdint.h>

#include "layout.h"

struct library {
	const struct layout *layout;
	uint32_t version;			 /* as cuptiGetVersion says */
	bool shared;				 /* it was there before: somebody else may use it */
	int (*driver_version)(int *ret_version); /* cuDriverGetVersion */
	__typeof__(cuptiActivityEnable) *enable, *disable, *enable_and_dump;
	__typeof__(cuptiActivityRegisterCallbacks) *register_callbacks;
	__typeof__(cuptiActivityFlushAll) *flush_all;
	__typeof__(cuptiActivityGetNextRecord) *next_record;
	__typeof__(cuptiActivityGetNumDroppedRecords) *dropped_records;
	__typeof__(cuptiSetThreadIdType) *set_thread_id_type;
	__typeof__(cuptiGetTimestamp) *timestamp;
	/* NULL where its version lacks it: */
	__typeof__(cuptiActivityRegisterTimestampCallback) *register_clock;
	__typeof__(cuptiGetThreadIdType) *get_thread_id_type;
	CUptiResult (*enable_runtime)(CUpti_CallbackId call, uint8_t enable); /* since 12.6 */
	CUptiResult (*enable_driver)(CUpti_CallbackId call, uint8_t enable);
	CUptiResult (*enabled_kinds)(void *subscriber, CUpti_ActivityKind *kinds, uint32_t *size,
		uint32_t *count); /* since 13.3 */
};

/*
 * 0; or why there is nothing to record, one of GC_GPU_NO_…, with *ret_detail as bpf/gpu_wire.h says; -EAGAIN: the process
 * has no CUDA driver (yet).
 */
int library_open(struct library *library, uint32_t *ret_detail);

/* Whether a profiler that wants CUPTI for itself is mapped: Nsight Systems or Compute. */
bool library_profiler_mapped(void);
