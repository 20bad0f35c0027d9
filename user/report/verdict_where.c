/* Time by stack in; the line that has most of it, and the frame that it has in common, out. */
#include <errno.h>
#include <stdlib.h>

#include "attrib.h"
#include "cleanup.h"
#include "origin.h"
#include "stats.h"
#include "verdict_where.h"

static int find_line(const struct stack_table *stacks, const uint64_t *by_node, double all,
	struct where *ret)
{
	_cleanup_free_ uint32_t *triggers = attrib_triggers(stacks);
	_cleanup_free_ uint64_t *sums = calloc(stacks->frame_count + 1, sizeof(*sums));
	uint64_t most = 0;

	if (!triggers || !sums)
		return -ENOMEM;
	for (uint32_t i = 1; i < stacks->node_count; i++)
		stats_add(&sums[triggers[i]], by_node[i]);
	for (uint32_t i = 1; i < stacks->frame_count; i++)
		if (sums[i] > most) {
			most = sums[i];
			ret->line = i;
		}
	ret->line_share = (double)most / all;
	return 0;
}

/* Nodes that more than half passes through form a chain, from the outermost frame on. */
static int find_common(const struct stack_table *stacks, const uint64_t *by_node, double all,
	struct where *ret)
{
	_cleanup_free_ uint64_t *below = calloc(stacks->node_count + 1, sizeof(*below));

	if (!below)
		return -ENOMEM;
	for (uint32_t i = stacks->node_count; i-- > 1;) {
		stats_add(&below[i], by_node[i]);
		stats_add(&below[stacks->nodes[i].parent], below[i]);
	}
	for (uint32_t i = 1; i < stacks->node_count; i++) {
		uint32_t frame = stacks->nodes[i].frame;

		if ((double)below[i] < WHERE_COMMON * all ||
			frame_origin(stacks, frame) != ORIGIN_USER)
			continue;
		ret->below = frame;
		ret->below_share = (double)below[i] / all;
	}
	return 0;
}

int where_find(const struct stack_table *stacks, const uint64_t *by_node, struct where *ret)
{
	uint64_t all = 0;
	int r;

	*ret = (struct where){};
	for (uint32_t i = STACK_NONE; i < stacks->node_count; i++)
		stats_add(&all, by_node[i]);
	if (!all)
		return 0;
	ret->none_share = (double)by_node[STACK_NONE] / (double)all;
	r = find_line(stacks, by_node, (double)all, ret);
	return r ? r : find_common(stacks, by_node, (double)all, ret);
}
