/* The longest pauses, with all that is known of each, in; a table for each kind of runtime out. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "cleanup.h"
#include "describe.h"
#include "devices.h"
#include "model_longest.h"
#include "parse.h"
#include "runtime_words.h"
#include "summary.h"
#include "verdict.h"

/* The columns of all tables. A runtime's facts, which the page unfolds, come before ASKED. */
enum {
	DURATION,
	CLASS,
	CELL,
	CAUSE,
	WHY,
	COST,
	GPU_IDLE,
	REACH,
	BEFORE,
	AFTER,
	COLLECTED,
	START,
	WHEN,
	RSS,
	HEAP,
	PROCESS,
	TRACK,
	STEP,
	FACTS,
	GPU,
	TRIGGER,
	FIXED,
};
enum { ASKED, LATE, LATE_STACK, TIMES, LAST };

static const struct model_column fixed_columns[FIXED] = {
	[DURATION] = {"duration_ns", "Duration", UNIT_NS, .width = 10},
	[CLASS] = {"class", "GC", UNIT_CLASS},
	[CELL] = {"cell", NULL, UNIT_TEXT, .heading = "CLASS", .width = -5},
	[CAUSE] = {"cause", NULL, UNIT_TEXT, .heading = "CAUSE", .width = -9},
	[WHY] = {"why", "Reason", UNIT_TEXT, .spare = true},
	[COST] = {"cost_ns", "Lost", UNIT_NS, .if_known = true, .known = KNOWN_LOST,
		.help = "Its part of what the loop lost to pauses"},
	[GPU_IDLE] = {"gpu_idle_ns", "GPU idle", UNIT_NS, .if_known = true, .known = KNOWN_GPU,
		.help = "How long a GPU stood idle because of it"},
	[REACH] = {"reach_ns", "Reach", UNIT_NS, .spare = true, .if_known = true,
		.help = "Time to safepoint: until all threads stood still"},
	[BEFORE] = {"before", NULL, UNIT_BYTES, .heading = "BEFORE", .width = 7},
	[AFTER] = {"after", NULL, UNIT_BYTES, .heading = "AFTER", .width = 7},
	[COLLECTED] = {"collected", "Collected", UNIT_COUNT, .width = 12, .spare = true,
		.help = "Objects freed"},
	[START] = {"start_ns", "At", UNIT_MOMENT},
	[WHEN] = {"when", NULL, UNIT_TEXT, .heading = "AT", .most = 300},
	[RSS] = {"rss", "RSS", UNIT_CHANGE, .spare = true, .if_known = true,
		.help = "Resident memory before and after"},
	[HEAP] = {"heap", "Heap", UNIT_CHANGE, .spare = true, .if_known = true,
		.help = "In use before and after"},
	[PROCESS] = {"pid", "Process", UNIT_ID, .spare = true, .if_known = true},
	[TRACK] = {"track", NULL, UNIT_ID},
	[STEP] = {"step", "Step", UNIT_STEP, .if_known = true},
	[FACTS] = {"facts", NULL, UNIT_TEXT, .below = true, .most = 300},
	[GPU] = {"gpu", "GPU", UNIT_TEXT, .heading = "GPU: ", .below = true, .folded = true,
		.if_known = true},
	[TRIGGER] = {"stack", "Triggered in", UNIT_STACK, .below = true, .trigger = true,
		.wide = true},
};

static const struct model_column last_columns[LAST] = {
	[ASKED] = {"asked", "Asked for by", UNIT_TEXT, .heading = "asked for by ", .below = true,
		.folded = true, .if_known = true},
	[LATE] = {"late", "Late", UNIT_TEXT, .heading = "late: ", .below = true, .folded = true,
		.if_known = true},
	[LATE_STACK] = {"late_stack", "Where it was", UNIT_STACK, .below = true, .folded = true,
		.if_known = true, .by = "late"},
	[TIMES] = {"times", "Times", UNIT_TEXT, .folded = true, .if_known = true},
};

#define LAYOUT(words)                                                                                         \
	{                                                                                                     \
		.key = "longest",                                                                             \
		.caption = "Longest pauses",                                                                  \
		.text = (words),                                                                              \
		.json = "",                                                                                   \
		.page = "duration_ns class why cost_ns gpu_idle_ns reach_ns collected start_ns rss heap pid " \
			"step track stack",                                                                   \
		.page_rows = 10,                                                                              \
		.sort = "duration_ns",                                                                        \
		.strong = true,                                                                               \
	}

/* Of runtimes with generations, of others, and of those that say how their threads were stopped. */
static const struct model_layout by_generation =
	LAYOUT("duration_ns cell cause collected when gpu stack");
static const struct model_layout by_class = LAYOUT("duration_ns cell cause when facts gpu stack");
static const struct model_layout by_reach =
	LAYOUT("duration_ns cell reach_ns before after cause when gpu asked stack late late_stack");

/* What is being built: @meaning is NULL for all runtimes with generations. */
struct building {
	const struct report_input *input;
	const struct runtime_meaning *meaning;
	struct model *model;
	struct model_table *table;
	bool several; /* processes */
};

static bool is_in(const struct pause *pause, const struct runtime_meaning *meaning)
{
	return meaning ? summary_by_class(pause) && pause->class->of == meaning
		       : !summary_by_class(pause);
}

/* Its fact is a column of its own, which the page unfolds; counts that go by one word are one. */
static bool is_column(const struct runtime_meaning *meaning, size_t at)
{
	const struct pause_fact *fact = &meaning->facts[at];

	if (!strcmp(fact->key, FACT_HEAP_BEFORE) || !strcmp(fact->key, FACT_HEAP_AFTER))
		return false;
	if (fact->of)
		return !at || meaning->facts[at - 1].of != fact->of;
	return fact->unit <= FACT_COUNT || !strcmp(fact->key, FACT_OPERATION);
}

/* "Reaching" of "reaching (time to safepoint)". */
static const char *fact_title(struct model *model, const struct pause_fact *fact)
{
	const char *name = fact->of ? fact->of : fact->name;
	size_t len = strcspn(name, "(");

	while (len && name[len - 1] == ' ')
		len--;
	return model_capital(model, model_format(model, "%.*s", (int)len, name));
}

static size_t add_facts(const struct building *b, struct model_column *columns)
{
	static const enum model_unit units[] = {
		[FACT_NS] = UNIT_NS, [FACT_BYTES] = UNIT_BYTES, [FACT_COUNT] = UNIT_COUNT};
	size_t count = 0;

	for (size_t i = 0; b->meaning && i < b->meaning->fact_count; i++) {
		const struct pause_fact *fact = &b->meaning->facts[i];

		if (is_column(b->meaning, i))
			columns[count++] = (struct model_column){
				.key = fact->key,
				.title = fact_title(b->model, fact),
				.unit = fact->of || fact->unit > FACT_COUNT ? UNIT_TEXT
									    : units[fact->unit],
				.folded = true,
				.none = fact->unit == FACT_STRING ? "not known" : NULL,
			};
	}
	return count;
}

/* "1 young, 2 full" of the counts from @at on that go by one word. */
static struct model_cell counts_of(const struct building *b, const struct pause *pause, size_t at)
{
	const char *of = b->meaning->facts[at].of, *text = NULL;

	for (; at < b->meaning->fact_count && b->meaning->facts[at].of == of; at++)
		if (pause->facts[at] > 0)
			text = model_format(b->model, "%s%s%" PRId64 " %s", text ? text : "",
				text ? ", " : "", pause->facts[at], b->meaning->facts[at].name);
	return model_text(text);
}

static size_t fact_cells(const struct building *b, const struct pause *pause,
	struct model_cell *cells)
{
	size_t count = 0;

	for (size_t i = 0; b->meaning && i < b->meaning->fact_count; i++) {
		const struct pause_fact *fact = &b->meaning->facts[i];

		if (!is_column(b->meaning, i))
			continue;
		if (fact->of)
			cells[count++] = counts_of(b, pause, i);
		else if (fact->unit > FACT_COUNT)
			cells[count++] =
				model_string(b->input->stacks->strings, (uint32_t)pause->facts[i]);
		else
			cells[count++] = model_known(pause->facts[i]);
	}
	return count;
}

/* "marking 3.1 ms, size 64 KiB" */
static struct model_cell facts_of(const struct building *b, const struct pause *pause)
{
	const char *text = NULL;

	for (size_t i = 0; b->meaning && i < b->meaning->fact_count; i++) {
		const struct pause_fact *fact = &b->meaning->facts[i];
		const char *before = text ? text : "", *comma = text ? ", " : "";

		if (fact->unit > FACT_COUNT || pause->facts[i] < 0)
			continue;
		if (fact->unit == FACT_COUNT)
			text = model_format(b->model, "%s%s%s%s%s %" PRId64, before, comma,
				fact->name, fact->of ? " " : "", fact->of ? fact->of : "",
				pause->facts[i]);
		else
			text = model_format(b->model, "%s%s%s %s", before, comma, fact->name,
				fact->unit == FACT_NS ? FORMAT_DURATION((uint64_t)pause->facts[i])
						      : WORDS_BYTES(pause->facts[i]));
	}
	return model_text(text);
}

static struct model_cell duration_of(const struct building *b, const struct pause *pause)
{
	struct model_cell cell = model_number(pause_duration(pause));

	if (pause_is_open(pause))
		cell.text = model_format(b->model, "≥%s", FORMAT_DURATION(pause_duration(pause)));
	return cell;
}

static struct model_cell class_of(const struct pause *pause)
{
	unsigned int place = pause->class ? pause->class->colour : CLASS_COLOURS - 1;

	return model_class(place < CLASS_COLOURS - 1 ? place + 1 : 0, place,
		summary_by_class(pause) ? pause->class->name : NULL);
}

static struct model_cell cause_of(const struct building *b, const struct pause *pause)
{
	const struct runtime_meaning *meaning = b->meaning;
	const char *reason;
	size_t len;

	if (meaning && words_reach(meaning) && meaning->reason)
		return model_string(b->input->stacks->strings, meaning->reason(pause));
	reason = meaning_reason(b->input->stacks->strings, pause, &len);
	return model_bytes(reason, len);
}

/* The same with what else the page says of it. */
static struct model_cell why_of(const struct building *b, const struct longest_pause *longest)
{
	size_t len;
	const char *reason = meaning_reason(b->input->stacks->strings, &longest->pause, &len);

	return model_text(model_format(b->model, "%.*s%s%s", (int)len, reason,
		longest->pause.flags & PAUSE_SLEPT ? ", slept" : "",
		longest->worker ? ", in a worker" : ""));
}

static const struct process *process_of(const struct building *b, const struct pause *pause)
{
	const struct runtime *runtime = recording_runtime(b->input->recording, pause->runtime);

	return runtime ? recording_process(b->input->recording, runtime->process) : NULL;
}

static uint64_t since_start(const struct building *b, const struct pause *pause)
{
	uint64_t start_ns = b->input->recording->start_ns;

	return pause->start_ns > start_ns ? pause->start_ns - start_ns : 0;
}

/* "12:00:02.000 (+2.000 s)  train (4711); the thread slept in it" */
static struct model_cell when_of(const struct building *b, const struct pause *pause)
{
	bool reach = b->meaning && words_reach(b->meaning);
	uint32_t flags = pause->flags;

	return model_text(model_format(b->model, "%-12s (+%.3f s)  %s%s%s%s",
		WORDS_TIME(b->input->recording, pause->start_ns),
		(double)since_start(b, pause) / 1e9, VERDICT_NAME(process_of(b, pause)),
		reach		      ? flags & PAUSE_INEXACT ? "; timed by probes" : ""
		: flags & PAUSE_SLEPT ? "; the thread slept in it"
				      : "",
		!reach && flags & PAUSE_BEGUN_BEFORE ? "; it had begun before" : "",
		!reach && flags & PAUSE_UNFINISHED ? "; it had not ended" : ""));
}

/* "train-worker-3 (4790)" */
static struct model_cell thread_of(const struct building *b, const struct pause *pause, int64_t tid)
{
	const char *name = words_thread(b->input->recording, pause->runtime, tid);

	if (tid <= 0)
		return model_text(NULL);
	return model_text(name ? model_format(b->model, "%s (%" PRId64 ")", name, tid)
			       : model_format(b->model, "thread %" PRId64, tid));
}

static void last_cells(const struct building *b, const struct pause *pause,
	struct model_cell cells[LAST])
{
	int64_t late_stack = meaning_value(pause, FACT_LATE_STACK);
	int64_t late = meaning_value(pause, FACT_LATE);
	bool asked = b->meaning && b->meaning->asked && pause->tid;

	cells[ASKED] = thread_of(b, pause, asked ? pause->tid : 0);
	cells[LATE] = thread_of(b, pause, late);
	cells[LATE_STACK] =
		model_frame(late <= 0 || late_stack < 0 ? STACK_NONE : (uint32_t)late_stack, NULL);
	cells[TIMES] =
		model_text(b->meaning && pause->flags & PAUSE_INEXACT
				   ? model_format(b->model, "of probes, not of %s's own clock",
					     b->meaning->label)
				   : NULL);
}

/* "31.00 ms", "31.00 ms (25.00 ms … 33.00 ms)" where it is not exact. */
static const char *lost_of(struct model *model, const struct gpu_cost *cost)
{
	const char *lost = model_format(model, "%s", FORMAT_DURATION(cost->lost_ns));

	if (cost->lost_low_ns == cost->lost_high_ns)
		return lost;
	return model_format(model, "%s (%s … %s)", lost, FORMAT_DURATION(cost->lost_low_ns),
		FORMAT_DURATION(cost->lost_high_ns));
}

/* "; 1.2G of its memory returned", or "". */
static const char *returned_of(struct model *model, const struct gpu_memory_change *change)
{
	return change && change->bytes < 0 ? model_format(model, "; %s of its memory returned",
						     WORDS_BYTES(-change->bytes))
					   : "";
}

/* "hidden 12.00 ms, exposed 28.00 ms, recovery 3.000 ms; 31.00 ms lost (measured)" of a process that has GPUs. */
static struct model_cell gpu_of(const struct building *b, const struct longest_pause *longest)
{
	const struct attribution *attribution = b->input->attribution;
	const struct process *process = process_of(b, &longest->pause);
	const struct gpu_cost *cost;

	if (!attribution || !process || !devices_used(attribution, process->id))
		return model_text(NULL);
	cost = devices_pause(attribution, longest->order);
	if (!cost)
		return model_text("not known");
	if (attribution->gpu->inferred)
		return model_text(model_format(b->model, "hidden %s, exposed %s; inferred from %s",
			FORMAT_DURATION(cost->hidden_ns), lost_of(b->model, cost),
			attribution->gpu->source));
	return model_text(model_format(b->model,
		"hidden %s, exposed %s, recovery %s; %s lost (%s)%s",
		FORMAT_DURATION(cost->hidden_ns), FORMAT_DURATION(cost->exposed_ns),
		FORMAT_DURATION(cost->recovery_ns), lost_of(b->model, cost),
		devices_source(attribution->gpu),
		returned_of(b->model, devices_pause_memory(attribution, longest->order))));
}

static struct model_cell gpu_idle_of(const struct building *b, const struct longest_pause *longest)
{
	const struct attribution *attribution = b->input->attribution;

	return model_known(attribution ? devices_pause_idle(attribution, longest->order) : UNKNOWN);
}

static void add_row(const struct building *b, const struct longest_pause *longest)
{
	const struct pause *pause = &longest->pause;
	const struct process *process = process_of(b, pause);
	int64_t before = meaning_value(pause, FACT_HEAP_BEFORE);
	int64_t after = meaning_value(pause, FACT_HEAP_AFTER);
	struct model_cell cells[MODEL_COLUMNS] = {
		[DURATION] = duration_of(b, pause),
		[CLASS] = class_of(pause),
		[CELL] = b->meaning ? model_text(pause->class->cell)
				    : model_known(pause->generation),
		[CAUSE] = cause_of(b, pause),
		[WHY] = why_of(b, longest),
		[COST] = model_known(longest->charged ? (int64_t)longest->cost_ns : UNKNOWN),
		[GPU_IDLE] = gpu_idle_of(b, longest),
		[REACH] = model_known(meaning_value(pause, FACT_TTSP)),
		[BEFORE] = model_known(before),
		[AFTER] = model_known(after),
		[COLLECTED] = model_known(pause->collected),
		[START] = model_number(since_start(b, pause)),
		[WHEN] = when_of(b, pause),
		[RSS] = model_change(pause->rss_start, pause->rss_end),
		[HEAP] = model_change(before, after),
		[PROCESS] = model_known(b->several && process ? process->pid : UNKNOWN),
		[TRACK] = model_known(longest->track),
		[STEP] = model_known(longest->step),
		[FACTS] = facts_of(b, pause),
		[GPU] = gpu_of(b, longest),
		[TRIGGER] = model_frame(pause->stack, NULL),
	};
	size_t count = FIXED + fact_cells(b, pause, &cells[FIXED]);

	last_cells(b, pause, &cells[count]);
	model_row(b->table, cells, count + LAST);
}

/* Of a runtime with generations, what it collects by is a number, and it counts objects. */
static void add_table(struct building *b)
{
	const struct attribution *attribution = b->input->attribution;
	const struct runtime_meaning *meaning = b->meaning;
	const char *zone = WORDS_ZONE(b->input->recording);
	struct model_column columns[MODEL_COLUMNS];
	size_t count = FIXED;

	memcpy(columns, fixed_columns, sizeof(fixed_columns));
	if (!meaning) {
		columns[CLASS].title = "Generation";
		columns[CELL].heading = "GEN";
		columns[CELL].unit = UNIT_COUNT;
		columns[CELL].width = 5;
		columns[WHY].title = "Cause";
	} else {
		columns[COLLECTED].if_known = true;
	}
	if (meaning && words_reach(meaning)) {
		columns[CELL].heading = "GC";
		columns[CAUSE].heading = "REASON";
		columns[CAUSE].width = -26;
	}
	count += add_facts(b, &columns[count]);
	memcpy(&columns[count], last_columns, sizeof(last_columns));
	b->table = model_add_with(b->model,
		!meaning	       ? &by_generation
		: words_reach(meaning) ? &by_reach
				       : &by_class,
		columns, count + LAST);
	if (attribution)
		b->table->known[KNOWN_LOST] = describe_known_all(attribution);
	if (attribution && attribution->gpu)
		b->table->known[KNOWN_GPU] = devices_source(attribution->gpu);
	b->table->title = model_format(b->model, "Longest %s%s%s (stacks innermost first%s%s)",
		meaning ? meaning->pauses : "pauses",
		!meaning || words_reach(meaning) ? "" : " of ",
		!meaning || words_reach(meaning) ? "" : meaning->label,
		*zone ? "; times of day: " : "", zone);
}

static void add_group(struct building *b, const struct longest_pause *pauses, size_t count)
{
	bool all = true;

	add_table(b);
	for (size_t i = 0; i < count; i++)
		if (is_in(&pauses[i].pause, b->meaning))
			add_row(b, &pauses[i]);
		else
			all = false;
	if (!all)
		b->table->caption = b->meaning ? model_format(b->model, "Longest %s of %s",
							 b->meaning->pauses, b->meaning->label)
					       : "Longest pauses by generation";
}

/* The kinds of runtimes among them that are stopped step by step, or the others, each once. */
static void add_groups(struct building *b, const struct longest_pause *pauses, size_t count,
	bool reach)
{
	for (size_t i = 0; i < count; i++) {
		const struct pause_class *class = pauses[i].pause.class;
		bool first = class && !class->of->generations && words_reach(class->of) == reach;

		for (size_t j = 0; first && j < i; j++)
			first = !is_in(&pauses[j].pause, class->of);
		b->meaning = first ? class->of : NULL;
		if (first)
			add_group(b, pauses, count);
	}
}

void model_longest(struct model *model, const struct report_input *input,
	const struct longest_pause *pauses, size_t count)
{
	struct building b = {.input = input, .model = model};
	bool generations = false;

	for (size_t i = 0; i < count; i++) {
		generations |= !summary_by_class(&pauses[i].pause);
		b.several |= process_of(&b, &pauses[i].pause) != process_of(&b, &pauses[0].pause);
	}
	if (generations)
		add_group(&b, pauses, count);
	add_groups(&b, pauses, count, false);
	add_groups(&b, pauses, count, true);
}
