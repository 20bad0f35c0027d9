/*
 * What a flame graph of N different stacks costs. bench_flame: a table for 10³ … 10⁶ stacks;
 * bench_flame flamegraph|folded N [FILE]: one run, its figures on stderr, the report in FILE;
 * bench_flame gct N FILE: the same pauses as a recording, for `gctrace report`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "mem.h"
#include "report.h"
#include "store.h"
#include "meaning.h"
#include "u64map.h"

enum { FUNCTIONS = 1999, CALLEES = 8, COMMON = 4, SHALLOW = 15, DEEP = 25 };

/* A made-up program: every function calls up to CALLEES others, the first ones most often. */
struct program {
	struct recording recording;
	struct process process;
	struct runtime runtime;
	struct stack_table stacks;
	uint32_t *stack_of; /* by pause */
	uint64_t count, next, random;
};

static uint64_t draw_random(struct program *program)
{
	return u64_mix(program->random += 0x9e3779b97f4a7c15ull);
}

static int next_pause(void *source, struct pause *ret, struct err *err)
{
	struct program *p = source;
	uint64_t mix = u64_mix(p->next + 1);
	int32_t generation = mix % 100 < 80 ? 0 : mix % 100 < 92 ? 1 : 2;
	static const uint64_t typical_ns[] = {60000, 400000, 9000000};

	if (p->next == p->count)
		return 0;
	*ret = (struct pause){.id = p->next + 1,
		.runtime = 1,
		.generation = generation,
		.cause = CAUSE_AUTOMATIC,
		.stack = p->stack_of[p->next],
		.start_ns = (p->next + 1) << 24};
	ret->end_ns =
		ret->start_ns + typical_ns[generation] / 2 + (mix >> 8) % typical_ns[generation];
	p->next++;
	meaning_judge(&p->recording, p->stacks.strings, ret);
	return 1;
}

static int rewind_pauses(void *source)
{
	((struct program *)source)->next = 0;
	return 0;
}

static void name_functions(struct program *p)
{
	for (uint32_t i = 1; i <= FUNCTIONS; i++) {
		char text[64];
		struct frame frame = {.line = i % 400 + 1, .lang = LANG_PYTHON};

		snprintf(text, sizeof(text), "Module%u.function_%u", i % 37, i);
		frame.function = strtab_add(p->stacks.strings, text, strlen(text));
		snprintf(text, sizeof(text), "/srv/app/package/module%u.py", i % 37);
		frame.file = strtab_add(p->stacks.strings, text, strlen(text));
		if (stack_table_frame(&p->stacks, &frame) != i)
			exit(1);
	}
}

/* A stack that was not there before, as the recorder would intern it. */
static uint32_t new_stack(struct program *p)
{
	uint32_t before = p->stacks.node_count, node;

	do {
		uint64_t depth = SHALLOW + draw_random(p) % (DEEP - SHALLOW + 1);

		node = STACK_NONE;
		for (uint64_t i = 0; i < depth; i++) {
			uint64_t caller = p->stacks.nodes[node].frame;
			uint64_t callee =
				(uint64_t)__builtin_ctzll(draw_random(p) | 1 << (CALLEES - 1));
			uint64_t frame = i < COMMON ? i : u64_mix(caller << 8 | callee) % FUNCTIONS;

			node = stack_table_node(&p->stacks, node, (uint32_t)frame + 1);
			if (!node)
				exit(1);
		}
	} while (node < before); /* an old node, or one within a longer stack */
	return node;
}

static void program_init(struct program *p, uint64_t count)
{
	*p = (struct program){.count = count, .random = 23};
	p->recording.complete = true;
	p->recording.start_ns = 1;
	strcpy(p->recording.version, GCTRACE_VERSION);
	strcpy(p->recording.host, "bench");
	strcpy(p->recording.boot_id, "bench");
	p->process = (struct process){.id = 1, .pid = 1234, .ns_pid = 1234, .comm = "python3"};
	p->runtime = (struct runtime){.id = 1, .process = 1, .kind = "cpython"};
	p->recording.processes.items = &p->process;
	p->recording.runtimes.items = &p->runtime;
	p->recording.processes.count = p->recording.runtimes.count = 1;
	p->stack_of = calloc(count, sizeof(*p->stack_of));
	if (!p->stack_of || stack_table_init(&p->stacks))
		exit(1);
	name_functions(p);
	for (uint64_t i = 0; i < count; i++)
		p->stack_of[i] = new_stack(p);
}

/* One run in this process; the figures as one line on @figures. */
static int run(const struct report_ops *ops, uint64_t count, const char *path, FILE *figures)
{
	uint64_t start = clock_ns(CLOCK_PROCESS_CPUTIME_ID), built, done;
	struct program p;
	struct report_input input = {
		&p.recording, &p.stacks, next_pause, rewind_pauses, &p, "bench"};
	_cleanup_fclose_ FILE *out = fopen(path, "w");
	struct err err = {};
	struct rusage usage;
	struct stat st = {};

	if (!out) {
		perror(path);
		return 1;
	}
	program_init(&p, count);
	built = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (ops->write(&input, out, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	done = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	getrusage(RUSAGE_SELF, &usage);
	fstat(fileno(out), &st);
	fprintf(figures, "%10" PRIu64 " %10u %8.3f %8.3f %8.3f %9.1f %9.2f\n", count,
		p.stacks.node_count, (double)(built - start) / 1e9, (double)(done - built) / 1e9,
		(double)(done - start) / 1e9, (double)usage.ru_maxrss / 1024,
		(double)st.st_size / 1e6);
	fflush(figures);
	return 0;
}

/* Stores the program's pauses as the recorder would. */
static int record(uint64_t count, const char *path)
{
	struct program p;
	struct store_writer *writer = NULL;
	struct pause pause;
	struct err err = {};
	int r;

	program_init(&p, count);
	r = store_begin(path, &p.recording, &writer, &err);
	if (!r)
		r = store_settle(writer, &err);
	if (!r)
		r = store_put_process(writer, &p.process) ||
		    store_put_runtime(writer, &p.runtime) || store_put_stacks(writer, &p.stacks);
	while (!r && next_pause(&p, &pause, &err) > 0) {
		p.recording.end_ns = pause.end_ns;
		r = store_put_pause(writer, &pause);
	}
	if (writer && r)
		fprintf(stderr, "%s\n", store_writer_error(writer));
	if (!r)
		r = store_close(writer, &p.recording, &err);
	else if (writer)
		store_abandon(writer);
	if (r && err.text[0])
		fprintf(stderr, "%s\n", err.text);
	return r != 0;
}

static int table(void)
{
	printf("CPU seconds: intern (make and find every stack), draw (report), both together\n"
	       "%10s %10s %8s %8s %8s %9s %9s\n",
		"stacks", "nodes", "intern", "draw", "total", "peak MiB", "SVG MB");
	fflush(stdout);
	for (uint64_t count = 1000; count <= 1000000; count *= 10) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			char path[] = "/tmp/bench_flame.XXXXXX";
			int fd = mkstemp(path), r;

			if (fd < 0)
				_exit(1);
			close(fd);
			r = run(&report_flamegraph, count, path, stdout);
			unlink(path);
			_exit(r);
		}
		if (pid < 0 || waitpid(pid, &status, 0) < 0 || status)
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct report_ops *ops;

	if (argc < 3)
		return table();
	if (!strcmp(argv[1], "gct") && argc > 3)
		return record(strtoull(argv[2], NULL, 10), argv[3]);
	ops = strcmp(argv[1], "folded") ? &report_flamegraph : &report_folded;
	return run(ops, strtoull(argv[2], NULL, 10), argc > 3 ? argv[3] : "/dev/null", stderr);
}
