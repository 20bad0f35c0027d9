/* The books of the runtimes: opened at the first look, read and compared at the end. */
#include <stdlib.h>

#include "clock.h"
#include "ledger.h"

/* From here on, every collection of the main interpreter must be seen. */
static void open_books(struct ledger *ledger, pid_t pid, uint32_t process, uint32_t image,
	const struct proc_map *map)
{
	struct begun_pause begun;
	struct probe_books books;

	if (probe_books(pid, map, &ledger->images->items[image].plan, &books))
		return;
	if (!runtimes_aged(ledger->runtimes, process, image)) {
		ledger_early_add(ledger, process, image, &books);
		return;
	}
	if (!books_open(&ledger->books, process, books.owner,
		    &(struct books_counts){books.names, books.counts}))
		return; /* its maps have changed: what was missed until now is missed */
	if (!books.collecting)
		return;
	books_expect(&ledger->books, process, books.owner);
	begun = (struct begun_pause){
		.process = process,
		.runtime = runtimes_get(ledger->runtimes, process, image)->id,
		.image = image,
		.pid = pid,
		.map = *map,
		.books = books,
		.start_ns = now_ns(),
	};
	begun.map.path = NULL;
	begun.seen_ns = begun.start_ns;
	ledger_begun_add(ledger, &begun);
}

void ledger_open(struct ledger *ledger, pid_t pid, uint32_t process,
	const struct probe_image *found, const int *indexes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (indexes[i] >= 0 &&
			runtimes_get(ledger->runtimes, process, (uint32_t)indexes[i]))
			open_books(ledger, pid, process, (uint32_t)indexes[i], &found[i].map);
}

static int ask_books(const struct ledger *ledger, pid_t pid, const struct proc_map *map,
	uint32_t image, struct probe_books *ret)
{
	const struct probe_plan *plan = &ledger->images->items[image].plan;
	const struct runtime_part *part = captures_of(ledger->captures, plan->ops->capture);

	return part->ops->books ? part->ops->books(part->state, pid, ret)
				: probe_books(pid, map, plan, ret);
}

/* Reads the counters of @runtime, an instance of image @index, into *ret. */
static bool read_books(struct ledger *ledger, const struct runtime *runtime, uint32_t index,
	struct closing_books *ret)
{
	const struct process *process =
		recording_process(&ledger->feed->recording, runtime->process);
	struct proc_maps maps = {};
	bool done = false;

	if (!process || process->exit_ns || proc_maps_read(process->pid, &maps))
		return false;
	for (size_t i = 0; !done && i < maps.maps.count; i++) {
		const struct proc_map *map = &maps.maps.items[i];

		if (map->exec && images_find(ledger->images, process->pid, map) == (int)index)
			done = !ask_books(ledger, process->pid, map, index, &ret->books);
	}
	proc_maps_release(&maps);
	ret->runtime = runtime->id;
	ret->read_ns = now_ns();
	return done;
}

void ledger_read(struct ledger *ledger)
{
	for (size_t i = 0; i < ledger->feed->recording.runtimes.count; i++) {
		const struct runtime *runtime = &ledger->feed->recording.runtimes.items[i];

		for (uint32_t image = 0; image < ledger->images->count; image++) {
			struct closing_books books, *slot;

			if (runtimes_find(ledger->runtimes, runtime->process, image) != runtime ||
				!read_books(ledger, runtime, image, &books))
				continue;
			slot = vec_add(&ledger->closing);
			if (slot)
				*slot = books;
		}
	}
}

void ledger_close(struct ledger *ledger)
{
	for (size_t i = 0; i < ledger->closing.count; i++) {
		const struct closing_books *closing = &ledger->closing.items[i];
		const struct probe_books *books = &closing->books;
		struct runtime *runtime = runtimes_by_id(ledger->runtimes, closing->runtime);

		if (!runtime)
			continue;
		runtime->missed += books_settle(&ledger->books, runtime->process, books->owner,
			&(struct books_counts){books->names, books->counts});
	}
	for (size_t i = 0; i < ledger->feed->recording.runtimes.count; i++)
		feed_runtime(ledger->feed, &ledger->feed->recording.runtimes.items[i]);
}

void ledger_release(struct ledger *ledger)
{
	books_release(&ledger->books);
	vec_free(&ledger->closing);
	vec_free(&ledger->begun);
	vec_free(&ledger->early);
}
