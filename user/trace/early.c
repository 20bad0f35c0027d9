/* The first look at a program that began under trace → how many collections came before its probes. */
#include "clock.h"
#include "ledger.h"

#define SENT_NS                                                                                    \
	100000000ull /* after its end a pause's record is in the ring, even from a busy CPU */

void ledger_early_add(struct ledger *ledger, uint32_t process, uint32_t image,
	const struct probe_books *books)
{
	static const uint64_t zero[PROBE_COUNTERS];
	const struct runtime *runtime = runtimes_find(ledger->runtimes, process, image);
	struct early_books *slot;

	runtimes_meet(ledger->runtimes, process, image);
	if (!runtime || !books_open(&ledger->books, process, books->owner,
				&(struct books_counts){books->names, zero}))
		return;
	slot = vec_add(&ledger->early);
	if (slot)
		*slot = (struct early_books){
			.process = process,
			.runtime = runtime->id,
			.missed = runtime->missed,
			.books = *books,
			.read_ns = now_ns(),
		};
}

static void settle(struct ledger *ledger, const struct early_books *early)
{
	const struct probe_books *books = &early->books;
	struct runtime *runtime = runtimes_by_id(ledger->runtimes, early->runtime);

	if (!runtime)
		return;
	runtime->missed += books_settle(&ledger->books, early->process, books->owner,
		&(struct books_counts){books->names, books->counts});
	if (runtime->missed == early->missed)
		return;
	ledger->late_probes++;
	feed_runtime(ledger->feed, runtime);
}

void ledger_early_settle(struct ledger *ledger, uint32_t process, uint64_t time_ns)
{
	for (size_t i = ledger->early.count; i--;) {
		struct early_books *early = &ledger->early.items[i];

		if (process && early->process != process)
			continue;
		if (early->read_ns <= time_ns)
			settle(ledger, early);
		*early = ledger->early.items[--ledger->early.count];
	}
}

void ledger_early_turn(struct ledger *ledger, bool more)
{
	struct trace_open_pause open;
	uint64_t now = ledger->early.count ? now_ns() : 0;

	for (size_t i = ledger->early.count; i--;) {
		struct early_books *early = &ledger->early.items[i];
		uint64_t age = now - early->read_ns;

		if (!early->ready) {
			early->ready = age >= SENT_NS && !slots_open(ledger->shared, age, &open, 1);
		} else if (!more) {
			settle(ledger, early);
			*early = ledger->early.items[--ledger->early.count];
		}
	}
}

void ledger_early_fork(struct ledger *ledger, uint32_t parent, uint32_t child)
{
	for (size_t i = 0; i < ledger->early.count; i++)
		if (ledger->early.items[i].process == parent)
			books_exec(&ledger->books, child);
	for (uint32_t image = 0; image < ledger->images->count; image++)
		if (runtimes_have(ledger->runtimes, parent, image))
			runtimes_age(ledger->runtimes, child, image);
}
