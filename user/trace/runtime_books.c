/* The books of the runtimes: opened at the first look, read and compared at the end. */
#include "clock.h"
#include "trace_priv.h"

/* From here on, every collection of the main interpreter must be seen. */
static void open_books(struct trace *trace, pid_t pid, uint32_t process, uint32_t image,
	const struct proc_map *map)
{
	struct begun_pause begun;
	struct probe_books books;

	if (probe_books(pid, map, &trace->images[image].plan, &books))
		return;
	if (!u64map_get(&trace->aged, trace_runtime_key(process, image))) {
		trace_early_open(trace, process, image, &books);
		return;
	}
	if (!books_open(&trace->books, process, books.owner,
		    &(struct books_counts){books.names, books.counts}))
		return; /* its maps have changed: what was missed until now is missed */
	if (!books.collecting)
		return;
	books_expect(&trace->books, process, books.owner);
	begun = (struct begun_pause){
		.process = process,
		.runtime = trace_runtime(trace, process, image)->id,
		.image = image,
		.pid = pid,
		.map = *map,
		.books = books,
		.start_ns = now_ns(),
	};
	begun.map.path = NULL;
	begun.seen_ns = begun.start_ns;
	trace_begun_add(trace, &begun);
}

void trace_open_books(struct trace *trace, pid_t pid, uint32_t process,
	const struct probe_image *found, const int *indexes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (indexes[i] >= 0 && trace_runtime(trace, process, (uint32_t)indexes[i]))
			open_books(trace, pid, process, (uint32_t)indexes[i], &found[i].map);
}

static int ask_books(const struct trace *trace, pid_t pid, const struct proc_map *map,
	uint32_t image, struct probe_books *ret)
{
	const struct capture *capture = trace_capture(trace, image);

	return capture->ops->books ? capture->ops->books(capture->state, pid, ret)
				   : probe_books(pid, map, &trace->images[image].plan, ret);
}

/* Reads the counters of @runtime, an instance of image @index, into *ret. */
static bool read_books(struct trace *trace, const struct runtime *runtime, uint32_t index,
	struct closing_books *ret)
{
	const struct process *process = recording_process(&trace->recording, runtime->process);
	struct proc_maps maps = {};
	bool done = false;

	if (!process || process->exit_ns || proc_maps_read(process->pid, &maps))
		return false;
	for (size_t i = 0; !done && i < maps.maps.count; i++) {
		const struct proc_map *map = &maps.maps.items[i];

		if (map->exec && trace_find_image(trace, process->pid, map) == (int)index)
			done = !ask_books(trace, process->pid, map, index, &ret->books);
	}
	proc_maps_release(&maps);
	ret->runtime = runtime->id;
	ret->read_ns = now_ns();
	return done;
}

void trace_read_books(struct trace *trace)
{
	for (size_t i = 0; i < trace->recording.runtimes.count; i++) {
		const struct runtime *runtime = &trace->recording.runtimes.items[i];

		for (uint32_t image = 0; image < trace->image_count; image++) {
			const uint64_t *id = u64map_get(&trace->runtimes,
				trace_runtime_key(runtime->process, image));
			struct closing_books books, *slot;

			if (!id || *id != runtime->id || !read_books(trace, runtime, image, &books))
				continue;
			slot = vec_add(&trace->closing);
			if (slot)
				*slot = books;
		}
	}
}

void trace_close_books(struct trace *trace)
{
	for (size_t i = 0; i < trace->closing.count; i++) {
		const struct closing_books *closing = &trace->closing.items[i];
		const struct probe_books *books = &closing->books;
		struct runtime *runtime = trace_runtime_by_id(trace, closing->runtime);

		if (!runtime)
			continue;
		runtime->missed += books_settle(&trace->books, runtime->process, books->owner,
			&(struct books_counts){books->names, books->counts});
	}
	for (size_t i = 0; i < trace->recording.runtimes.count; i++)
		trace_tell_runtime(trace, &trace->recording.runtimes.items[i]);
}
