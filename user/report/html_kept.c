/* Kept pauses → packed columns of those that are drawn, and an object each of the longest. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "html_kept.h"
#include "html_pack.h"
#include "safepoint_words.h"

#define THREAD_MOST 60

static int pid_of(const struct html_page *page, uint32_t process)
{
	const struct process *found = recording_process(page->input->recording, process);

	return found ? (int)found->pid : 0;
}

/* What @is says of the pause that was kept. */
static bool of_kind(const struct html_pause *kept, bool (*is)(const struct pause *pause))
{
	const struct pause pause = {.flags = kept->flags, .class = kept->class};

	return is(&pause);
}

/* The string id of a safepoint's reason; 0: of other pauses, or not known. */
static uint32_t reason_of(const struct html_pause *kept)
{
	struct pause pause = {.flags = kept->flags, .class = kept->class};

	memcpy(pause.facts, kept->facts, sizeof(pause.facts));
	return kept->flags & PAUSE_HAS_FACTS && kept->class ? safepoint_reason(&pause) : 0;
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
	const bool safepoint = of_kind(pause, pause_is_safepoint);
	const int64_t ttsp_ns = safepoint ? pause->safepoint.ttsp_ns : UNKNOWN;
	uint32_t id = 0;
	int r = column == REASON ? html_stacks_string(&page->stacks, reason_of(pause), &id) : 0;
	const uint64_t values[COLUMNS] = {
		[START] = start_us(page, pause),
		[DURATION] = html_us(html_pause_ns(pause)),
		[CLASS] = pause->class->colour,
		[CAUSE] =
			!safepoint && pause->cause < SUMMARY_CAUSES ? pause->cause : CAUSE_UNKNOWN,
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

static void put_thread(struct html_page *page, const char *name, uint32_t runtime, int64_t tid)
{
	const char *thread = runtime_thread(page->input->recording, runtime, tid);

	html_text(page->out, name, thread ? thread : "", thread ? strlen(thread) : 0, THREAD_MOST,
		&page->text);
}

/* ,"safepoint":{…} */
static int put_safepoint(struct html_page *page, const struct html_pause *kept)
{
	const struct safepoint *facts = &kept->safepoint;
	FILE *out = page->out;
	uint32_t late = 0;
	int r;

	html_key(out, false, "safepoint");
	fprintf(out, "{\"kind\":\"%s\"", safepoint_kind_name(kept->kind));
	r = put_string(page, "operation", facts->operation);
	html_known(out, "ttsp_ns", facts->ttsp_ns);
	html_known(out, "cleanup_ns", facts->cleanup_ns);
	html_known(out, "core_ns", facts->core_ns);
	html_known(out, "leave_ns", facts->leave_ns);
	html_known(out, "heap_before", facts->heap_before);
	html_known(out, "heap_after", facts->heap_after);
	html_known(out, "young", facts->young);
	html_known(out, "full", facts->full);
	html_bool(out, "exact", !(kept->flags & PAUSE_INEXACT));
	html_uint(out, "tid", kept->tid);
	put_thread(page, "thread", kept->runtime, kept->tid);
	html_known(out, "late_tid", facts->late_tid > 0 ? facts->late_tid : UNKNOWN);
	put_thread(page, "late_thread", kept->runtime, facts->late_tid);
	if (!r)
		r = html_stacks_node(&page->stacks, facts->late_stack, &late);
	html_uint(out, "late_stack", late);
	putc_unlocked('}', out);
	return r;
}

static const char *fact_unit(enum fact_unit unit)
{
	return unit == FACT_NS ? "ns" : unit == FACT_BYTES ? "bytes" : "count";
}

/* ,"facts":[{"name":…,"unit":…,"value":…},…]: those in figures, of a runtime with classes of its own. */
static void put_facts(struct html_page *page, const struct html_pause *kept)
{
	const struct runtime_meaning *meaning = kept->class->of;
	bool first = true;

	html_key(page->out, false, "facts");
	putc_unlocked('[', page->out);
	for (size_t i = 0; i < meaning->fact_count; i++) {
		if (meaning->facts[i].unit > FACT_COUNT || kept->facts[i] < 0)
			continue;
		fprintf(page->out, "%s{\"name\":\"%c%s\"", first ? "" : ",",
			toupper((unsigned char)*meaning->facts[i].name),
			meaning->facts[i].name + 1);
		fprintf(page->out, ",\"unit\":\"%s\"", fact_unit(meaning->facts[i].unit));
		html_known(page->out, "value", kept->facts[i]);
		putc_unlocked('}', page->out);
		first = false;
	}
	putc_unlocked(']', page->out);
}

static int put_long(struct html_page *page, const struct html_pause *pause)
{
	FILE *out = page->out;
	int r;

	fprintf(out, "{\"start_ns\":%" PRId64,
		(int64_t)pause->start_ns - (int64_t)page->input->recording->start_ns);
	html_uint(out, "duration_ns", html_pause_ns(pause));
	html_uint(out, "class", pause->class->colour);
	html_uint(out, "cause",
		of_kind(pause, pause_is_safepoint) || pause->cause >= SUMMARY_CAUSES
			? CAUSE_UNKNOWN
			: pause->cause);
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
	if (!r && of_kind(pause, pause_is_safepoint))
		r = put_safepoint(page, pause);
	else if (of_kind(pause, summary_by_class))
		put_facts(page, pause);
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
