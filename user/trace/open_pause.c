/*
 * Pauses of which no probe sees one end: under way when their process was first looked at, or when
 * the recording ends. In: slots shared with BPF, the runtime's books. Out: pauses of at least some
 * length.
 */
#include <stdlib.h>

#include "cleanup.h"
#include "clock.h"
#include "ledger.h"
#include "trace_runtime.h"

struct pause trace_unknown_pause(uint32_t runtime, uint64_t start_ns, uint64_t end_ns)
{
	return (struct pause){
		.start_ns = start_ns,
		.end_ns = end_ns,
		.runtime = runtime,
		.interpreter = UNKNOWN,
		.generation = UNKNOWN,
		.collected = UNKNOWN,
		.uncollectable = UNKNOWN,
		.heap_objects = UNKNOWN,
		.heap_pending = UNKNOWN,
		.rss_start = UNKNOWN,
		.rss_end = UNKNOWN,
		.waited_ns = UNKNOWN,
		.stack = STACK_NONE,
	};
}

/* Whether a probe saw its begin: this process was a target already when the books were read. */
static bool is_ours(const struct ledger *ledger, const struct begun_pause *begun)
{
	struct trace_open_pause open[GC_OPEN_SLOTS];
	size_t count = slots_open(ledger->shared, 0, open, ARRAY_SIZE(open));

	for (size_t i = 0; i < count; i++)
		if (open[i].pid == (uint32_t)begun->pid && open[i].image == begun->image)
			return true;
	return false;
}

void ledger_begun_add(struct ledger *ledger, const struct begun_pause *begun)
{
	struct begun_pause *slot = is_ours(ledger, begun) ? NULL : vec_add(&ledger->begun);

	if (slot)
		*slot = *begun;
}

/* Looks whether it goes on. */
static bool look(struct ledger *ledger, struct begun_pause *begun)
{
	struct probe_books books;

	if (probe_books(begun->pid, &begun->map, &ledger->images->items[begun->image].plan,
		    &books) ||
		!books.collecting || books.owner != begun->books.owner)
		return false;
	for (int i = 0; i < PROBE_COUNTERS && books.names[i]; i++)
		if (books.counts[i] != begun->books.counts[i])
			return false;
	begun->seen_ns = now_ns();
	return true;
}

/* One look says nothing of how long it lasted. */
static void put_begun(struct ledger *ledger, const struct begun_pause *begun, uint32_t flags)
{
	struct pause pause = trace_unknown_pause(begun->runtime, begun->start_ns, begun->seen_ns);

	pause.flags = PAUSE_BEGUN_BEFORE | flags;
	if (pause.end_ns > pause.start_ns)
		feed_pause(ledger->feed, &pause);
}

static void end_begun(struct ledger *ledger, size_t index, uint32_t flags)
{
	struct begun_pause begun = ledger->begun.items[index];

	ledger->begun.items[index] = ledger->begun.items[--ledger->begun.count];
	put_begun(ledger, &begun, flags);
}

void ledger_begun_turn(struct ledger *ledger)
{
	for (size_t i = ledger->begun.count; i--;)
		if (!look(ledger, &ledger->begun.items[i]))
			end_begun(ledger, i, 0);
}

void ledger_begun_over(struct ledger *ledger, uint32_t process)
{
	for (size_t i = ledger->begun.count; i--;)
		if (ledger->begun.items[i].process == process)
			end_begun(ledger, i, 0);
}

void ledger_begun_next(struct ledger *ledger, uint32_t process, uint64_t owner, uint64_t start_ns)
{
	for (size_t i = ledger->begun.count; i--;) {
		const struct begun_pause *begun = &ledger->begun.items[i];

		if (begun->process != process || begun->books.owner != owner)
			continue;
		if (begun->seen_ns < start_ns)
			end_begun(ledger, i, 0);
		else /* a probe saw it begin after all */
			ledger->begun.items[i] = ledger->begun.items[--ledger->begun.count];
	}
}

static bool is_listed(const struct trace_open_pause *open, size_t count,
	const struct trace_open_pause *wanted)
{
	for (size_t i = 0; i < count; i++)
		if (open[i].tid == wanted->tid && open[i].start_ns == wanted->start_ns)
			return true;
	return false;
}

/*
 * Whether it goes on, by what the runtime itself said when the books were read; if so they may count it,
 * though no end was seen. Else its end was lost.
 */
static bool goes_on(struct ledger *ledger, const struct runtime *runtime,
	const struct trace_open_pause *open)
{
	if (!ledger->images->items[open->image].plan.ops->books)
		return true; /* it says nothing of what is under way */
	for (size_t i = 0; i < ledger->closing.count; i++) {
		const struct closing_books *closing = &ledger->closing.items[i];

		if (closing->runtime != runtime->id || open->start_ns > closing->read_ns)
			continue;
		if (!closing->books.collecting)
			return false;
		books_expect(&ledger->books, runtime->process, closing->books.owner);
	}
	return true;
}

static void put_unfinished(struct ledger *ledger, const struct trace_open_pause *open,
	uint64_t end_ns)
{
	uint32_t process = processes_find(ledger->processes, (pid_t)open->pid);
	const struct runtime *runtime =
		process ? runtimes_get(ledger->runtimes, process, open->image) : NULL;
	const struct capture_ops *ops =
		runtime ? ledger->images->items[open->image].plan.ops->capture : NULL;
	struct pause pause;

	if (!runtime || end_ns <= open->start_ns || ops->finish)
		return; /* its runtime tells more */
	if (!goes_on(ledger, runtime, open)) {
		ledger->unfinished++;
		return;
	}
	pause = trace_unknown_pause(runtime->id, open->start_ns, end_ns);
	pause.tid = open->tid;
	pause.cause = open->cause;
	pause.flags = PAUSE_UNFINISHED;
	if (ops->unfinished)
		ops->unfinished(open->kind, &pause);
	feed_pause(ledger->feed, &pause);
}

size_t ledger_begun_list(const struct ledger *ledger, uint64_t least_ns,
	struct trace_open_pause *ret, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < ledger->begun.count && count < max; i++) {
		const struct begun_pause *begun = &ledger->begun.items[i];

		if (begun->seen_ns >= begun->start_ns + least_ns)
			ret[count++] = (struct trace_open_pause){(uint32_t)begun->pid, 0,
				begun->start_ns, begun->image, CAUSE_UNKNOWN, UNKNOWN};
	}
	return count;
}

void ledger_finish_open(struct ledger *ledger, const struct trace_open_pause *open, size_t count,
	uint64_t end_ns)
{
	struct trace_open_pause still[GC_OPEN_SLOTS];
	size_t still_count = slots_open(ledger->shared, 0, still, ARRAY_SIZE(still));

	/* An end clears its slot, then sends its record: what is in both lists has sent none. */
	for (size_t i = 0; i < still_count; i++)
		if (is_listed(open, count, &still[i]))
			put_unfinished(ledger, &still[i], end_ns);
	while (ledger->begun.count) {
		bool going_on = look(ledger, &ledger->begun.items[0]);

		end_begun(ledger, 0, going_on ? PAUSE_UNFINISHED : 0);
	}
}
