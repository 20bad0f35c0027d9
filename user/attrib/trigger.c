/* Stacks in; the frame that a user would blame for each out. */
#include <stdbool.h>
#include <stdlib.h>

#include "attrib_priv.h"
#include "cleanup.h"
#include "origin.h"

#define ORIGIN_NONE (ORIGIN_RUNTIME + 1) /* of the empty stack */

uint32_t attrib_trigger(const struct stack_table *stacks, uint32_t stack)
{
	int best = ORIGIN_NONE;
	uint32_t found = 0;

	if (!stacks || stack == STACK_NONE || stack >= stacks->node_count)
		return 0;
	for (uint32_t node = stack; node && best; node = stacks->nodes[node].parent) {
		int origin = (int)frame_origin(stacks, stacks->nodes[node].frame);

		if (origin >= best)
			continue;
		best = origin;
		found = stacks->nodes[node].frame;
	}
	return found;
}

uint32_t *attrib_triggers(const struct stack_table *stacks)
{
	uint32_t *triggers = calloc(stacks->node_count + 1, sizeof(*triggers));
	_cleanup_free_ uint8_t *origins = calloc(stacks->frame_count + 1, 1);
	_cleanup_free_ uint8_t *best = calloc(stacks->node_count + 1, 1);

	if (!triggers || !origins || !best) {
		free(triggers);
		return NULL;
	}
	for (uint32_t i = 1; i < stacks->frame_count; i++)
		origins[i] = (uint8_t)frame_origin(stacks, i);
	best[0] = ORIGIN_NONE;
	/* A parent's id is smaller than its child's. */
	for (uint32_t i = 1; i < stacks->node_count; i++) {
		const struct stack_node *node = &stacks->nodes[i];
		bool own = origins[node->frame] <= best[node->parent];

		best[i] = own ? origins[node->frame] : best[node->parent];
		triggers[i] = own ? node->frame : triggers[node->parent];
	}
	return triggers;
}
