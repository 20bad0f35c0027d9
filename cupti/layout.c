/*
 * Compiled once per major version of CUDA, whose headers say all of it: MAJOR is 12 or 13. A later version of a major
 * has put fields behind those that were there, which the assertions below hold for all that its headers know.
 */
#include "layout.h"

#include <cupti.h>

#define RUNTIME(name, does) {CUPTI_RUNTIME_TRACE_CBID_##name, (does)}
#define DRIVER(name, does)  {CUPTI_DRIVER_TRACE_CBID_##name, (does)}

#if MAJOR == 12
#define TABLE  layout_12
#define FIRST  18 /* what CUDA 12.0 and 12.1 return */
#define BEYOND (CUPTI_API_VERSION + 1)
typedef CUpti_ActivityKernel9 kernel;
typedef CUpti_ActivityMemcpy6 copy;
typedef CUpti_ActivityMemset4 set;
typedef CUpti_ActivityDevice5 device;
#elif MAJOR == 13
#define TABLE  layout_13
#define FIRST  130000
#define BEYOND (CUPTI_API_VERSION / 100 * 100 + 100) /* its updates */
typedef CUpti_ActivityKernel13 kernel;
typedef CUpti_ActivityMemcpy7 copy;
typedef CUpti_ActivityMemset5 set;
typedef CUpti_ActivityDevice6 device;
#endif
typedef CUpti_ActivityMemcpyPtoP4 peer_copy;
typedef CUpti_ActivityGraphTrace2 graph;
typedef CUpti_ActivityMemory4 memory;
typedef CUpti_ActivityAPI api;

#define SAME(new, old, field)                                                                      \
	_Static_assert(offsetof(new, field) == offsetof(old, field), #old "." #field " moved")
#define SAME_ACTIVITY(new, old)                                                                    \
	SAME(new, old, start);                                                                     \
	SAME(new, old, end);                                                                       \
	SAME(new, old, deviceId);                                                                  \
	SAME(new, old, correlationId);                                                             \
	SAME(new, old, streamId)

SAME_ACTIVITY(kernel, CUpti_ActivityKernel9);
SAME_ACTIVITY(copy, CUpti_ActivityMemcpy5);
SAME_ACTIVITY(copy, CUpti_ActivityMemcpy6);
SAME_ACTIVITY(set, CUpti_ActivityMemset4);
SAME_ACTIVITY(graph, CUpti_ActivityGraphTrace);
SAME(memory, CUpti_ActivityMemory3, memoryOperationType);
SAME(memory, CUpti_ActivityMemory3, memoryKind);
SAME(memory, CUpti_ActivityMemory3, bytes);
SAME(memory, CUpti_ActivityMemory3, timestamp);
SAME(memory, CUpti_ActivityMemory3, deviceId);
SAME(device, CUpti_ActivityDevice4, id);
SAME(device, CUpti_ActivityDevice4, globalMemorySize);
SAME(device, CUpti_ActivityDevice4, name);
#if MAJOR == 13
SAME_ACTIVITY(kernel, CUpti_ActivityKernel10);
SAME_ACTIVITY(kernel, CUpti_ActivityKernel11);
SAME_ACTIVITY(kernel, CUpti_ActivityKernel12);
#endif

#include "calls.h"

#define ACTIVITY(type)                                                                             \
	{offsetof(type, start), offsetof(type, end), offsetof(type, deviceId),                     \
		offsetof(type, correlationId), offsetof(type, streamId)}

const struct layout TABLE = {
	.major = MAJOR,
	.first = FIRST,
	.beyond = BEYOND,
	.kernel = ACTIVITY(kernel),
	.copy = ACTIVITY(copy),
	.peer_copy = ACTIVITY(peer_copy),
	.set = ACTIVITY(set),
	.graph = ACTIVITY(graph),
	.api = {offsetof(api, cbid), offsetof(api, start), offsetof(api, end),
		offsetof(api, threadId), offsetof(api, correlationId), offsetof(api, returnValue)},
	.memory = {offsetof(memory, memoryOperationType), offsetof(memory, memoryKind),
		offsetof(memory, bytes), offsetof(memory, timestamp), offsetof(memory, deviceId)},
	.device = {offsetof(device, id), offsetof(device, globalMemorySize),
		offsetof(device, name)},
	.runtime = runtime_calls,
	.driver = driver_calls,
	.runtime_count = sizeof(runtime_calls) / sizeof(runtime_calls[0]),
	.driver_count = sizeof(driver_calls) / sizeof(driver_calls[0]),
};
