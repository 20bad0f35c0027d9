/* Stacks in; the frame that a user would blame for each out. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "attrib.h"
#include "cleanup.h"

/*
 * Code that the user did not write: native, the standard library, installed packages, frozen
 * modules.
 */
static bool is_library(const struct stack_table *stacks, uint32_t index)
{
	static const char *const parts[] = {
		"/site-packages/", "/dist-packages/", "/lib/python2", "/lib/python3"};
	const struct frame *frame = &stacks->frames[index];
	const char *file = strtab_get(stacks->strings, frame->file);

	if (frame->lang == LANG_MARK || frame->lang == LANG_NATIVE || !*file || *file == '<')
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strstr(file, parts[i]))
			return true;
	return false;
}

uint32_t attrib_trigger(const struct stack_table *stacks, uint32_t stack)
{
	if (!stacks || stack == STACK_NONE || stack >= stacks->node_count)
		return 0;
	for (uint32_t node = stack; node; node = stacks->nodes[node].parent)
		if (!is_library(stacks, stacks->nodes[node].frame))
			return stacks->nodes[node].frame;
	return stacks->nodes[stack].frame;
}

uint32_t *attrib_triggers(const struct stack_table *stacks)
{
	uint32_t *triggers = calloc(stacks->node_count + 1, sizeof(*triggers));
	_cleanup_free_ bool *library = calloc(stacks->frame_count + 1, sizeof(*library));
	_cleanup_free_ bool *has_user = calloc(stacks->node_count + 1, sizeof(*has_user));

	if (!triggers || !library || !has_user) {
		free(triggers);
		return NULL;
	}
	for (uint32_t i = 1; i < stacks->frame_count; i++)
		library[i] = is_library(stacks, i);
	/* A parent's id is smaller than its child's. */
	for (uint32_t i = 1; i < stacks->node_count; i++) {
		const struct stack_node *node = &stacks->nodes[i];
		bool own = !library[node->frame];

		has_user[i] = own || has_user[node->parent];
		triggers[i] = own || !has_user[i] ? node->frame : triggers[node->parent];
	}
	return triggers;
}
