/* The steps of a track and what they lost to pauses in; a table of the worst out. */
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "describe.h"
#include "devices.h"
#include "meaning.h"
#include "model_track.h"
#include "runtime_words.h"

#define WORST 100 /* the longest, and those that lost most: so many of each */

static const struct model_column worst_columns[] = {
	{"step", "Step", UNIT_STEP, .width = 8},
	{"when", "Time", UNIT_TEXT, .heading = "AT", .width = -12, .if_known = true,
		.by = "start_ns",
		.help = "The time of day at which it began, as a log of the training has it"},
	{"start_ns", "At", UNIT_MOMENT, .spare = true},
	{"duration_ns", "Duration", UNIT_NS},
	{"times", "× median", UNIT_TIMES, .heading = "MEDIAN", .width = 9, .spare = true},
	{"pauses", "Pauses", UNIT_COUNT, .spare = true},
	{"pause_ns", "Stopped", UNIT_NS, .help = "Pause time within the step"},
	{"cost_ns", "Lost", UNIT_NS, .known = KNOWN_LOST,
		.help = "Its part of what the loop lost to pauses, where that can be told"},
	{"gpu_idle_ns", "GPU idle", UNIT_NS, .if_known = true, .known = KNOWN_GPU,
		.help = "How long a GPU stood idle within the step"},
	{"gpu_allocator_ns", "Allocator", UNIT_NS, .if_known = true,
		.help = "How long memory of GPUs was freed to get more within the step"},
	{"gpu_memory", "GPU memory", UNIT_BYTES, .spare = true, .if_known = true,
		.help = "Allocated at the end of the step"},
	{"oldest", NULL, UNIT_TEXT, .width = 5},
	{"class", "Oldest", UNIT_CLASS, .spare = true},
	{"frame", "Triggered in", UNIT_FRAME, .width = -36, .wide = true},
};

static const struct model_layout worst_layout = {
	.key = "worst",
	.title = "  Worst steps",
	.caption = "Worst steps",
	.columns = worst_columns,
	.column_count = ARRAY_SIZE(worst_columns),
	.text = "step when duration_ns times pauses pause_ns cost_ns gpu_idle_ns gpu_allocator_ns oldest frame",
	.json = "",
	.page = "step when duration_ns times pause_ns cost_ns gpu_idle_ns gpu_allocator_ns gpu_memory pauses class "
		"start_ns frame",
	.text_rows = 8,
	.first_rows = true,
	.page_rows = 10,
	.sort = "duration_ns",
};

/* The greatest values seen, greatest first, and which steps have them; of equal ones the first. */
struct top {
	size_t count;
	struct top_item {
		uint64_t value;
		size_t index;
	} items[WORST];
};

static void top_add(struct top *top, uint64_t value, size_t index)
{
	size_t at;

	if (top->count == WORST && value <= top->items[WORST - 1].value)
		return;
	at = top->count < WORST ? top->count++ : WORST - 1;
	for (; at && top->items[at - 1].value < value; at--)
		top->items[at] = top->items[at - 1];
	top->items[at] = (struct top_item){value, index};
}

static int longest_first(const void *a, const void *b)
{
	const struct top_item *one = a, *other = b;

	if (one->value != other->value)
		return one->value < other->value ? 1 : -1;
	return (one->index > other->index) - (one->index < other->index);
}

unsigned int model_step_colour(const struct attribution *attribution, const struct step_cost *cost)
{
	const struct pause_class *longest = attrib_class(attribution, cost->worst);
	const struct pause_class *class =
		longest && !longest->of->generations ? longest : cost->class;

	return class ? class->colour : CLASS_COLOURS - 1;
}

static struct model_cell class_of(const struct attribution *attribution,
	const struct step_cost *cost)
{
	unsigned int colour = model_step_colour(attribution, cost);

	if (!cost->pauses)
		return model_known(UNKNOWN);
	return model_class(colour < CLASS_COLOURS - 1 ? colour + 1 : 0, colour, NULL);
}

/* "6.0 ×" */
static struct model_cell times_of(struct model *model, uint64_t duration_ns, uint64_t median_ns)
{
	double times = median_ns ? (double)duration_ns / (double)median_ns : 0;
	struct model_cell cell = model_number((uint64_t)(1000 * times));

	cell.text = model_format(model, "%.1f ×", times);
	return cell;
}

/* Why there is no line of code to name. */
static const char *excuse_of(const struct step_cost *cost, uint64_t duration_ns)
{
	if (cost->overlap_ns * 10 >= duration_ns)
		return NULL;
	if (cost->held_ns * 10 >= duration_ns)
		return "GC of a sibling";
	return cost->retry_ns * 10 >= duration_ns ? "not GC: allocator of GPU memory" : "not GC";
}

/* The time of day, as a log of the training has it. */
static struct model_cell when_of(struct model *model, const struct recording *recording,
	const struct step *step)
{
	if (recording_wall_ns(recording, step->start_ns) < 0)
		return model_text(NULL);
	return model_text(model_format(model, "%s", WORDS_TIME(recording, step->start_ns)));
}

static void add_step(struct model_table *table, const struct report_input *input,
	const struct step_track *track, const struct track_cost *costs, size_t index)
{
	const struct attribution *attribution = input->attribution;
	const struct step *step = &track->steps.items[index];
	struct step_cost cost = {.worst = ATTRIB_NONE};
	uint64_t duration_ns = step_duration(step);
	uint32_t stack = STACK_NONE;

	if (index < costs->steps.count)
		cost = costs->steps.items[index];
	if (cost.worst < attribution->charges.count)
		stack = attribution->charges.items[cost.worst].stack;
	MODEL_ROW(table, model_number(index), when_of(table->model, input->recording, step),
		model_number(step->start_ns > input->recording->start_ns
				     ? step->start_ns - input->recording->start_ns
				     : 0),
		model_number(duration_ns), times_of(table->model, duration_ns, track->period_ns),
		model_number(cost.pauses), model_number(cost.overlap_ns),
		attrib_told(costs) ? model_number(cost.cost_ns) : model_known(UNKNOWN),
		cost.gpu_known ? model_number(cost.gpu_idle_ns) : model_known(UNKNOWN),
		cost.retry_ns ? model_number(cost.retry_ns) : model_known(UNKNOWN),
		model_known(cost.gpu_bytes_known ? cost.gpu_bytes : UNKNOWN),
		model_text(cost.class ? cost.class->cell : NULL), class_of(attribution, &cost),
		model_frame(attrib_trigger(input->stacks, stack), excuse_of(&cost, duration_ns)));
}

/* What a class is called above it in text, and how wide it is there, go by the runtime. */
static struct model_table *add_table(struct model *model, const struct runtime_meaning *meaning,
	const char *zone)
{
	struct model_column columns[ARRAY_SIZE(worst_columns)];

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		columns[i] = worst_columns[i];
		if (!strcmp(columns[i].key, "when") && *zone)
			columns[i].title = model_format(model, "Time (%s)", zone);
		if (strcmp(columns[i].key, "oldest"))
			continue;
		columns[i].heading = meaning->generations   ? "GEN"
				     : words_reach(meaning) ? "GC"
							    : "CLASS";
		columns[i].width = meaning->generations ? 5 : 7;
	}
	return model_add_with(model, &worst_layout, columns, ARRAY_SIZE(columns));
}

/* By what it lost; where that cannot be told, by how long it was stopped. */
static void add_costly(struct top *costliest, const struct track_cost *costs, size_t index)
{
	const struct step_cost *cost = &costs->steps.items[index];
	uint64_t ns = attrib_told(costs) ? cost->cost_ns : cost->overlap_ns;

	if (ns)
		top_add(costliest, ns, index);
}

void model_worst_steps(struct model *model, const struct report_input *input, size_t index)
{
	const struct step_track *track = &input->attribution->steps->tracks.items[index];
	const struct track_cost *costs = &input->attribution->tracks.items[index];
	const char *zone = WORDS_ZONE(input->recording);
	struct model_table *table =
		add_table(model, meaning_of_process(input->recording, track->process), zone);
	struct top longest = {}, costliest = {};
	struct top_item all[2 * WORST];
	const struct gpu_timeline *gpu = input->attribution->gpu;
	size_t count = 0;

	table->known[KNOWN_LOST] = describe_known(costs);
	table->known[KNOWN_GPU] = gpu ? devices_source(gpu) : NULL;
	if (*zone)
		table->title = model_format(model, "  Worst steps (times of day: %s)", zone);

	for (size_t i = 0; i < track->steps.count; i++) {
		top_add(&longest, step_duration(&track->steps.items[i]), i);
		if (i < costs->steps.count)
			add_costly(&costliest, costs, i);
	}
	for (size_t i = 0; i < longest.count; i++)
		all[count++] = longest.items[i];
	for (size_t i = 0; i < costliest.count; i++) {
		size_t at = costliest.items[i].index;

		all[count++] = (struct top_item){step_duration(&track->steps.items[at]), at};
	}
	qsort(all, count, sizeof(*all), longest_first);
	for (size_t i = 0; i < count; i++)
		if (!i || all[i].index != all[i - 1].index)
			add_step(table, input, track, costs, all[i].index);
}
