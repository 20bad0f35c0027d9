/*
 * Any bytes as a .gct file: opened, its stacks loaded, marks and pauses read twice, reports made.
 * With libFuzzer (clang -fsanitize=fuzzer), or with -DFUZZ_ALONE as a program: fuzz_store SEED.gct
 * COUNT changes the seed COUNT times.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "meaning.h"
#include "report.h"
#include "store.h"
#include "u64map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static FILE *nowhere;
static char path[] = "/dev/shm/gctrace-fuzz-store-XXXXXX";
static unsigned long opened; /* inputs that were a recording at all */

/* Whether @value may stand for a fact of that unit. */
static bool is_sound(enum fact_unit unit, int64_t value, const struct stack_table *stacks)
{
	switch (unit) {
	case FACT_STRING:
		return value >= 0 && value < (int64_t)strtab_count(stacks->strings);
	case FACT_STACK:
		return value >= 0 && value < (int64_t)stacks->node_count;
	case FACT_THREAD:
		return value >= UNKNOWN && value <= UINT32_MAX;
	default:
		return value >= UNKNOWN;
	}
}

/* What store.h promises of the facts that the pause's runtime has. */
static void check_facts(const struct runtime_meaning *meaning, const struct pause *pause,
	const struct stack_table *stacks)
{
	uint64_t parts = 0;

	for (int i = 0; i < meaning->fact_count; i++) {
		const struct pause_fact *fact = &meaning->facts[i];
		int64_t value = pause->facts[i];

		if (!is_sound(fact->unit, value, stacks) ||
			(!(pause->flags & PAUSE_HAS_FACTS) && value > 0))
			abort();
		parts += fact->part && value > 0 ? (uint64_t)value : 0;
	}
	if (parts > pause_duration(pause))
		abort();
}

static int next(void *source, struct pause *ret, struct err *err)
{
	int r = store_next_pause(source, ret, err);

	if (r > 0 && (ret->end_ns < ret->start_ns || !ret->id || ret->heap_objects < UNKNOWN ||
			     ret->waited_ns > (int64_t)pause_duration(ret)))
		abort();
	if (r > 0)
		check_facts(meaning_of_runtime(store_recording(source), ret->runtime), ret,
			store_stacks(source, NULL));
	return r;
}

/* What store.h promises of stalls, phases and threads. */
static void check_lists(const struct recording *recording, const struct stack_table *stacks)
{
	for (size_t i = 0; i < recording->stalls.count; i++) {
		const struct stall *stall = &recording->stalls.items[i];

		if (stall->end_ns < stall->start_ns || stall->stack >= stacks->node_count ||
			!recording_runtime(recording, stall->runtime) || !stall->id ||
			(i && stall[-1].id >= stall->id))
			abort();
	}
	for (size_t i = 0; i < recording->phases.count; i++) {
		const struct phase *phase = &recording->phases.items[i];

		if (phase->end_ns < phase->start_ns || !phase->name ||
			phase->name >= strtab_count(stacks->strings) ||
			!recording_runtime(recording, phase->runtime) || !phase->id ||
			(i && phase[-1].id >= phase->id))
			abort();
	}
	for (size_t i = 0; i < recording->threads.count; i++) {
		const struct thread *thread = &recording->threads.items[i];

		if (recording_thread(recording, thread->process, thread->tid) != thread ||
			!recording_process(recording, thread->process))
			abort();
	}
}

static void check_driver(const struct gpu_driver *driver, const struct recording *recording)
{
	if (!recording_process(recording, driver->process))
		abort();
	for (size_t i = 0; i < driver->calls.count; i++) {
		const struct gpu_driver_call *call = &driver->calls.items[i];

		if (call->end_ns < call->start_ns || !call->tid || call->kind < GPU_DRIVER_WAIT ||
			call->kind > GPU_DRIVER_FREE || call->function >= GPU_DRIVER_FUNCTIONS ||
			(i && call[-1].start_ns > call->start_ns))
			abort();
	}
}

/* What store.h promises of GPUs. */
static void check_gpu(const struct gpu_timeline *timeline, const struct recording *recording)
{
	for (size_t i = 0; i < timeline->devices.count; i++) {
		const struct gpu_device *device = &timeline->devices.items[i];

		if (!recording_process(recording, device->process) ||
			device->until_ns < device->seen_ns)
			abort();
		for (size_t j = 0; j < device->busy.count; j++) {
			const struct gpu_busy *busy = &device->busy.items[j];

			if (busy->end_ns <= busy->start_ns || busy->start_ns < device->seen_ns ||
				busy->end_ns > device->until_ns ||
				(j && busy[-1].end_ns > busy->start_ns))
				abort();
		}
	}
	for (size_t i = 0; i < timeline->drivers.count; i++)
		check_driver(&timeline->drivers.items[i], recording);
}

static void read_marks(struct store_reader *reader)
{
	const struct recording *recording = store_recording(reader);
	struct mark mark;
	struct err err;

	while (store_next_mark(reader, &mark, &err) > 0) {
		const struct series *series = recording_series(recording, mark.series);

		if (!series || !recording_signal(recording, series->signal) ||
			!recording_process(recording, series->process) ||
			mark.rss_bytes < UNKNOWN || mark.work_ns < UNKNOWN)
			abort();
	}
}

static int rewind_source(void *source)
{
	return store_rewind(source);
}

static void read_all(struct store_reader *reader)
{
	struct report_input input = {.recording = store_recording(reader),
		.next = next,
		.rewind = rewind_source,
		.source = reader,
		.title = "fuzz"};
	struct err err;

	read_marks(reader);
	input.stacks = store_stacks(reader, &err);
	if (!input.stacks)
		return;
	for (uint32_t i = 1; i < input.stacks->node_count; i++)
		if (input.stacks->nodes[i].parent >= i ||
			input.stacks->nodes[i].frame >= input.stacks->frame_count)
			abort();
	check_lists(input.recording, input.stacks);
	check_gpu(store_gpu(reader, &err), input.recording);
	report_text.write(&input, nowhere, &err);
	store_rewind(reader);
	report_json.write(&input, nowhere, &err);
}

static void remove_file(void)
{
	unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct store_reader *reader;
	struct err err;

	if (fd < 0) {
		fd = mkstemp(path);
		nowhere = fopen("/dev/null", "w");
		atexit(remove_file);
	}
	if (!nowhere || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	if (store_open(path, &reader, &err))
		return 0;
	opened++;
	read_all(reader);
	store_reader_free(reader);
	return 0;
}

#ifdef FUZZ_ALONE
/* Changes a few bytes, words or the length; mostly within the pages that hold structure. */
static size_t change(uint8_t *bytes, size_t size, uint64_t random)
{
	static const uint8_t edges[] = {0, 1, 0x7f, 0x80, 0xff};
	unsigned changes = 1 + random % 6;

	for (unsigned i = 0; i < changes; i++) {
		size_t at;

		random = u64_mix(random + i);
		at = random % 4 ? (random >> 8) % size / 4096 * 4096 + (random >> 40) % 128
				: (random >> 8) % size;
		at = at < size ? at : size - 1;
		bytes[at] = random % 3 ? (uint8_t)(random >> 32)
				       : edges[(random >> 32) % sizeof(edges)];
	}
	return random % 31 ? size : (random >> 8) % size;
}

int main(int argc, char **argv)
{
	static uint8_t seed[1 << 20], bytes[sizeof(seed)];
	size_t size;
	FILE *file = argc > 2 ? fopen(argv[1], "r") : NULL;

	if (!file || !(size = fread(seed, 1, sizeof(seed), file))) {
		fprintf(stderr, "usage: fuzz_store SEED.gct COUNT\n");
		return 2;
	}
	fclose(file);
	for (uint64_t i = 0; i < strtoull(argv[2], NULL, 10); i++) {
		memcpy(bytes, seed, size);
		LLVMFuzzerTestOneInput(bytes, change(bytes, size, u64_mix(i)));
	}
	printf("fuzz_store: no crash; %lu inputs opened\n", opened);
	return opened ? 0 : 1;
}
#endif
