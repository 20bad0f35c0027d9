/* What was lost by line, and where there are no steps the pauses by line, in; a table of lines out. */
#include <stdlib.h>

#include "attrib.h"
#include "cleanup.h"
#include "describe.h"
#include "model_tables.h"
#include "runtime_words.h"

static const struct model_column cost_columns[] = {
	{"cost_ns", "Lost", UNIT_NS, .width = 10, .if_known = true, .known = KNOWN_LOST},
	{"share", "of training", UNIT_SHARE, .if_known = true, .known = KNOWN_LOST},
	{"pause_ns", "Paused", UNIT_NS},
	{"pauses", "Pauses", UNIT_COUNT, .width = 10, .spare = true},
	{"collected", "Collected", UNIT_COUNT, .width = 11, .spare = true, .if_known = true,
		.help = "Objects freed"},
	{"frame", "Line", UNIT_FRAME, .width = -36, .wide = true,
		.none_in_page = "no stack taken: the pauses were short"},
};

static const struct model_layout costs = {
	.key = "triggers",
	.columns = cost_columns,
	.column_count = ARRAY_SIZE(cost_columns),
	.text = "cost_ns pause_ns pauses collected frame",
	.json = "",
	.page = "frame cost_ns share pause_ns pauses collected",
	.text_rows = 10,
	.page_rows = 10,
	.sort = "cost_ns",
};

static bool says_no_stack(const struct runtime_meaning *meaning)
{
	return meaning->no_stack;
}

/* Why there may be none: in the words of the one runtime there is. */
static const char *no_stack(const struct recording *recording)
{
	const struct runtime_meaning *sole = words_sole(recording);

	if (sole && sole->no_stack)
		return sole->no_stack;
	return sole || !words_any(recording, says_no_stack)
		       ? "no stack taken: the pauses were short"
		       : "no stack: short pauses, a thread of the runtime itself, or its exit";
}

/* Of all processes with steps. */
static uint64_t training_ns(const struct attribution *attribution)
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < attribution->tracks.count; i++)
		stats_add(&sum_ns, attribution->tracks.items[i].time_ns);
	return sum_ns;
}

void model_costs(struct model *model, const struct report_input *input)
{
	const struct attribution *attribution = input->attribution;
	const struct runtime_meaning *sole = words_sole(input->recording);
	const char *begun = sole && sole->begun ? sole->begun : "triggered the collection";
	const char *none = no_stack(input->recording);
	struct model_table *table = model_add(model, &costs);
	uint64_t whole_ns = attribution ? training_ns(attribution) : 0;
	struct model_cell unknown = model_known(UNKNOWN);
	bool cost = false, told = false;

	for (size_t i = 0; attribution && i < attribution->triggers.count; i++) {
		const struct trigger_cost *trigger = &attribution->triggers.items[i];
		bool known = whole_ns && !trigger->untold; /* what is lost is lost of steps */

		MODEL_ROW(table, known ? model_number(trigger->cost_ns) : unknown,
			known ? model_share(trigger->cost_ns, whole_ns) : unknown,
			model_number(trigger->pause_ns), model_number(trigger->pauses),
			model_known(trigger->collected), model_frame(trigger->frame, none));
		cost |= trigger->cost_ns && known;
		told |= known;
	}
	table->known[KNOWN_LOST] = attribution ? describe_known_all(attribution) : NULL;
	table->caption =
		model_format(model, "%s by the line that %s", told ? "Lost" : "Paused", begun);
	table->title =
		model_format(model, "%ss (innermost outside installed libraries)", table->caption);
	if (!cost)
		table->sort = "pause_ns";
}

static const struct model_column line_columns[] = {
	{"pause_ns", "Total", UNIT_NS, .width = 10},
	{"share", "Share", UNIT_SHARE, .width = 10},
	{"pauses", "Pauses", UNIT_COUNT, .width = 10},
	{"max_ns", "Longest", UNIT_NS, .width = 12},
	{"frame", "Line", UNIT_FRAME},
};

static const struct model_layout lines = {
	.key = "lines",
	.title = "Where the pauses were triggered (innermost line outside installed libraries)",
	.columns = line_columns,
	.column_count = ARRAY_SIZE(line_columns),
	.json = "",
	.page = "",
	.text_rows = 10,
	.more = "line",
};

struct line {
	uint32_t frame;
	struct summary_sum sum;
};

/* By frame, zeroed where no pause was triggered. The caller frees it; NULL: no memory. */
static struct line *add_up(const struct stack_table *stacks, const struct summary *summary,
	size_t count)
{
	_cleanup_free_ uint32_t *triggers = attrib_triggers(stacks);
	struct line *sums = calloc(stacks->frame_count, sizeof(*sums));

	if (!triggers || !sums) {
		free(sums);
		return NULL;
	}
	for (size_t i = 1; i < count; i++) {
		const struct summary_sum *from = &summary->stacks.items[i];
		struct line *to = &sums[triggers[i]];

		if (!from->count)
			continue;
		to->frame = triggers[i];
		to->sum.count += from->count;
		stats_add(&to->sum.total_ns, from->total_ns);
		if (from->max_ns > to->sum.max_ns)
			to->sum.max_ns = from->max_ns;
	}
	return sums;
}

static int costliest_first(const void *a, const void *b)
{
	const struct line *one = a, *other = b;

	if (one->sum.total_ns != other->sum.total_ns)
		return one->sum.total_ns < other->sum.total_ns ? 1 : -1;
	if (one->sum.count != other->sum.count)
		return one->sum.count < other->sum.count ? 1 : -1;
	return (one->frame > other->frame) - (one->frame < other->frame);
}

void model_lines(struct model *model, const struct stack_table *stacks,
	const struct summary *summary)
{
	size_t count = stacks->node_count < summary->stacks.count ? stacks->node_count
								  : summary->stacks.count;
	_cleanup_free_ struct line *sums = count > 1 ? add_up(stacks, summary, count) : NULL;
	struct model_table *table = model_add(model, &lines);
	size_t found = 0;

	for (uint32_t i = 0; sums && i < stacks->frame_count; i++)
		if (sums[i].sum.count)
			sums[found++] = sums[i];
	if (found)
		qsort(sums, found, sizeof(*sums), costliest_first);
	for (size_t i = 0; i < found; i++)
		MODEL_ROW(table, model_number(sums[i].sum.total_ns),
			model_share(sums[i].sum.total_ns, summary->total_ns),
			model_number(sums[i].sum.count), model_number(sums[i].sum.max_ns),
			model_frame(sums[i].frame, NULL));
	model->failed |= count > 1 && !sums;
}
