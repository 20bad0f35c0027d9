/*
 * What a session observed of GPUs comes back from the .gct file as a timeline: every fact, what is missing, and nothing of
 * what cannot be true.
 */
#include <errno.h>

#include "gpu_fact.h"
#include "store_fixture.h"

#define BUSY 5003

static struct gpu_fact nth_busy(uint64_t i)
{
	return (struct gpu_fact){
		.kind = GPU_FACT_BUSY,
		.process = 1,
		.device = 7,
		.busy = {.start_ns = 2000000000 + i * 200000,
			.end_ns = 2000000000 + i * 200000 + 90001,
			.launch_ns = i % 3 ? 2000000000 + i * 200000 - 17 : 0,
			.previous_ns = i % 5 ? 2000000000 + i * 200000 - 1700 : 0,
			.gaps_ns = i % 7,
			.starved_ns = i % 7 / 2,
			.unsure_ns = i % 13,
			.tid = i % 11 ? 4711 : 0},
	};
}

static struct gpu_fact described(uint32_t device, uint64_t seen_ns, uint64_t until_ns)
{
	struct gpu_fact fact = {.kind = GPU_FACT_DEVICE, .process = 1, .device = device};

	fact.described.name = device == 7 ? "NVIDIA \xff H100" : NULL;
	fact.described.memory_bytes = device == 7 ? 85520809984 : 0;
	fact.described.seen_ns = seen_ns;
	fact.described.until_ns = until_ns;
	fact.described.clock_error_ns = 1400 + device;
	return fact;
}

static struct gpu_fact call(enum gpu_call_kind kind, uint32_t device, uint64_t done_ns)
{
	struct gpu_fact fact = {.kind = GPU_FACT_CALL, .process = 1, .device = device};

	fact.call.kind = kind;
	fact.call.tid = 4711;
	fact.call.wait = (struct gpu_wait){
		2000000031, 2000000059, done_ns, device, .queue = !done_ns, .copy = done_ns != 0};
	fact.call.frees = done_ns != 0;
	fact.call.failed = true;
	return fact;
}

static struct gpu_fact unknown(uint32_t device, uint64_t start_ns, uint64_t end_ns,
	uint64_t records, enum gpu_unknown why)
{
	struct gpu_fact fact = {.kind = GPU_FACT_UNKNOWN, .process = 1, .device = device};

	fact.unknown.span = (struct gpu_span){start_ns, end_ns};
	fact.unknown.records = records;
	fact.unknown.why = why;
	return fact;
}

static void put(struct store_writer *writer, struct gpu_fact fact)
{
	assert_int_equal(store_put_gpu(writer, &fact), 0);
}

static void put_driver(struct store_writer *writer)
{
	struct gpu_fact driver = {.kind = GPU_FACT_DRIVER, .process = 1};
	struct gpu_fact call = {.kind = GPU_FACT_DRIVER_CALL, .process = 1};

	driver.driver.attached_ns = 2000000003;
	put(writer, driver);
	call.driver_call =
		(struct gpu_driver_call){2000000113, 2000000151, 1013, 0, 4711, GPU_DRIVER_WAIT, 5};
	put(writer, call);
	call.driver_call = (struct gpu_driver_call){
		2000000083, 2000000109, GPU_NOT_COUNTED, 7919, 4711, GPU_DRIVER_ALLOCATE, 10};
	put(writer, call);
	driver.driver.let_go_ns = 2000000103;
	driver.driver.failed = 17;
	put(writer, driver);
}

static void put_all(struct store_writer *writer)
{
	struct gpu_fact launcher = {.kind = GPU_FACT_LAUNCHER, .process = 1};
	struct gpu_fact memory = {.kind = GPU_FACT_MEMORY, .process = 1, .device = 7};

	put(writer, described(7, 0, 0));
	put(writer, described(9, 0, 0));
	for (uint64_t i = BUSY; i--;) /* any order will do */
		put(writer, nth_busy(i));
	put(writer, call(GPU_CALL_WAIT, GPU_DEVICE_NONE, 2000000053));
	put(writer, call(GPU_CALL_WAIT, 7, 0));
	put(writer, call(GPU_CALL_ALLOCATE, 7, 0));
	put(writer, call(GPU_CALL_ALLOCATE, GPU_DEVICE_NONE, 2000000053));
	for (launcher.launcher.launches = 1009; launcher.launcher.launches < 1015;
		launcher.launcher.launches++) {
		launcher.launcher.tid = 4711;
		launcher.launcher.gap_ns = 6007;
		put(writer, launcher);
	}
	memory.memory = (struct gpu_bytes){2000000071, -4099};
	put(writer, memory);
	put(writer, unknown(7, 5000000000, 5000001000, 101, GPU_UNKNOWN_DROPPED));
	put(writer, unknown(GPU_DEVICE_NONE, 6000000000, 6000001000, 13, GPU_UNKNOWN_LOST));
	put_driver(writer);
	put(writer, described(7, 2000000000, 7000000000));
	put(writer, described(9, 2000000000, 7000000000));
}

static void make_gpu_file(void)
{
	struct recording recording = head();
	struct process process = {.id = 1, .pid = 4711, .comm = "train"};
	struct store_writer *writer;
	struct err err;

	assert_int_equal(store_begin(path, &recording, &writer, &err), 0);
	assert_int_equal(store_settle(writer, &err), 0);
	assert_int_equal(store_put_process(writer, &process), 0);
	put_all(writer);
	recording.end_ns = 8000000000;
	assert_int_equal(store_close(writer, &recording, &err), 0);
}

static void check_device(const struct gpu_device *device)
{
	assert_string_equal(device->name, "NVIDIA \xef\xbf\xbd H100");
	assert_int_equal(device->memory_bytes, 85520809984);
	assert_int_equal(device->seen_ns, 2000000000);
	assert_int_equal(device->until_ns, 7000000000);
	assert_int_equal(device->busy.count, BUSY);
	for (uint64_t i = 0; i < BUSY; i++) {
		struct gpu_fact fact = nth_busy(i);
		const struct gpu_busy *busy = &device->busy.items[i];

		assert_int_equal(busy->start_ns, fact.busy.start_ns);
		assert_int_equal(busy->end_ns, fact.busy.end_ns);
		assert_int_equal(busy->launch_ns, fact.busy.launch_ns);
		assert_int_equal(busy->previous_ns, fact.busy.previous_ns);
		assert_int_equal(busy->gaps_ns, fact.busy.gaps_ns);
		assert_int_equal(busy->starved_ns, fact.busy.starved_ns);
		assert_int_equal(busy->unsure_ns, fact.busy.unsure_ns);
		assert_int_equal(busy->tid, fact.busy.tid);
	}
	assert_int_equal(device->unknown.count, 2);
	assert_int_equal(device->unknown.items[0].start_ns, 5000000000);
	assert_int_equal(device->unknown.items[1].end_ns, 6000001000);
	assert_int_equal(device->dropped, 114);
	assert_int_equal(device->memory.count, 1);
	assert_int_equal(device->memory.items[0].bytes, -4099);
}

static void check_driver(const struct gpu_timeline *timeline)
{
	const struct gpu_driver *driver = timeline->drivers.items;

	assert_int_equal(timeline->drivers.count, 1);
	assert_int_equal(driver->attached_ns, 2000000003);
	assert_int_equal(driver->let_go_ns, 2000000103);
	assert_int_equal(driver->failed, 17);
	assert_int_equal(driver->calls.count, 2);
	assert_int_equal(driver->calls.items[0].kind, GPU_DRIVER_ALLOCATE);
	assert_int_equal(driver->calls.items[0].bytes, 7919);
	assert_true(driver->calls.items[0].launches == GPU_NOT_COUNTED);
	assert_string_equal(gpu_driver_functions[driver->calls.items[0].function], "cuMemAlloc_v2");
	assert_int_equal(driver->calls.items[1].launches, 1013);
	assert_int_equal(driver->calls.items[1].start_ns, 2000000113);
	assert_int_equal(driver->calls.items[1].end_ns, 2000000151);
	assert_string_equal(gpu_driver_functions[driver->calls.items[1].function],
		"cuEventSynchronize");
}

static void a_timeline_comes_back(void **state)
{
	const struct gpu_timeline *timeline;
	const struct gpu_launcher *launcher;
	struct store_reader *reader;

	make_gpu_file();
	reader = open_file();
	timeline = store_gpu(reader, NULL);
	assert_non_null(timeline);
	assert_ptr_equal(timeline, store_gpu(reader, NULL));
	assert_string_equal(store_recording(reader)->damage, "");
	assert_int_equal(timeline->clock_error_ns, 1409);
	assert_int_equal(timeline->devices.count, 2);
	check_device(&timeline->devices.items[0]);
	/* What is of no device is of all. */
	assert_int_equal(timeline->devices.items[1].unknown.count, 1);
	assert_int_equal(timeline->devices.items[1].dropped, 13);
	assert_int_equal(timeline->launchers.count, 1);
	launcher = &timeline->launchers.items[0];
	assert_int_equal(launcher->tid, 4711);
	assert_int_equal(launcher->launches, 1014);
	assert_int_equal(launcher->gap_ns, 6007);
	assert_int_equal(launcher->waits.count, 2);
	assert_int_equal(launcher->waits.items[0].done_ns + launcher->waits.items[1].done_ns,
		2000000053);
	for (size_t i = 0; i < 2; i++) {
		const struct gpu_wait *wait = &launcher->waits.items[i];

		assert_int_equal(wait->copy, wait->done_ns != 0);
		assert_int_equal(wait->queue, !wait->done_ns);
	}
	assert_int_equal(launcher->allocations.count, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct gpu_allocation *allocation = &launcher->allocations.items[i];

		assert_int_equal(allocation->end_ns, 2000000059);
		assert_int_equal(allocation->device, allocation->frees ? GPU_DEVICE_NONE : 7);
		assert_true(allocation->failed);
	}
	check_driver(timeline);
	assert_false(timeline->inferred);
	store_reader_free(reader);
}

/* What is left of device 7 after @sql, and whether that is damage. */
static const struct {
	const char *sql;
	size_t busy, unknown, waits;
	uint64_t seen_ns, until_ns;
	bool damaged;
} edits[] = {
	{"delete from gpu_unknown", BUSY, 0, 2, 2000000000, 7000000000, false},
	/* Nothing is known of what comes behind the last word, and not of any time at all without one. */
	{"update gpu_device set until_ns = 2000200001", 2, 2, 2, 2000000000, 2000200001, false},
	{"update gpu_device set until_ns = 2000200000", 1, 2, 2, 2000000000, 2000200000, false},
	{"update gpu_device set seen_ns = null, until_ns = null", 0, 2, 2, 0, 0, false},
	{"update gpu_device set until_ns = 5", 0, 2, 2, 0, 0, false},
	/* Not known when: not known at all. */
	{"update gpu_unknown set start_ns = null, end_ns = null", BUSY, 1, 2, 2000000000,
		7000000000, false},
	{"update gpu_busy set duration_ns = -1 where id = 97", BUSY - 1, 2, 2, 2000000000,
		7000000000, true},
	{"update gpu_busy set start_ns = 9223372036854775807 where id = 97", BUSY - 1, 2, 2,
		2000000000, 7000000000, true},
	{"update gpu_busy set device = 8 where id = 97", BUSY - 1, 2, 2, 2000000000, 7000000000,
		true},
	{"update gpu_busy set process = 8 where id = 97", BUSY - 1, 2, 2, 2000000000, 7000000000,
		true},
	{"update gpu_busy set gaps_ns = 90002 where id = 97", BUSY - 1, 2, 2, 2000000000,
		7000000000, true},
	{"update gpu_busy set starved_ns = 7 where id = 97", BUSY - 1, 2, 2, 2000000000, 7000000000,
		true},
	{"update gpu_call set tid = 0 where id = 1", BUSY, 2, 1, 2000000000, 7000000000, true},
	{"update gpu_call set kind = 97 where id = 1", BUSY, 2, 1, 2000000000, 7000000000, false},
	{"update gpu_driver_call set tid = 0 where id = 1", BUSY, 2, 2, 2000000000, 7000000000,
		true},
	{"delete from gpu_driver", BUSY, 2, 2, 2000000000, 7000000000, true},
	{"update gpu_driver_call set kind = 97", BUSY, 2, 2, 2000000000, 7000000000, false},
	/* As before the last columns were added. */
	{"create table old as select id, process, device, tid, kind, start_ns, duration_ns, done_ns from "
	 "gpu_call; drop table gpu_call; alter table old rename to gpu_call",
		BUSY, 2, 2, 2000000000, 7000000000, false},
	{"drop table gpu_call", BUSY, 2, 0, 2000000000, 7000000000, false},
	{"drop table gpu_unknown; drop table gpu_memory", BUSY, 0, 2, 2000000000, 7000000000,
		false},
};

static void what_cannot_be_is_left_out(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(edits); i++) {
		const struct gpu_timeline *timeline;
		const struct gpu_device *device;
		struct store_reader *reader;

		run("rm -f %s", path);
		make_gpu_file();
		run("sqlite3 %s '%s'", path, edits[i].sql);
		reader = open_file();
		timeline = store_gpu(reader, NULL);
		device = &timeline->devices.items[0];
		assert_int_equal(device->busy.count, edits[i].busy);
		assert_int_equal(device->unknown.count, edits[i].unknown);
		assert_int_equal(timeline->launchers.items[0].waits.count, edits[i].waits);
		assert_int_equal(device->seen_ns, edits[i].seen_ns);
		assert_int_equal(device->until_ns, edits[i].until_ns);
		assert_int_equal(!!*store_recording(reader)->damage, edits[i].damaged);
		store_reader_free(reader);
	}
}

static void older_files_have_no_devices(void **state)
{
	static const char *const scripts[] = {
		"delete from gpu_device; delete from gpu_busy; delete from gpu_memory",
		"drop table gpu_device; drop table gpu_busy; drop table gpu_call; drop table gpu_launcher; "
		"drop table gpu_memory; drop table gpu_unknown; drop table gpu_driver_call; "
		"drop table gpu_driver",
		("drop table gpu_driver_call; delete from gpu_device; delete from gpu_busy; "
		 "delete from gpu_memory"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
		struct store_reader *reader;

		run("rm -f %s", path);
		make_gpu_file();
		run("sqlite3 %s '%s'", path, scripts[i]);
		reader = open_file();
		assert_int_equal(store_gpu(reader, NULL)->devices.count, 0);
		assert_string_equal(store_recording(reader)->damage, "");
		store_reader_free(reader);
	}
}

static void notes_say_why_nothing_is_known(void **state)
{
	static const struct {
		enum gpu_unknown why;
		const char *words;
	} cases[] = {
		{GPU_UNKNOWN_ASIDE, "another user of CUPTI"},
		{GPU_UNKNOWN_NO_DRIVER, "no driver"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct store_reader *reader;

		run("rm -f %s", path);
		make_gpu_file();
		run("sqlite3 %s 'update gpu_unknown set why = %u'", path, cases[i].why);
		reader = open_file();
		assert_non_null(strstr(store_gpu(reader, NULL)->note, cases[i].words));
		store_reader_free(reader);
	}
}

/* Of each of two processes without records, whether its launches were counted: the source names no more than what was seen. */
static void what_was_seen_is_the_source(void **state)
{
	static const struct {
		const char *sql, *source;
	} cases[] = {
		{"", "calls that wait for a GPU and, in part, launches"},
		{"update gpu_driver set let_go_ns = null",
			"launches and calls that wait for a GPU"},
		{"update gpu_driver set let_go_ns = attached_ns where process = 1",
			"calls that wait for a GPU and, in part, launches"},
		{"update gpu_driver set let_go_ns = attached_ns", "calls that wait for a GPU"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct store_reader *reader;

		run("rm -f %s", path);
		make_gpu_file();
		run("sqlite3 %s 'delete from gpu_device; delete from gpu_busy; delete from gpu_memory; "
		    "insert into process select 2, 4723, ns_pid, ppid, comm, cmdline, seen_ns, exit_ns "
		    "from process; "
		    "insert into gpu_driver values (2, 7, null, 0); %s'",
			path, cases[i].sql);
		reader = open_file();
		assert_true(store_gpu(reader, NULL)->inferred);
		assert_string_equal(store_gpu(reader, NULL)->source, cases[i].source);
		store_reader_free(reader);
	}
}

static void times_that_go_back_are_refused(void **state)
{
	struct recording recording = head();
	struct gpu_fact fact = nth_busy(3);
	struct store_writer *writer;
	struct err err;

	assert_int_equal(store_begin(path, &recording, &writer, &err), 0);
	fact.busy.end_ns = fact.busy.start_ns - 1;
	assert_int_equal(store_put_gpu(writer, &fact), -EINVAL);
	fact = call(GPU_CALL_WAIT, 7, 0);
	fact.call.wait.end_ns = 5;
	assert_int_equal(store_put_gpu(writer, &fact), -EINVAL);
	store_abandon(writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_timeline_comes_back, each),
		cmocka_unit_test_setup(what_cannot_be_is_left_out, each),
		cmocka_unit_test_setup(older_files_have_no_devices, each),
		cmocka_unit_test_setup(notes_say_why_nothing_is_known, each),
		cmocka_unit_test_setup(what_was_seen_is_the_source, each),
		cmocka_unit_test_setup(times_that_go_back_are_refused, each),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
