/*
 * bench_store FILE [COUNT]…: writes COUNT made-up pauses (1e3 … 1e7 by default) into FILE as a
 * storm of four processes would give them, and prints what the writer cost.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "mem.h"
#include "store.h"
#include "u64map.h"

#define COMMIT_EVERY 4096 /* pauses: about what one drain of a full ring buffer holds */
#define DEPTH	     12
#define STACKS	     3001

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
	};
}

static void write_file(const char *path, uint64_t count)
{
	struct recording head = {.version = "bench", .host = "bench", .start_ns = 86400000000000ull,
		.realtime_offset_ns = 1700000000000000000ll, .complete = true};
	struct store_writer *writer;
	uint64_t now = head.start_ns;
	struct err err;

	must(store_create(path, &head, &writer, &err), err.text);
	for (uint32_t i = 1; i <= 4; i++) {
		struct process process = {.id = i, .pid = 4710 + (int)i, .ns_pid = 4710 + (int)i,
			.comm = "python3", .seen_ns = now};
		struct runtime runtime = {.id = i, .process = i, .kind = "cpython",
			.version = "3.11.2", .tier = "usdt", .attached_ns = now};

		must(store_put_process(writer, &process), store_writer_error(writer));
		must(store_put_runtime(writer, &runtime), store_writer_error(writer));
	}
	must(store_put_stacks(writer, &stacks), store_writer_error(writer));
	for (uint64_t i = 0; i < count; i++) {
		struct pause pause = make_pause(i, &now);

		must(store_put_pause(writer, &pause), store_writer_error(writer));
		if (i % COMMIT_EVERY == COMMIT_EVERY - 1)
			must(store_commit(writer), store_writer_error(writer));
	}
	head.end_ns = now + 1000000000;
	must(store_close(writer, &head, &err), err.text);
}

static void bench(const char *path, uint64_t count)
{
	uint64_t cpu = cpu_ns(), wall = now_ns();
	struct rusage usage;
	struct stat st;

	write_file(path, count);
	cpu = cpu_ns() - cpu;
	wall = now_ns() - wall;
	must(stat(path, &st), "cannot stat the file");
	getrusage(RUSAGE_SELF, &usage);
	printf("%10llu %12.0f %12.0f %10.2f %10.1f %9.1f\n", (unsigned long long)count,
		(double)count * 1e9 / (double)wall, (double)count * 1e9 / (double)cpu,
		(double)cpu / 1e9, (double)st.st_size / (double)count,
		(double)usage.ru_maxrss / 1024);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: bench_store FILE [COUNT]...\n");
		return 2;
	}
	make_stacks();
	printf("%10s %12s %12s %10s %10s %9s\n", "pauses", "per second", "per CPU s", "CPU s",
		"bytes each", "RSS MB");
	for (int i = 2; i < argc; i++)
		bench(argv[1], strtoull(argv[i], NULL, 10));
	for (uint64_t count = 1000; argc == 2 && count <= 10000000; count *= 10)
		bench(argv[1], count);
	stack_table_release(&stacks);
	return 0;
}
