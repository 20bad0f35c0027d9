/* Kept pauses → packed columns of those that are drawn. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "html_kept.h"
#include "html_pack.h"

static int pid_of(const struct html_page *page, uint32_t process)
{
	const struct process *found = recording_process(page->input->recording, process);

	return found ? (int)found->pid : 0;
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
	uint32_t id = 0;
	int r = column == REASON ? html_stacks_string(&page->stacks, pause->reason, &id) : 0;
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
		[TTSP] = pause->ttsp_ns < 0 ? 0 : html_us((uint64_t)pause->ttsp_ns) + 1,
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
