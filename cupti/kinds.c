#include "kinds.h"

#include <stdbool.h>

/* Graphs as a whole: one record a launch instead of one a kernel, which would slow them down. */
static const struct {
	CUpti_ActivityKind kind;
	bool needed, ours;
} kinds[] = {
	{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, true, false},
	{CUPTI_ACTIVITY_KIND_MEMCPY, true, false},
	{CUPTI_ACTIVITY_KIND_MEMSET, true, false},
	{CUPTI_ACTIVITY_KIND_MEMCPY2, false, false}, /* between devices */
	{CUPTI_ACTIVITY_KIND_GRAPH_TRACE, false, true},
	{CUPTI_ACTIVITY_KIND_MEMORY2, false, true},
	{CUPTI_ACTIVITY_KIND_DEVICE, false, true},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

typedef CUptiResult enable_call(CUpti_CallbackId call, uint8_t enable);

/* An id that this version does not know is refused, and does no harm. CUPTI's error for the one that matters. */
static CUptiResult switch_calls(enable_call *enable, const struct call *calls, size_t count,
	bool on, uint32_t which)
{
	CUptiResult needed = CUPTI_SUCCESS;

	for (size_t i = 0; i < count; i++) {
		CUptiResult result;

		if (!(calls[i].does & which))
			continue;
		result = enable(calls[i].id, on);
		if (calls[i].does & CALL_OWN)
			needed = result;
	}
	return needed;
}

static CUptiResult enable_calls(const struct library *library)
{
	const struct layout *layout = library->layout;
	CUptiResult result;

	if (library->enable_runtime && library->enable_driver) {
		switch_calls(library->enable_runtime, layout->runtime, layout->runtime_count, true,
			~0U);
		return switch_calls(library->enable_driver, layout->driver, layout->driver_count,
			true, ~0U);
	}
	result = library->enable(CUPTI_ACTIVITY_KIND_RUNTIME);
	return result == CUPTI_SUCCESS ? library->enable(CUPTI_ACTIVITY_KIND_DRIVER) : result;
}

CUptiResult kinds_enable(const struct library *library)
{
	CUptiResult result = enable_calls(library);

	for (size_t i = 0; i < KINDS && result == CUPTI_SUCCESS; i++) {
		CUptiResult one = library->enable(kinds[i].kind);

		if (kinds[i].needed)
			result = one;
	}
	return result;
}

void kinds_disable(const struct library *library, enum kinds which)
{
	const struct layout *layout = library->layout;
	uint32_t calls = which == KINDS_ALL ? ~0U : CALL_WAITS | CALL_ALLOCATES | CALL_OWN;

	for (size_t i = 0; i < KINDS; i++)
		if (which == KINDS_ALL || kinds[i].ours)
			library->disable(kinds[i].kind);
	if (library->enable_runtime && library->enable_driver) {
		switch_calls(library->enable_driver, layout->driver, layout->driver_count, false,
			calls);
		/* a profiler has all of them recorded */
		if (which == KINDS_ALL)
			switch_calls(library->enable_runtime, layout->runtime,
				layout->runtime_count, false, calls);
	} else if (which == KINDS_ALL) {
		library->disable(CUPTI_ACTIVITY_KIND_RUNTIME);
		library->disable(CUPTI_ACTIVITY_KIND_DRIVER);
	}
}
