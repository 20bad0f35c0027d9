/* A frame in; whose code it is out, by the rules of its language's runtime. */
#include "meaning.h"

enum origin frame_origin(const struct stack_table *stacks, uint32_t index)
{
	const struct frame *frame = &stacks->frames[index];
	const char *file = strtab_get(stacks->strings, frame->file);

	if (frame->lang == LANG_MARK || frame->lang == LANG_NATIVE)
		return ORIGIN_RUNTIME;
	for (const struct runtime_meaning *const *at = runtime_meanings; *at; at++)
		if ((*at)->lang == frame->lang && (*at)->origin)
			return (*at)->origin(strtab_get(stacks->strings, frame->function), file);
	return *file ? ORIGIN_USER : ORIGIN_RUNTIME;
}

bool frame_has_packages(const struct frame *frame)
{
	for (const struct runtime_meaning *const *at = runtime_meanings; *at; at++)
		if ((*at)->lang && (*at)->lang == frame->lang)
			return (*at)->packages;
	return false;
}
