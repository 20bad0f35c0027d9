/* What several pieces of advice say or ask alike: of forked processes, of tensors. */
#include <string.h>

#include "gc_advice.h"

void gc_say_inherited(const struct advising *advising, struct advice *advice)
{
	if (advising->subject->forked)
		APPEND_TO(advice->risk,
			"; processes forked after it inherit that: gc.enable() in them, as in "
			"worker_init_fn");
}

bool gc_holds_tensors(const struct advising *advising)
{
	const struct recording *recording = advising->attribution->recording;

	for (size_t i = 0; i < recording->signals.count; i++)
		if (!strncmp(recording->signals.items[i].name, "cuda:", 5) &&
			recording->signals.items[i].hits)
			return true;
	return advising->attribution->gpu || advising->attribution->has_gpu_memory;
}
