/*
 * bench_store [-m|-s] FILE [COUNT]…: writes COUNT made-up pauses, or with -m marks of steps, or with -s
 * safepoints (1e3 … 1e7 by default), into FILE as a storm of four processes would give them, reads them
 * back, and prints what both cost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "hotspot_facts.h"
#include "mem.h"
#include "store.h"
#include "u64map.h"

#define COMMIT_EVERY 4096 /* rows: about what one drain of a full ring buffer holds */
#define DEPTH	     12
#define STACKS	     3001
#define SERIES	     12

enum rows { PAUSES, MARKS, SAFEPOINTS };

static const char *const row_names[] = {"pauses", "marks", "safepoints"};
static struct stack_table stacks;
static uint32_t leaves[STACKS];

static void must(int r, const char *what)
{
	if (!r)
		return;
	fprintf(stderr, "bench_store: %s\n", what);
	exit(1);
}

static void make_stacks(void)
{
	must(stack_table_init(&stacks), "out of memory");
	for (uint32_t i = 0; i < STACKS; i++) {
		uint32_t node = 0;

		for (uint32_t depth = 0; depth < DEPTH; depth++) {
			uint64_t pick =
				u64_mix(depth << 16 | i % (depth * depth * depth + 1)) % 997;
			char name[64];
			struct frame frame = {
				.line = (uint32_t)(pick + depth), .lang = LANG_PYTHON};

			frame.function = strtab_add(stacks.strings, name,
				(size_t)sprintf(name, "Module%llu.forward_%u",
					(unsigned long long)pick, depth));
			frame.file = strtab_add(stacks.strings, name,
				(size_t)sprintf(name, "/srv/train/model_%llu.py",
					(unsigned long long)pick % 31));
			node = stack_table_node(&stacks, node, stack_table_frame(&stacks, &frame));
		}
		leaves[i] = node;
	}
}

static uint64_t cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static struct pause make_pause(uint64_t i, uint64_t *now)
{
	uint64_t random = u64_mix(i);
	int generation = random % 100 < 90 ? 0 : random % 100 < 99 ? 1 : 2;
	uint64_t duration = (20000 + (random >> 40) % 30000) << 4 * generation;

	*now += duration / 4 + 1000;
	return (struct pause){
		.id = i + 1,
		.start_ns = *now,
		.end_ns = *now + duration,
		.runtime = 1 + i % 4,
		.tid = 4711 + i % 4,
		.generation = generation,
		.cause = i % 100 ? CAUSE_AUTOMATIC : CAUSE_MANUAL,
		.collected = (random >> 20) % 400,
		.stack = leaves[random % STACKS],
		.heap_objects = 400000 + (int64_t)i,
		.heap_pending = (int64_t)(random % 100000),
		.rss_start = 1ll << 30,
		.rss_end = (1ll << 30) + (int64_t)(random % 1000) * 4096,
		.waited_ns = i % 4 ? (int64_t)duration / 3 : UNKNOWN,
	};
}

/* The facts of a young collection of a JVM, a few MB at a time. */
static void add_safepoint(struct pause *pause, uint64_t i)
{
	uint64_t random = u64_mix(i + 1000003);
	int64_t duration = (int64_t)pause_duration(pause), ttsp = duration / (5 + (int64_t)(i % 3));

	pause->flags |= PAUSE_HAS_FACTS;
	pause->cause = CAUSE_RUNTIME;
	pause->heap_objects = pause->heap_pending = pause->collected = UNKNOWN;
	memcpy(pause->facts,
		((int64_t[PAUSE_FACTS]){
			[HOTSPOT_OPERATION] = 1 + random % 5,
			[HOTSPOT_CAUSE] = 7 + random % 3,
			[HOTSPOT_TTSP_NS] = ttsp,
			[HOTSPOT_CLEANUP_NS] = UNKNOWN,
			[HOTSPOT_CORE_NS] = duration - ttsp - 1009,
			[HOTSPOT_LEAVE_NS] = 1009,
			[HOTSPOT_HEAP_BEFORE] = (1ll << 30) + (int64_t)(random % (1 << 24)),
			[HOTSPOT_HEAP_AFTER] = (1ll << 28) + (int64_t)(random % (1 << 22)),
			[HOTSPOT_YOUNG_COLLECTIONS] = 1,
			[HOTSPOT_FULL_COLLECTIONS] = 0,
			[HOTSPOT_LATE_TID] = i % 50 ? UNKNOWN : 4711,
			[HOTSPOT_LATE_STACK] = i % 50 ? STACK_NONE : leaves[i % STACKS],
		}),
		sizeof(pause->facts));
}

/* Four threads, each with three calls a step of 1 ms, one of them with the resident size. */
static struct mark make_mark(uint64_t i, uint64_t *now)
{
	uint64_t random = u64_mix(i);

	*now += 80000 + random % 10000;
	return (struct mark){
		.series = 1 + i % SERIES,
		.time_ns = *now,
		.rss_bytes =
			i % SERIES < 4 ? (1ll << 30) + (int64_t)(random % 1000) * 4096 : UNKNOWN,
	};
}

static void put_series(struct store_writer *writer)
{
	struct signal signal = {.id = 1, .name = "torch:backward"};

	must(store_put_signal(writer, &signal), store_writer_error(writer));
	for (uint32_t i = 0; i < SERIES; i++) {
		struct series series = {.id = i + 1,
			.signal = 1,
			.process = 1 + i % 4,
			.tid = 4711 + i % 4,
			.number = i};

		must(store_put_series(writer, &series), store_writer_error(writer));
	}
}

static void write_rows(struct store_writer *writer, enum rows rows, uint64_t count, uint64_t *now)
{
	for (uint64_t i = 0; i < count; i++) {
		if (rows == MARKS) {
			struct mark mark = make_mark(i, now);

			must(store_put_mark(writer, &mark), store_writer_error(writer));
		} else {
			struct pause pause = make_pause(i, now);

			if (rows == SAFEPOINTS)
				add_safepoint(&pause, i);
			must(store_put_pause(writer, &pause), store_writer_error(writer));
		}
		if (i % COMMIT_EVERY == COMMIT_EVERY - 1)
			must(store_commit(writer), store_writer_error(writer));
	}
}

static void write_file(const char *path, enum rows rows, uint64_t count)
{
	struct recording head = {.version = "bench",
		.host = "bench",
		.start_ns = 86400000000000ull,
		.realtime_offset_ns = 1700000000000000000ll,
		.complete = true};
	struct store_writer *writer;
	uint64_t now = head.start_ns;
	struct err err;

	must(store_begin(path, &head, &writer, &err), err.text);
	must(store_settle(writer, &err), err.text);
	for (uint32_t i = 1; i <= 4; i++) {
		struct process process = {.id = i,
			.pid = 4710 + (int)i,
			.ns_pid = 4710 + (int)i,
			.comm = "python3",
			.seen_ns = now};
		struct runtime runtime = {.id = i,
			.process = i,
			.kind = "cpython",
			.version = "3.11.2",
			.tier = "usdt",
			.attached_ns = now};

		if (rows == SAFEPOINTS) /* facts are read for a runtime that has them */
			strcpy(runtime.kind, "hotspot");
		must(store_put_process(writer, &process), store_writer_error(writer));
		must(store_put_runtime(writer, &runtime), store_writer_error(writer));
	}
	must(store_put_stacks(writer, &stacks), store_writer_error(writer));
	if (rows == MARKS)
		put_series(writer);
	write_rows(writer, rows, count, &now);
	head.end_ns = now + 1000000000;
	must(store_close(writer, &head, &err), err.text);
}

/* How long reading all of it takes. */
static uint64_t read_file(const char *path, enum rows rows, uint64_t count)
{
	uint64_t wall = now_ns(), seen = 0;
	struct store_reader *reader;
	struct pause pause;
	struct mark mark;
	struct err err;

	must(store_open(path, &reader, &err), err.text);
	while ((rows == MARKS ? store_next_mark(reader, &mark, &err)
			      : store_next_pause(reader, &pause, &err)) > 0)
		seen++;
	store_reader_free(reader);
	must(seen != count, "not all came back");
	return now_ns() - wall;
}

static void bench(const char *path, enum rows rows, uint64_t count)
{
	uint64_t cpu = cpu_ns(), wall = now_ns(), read;
	struct rusage usage;
	struct stat st;

	write_file(path, rows, count);
	cpu = cpu_ns() - cpu;
	wall = now_ns() - wall;
	must(stat(path, &st), "cannot stat the file");
	read = read_file(path, rows, count);
	getrusage(RUSAGE_SELF, &usage);
	printf("%10llu %12.0f %12.0f %10.2f %10.1f %10.3f %9.1f\n", (unsigned long long)count,
		(double)count * 1e9 / (double)wall, (double)count * 1e9 / (double)cpu,
		(double)cpu / 1e9, (double)st.st_size / (double)count, (double)read / 1e9,
		(double)usage.ru_maxrss / 1024);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	enum rows rows = argc > 1 && !strcmp(argv[1], "-m")   ? MARKS
			 : argc > 1 && !strcmp(argv[1], "-s") ? SAFEPOINTS
							      : PAUSES;
	int file = 1 + (rows != PAUSES);

	if (argc <= file) {
		fprintf(stderr, "usage: bench_store [-m|-s] FILE [COUNT]...\n");
		return 2;
	}
	make_stacks();
	printf("%10s %12s %12s %10s %10s %10s %9s\n", row_names[rows], "per second", "per CPU s",
		"CPU s", "bytes each", "read s", "RSS MB");
	for (int i = file + 1; i < argc; i++)
		bench(argv[file], rows, strtoull(argv[i], NULL, 10));
	for (uint64_t count = 1000; argc == file + 1 && count <= 10000000; count *= 10)
		bench(argv[file], rows, count);
	stack_table_release(&stacks);
	return 0;
}
