/* Names in; what events of that name are, in the spellings of PyTorch 1.8 to today, for CUDA and HIP. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "kineto_trace.h"

enum kineto_category kineto_category(const char *category)
{
	static const struct {
		const char *part;
		enum kineto_category is;
	} parts[] = {
		/* "kernel", "gpu_memcpy", "gpu_memset"; until 1.11 "Kernel", "Memcpy", "Memset" */
		{"kernel", KINETO_WORK},
		{"memcpy", KINETO_WORK},
		{"memset", KINETO_WORK},
		/* "cuda_runtime", "cuda_driver", until 1.11 "Runtime" */
		{"runtime", KINETO_CALL},
		{"driver", KINETO_CALL},
		/* "gpu_user_annotation": a span from the first to the last work of an annotation */
		{"gpu_", KINETO_ASIDE},
		{"_sync", KINETO_ASIDE},
		{"cuda_event", KINETO_ASIDE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strcasestr(category, parts[i].part))
			return parts[i].is;
	return KINETO_ELSE;
}

uint32_t kineto_call_kinds(const char *name)
{
	bool host = strstr(name, "Host");
	uint32_t kinds = 0;

	/* cudaStreamSynchronize, cuCtxSynchronize, hipEventSynchronize */
	if (strstr(name, "Synchronize"))
		kinds |= KINETO_WAITS;
	/* cudaMalloc, cuMemAlloc_v2; of segments that can grow, cuMemCreate and cuMemMap */
	if (!host && (strstr(name, "Malloc") || strstr(name, "MemAlloc") ||
			     strstr(name, "MemCreate") || strstr(name, "MemMap")))
		kinds |= KINETO_ALLOCATES;
	/* hipFree, cudaFreeAsync; cuMemUnmap, cuMemRelease */
	if (!host &&
		(strstr(name, "Free") || strstr(name, "MemUnmap") || strstr(name, "MemRelease")))
		kinds |= KINETO_ALLOCATES | KINETO_FREES;
	if (strstr(name, "Memcpy") || strstr(name, "memcpy"))
		kinds |= KINETO_COPIES;
	/* cudaLaunchKernelExC, cuLaunchKernelEx, hipExtModuleLaunchKernel, cudaGraphLaunch */
	if (strstr(name, "LaunchKernel") || strstr(name, "LaunchCooperativeKernel") ||
		strstr(name, "GraphLaunch"))
		kinds |= KINETO_STARTS;
	if (strstr(name, "StreamBeginCapture"))
		kinds |= KINETO_CAPTURE;
	if (strstr(name, "StreamEndCapture"))
		kinds |= KINETO_CAPTURED;
	return kinds;
}

/* FNV-1a (Fowler, Noll, Vo), mixed. */
static uint64_t hash(const char *text, size_t len)
{
	uint64_t value = 0xcbf29ce484222325;

	for (size_t i = 0; i < len; i++)
		value = (value ^ (uint8_t)text[i]) * 0x100000001b3;
	return u64_mix(value);
}

uint32_t kineto_labels_find(const struct kineto_labels *labels, const char *name, size_t len)
{
	const uint64_t *found =
		len && len <= labels->longest ? u64map_get(&labels->index, hash(name, len)) : NULL;
	const char *label = found ? labels->names.items[*found] : "";

	return strlen(label) == len && !memcmp(label, name, len) && found ? (uint32_t)*found
									  : KINETO_LOST;
}

int kineto_labels_add(struct kineto_labels *labels, const char *name)
{
	size_t len = strlen(name);
	const char **slot;

	/* Two labels of one hash: the events of the second are not looked at. */
	if (u64map_get(&labels->index, hash(name, len)))
		return 0;
	slot = vec_add(&labels->names);
	if (!slot || u64map_put(&labels->index, hash(name, len), labels->names.count - 1))
		return -ENOMEM;
	*slot = name;
	labels->longest = len > labels->longest ? len : labels->longest;
	return 0;
}

void kineto_labels_release(struct kineto_labels *labels)
{
	vec_free(&labels->names);
	u64map_release(&labels->index);
	labels->longest = 0;
}
