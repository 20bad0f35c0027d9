/* What the tests of the .gct file share: a folder, made-up facts, and files of them. */
#pragma once

#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "hotspot_facts.h"
#include "meaning.h"
#include "cleanup.h"
#include "own_process.h"
#include "store.h"
#include "u64map.h"

#define PAUSES	     5003
#define MARKS	     7001
#define SIGNALS	     3
#define SERIES	     5
#define MAYBE_UNUSED __attribute__((unused))

static char folder[] = "/tmp/gctrace-test-store-XXXXXX";
static char path[128], wal[136];

static void run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void run(const char *format, ...)
{
	char command[512];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	assert_int_equal(system(command), 0);
}

static int setup(void **state)
{
	alarm(120);
	return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
	run("rm -rf %s", folder);
	return 0;
}

static int each(void **state)
{
	run("chmod 755 %s; rm -rf %s/*", folder, folder);
	snprintf(path, sizeof(path), "%s/run.gct", folder);
	snprintf(wal, sizeof(wal), "%s-wal", path);
	return 0;
}

static struct recording head(void)
{
	return (struct recording){.version = "0.1.0",
		.host = "node7",
		.boot_id = "01234567-89ab-cdef-0123-456789abcdef",
		.start_ns = 1000000000,
		.realtime_offset_ns = 1700000000000000000,
		.complete = true};
}

/* A random value, now and then UNKNOWN. */
static int64_t maybe(uint64_t random, unsigned out_of, uint64_t below)
{
	return random % out_of ? (int64_t)((random >> 5) % below) : UNKNOWN;
}

static struct pause nth_pause(uint64_t id)
{
	uint64_t random = u64_mix(id);
	uint64_t start = 1000000000 + id * 1000, duration = random % 7000000000;

	return (struct pause){
		.id = id,
		.start_ns = start,
		.end_ns = start + duration, /* some beyond 2^32 ns */
		.runtime = 1 + random % 2,
		.tid = (uint32_t)(random >> 8) % 4000000,
		.interpreter = random % 5 ? (int32_t)(random % 3) : UNKNOWN,
		.generation = (int32_t)(random % 4) - 1,
		.cause = random % 4,
		.flags = random % 8,
		.collected = maybe(random, 11, 100000),
		.uncollectable = maybe(random, 13, 2),
		.stack = random % 4,
		.heap_objects = maybe(random, 17, 1ull << 40),
		.heap_pending = maybe(random, 19, 3),
		.rss_start = maybe(random, 23, 1ull << 44),
		.rss_end = maybe(random, 29, 1ull << 44),
		.waited_ns = maybe(random, 2, duration + 1),
	};
}

static MAYBE_UNUSED void assert_same_pause(const struct pause *a, const struct pause *b)
{
	assert_int_equal(a->id, b->id);
	assert_int_equal(a->start_ns, b->start_ns);
	assert_int_equal(a->end_ns, b->end_ns);
	assert_int_equal(a->runtime, b->runtime);
	assert_int_equal(a->tid, b->tid);
	assert_int_equal(a->interpreter, b->interpreter);
	assert_int_equal(a->generation, b->generation);
	assert_int_equal(a->cause, b->cause);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->collected, b->collected);
	assert_int_equal(a->uncollectable, b->uncollectable);
	assert_int_equal(a->stack, b->stack);
	assert_int_equal(a->heap_objects, b->heap_objects);
	assert_int_equal(a->heap_pending, b->heap_pending);
	assert_int_equal(a->rss_start, b->rss_start);
	assert_int_equal(a->rss_end, b->rss_end);
	assert_int_equal(a->waited_ns, b->waited_ns);
}

/* The id-th mark put; the file numbers them. */
static struct mark nth_mark(uint64_t id)
{
	uint64_t random = u64_mix(id + 1000003);

	return (struct mark){
		.series = 1 + random % SERIES,
		.time_ns = 1000000000 + id * 1009,
		.rss_bytes = maybe(random >> 16, 7, 1ull << 44),
		.skipped = id % 11 ? 0 : (uint32_t)(random >> 32),
		.work_ns = maybe(random >> 8, 5, INT64_MAX),
	};
}

static MAYBE_UNUSED void assert_same_mark(const struct mark *a, const struct mark *b)
{
	assert_int_equal(a->series, b->series);
	assert_int_equal(a->time_ns, b->time_ns);
	assert_int_equal(a->rss_bytes, b->rss_bytes);
	assert_int_equal(a->skipped, b->skipped);
	assert_int_equal(a->work_ns, b->work_ns);
}

/* Three nodes: main → step → (4 KB name: none is longer). */
static void make_stacks(struct stack_table *stacks)
{
	static char huge[4097];
	static const char *const names[] = {"main", "Trainer.step", huge};
	uint32_t node = 0;

	memset(huge, 'x', sizeof(huge) - 1);
	assert_int_equal(stack_table_init(stacks), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct frame frame = {
			.function = strtab_add(stacks->strings, names[i], strlen(names[i])),
			.file = i ? strtab_add(stacks->strings, "train.py", 8) : 0,
			.line = (uint32_t)i * 7,
			.lang = i < 2 ? LANG_PYTHON : LANG_NATIVE,
		};

		node = stack_table_node(stacks, node, stack_table_frame(stacks, &frame));
		assert_int_equal(node, i + 1);
	}
}

#ifndef STORE_FIXTURE_KIND
#define STORE_FIXTURE_KIND "cpython" /* of the runtimes of what is recorded here */
#endif

static void put_facts(struct store_writer *writer)
{
	struct process process = {.id = 1,
		.pid = 4711,
		.ns_pid = 17,
		.ppid = 1,
		.comm = "python3",
		.cmdline = (char *)"python3\0train.py",
		.cmdline_len = 17,
		.seen_ns = 5};
	struct process child = {.id = 2,
		.pid = 4712,
		.ns_pid = 4712,
		.ppid = 4711,
		.comm = "w\xffrker",
		.cpu = {.from_ns = 13, .until_ns = 97, .used_ns = 61},
		.seen_ns = 6,
		.exit_ns = 99};
	struct runtime runtime = {.id = 1,
		.process = 1,
		.kind = STORE_FIXTURE_KIND,
		.version = "3.11.2",
		.tier = "usdt",
		.path = (char *)"/usr/bin/python3.11",
		.detail = (char *)"gc__start",
		.attached_ns = 7};
	struct drop drop = {
		.cause = "ring-full", .remedy = "--buffer 64M", .count = 3, .time_ns = 8};

	assert_int_equal(store_put_process(writer, &process), 0);
	assert_int_equal(store_put_process(writer, &child), 0);
	assert_int_equal(store_put_runtime(writer, &runtime), 0);
	runtime.id = 2;
	runtime.process = 2;
	assert_int_equal(store_put_runtime(writer, &runtime), 0);
	runtime.missed = 13; /* later facts replace */
	assert_int_equal(store_put_runtime(writer, &runtime), 0);
	assert_int_equal(store_put_drop(writer, &drop), 0);
	drop.count = 11;
	assert_int_equal(store_put_drop(writer, &drop), 0);
}

/* Three signals, the second of which was let go; five series, of all kinds. */
static void put_steps(struct store_writer *writer)
{
	struct signal signals[SIGNALS] = {
		{.id = 1,
			.name = "torch:backward",
			.probe = (char *)"libtorch_cpu.so: e+4 (push)",
			.attached_ns = 11,
			.hits = 1},
		{.id = 2, .name = "torch:hot", .attached_ns = 13, .hits = 23},
		{.id = 3, .name = "user:lib\xff:f", .probe = (char *)"", .hits = 1ull << 40},
	};
	struct series series[SERIES] = {
		{.id = 1, .signal = 1, .process = 1, .tid = 4711, .number = UNKNOWN},
		{.id = 2,
			.signal = 1,
			.process = 2,
			.tid = 4799,
			.label = (char *)"Optimizer.step#Adam.step",
			.number = UNKNOWN},
		{.id = 3,
			.signal = 3,
			.process = 1,
			.tid = 4711,
			.label = (char *)"m\xc3ke",
			.number = 460},
		{.id = 4, .signal = 3, .process = 1, .tid = 4712, .number = INT64_MIN + 1},
		{.id = 5,
			.signal = 2,
			.process = 2,
			.tid = UINT32_MAX,
			.label = (char *)"",
			.number = 0},
	};

	memset(signals[1].name, 'n', sizeof(signals[1].name) - 1); /* as long as allowed */
	for (size_t i = 0; i < SIGNALS; i++)
		assert_int_equal(store_put_signal(writer, &signals[i]), 0);
	signals[1].hits = 29;
	signals[1].let_go_ns = 31;
	assert_int_equal(store_put_signal(writer, &signals[1]), 0);
	for (size_t i = 0; i < SERIES; i++)
		assert_int_equal(store_put_series(writer, &series[i]), 0);
}

/* A recording at once at its path, as one that is being recorded. 0 or -errno with a sentence. */
static int create(const struct recording *recording, struct store_writer **ret, struct err *err)
{
	int r = store_begin(path, recording, ret, err);

	r = r ? r : store_settle(*ret, err);
	if (r) {
		store_abandon(*ret);
		*ret = NULL;
	}
	return r;
}

/* A writer that has taken facts, stacks and pauses 1 … @count. */
static struct store_writer *start(uint64_t count, bool drops)
{
	struct recording recording = head();
	struct store_writer *writer = NULL;
	struct stack_table stacks;
	struct err err = {""};

	if (create(&recording, &writer, &err))
		fail_msg("%s", err.text);
	if (drops)
		put_facts(writer);
	make_stacks(&stacks);
	assert_int_equal(store_put_stacks(writer, &stacks), 0);
	stack_table_release(&stacks);
	for (uint64_t id = 1; id <= count; id++) {
		struct pause pause = nth_pause(id);

		assert_int_equal(store_put_pause(writer, &pause), 0);
	}
	return writer;
}

/* @pauses, and then @marks after what they belong to. */
static void make_file_with(uint64_t pauses, uint64_t marks)
{
	struct recording recording = head();
	struct store_writer *writer = start(pauses, true);

	if (marks)
		put_steps(writer);
	for (uint64_t id = 1; id <= marks; id++) {
		struct mark mark = nth_mark(id);

		assert_int_equal(store_put_mark(writer, &mark), 0);
	}
	recording.end_ns = 900000000000;
	assert_int_equal(store_close(writer, &recording, NULL), 0);
}

static MAYBE_UNUSED void make_file(uint64_t count)
{
	make_file_with(count, 0);
}

static struct store_reader *open_file(void)
{
	struct store_reader *reader = NULL;
	struct err err = {""};

	if (store_open(path, &reader, &err))
		fail_msg("%s", err.text);
	return reader;
}

/* Whether what a pause says of itself as a safepoint can be, and is nothing unless it is one. */
static void check_safepoint(const struct pause *pause, const struct stack_table *stacks)
{
	const int64_t *facts = pause->facts;
	uint64_t parts = 0;

	if (strcmp(pause->class->of->kind, "hotspot")) {
		for (size_t i = 0; i < PAUSE_FACTS && !(pause->flags & PAUSE_HAS_FACTS); i++)
			assert_true(facts[i] <= 0);
		return;
	}
	assert_true(facts[HOTSPOT_OPERATION] < strtab_count(stacks->strings));
	assert_true(facts[HOTSPOT_CAUSE] < strtab_count(stacks->strings));
	assert_true(facts[HOTSPOT_LATE_STACK] < stacks->node_count);
	assert_true(facts[HOTSPOT_LATE_RAN_NS] >= UNKNOWN);
	assert_true(facts[HOTSPOT_LATE_TID] >= UNKNOWN && facts[HOTSPOT_LATE_TID] <= UINT32_MAX);
	assert_true(facts[HOTSPOT_HEAP_BEFORE] >= UNKNOWN && facts[HOTSPOT_HEAP_AFTER] >= UNKNOWN);
	assert_true(facts[HOTSPOT_YOUNG_COLLECTIONS] >= UNKNOWN &&
		    facts[HOTSPOT_FULL_COLLECTIONS] >= UNKNOWN);
	for (size_t i = 0; i < 4; i++) {
		int64_t part = facts[HOTSPOT_TTSP_NS + i];

		assert_true(part >= UNKNOWN);
		parts += part > 0 ? (uint64_t)part : 0;
	}
	assert_true(parts <= pause_duration(pause));
	if (!(pause->flags & PAUSE_HAS_FACTS))
		assert_true(!facts[HOTSPOT_OPERATION] && !facts[HOTSPOT_CAUSE] && !parts &&
			    !facts[HOTSPOT_LATE_STACK] && facts[HOTSPOT_HEAP_BEFORE] <= 0 &&
			    facts[HOTSPOT_YOUNG_COLLECTIONS] <= 0 && facts[HOTSPOT_LATE_TID] <= 0 &&
			    facts[HOTSPOT_LATE_RAN_NS] <= 0);
}

/* Reads pauses until the end or damage, which *ret tells. Ids must ascend. Returns how many. */
static MAYBE_UNUSED uint64_t count_pauses(struct store_reader *reader, int *ret)
{
	struct pause pause;
	struct err err = {""};
	uint64_t count = 0, last = 0;
	int r;

	while ((r = store_next_pause(reader, &pause, &err)) > 0) {
		count++;
		assert_true(pause.id > last && pause.end_ns >= pause.start_ns);
		assert_true(pause.stack < store_stacks(reader, NULL)->node_count);
		assert_true(pause.waited_ns <= (int64_t)pause_duration(&pause));
		check_safepoint(&pause, store_stacks(reader, NULL));
		last = pause.id;
	}
	if (r < 0)
		assert_non_null(strstr(err.text, path));
	*ret = r;
	return count;
}

/* The same for marks, each of an existing series. */
static MAYBE_UNUSED uint64_t count_marks(struct store_reader *reader, int *ret)
{
	struct mark mark;
	struct err err = {""};
	uint64_t count = 0;
	int r;

	while ((r = store_next_mark(reader, &mark, &err)) > 0) {
		count++;
		assert_non_null(recording_series(store_recording(reader), mark.series));
		assert_true(mark.rss_bytes >= UNKNOWN);
	}
	if (r < 0)
		assert_non_null(strstr(err.text, path));
	*ret = r;
	return count;
}

static MAYBE_UNUSED void refuse_open(int code, const char *words)
{
	struct store_reader *reader = NULL;
	struct err err = {""};

	assert_int_equal(store_open(path, &reader, &err), -code);
	assert_null(reader);
	if (!strstr(err.text, words) || !strstr(err.text, path))
		fail_msg("%s", err.text);
}

#define PAUSE                                                                                      \
	"insert into pause (id, start_ns, duration_ns, runtime, tid, interpreter, generation, "    \
	"cause, flags, collected, uncollectable, stack) values "

/* A recording whose tables take anything, with @sql run over it. */
static MAYBE_UNUSED void make_hostile(const char *sql)
{
	static const char *const rules[] = {" STRICT", " NOT NULL"};
	char *schema = strdup(store_schema_sql), *at;
	sqlite3 *db;

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		while ((at = strstr(schema, rules[i])))
			memset(at, ' ', strlen(rules[i]));
	unlink(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA synchronous = OFF", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, schema, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db,
			"insert into meta values "
			"('start_ns','1000'),('end_ns','9000'),('complete','1');"
			"insert into process values (1,4711,4711,1,'python3',NULL,1000,NULL);"
			"insert into runtime values (1,1,'" STORE_FIXTURE_KIND
			"','3.11','usdt',NULL,NULL,1000,0,NULL,NULL,NULL);"
			"insert into string values (1,'f'),(2,'x.py');"
			"insert into frame values (1,1,2,3,1);"
			"insert into stack values (1,0,1);"
			"insert into step_signal values (1,'torch:backward',NULL,1000,7,NULL);"
			"insert into step_series values (1,1,1,4711,NULL,NULL);"
			"insert into step_mark (id,series,time_ns,rss_bytes) values (1,1,1000,4096);" PAUSE
			"(1,1000,100,1,5,0,0,1,0,0,0,1);",
			NULL, NULL, NULL),
		SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	sqlite3_close(db);
	free(schema);
}

/* Runs @body in a child as a user without rights. Returns its exit status. */
static MAYBE_UNUSED int as_nobody(int (*body)(void))
{
	pid_t child;
	int status;

	NEEDS_OWN_PROCESS();
	child = fork();
	if (!child) {
		if (setgid(65534) || setuid(65534))
			_exit(125);
		_exit(body());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}
