/*
 * What a JVM leaves in a .gct file: safepoints with their pauses, stalls, phases, threads, collectors
 * come back as they were put; what of them is damaged or hostile costs only itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define STORE_FIXTURE_KIND "hotspot"
#include "meaning.h"
#include "needs.h"
#include "store_fixture.h"

#define SAFEPOINTS 5003
#define STALLS	   10007
#define PHASES	   503
#define LIST_MAX   2097152 /* documented in store.h */

/* @part of what is left of a pause, or UNKNOWN. */
static int64_t part(uint64_t random, unsigned out_of, int64_t *left)
{
	int64_t ns = maybe(random, out_of, (uint64_t)*left + 1);

	*left -= ns > 0 ? ns : 0;
	return ns;
}

/* A pause that is a safepoint, or, by @every, only now and then; the first three hold extremes. */
static struct pause nth_safepoint(uint64_t id, unsigned every)
{
	struct pause pause = nth_pause(id);
	int64_t left = (int64_t)pause_duration(&pause);
	uint64_t random = u64_mix(id + 77777);

	if (id % every) {
		meaning_forget(meaning_of("hotspot"), &pause);
		return pause;
	}
	pause.flags |= PAUSE_HAS_FACTS | (random % 2 ? PAUSE_NO_COLLECTION : PAUSE_FULL);
	pause.cause = CAUSE_RUNTIME;
	memcpy(pause.facts,
		((int64_t[PAUSE_FACTS]){
			[HOTSPOT_OPERATION] = (uint32_t)(random >> 3) % 5,
			[HOTSPOT_CAUSE] = (uint32_t)(random >> 7) % 5,
			[HOTSPOT_TTSP_NS] = part(random >> 1, 7, &left),
			[HOTSPOT_CLEANUP_NS] = part(random >> 2, 2, &left),
			[HOTSPOT_CORE_NS] = part(random >> 3, 11, &left),
			[HOTSPOT_LEAVE_NS] = part(random >> 4, 3, &left),
			[HOTSPOT_HEAP_BEFORE] = maybe(random >> 5, 5, 1ull << 44),
			[HOTSPOT_HEAP_AFTER] = maybe(random >> 6, 5, 1ull << 44),
			[HOTSPOT_YOUNG_COLLECTIONS] = maybe(random >> 7, 7, 3),
			[HOTSPOT_FULL_COLLECTIONS] = maybe(random >> 8, 7, 2),
			[HOTSPOT_LATE_TID] = maybe(random >> 9, 2, UINT32_MAX),
			[HOTSPOT_LATE_STACK] = (uint32_t)(random >> 10) % 4,
			[HOTSPOT_LATE_RAN_NS] = maybe(random >> 12, 3, INT64_MAX),
		}),
		sizeof(pause.facts));
	if (id == 1)
		memcpy(pause.facts,
			((int64_t[PAUSE_FACTS]){0, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0}),
			sizeof(pause.facts));
	if (id == 2)
		memcpy(pause.facts, ((int64_t[PAUSE_FACTS]){0}), sizeof(pause.facts));
	if (id == 3)
		memcpy(pause.facts,
			((int64_t[PAUSE_FACTS]){[HOTSPOT_OPERATION] = 4,
				[HOTSPOT_CAUSE] = 4,
				[HOTSPOT_YOUNG_COLLECTIONS] = 1ll << 57,
				[HOTSPOT_FULL_COLLECTIONS] = 1ll << 57,
				[HOTSPOT_TTSP_NS] = (int64_t)pause_duration(&pause),
				[HOTSPOT_HEAP_BEFORE] = 1ll << 57,
				[HOTSPOT_HEAP_AFTER] = 1ll << 57,
				[HOTSPOT_LATE_TID] = UINT32_MAX,
				[HOTSPOT_LATE_STACK] = 3,
				[HOTSPOT_LATE_RAN_NS] = INT64_MAX}),
			sizeof(pause.facts));
	return pause;
}

static void assert_same_safepoint(const struct pause *a, const struct pause *b)
{
	const int64_t *left = a->facts, *right = b->facts;

	assert_same_pause(a, b);
	assert_int_equal(left[HOTSPOT_OPERATION], right[HOTSPOT_OPERATION]);
	assert_int_equal(left[HOTSPOT_CAUSE], right[HOTSPOT_CAUSE]);
	assert_int_equal(left[HOTSPOT_TTSP_NS], right[HOTSPOT_TTSP_NS]);
	assert_int_equal(left[HOTSPOT_CLEANUP_NS], right[HOTSPOT_CLEANUP_NS]);
	assert_int_equal(left[HOTSPOT_CORE_NS], right[HOTSPOT_CORE_NS]);
	assert_int_equal(left[HOTSPOT_LEAVE_NS], right[HOTSPOT_LEAVE_NS]);
	assert_int_equal(left[HOTSPOT_HEAP_BEFORE], right[HOTSPOT_HEAP_BEFORE]);
	assert_int_equal(left[HOTSPOT_HEAP_AFTER], right[HOTSPOT_HEAP_AFTER]);
	assert_int_equal(left[HOTSPOT_YOUNG_COLLECTIONS], right[HOTSPOT_YOUNG_COLLECTIONS]);
	assert_int_equal(left[HOTSPOT_FULL_COLLECTIONS], right[HOTSPOT_FULL_COLLECTIONS]);
	assert_int_equal(left[HOTSPOT_LATE_TID], right[HOTSPOT_LATE_TID]);
	assert_int_equal(left[HOTSPOT_LATE_STACK], right[HOTSPOT_LATE_STACK]);
	assert_int_equal(left[HOTSPOT_LATE_RAN_NS], right[HOTSPOT_LATE_RAN_NS]);
}

static struct stall nth_stall(uint64_t id)
{
	uint64_t random = u64_mix(id + 31), start = 1000000000 + id * 100003;

	return (struct stall){
		.id = id,
		.start_ns = start,
		.end_ns = start + random % 7000000000,
		.runtime = 1 + random % 2,
		.tid = id == 1 ? UINT32_MAX : (uint32_t)(random >> 8) % 4000000,
		.kind = id == 2 ? UINT32_MAX : (uint32_t)(random >> 9) % 6,
		.collections = id == 3 ? 0 : maybe(random >> 4, 3, 9),
		.stack = (uint32_t)(random >> 10) % 4,
	};
}

static struct phase nth_phase(uint64_t id)
{
	uint64_t random = u64_mix(id + 37), start = id == 1 ? 0 : 1000000000 + id * 1000003;

	return (struct phase){
		.id = id,
		.start_ns = start,
		.end_ns = id == 1 ? INT64_MAX : start + random % 7000000000,
		.runtime = 1 + random % 2,
		.tid = (uint32_t)(random >> 8) % 4000000,
		.name = 1 + (uint32_t)(random >> 10) % 4,
	};
}

/* @pauses of which each @every-th is a safepoint, @stalls and @phases among them. Closes it. */
static void make_jvm(uint64_t pauses, unsigned every, uint64_t stalls, uint64_t phases)
{
	struct store_writer *writer = start(0, true);
	struct recording recording = head();

	for (uint64_t id = 1; id <= pauses || id <= stalls || id <= phases; id++) {
		struct pause pause = nth_safepoint(id, every);
		struct stall stall = nth_stall(id);
		struct phase phase = nth_phase(id);

		if (id <= pauses)
			assert_int_equal(store_put_pause(writer, &pause), 0);
		if (id <= stalls)
			assert_int_equal(store_put_stall(writer, &stall), 0);
		if (id <= phases)
			assert_int_equal(store_put_phase(writer, &phase), 0);
	}
	recording.end_ns = 900000000000;
	assert_int_equal(store_close(writer, &recording, NULL), 0);
}

/* All of them, some of them, none, and a single one: whatever the batches then hold. */
static void test_safepoints(void **state)
{
	NEEDS("hotspot");
	static const unsigned everies[] = {1, 2, 17, SAFEPOINTS, SAFEPOINTS + 1};
	struct pause pause;

	for (size_t i = 0; i < ARRAY_SIZE(everies); i++) {
		struct store_reader *reader;

		make_jvm(SAFEPOINTS, everies[i], 0, 0);
		reader = open_file();
		for (uint64_t id = 1; id <= 101;
			id++) /* part of a pass does not disturb the next */
			assert_int_equal(store_next_pause(reader, &pause, NULL), 1);
		for (int pass = 0; pass < 2; pass++) {
			store_rewind(reader);
			for (uint64_t id = 1; id <= SAFEPOINTS; id++) {
				struct pause expected = nth_safepoint(id, everies[i]);

				assert_int_equal(store_next_pause(reader, &pause, NULL), 1);
				assert_same_safepoint(&pause, &expected);
			}
			assert_int_equal(store_next_pause(reader, &pause, NULL), 0);
		}
		assert_string_equal(store_recording(reader)->damage, "");
		store_reader_free(reader);
		run("test $(sqlite3 %s 'select count(*) from safepoint') = %u", path,
			SAFEPOINTS / everies[i]);
	}
}

static void check_stalls(const struct recording *recording)
{
	assert_int_equal(recording->stalls.count, STALLS);
	for (uint64_t id = 1; id <= STALLS; id++) {
		const struct stall *stall = &recording->stalls.items[id - 1];
		struct stall expected = nth_stall(id);

		assert_int_equal(stall->id, id);
		assert_int_equal(stall->start_ns, expected.start_ns);
		assert_int_equal(stall->end_ns, expected.end_ns);
		assert_int_equal(stall->runtime, expected.runtime);
		assert_int_equal(stall->tid, expected.tid);
		assert_int_equal(stall->kind, expected.kind);
		assert_int_equal(stall->collections, expected.collections);
		assert_int_equal(stall->stack, expected.stack);
	}
}

static void check_phases(const struct recording *recording)
{
	assert_int_equal(recording->phases.count, PHASES);
	for (uint64_t id = 1; id <= PHASES; id++) {
		const struct phase *phase = &recording->phases.items[id - 1];
		struct phase expected = nth_phase(id);

		assert_int_equal(phase->id, id);
		assert_int_equal(phase->start_ns, expected.start_ns);
		assert_int_equal(phase->end_ns, expected.end_ns);
		assert_int_equal(phase->runtime, expected.runtime);
		assert_int_equal(phase->tid, expected.tid);
		assert_int_equal(phase->name, expected.name);
	}
}

static void test_lists(void **state)
{
	struct store_reader *reader;
	const struct recording *recording;
	int r;

	make_jvm(23, 2, STALLS, PHASES);
	reader = open_file();
	recording = store_recording(reader);
	assert_int_equal(recording->stalls.count, 0); /* come with the stacks */
	assert_int_equal(recording->phases.count, 0);
	for (int pass = 0; pass < 2; pass++) {
		assert_non_null(store_stacks(reader, NULL));
		check_stalls(recording);
		check_phases(recording);
		assert_int_equal(count_pauses(reader, &r), 23);
		assert_int_equal(r, 0);
		store_rewind(reader);
	}
	assert_string_equal(recording->damage, "");
	store_reader_free(reader);
}

/* A later name of a thread replaces the earlier; so does what a recording knows at its end. */
static void test_threads(void **state)
{
	static struct thread threads[] = {{2, 4799, "old"}, {1, 4711, "m\xc3in"},
		{1, UINT32_MAX, ""}, {2, 4799, "new"}, {1, 17, "DeallocatorServ"}, {2, 3, ""}};
	struct thread last = {1, 17, "at the end"};
	struct store_writer *writer = start(3, true);
	struct recording recording = head();
	const struct recording *read;
	struct store_reader *reader;

	memset(threads[5].name, 'n', sizeof(threads[5].name)); /* without its NUL */
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(store_put_thread(writer, &threads[i]), 0);
	recording.end_ns = 900000000000;
	recording.threads.items = &last;
	recording.threads.count = 1;
	assert_int_equal(store_close(writer, &recording, NULL), 0);
	reader = open_file();
	read = store_recording(reader);
	assert_int_equal(read->threads.count, 5);
	assert_string_equal(recording_thread(read, 1, 17)->name, "at the end");
	assert_string_equal(recording_thread(read, 1, 4711)->name, "m\xef\xbf\xbdin");
	assert_string_equal(recording_thread(read, 1, UINT32_MAX)->name, "");
	assert_string_equal(recording_thread(read, 2, 3)->name, "nnnnnnnnnnnnnnnn");
	assert_string_equal(recording_thread(read, 2, 4799)->name, "new");
	assert_null(recording_thread(read, 2, 17));
	assert_null(recording_thread(read, 1, 18));
	assert_null(recording_thread(read, 0, 0));
	assert_null(recording_thread(read, UINT32_MAX, UINT32_MAX));
	store_reader_free(reader);
}

static void test_collector(void **state)
{
	struct runtime runtime = {.id = 1,
		.process = 1,
		.kind = "hotspot",
		.tier = "symbol",
		.collector = "Generational ZGC"};
	struct store_writer *writer = start(3, true);
	struct store_reader *reader;

	assert_int_equal(store_put_runtime(writer, &runtime), 0);
	store_abandon(writer);
	reader = open_file();
	assert_string_equal(store_recording(reader)->runtimes.items[0].collector,
		"Generational ZGC");
	assert_string_equal(store_recording(reader)->runtimes.items[1].collector, "");
	store_reader_free(reader);
	run("test $(sqlite3 %s 'select count(*) from runtime where collector is null') = 1", path);
}

static void test_backward(void **state)
{
	struct store_writer *writer = start(3, true);
	struct stall stall = nth_stall(1);
	struct phase phase = nth_phase(2);
	struct store_reader *reader;

	stall.end_ns = stall.start_ns - 1;
	phase.end_ns = phase.start_ns - 1;
	assert_int_equal(store_put_stall(writer, &stall), -EINVAL);
	assert_int_equal(store_put_phase(writer, &phase), -EINVAL);
	assert_non_null(strstr(store_writer_error(writer), "its end is before its start"));
	stall = nth_stall(1);
	assert_int_equal(store_put_stall(writer, &stall), 0);
	store_abandon(writer);
	reader = open_file();
	assert_non_null(store_stacks(reader, NULL));
	assert_int_equal(store_recording(reader)->stalls.count, 1);
	assert_int_equal(store_recording(reader)->phases.count, 0);
	store_reader_free(reader);
}

/* In a file whose strings repeat, ids of the file are not those of the stack table. */
static void test_names(void **state)
{
	NEEDS("hotspot");
	const struct stack_table *stacks;
	struct store_reader *reader;
	struct pause pause;

	make_hostile(
		"insert into string values (3,'f'),(4,x'6fff'),(5,x'6ffe'),(6,'Cleanup'),(7,'G1');"
		"update pause set flags=64;"
		"insert into safepoint (pause, operation, cause) values (1,6,5);"
		"insert into phase values (1,1000,5,1,5,7)");
	reader = open_file();
	stacks = store_stacks(reader, NULL);
	assert_int_equal(store_next_pause(reader, &pause, NULL), 1);
	assert_string_equal(strtab_get(stacks->strings, pause.facts[HOTSPOT_OPERATION]), "Cleanup");
	assert_string_equal(strtab_get(stacks->strings, pause.facts[HOTSPOT_CAUSE]),
		"o\xef\xbf\xbd");
	assert_string_equal(strtab_get(stacks->strings,
				    store_recording(reader)->phases.items[0].name),
		"G1");
	assert_string_equal(store_recording(reader)->damage, "");
	store_reader_free(reader);
}

#define COLUMNS                                                                                         \
	"(pause,operation,cause,ttsp_ns,cleanup_ns,core_ns,leave_ns,heap_before,heap_after,young,full," \
	"late_tid,late_stack) "
#define SAFE "update pause set flags=64; insert into safepoint " COLUMNS "values "

static const struct {
	const char *sql;
	unsigned safepoints, stalls, phases, threads; /* that remain; there is always one pause */
	bool damaged;
} cases[] = {
	{SAFE "(1,1,2,10,0,90,0,5,6,1,0,7,1)", 1, 0, 0, 0, false},
	{SAFE "(1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL)", 1, 0, 0, 0, false},
	{SAFE "(1,1,2,-1,'x',1e300,zeroblob(99999),-5,'y',-1,1.5,99999999999,NULL)", 1, 0, 0, 0,
		false},
	{SAFE "(1,1,2,9223372036854775807,9223372036854775807,90,9223372036854775807,"
	      "9223372036854775807,-9223372036854775808,1,0,7,1)",
		1, 0, 0, 0, false},
	{SAFE "(1,3,2,1,1,1,1,1,1,1,1,1,1)", 1, 0, 0, 0, true},
	{SAFE "(1,0,2,1,1,1,1,1,1,1,1,1,1)", 1, 0, 0, 0, true},
	{SAFE "(1,1,-2,1,1,1,1,1,1,1,1,1,1)", 1, 0, 0, 0, true},
	{SAFE "(1,1,4294967298,1,1,1,1,1,1,1,1,1,1)", 1, 0, 0, 0, true},
	{SAFE "(1,'G1',2,1,1,1,1,1,1,1,1,1,1)", 1, 0, 0, 0, true},
	{SAFE "(1,1,2,1,1,1,1,1,1,1,1,1,2)", 1, 0, 0, 0, true},
	{SAFE "(1,1,2,1,1,1,1,1,1,1,1,1,-1)", 1, 0, 0, 0, true},
	{SAFE "(2,1,2,1,1,1,1,1,1,1,1,1,1)", 0, 0, 0, 0, true}, /* of no pause */
	{SAFE "(-1,1,2,1,1,1,1,1,1,1,1,1,1)", 0, 0, 0, 0, true},
	{SAFE "(-1,9,9,1,1,1,1,1,1,1,1,1,1),(1,1,1,1,1,1,1,1,1,1,1,1,1),(9,9,9,1,1,1,1,1,1,1,1,1,1)",
		1, 0, 0, 0, false},
	{"insert into safepoint " COLUMNS "values (1,99,99,1,1,1,1,1,1,1,1,1,99)", 0, 0, 0, 0,
		false}, /* not flagged */
	{"update pause set flags=-1", 0, 0, 0, 0, true},
	{"update pause set flags=64; drop table safepoint", 0, 0, 0, 0, true},
	{"update pause set flags=64; drop table safepoint; create table safepoint (pause)", 0, 0, 0,
		0, true},
	{"update pause set flags=64; drop table safepoint; create table safepoint (pause, operation, cause, "
	 "ttsp_ns, cleanup_ns, core_ns, leave_ns, heap_before, heap_after, young, full, late_tid, late_stack);"
	 "insert into safepoint (pause) values (1),(1),(NULL),('x')",
		1, 0, 0, 0, false}, /* the first counts */
	{"insert into stall values (1,1000,5,1,5,1,0,1),(7,1000,5,1,5,1,NULL,NULL)", 0, 2, 0, 0,
		false},
	{"insert into stall values (1,1000,5,1,5,99,-5,NULL)", 0, 1, 0, 0, false},
	{"insert into stall values (1,1000,5,1,5,-1,0,1),(2,1000,5,1,5,1,0,1)", 0, 1, 0, 0, true},
	{"insert into stall values (1,1000,5,1,5,NULL,0,1),(2,1000,5,1,5,1,0,1)", 0, 1, 0, 0, true},
	{"insert into stall values (1,1000,-5,1,5,1,0,1),(2,1000,5,1,5,1,0,1)", 0, 1, 0, 0, true},
	{"insert into stall values (1,1000,9223372036854775807,1,5,1,0,1)", 0, 0, 0, 0, true},
	{"insert into stall values (1,-1,5,1,5,1,0,1)", 0, 0, 0, 0, true},
	{"insert into stall values (1,1000,5,77,5,1,0,1)", 0, 0, 0, 0, true},
	{"insert into stall values (1,1000,5,4294967297,5,1,0,1)", 0, 0, 0, 0, true},
	{"insert into stall values (1,1000,5,1,4294967296,1,0,1)", 0, 0, 0, 0, true},
	{"insert into stall values (1,1000,5,1,5,1,0,2)", 0, 1, 0, 0, true},
	{"insert into stall values (-1,1000,5,1,5,1,0,1),(0,1000,5,1,5,1,0,1)", 0, 0, 0, 0, false},
	{"insert into stall values (1,zeroblob(99999),5,1,5,1,0,1)", 0, 0, 0, 0, true},
	{"drop table stall; create table stall (id)", 0, 0, 0, 0, true},
	{"insert into phase values (1,1000,5,1,5,1),(9223372036854775807,0,0,1,0,2)", 0, 0, 2, 0,
		false},
	{"insert into phase values (1,1000,5,1,5,3),(2,1000,5,1,5,1)", 0, 0, 1, 0, true},
	{"insert into phase values (1,1000,5,1,5,0)", 0, 0, 0, 0, true},
	{"insert into phase values (1,1000,5,1,5,NULL)", 0, 0, 0, 0, true},
	{"insert into phase values (1,1000,5,9,5,1)", 0, 0, 0, 0, true},
	{"insert into phase values (1,1000,-1,1,5,1)", 0, 0, 0, 0, true},
	{"drop table phase", 0, 0, 0, 0, false},
	{"insert into thread values (1,5,'a'),(1,6,x'ff00'),(1,4294967295,zeroblob(99999))", 0, 0,
		0, 3, false},
	{"insert into thread values (1,5,NULL)", 0, 0, 0, 1, false},
	{"insert into thread values (1,4,'a'),(9,5,'a')", 0, 0, 0, 1, true},
	{"insert into thread values (1,-5,'a')", 0, 0, 0, 0, true},
	{"insert into thread values (1,4294967296,'a')", 0, 0, 0, 0, true},
	{"insert into thread values ('x','y','z')", 0, 0, 0, 0, true},
	{"drop table thread; create table thread (process, tid, name);"
	 "insert into thread values (1,7,'a'),(1,7,'b')",
		0, 0, 0, 1, true},
	{"drop table thread", 0, 0, 0, 0, false},
	{"alter table runtime drop column collector", 0, 0, 0, 0, false},
	{"update runtime set collector=zeroblob(99999)", 0, 0, 0, 0, false},
};

static void test_hostile(void **state)
{
	NEEDS("hotspot");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct recording *recording;
		struct store_reader *reader;
		struct pause pause;
		int r;

		make_hostile(cases[i].sql);
		reader = open_file();
		recording = store_recording(reader);
		assert_int_equal(store_next_pause(reader, &pause, NULL), 1);
		store_rewind(reader);
		if (count_pauses(reader, &r) != 1 ||
			!!(pause.flags & PAUSE_HAS_FACTS) != cases[i].safepoints ||
			recording->stalls.count != cases[i].stalls ||
			recording->phases.count != cases[i].phases ||
			recording->threads.count != cases[i].threads ||
			(r == -EBADMSG) != cases[i].damaged)
			fail_msg("%s: flags %u, %zu, %zu, %zu, %d", cases[i].sql, pause.flags,
				recording->stalls.count, recording->phases.count,
				recording->threads.count, r);
		if (cases[i].damaged)
			assert_false(recording->complete);
		store_reader_free(reader);
	}
}

#define FOR_EVER                                                                                   \
	" as with recursive c(id) as (select 1 union all select id + 1 from c) "                   \
	"select id as pause, id, 1 as start_ns from c"

static void test_hostile_tables(void **state)
{
	static const char *const lacking[] = {
		"drop table safepoint; create view safepoint" FOR_EVER,
		"drop table stall; create view STALL" FOR_EVER,
		"drop table phase; create table phase (id, start_ns, duration_ns, runtime, tid, "
		"name as (abs(id)))",
		"drop table thread; create view thread" FOR_EVER,
		"alter table runtime add column again as (abs(id))",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lacking); i++) {
		make_hostile(lacking[i]);
		refuse_open(EBADMSG, "lacks tables");
	}
}

/* Of more rows than are kept, the first are kept; the rest is reported as missing. */
static void test_too_many(void **state)
{
	char sql[256];

	for (int more = 0; more < 2; more++) {
		struct store_reader *reader;

		snprintf(sql, sizeof(sql),
			"with recursive c(id) as (select 1 union all select id + 1 from c limit %d) "
			"insert into stall select id, 1000, 5, 1, 5, 3, NULL, NULL from c",
			LIST_MAX + more);
		make_hostile(sql);
		reader = open_file();
		assert_non_null(store_stacks(reader, NULL));
		assert_int_equal(store_recording(reader)->stalls.count, LIST_MAX);
		assert_int_equal(!!strstr(store_recording(reader)->damage, "more than 2097152"),
			more);
		assert_int_equal(store_recording(reader)->complete, !more);
		store_reader_free(reader);
	}
}

/* Zeroes the page in the middle of those of @table. */
static void make_hole(const char *table)
{
	char sql[256], zeros[8192] = "";
	sqlite3_stmt *statement;
	int64_t page;
	sqlite3 *db;
	int fd;

	snprintf(sql, sizeof(sql),
		"select pageno from dbstat where name='%s' and pagetype='leaf' order by path "
		"limit 1 offset (select count(*) / 2 from dbstat where name='%s' and pagetype='leaf')",
		table, table);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) {
		print_message("this SQLite has no dbstat\n");
		sqlite3_close(db);
		skip();
	}
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	page = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, zeros, 8192, (page - 1) * 8192), 8192);
	close(fd);
}

/* All pauses remain, and all safepoints beside the hole, with the right pause each. */
static void test_hole_in_safepoints(void **state)
{
	NEEDS("hotspot");
	struct store_reader *reader;
	struct pause pause;
	uint64_t bare = 0;

	make_jvm(SAFEPOINTS, 1, STALLS, PHASES);
	make_hole("safepoint");
	reader = open_file();
	for (int pass = 0; pass < 2; pass++, bare = 0, store_rewind(reader)) {
		for (uint64_t id = 1; id <= SAFEPOINTS; id++) {
			struct pause expected = nth_safepoint(id, 1);

			assert_int_equal(store_next_pause(reader, &pause, NULL), 1);
			if (!(pause.flags & PAUSE_HAS_FACTS)) {
				meaning_forget(meaning_of("hotspot"), &expected);
				bare++;
			}
			assert_same_safepoint(&pause, &expected);
		}
		assert_int_equal(store_next_pause(reader, &pause, NULL), -EBADMSG);
		assert_in_range(bare, 1, SAFEPOINTS / 10);
	}
	assert_non_null(strstr(store_recording(reader)->damage, "safepoint"));
	check_stalls(store_recording(reader));
	store_reader_free(reader);
}

static void test_hole_in_stalls(void **state)
{
	struct store_reader *reader;
	const struct recording *recording;
	int r;

	make_jvm(23, 1, STALLS, PHASES);
	make_hole("stall");
	reader = open_file();
	recording = store_recording(reader);
	assert_non_null(store_stacks(reader, NULL));
	assert_in_range(recording->stalls.count, STALLS / 2, STALLS - 1);
	assert_int_equal(recording->stalls.items[recording->stalls.count - 1].id, STALLS);
	assert_non_null(strstr(recording->damage, "stall"));
	assert_false(recording->complete);
	check_phases(recording);
	assert_int_equal(count_pauses(reader, &r), 23);
	assert_int_equal(r, -EBADMSG);
	store_reader_free(reader);
}

static void test_truncated(void **state)
{
	struct stat st;
	int r;

	make_jvm(SAFEPOINTS, 2, STALLS, PHASES);
	assert_int_equal(stat(path, &st), 0);
	for (off_t len = st.st_size - 4096; len > 0; len -= 12007) {
		struct store_reader *reader = NULL;
		struct err err = {""};

		assert_int_equal(truncate(path, len), 0);
		if (store_open(path, &reader, &err)) {
			assert_non_null(strstr(err.text, path));
			continue;
		}
		count_pauses(reader, &r);
		assert_int_equal(r, -EBADMSG);
		assert_true(store_recording(reader)->stalls.count <= STALLS);
		store_reader_free(reader);
	}
}

static void test_words(void **state)
{
	const struct pause none = {
		.end_ns = 7, .flags = PAUSE_NO_COLLECTION, .generation = UNKNOWN};
	const struct pause full = {.end_ns = 7, .flags = PAUSE_FULL, .generation = 1};
	struct pause_filter filter = {.gc_only = true, .min_generation = 1};

	assert_false(pause_passes(&none, &filter));
	assert_true(pause_passes(&full, &filter));
	filter.gc_only = false;
	assert_true(pause_passes(&none, &filter));
	assert_string_equal(pause_cause_name(CAUSE_RUNTIME), "runtime");
	assert_string_equal(pause_cause_name(5), "unknown");
}

static void test_words_for_waits(void **state)
{
	static const struct {
		uint32_t runtime, kind;
		const char *name;
	} words[] = {{1, 0, "unknown"}, {1, STALL_EXPLICIT, "System.gc"},
		{1, STALL_ALLOCATION, "allocation stall"}, {1, STALL_PACING, "pacing"},
		{1, STALL_LOCKER, "GC locker"}, {1, 5, "unknown"}, {1, UINT32_MAX, "unknown"},
		{2, STALL_EXPLICIT, "unknown"}};
	struct recording recording = {0};

	NEEDS("hotspot");
	*(struct runtime *)vec_add(&recording.runtimes) =
		(struct runtime){.id = 1, .kind = "hotspot"};
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		struct stall stall = {.runtime = words[i].runtime, .kind = words[i].kind};

		assert_string_equal(meaning_wait(&recording, &stall), words[i].name);
	}
	recording_release(&recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_safepoints, each),
		cmocka_unit_test_setup(test_lists, each),
		cmocka_unit_test_setup(test_threads, each),
		cmocka_unit_test_setup(test_collector, each),
		cmocka_unit_test_setup(test_backward, each),
		cmocka_unit_test_setup(test_names, each),
		cmocka_unit_test_setup(test_hostile, each),
		cmocka_unit_test_setup(test_hostile_tables, each),
		cmocka_unit_test_setup(test_too_many, each),
		cmocka_unit_test_setup(test_hole_in_safepoints, each),
		cmocka_unit_test_setup(test_hole_in_stalls, each),
		cmocka_unit_test_setup(test_truncated, each),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_words_for_waits),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
