/* The first look at a program that began under trace → how many collections came before its probes. */
#include "mem.h"
#include "trace_priv.h"

#define SENT_NS                                                                                    \
	100000000ull /* after its end a pause's record is in the ring, even from a busy CPU */

void trace_early_open(struct trace *trace, uint32_t process, uint32_t image,
	const struct probe_books *books)
{
	static const uint64_t zero[PROBE_COUNTERS];
	const uint64_t *id = u64map_get(&trace->runtimes, trace_runtime_key(process, image));
	const struct runtime *runtime = id ? trace_runtime_by_id(trace, (uint32_t)*id) : NULL;
	struct early_books *slot;

	trace_meet_runtime(trace, process, image);
	if (!runtime || !books_open(&trace->books, process, books->owner,
				&(struct books_counts){books->names, zero}))
		return;
	slot = vec_add(&trace->early);
	if (slot)
		*slot = (struct early_books){
			.process = process,
			.runtime = runtime->id,
			.missed = runtime->missed,
			.books = *books,
			.read_ns = now_ns(),
		};
}

static void settle(struct trace *trace, const struct early_books *early)
{
	const struct probe_books *books = &early->books;
	struct runtime *runtime = trace_runtime_by_id(trace, early->runtime);

	if (!runtime)
		return;
	runtime->missed += books_settle(&trace->books, early->process, books->owner,
		&(struct books_counts){books->names, books->counts});
	if (runtime->missed == early->missed)
		return;
	trace->late_probes++;
	trace_tell_runtime(trace, runtime);
}

void trace_early_settle(struct trace *trace, uint32_t process, uint64_t time_ns)
{
	for (size_t i = trace->early.count; i--;) {
		struct early_books *early = &trace->early.items[i];

		if (process && early->process != process)
			continue;
		if (early->read_ns <= time_ns)
			settle(trace, early);
		*early = trace->early.items[--trace->early.count];
	}
}

void trace_early_turn(struct trace *trace)
{
	struct trace_open_pause open;
	uint64_t now = trace->early.count ? now_ns() : 0;

	for (size_t i = trace->early.count; i--;) {
		struct early_books *early = &trace->early.items[i];
		uint64_t age = now - early->read_ns;

		if (!early->ready) {
			early->ready = age >= SENT_NS && !trace_open_slots(trace, age, &open, 1);
		} else if (!trace->more) {
			settle(trace, early);
			*early = trace->early.items[--trace->early.count];
		}
	}
}

void trace_early_fork(struct trace *trace, uint32_t parent, uint32_t child)
{
	for (size_t i = 0; i < trace->early.count; i++)
		if (trace->early.items[i].process == parent)
			books_exec(&trace->books, child);
	for (uint32_t image = 0; image < trace->image_count; image++)
		if (u64map_get(&trace->runtimes, trace_runtime_key(parent, image)))
			u64map_put(&trace->aged, trace_runtime_key(child, image), 1);
}
