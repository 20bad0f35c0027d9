/* Kept pauses → packed columns of those that are drawn, and an object each of the longest. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "html_kept.h"
#include "html_pack.h"
#include "runtime_words.h"

#define THREAD_MOST 60

static int pid_of(const struct html_page *page, uint32_t process)
{
	const struct process *found = recording_process(page->input->recording, process);

	return found ? (int)found->pid : 0;
}

/* Its fact called @key; UNKNOWN if its runtime has none. */
static int64_t fact_of(const struct html_pause *kept, const char *key)
{
	int place = meaning_fact(kept->class->of, key);

	return place < 0 ? UNKNOWN : kept->facts[place];
}

/* The string id of the reason that its runtime has words of its own for; 0: it has none, or it is not known. */
static uint32_t reason_of(const struct html_pause *kept)
{
	struct pause pause = {.flags = kept->flags, .class = kept->class};

	memcpy(pause.facts, kept->facts, sizeof(pause.facts));
	return kept->class->of->reason ? kept->class->of->reason(&pause) : 0;
}

static uint32_t cause_of(const struct html_pause *kept)
{
	return !kept->class->of->reason && kept->cause < SUMMARY_CAUSES ? kept->cause
									: CAUSE_UNKNOWN;
}

static uint64_t start_us(const struct html_page *page, const struct html_pause *pause)
{
	uint64_t origin_ns = page->input->recording->start_ns;

	return pause->start_ns > origin_ns ? html_us(pause->start_ns - origin_ns) : 0;
}

/* What is not known is 0, all else one more than it is. */
static uint64_t one_more(int64_t value)
{
	return value < 0 ? 0 : (uint64_t)value + 1;
}

enum {
	START,
	DURATION,
	CLASS,
	CAUSE,
	WORKER,
	SLEPT,
	COST,
	COLLECTED,
	PID,
	STACK,
	REASON,
	TTSP,
	COLUMNS
};

static int value_of(struct html_page *page, const struct html_pause *pause, int column,
	uint64_t *ret)
{
	const int64_t ttsp_ns = column == TTSP ? fact_of(pause, FACT_TTSP) : UNKNOWN;
	uint32_t id = 0;
	int r = column == REASON ? html_stacks_string(&page->stacks, reason_of(pause), &id) : 0;
	const uint64_t values[COLUMNS] = {
		[START] = start_us(page, pause),
		[DURATION] = html_us(html_pause_ns(pause)),
		[CLASS] = pause->class->colour,
		[CAUSE] = cause_of(pause),
		[WORKER] = pause->worker,
		[SLEPT] = !!(pause->flags & PAUSE_SLEPT),
		[COST] = html_us(pause->cost_ns),
		[COLLECTED] = one_more(pause->collected),
		[PID] = (uint64_t)(column == PID ? pid_of(page, pause->process) : 0),
		[STACK] = pause->stack,
		[REASON] = id,
		[TTSP] = ttsp_ns < 0 ? 0 : html_us((uint64_t)ttsp_ns) + 1,
	};

	*ret = values[column];
	return r;
}

/* Puts a column of the @count pauses from @first into @values. */
static int gather(struct html_page *page, size_t first, size_t count, int column, uint64_t *values)
{
	int r = 0;

	for (size_t i = 0; !r && i < count; i++)
		r = value_of(page, &page->keep.pauses.items[first + i], column, &values[i]);
	return r;
}

int html_kept_write(struct html_page *page, uint32_t track)
{
	static const struct {
		const char *name;
		enum html_packing packing;
	} columns[COLUMNS] = {
		[START] = {"start_us", HTML_RISING},
		[DURATION] = {"duration_us", HTML_PLAIN},
		[CLASS] = {"class", HTML_PLAIN},
		[CAUSE] = {"cause", HTML_PLAIN},
		[WORKER] = {"worker", HTML_PLAIN},
		[SLEPT] = {"slept", HTML_PLAIN},
		[COST] = {"cost_us", HTML_PLAIN},
		[COLLECTED] = {"collected", HTML_KNOWN},
		[PID] = {"pid", HTML_PLAIN},
		[STACK] = {"stack", HTML_PLAIN},
		[REASON] = {"reason", HTML_PLAIN},
		[TTSP] = {"ttsp_us", HTML_KNOWN},
	};
	const struct html_pause *pauses = page->keep.pauses.items; /* by track, then by start */
	size_t first = 0, count = 0, all = page->keep.pauses.count;
	_cleanup_free_ uint64_t *values = NULL;
	int r = 0;

	while (first < all && pauses[first].track != track)
		first++;
	while (first + count < all && pauses[first + count].track == track)
		count++;
	values = calloc(count + 1, sizeof(*values));
	html_key(page->out, false, "kept");
	fprintf(page->out, "{\"count\":%zu,\"columns\":{", count);
	for (int i = 0; values && !r && i < COLUMNS; i++) {
		r = gather(page, first, count, i, values);
		html_column(page->out, !i, columns[i].name, columns[i].packing, values, count);
	}
	fputs("}}", page->out);
	return values ? r : -ENOMEM;
}

static int put_string(struct html_page *page, const char *name, uint32_t string)
{
	uint32_t id;
	int r = html_stacks_string(&page->stacks, string, &id);

	html_uint(page->out, name, id);
	return r;
}

/* The facts that a pause unfolds: a list of a name, a unit and a value each. */
struct fact_list {
	struct html_page *page;
	const struct html_pause *kept;
	bool any;
	int r;
};

/* {"name":"Cleanup","unit":@unit: @name up to what is in brackets. The value and the bracket are the caller's. */
static void begin_fact(struct fact_list *list, const char *name, const char *unit)
{
	size_t len = strcspn(name, "(");

	while (len && name[len - 1] == ' ')
		len--;
	fprintf(list->page->out, "%s{\"name\":\"%c%.*s\",\"unit\":\"%s\"", list->any ? "," : "",
		toupper((unsigned char)*name), len ? (int)len - 1 : 0, name + 1, unit);
	list->any = true;
}

static void put_fact(struct fact_list *list, const char *name, const char *unit, int64_t value)
{
	begin_fact(list, name, unit);
	html_known(list->page->out, "value", value);
	putc_unlocked('}', list->page->out);
}

static void put_thread(struct fact_list *list, const char *name, int64_t tid)
{
	const char *thread = words_thread(list->page->input->recording, list->kept->runtime, tid);

	begin_fact(list, name, "thread");
	html_known(list->page->out, "value", tid);
	html_text(list->page->out, "thread", thread ? thread : "", thread ? strlen(thread) : 0,
		THREAD_MOST, &list->page->text);
	putc_unlocked('}', list->page->out);
}

/* What it stopped for; why it collected is in the line that unfolds. */
static void put_word(struct fact_list *list, const struct pause_fact *fact, int64_t value)
{
	begin_fact(list, fact->name, "string");
	list->r = put_string(list->page, "value", (uint32_t)value);
	putc_unlocked('}', list->page->out);
}

/* "1 young, 2 full" of the counts from @at on that go by one word. */
static void put_counts(struct fact_list *list, const struct runtime_meaning *meaning, size_t at)
{
	const char *of = meaning->facts[at].of;
	FILE *out = list->page->out;
	bool any = false;

	for (; at < meaning->fact_count && meaning->facts[at].of == of; at++) {
		if (list->kept->facts[at] <= 0)
			continue;
		if (!any) {
			begin_fact(list, of, "text");
			html_key(out, false, "value");
		}
		fprintf(out, "%s%" PRId64 " %s", any ? ", " : "\"", list->kept->facts[at],
			meaning->facts[at].name);
		any = true;
	}
	if (any)
		fputs("\"}", out);
}

/* Before and after, in one. */
static void put_heap(struct fact_list *list)
{
	int64_t before = fact_of(list->kept, FACT_HEAP_BEFORE);
	int64_t after = fact_of(list->kept, FACT_HEAP_AFTER);

	if (before < 0 && after < 0)
		return;
	begin_fact(list, "heap", "change");
	html_known(list->page->out, "before", before);
	html_known(list->page->out, "after", after);
	putc_unlocked('}', list->page->out);
}

static void put_figure(struct fact_list *list, const struct runtime_meaning *meaning, size_t at)
{
	const struct pause_fact *fact = &meaning->facts[at];
	int64_t value = list->kept->facts[at];

	if (fact->of && (!at || meaning->facts[at - 1].of != fact->of))
		put_counts(list, meaning, at);
	else if (!strcmp(fact->key, FACT_HEAP_BEFORE))
		put_heap(list);
	else if (!fact->of && strcmp(fact->key, FACT_HEAP_AFTER) && value >= 0)
		put_fact(list, fact->name,
			fact->unit == FACT_NS	   ? "ns"
			: fact->unit == FACT_BYTES ? "bytes"
						   : "count",
			value);
}

/* ,"facts":[{"name":…,"unit":…,"value":…},…] */
static int put_facts(struct html_page *page, const struct html_pause *kept)
{
	const struct runtime_meaning *meaning = kept->class->of;
	struct fact_list list = {page, kept};
	bool asked = !meaning->asked || !kept->tid;

	html_key(page->out, false, "facts");
	putc_unlocked('[', page->out);
	for (size_t i = 0; i < meaning->fact_count && !list.r; i++) {
		const struct pause_fact *fact = &meaning->facts[i];

		if (fact->unit <= FACT_COUNT)
			put_figure(&list, meaning, i);
		else if (!strcmp(fact->key, FACT_OPERATION))
			put_word(&list, fact, kept->facts[i]);
		if (fact->unit != FACT_THREAD)
			continue;
		if (!asked)
			put_thread(&list, "asked for by", kept->tid);
		asked = true;
		if (kept->facts[i] > 0)
			put_thread(&list, fact->name, kept->facts[i]);
	}
	if (!asked)
		put_thread(&list, "asked for by", kept->tid);
	if (kept->flags & PAUSE_INEXACT) {
		begin_fact(&list, "times", "text");
		fprintf(page->out, ",\"value\":\"of probes, not of %s's own clock\"}",
			meaning->label);
	}
	putc_unlocked(']', page->out);
	return list.r;
}

/* What the table of the longest pauses has columns for, and the stack of the thread that was late. */
static int put_own(struct html_page *page, const struct html_pause *kept)
{
	int64_t late = fact_of(kept, FACT_LATE), node = fact_of(kept, FACT_LATE_STACK);
	uint32_t stack = 0;
	int r = 0;

	html_text(page->out, "kind", kept->class->name, strlen(kept->class->name), HTML_WHOLE,
		&page->text);
	html_known(page->out, "ttsp_ns", fact_of(kept, FACT_TTSP));
	html_known(page->out, "heap_before", fact_of(kept, FACT_HEAP_BEFORE));
	html_known(page->out, "heap_after", fact_of(kept, FACT_HEAP_AFTER));
	if (late > 0 && node > 0)
		r = html_stacks_node(&page->stacks, (uint32_t)node, &stack);
	html_uint(page->out, "late_stack", stack);
	return r ? r : put_facts(page, kept);
}

static int put_long(struct html_page *page, const struct html_pause *pause)
{
	FILE *out = page->out;
	int r;

	fprintf(out, "{\"start_ns\":%" PRId64,
		(int64_t)pause->start_ns - (int64_t)page->input->recording->start_ns);
	html_uint(out, "duration_ns", html_pause_ns(pause));
	html_uint(out, "class", pause->class->colour);
	html_uint(out, "cause", cause_of(pause));
	r = put_string(page, "reason", reason_of(pause));
	html_known(out, "collected", pause->collected);
	html_known(out, "rss_start", pause->rss_start);
	html_known(out, "rss_end", pause->rss_end);
	html_uint(out, "pid", (uint64_t)pid_of(page, pause->process));
	html_known(out, "track", pause->track == ATTRIB_NONE ? UNKNOWN : (int64_t)pause->track);
	html_known(out, "step", pause->step == ATTRIB_NONE ? UNKNOWN : (int64_t)pause->step);
	html_uint(out, "cost_ns", pause->cost_ns);
	html_uint(out, "stack", pause->stack);
	html_bool(out, "worker", pause->worker);
	html_bool(out, "slept", pause->flags & PAUSE_SLEPT);
	if (!r && !pause->class->of->generations)
		r = put_own(page, pause);
	putc_unlocked('}', out);
	return r;
}

int html_longest_write(struct html_page *page)
{
	int r = 0;

	html_key(page->out, false, "longest");
	putc_unlocked('[', page->out);
	for (size_t i = 0; !r && i < page->longest.count; i++) {
		if (i)
			putc_unlocked(',', page->out);
		r = put_long(page, &page->longest.items[i]);
	}
	putc_unlocked(']', page->out);
	return r;
}
