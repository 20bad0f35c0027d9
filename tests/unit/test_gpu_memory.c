/* Memory of devices: how much there is at a time, against a table of every moment; what pauses change; what a retry is. */
#include "gpu_fixture.h"
#include "gpu_memory.h"

#define LENGTH 601
#define SEEDS  211

/* ── levels ── */

static uint64_t draw(struct stats_random *random, uint64_t from, uint64_t to)
{
	return from + stats_draw(random, to - from);
}

static void set(struct gpu_device *device, uint64_t time_ns, int64_t bytes)
{
	struct gpu_bytes *added = vec_add(&device->memory);

	assert_non_null(added);
	*added = (struct gpu_bytes){time_ns, bytes};
}

/* Two devices of one process, one of another, which changes nothing. */
static void levels_are_sums(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct stats_random random = {seed};
		_cleanup_(gpu_release) struct gpu_timeline timeline = {};
		int64_t table[LENGTH] = {}, bytes;

		for (uint32_t i = 0; i < 3; i++) {
			uint32_t process = i < 2 ? PROCESS : PROCESS + 1;
			struct gpu_device *device = gpu_device(&timeline, process, i);
			int64_t level = 0;
			uint64_t last = 0;

			device->seen_ns = 1;
			device->until_ns = LENGTH;
			for (uint64_t at = 1 + draw(&random, 0, 9); at < LENGTH;
				at += draw(&random, 1, 30)) {
				for (; i < 2 && last < at; last++)
					table[last] += level;
				level += (int64_t)draw(&random, 0, 1001) - 500;
				set(device, at, level);
			}
			for (; i < 2 && last < LENGTH; last++)
				table[last] += level;
		}
		gpu_settle(&timeline);
		for (uint64_t t = 1; t < LENGTH; t++) {
			assert_true(gpu_memory_at(&timeline, PROCESS, t, &bytes));
			assert_int_equal(bytes, table[t]);
		}
		assert_false(gpu_memory_at(&timeline, PROCESS, LENGTH + 1, &bytes));
		assert_false(gpu_memory_at(&timeline, PROCESS + 2, 5, &bytes));
	}
}

static void what_is_missing_is_not_known(void **state)
{
	_cleanup_(gpu_release) struct gpu_timeline timeline = {};
	struct gpu_device *device = gpu_device(&timeline, PROCESS, 0);
	struct gpu_pause pause = {300, 400, PROCESS, THREAD, true, false};
	struct gpu_span *span;
	int64_t bytes = 7;

	device->seen_ns = 100;
	device->until_ns = 100000000;
	assert_false(gpu_memory_at(&timeline, PROCESS, 200, &bytes)); /* nothing was recorded */
	set(device, 150, 1000);
	set(device, 350, 400);
	assert_false(gpu_memory_at(&timeline, PROCESS, 99, &bytes));
	assert_true(gpu_memory_at(&timeline, PROCESS, 100, &bytes));
	assert_int_equal(bytes, 0);
	assert_int_equal(gpu_memory_change(&timeline, &pause, UINT64_MAX).bytes, -600);
	span = vec_add(&device->unknown);
	*span = (struct gpu_span){200, 250};
	assert_true(gpu_memory_at(&timeline, PROCESS, 200, &bytes));
	assert_int_equal(bytes, 1000);
	assert_false(gpu_memory_at(&timeline, PROCESS, 300, &bytes));
	assert_false(gpu_memory_change(&timeline, &pause, UINT64_MAX).known);
	assert_true(gpu_memory_most(device, &bytes));
	assert_int_equal(bytes, 1000);
	/* What a framework says is right again with its next word; before its first, nothing is known. */
	device->memory_total = true;
	assert_true(gpu_memory_at(&timeline, PROCESS, 300, &bytes));
	assert_int_equal(bytes, 1000);
	assert_int_equal(gpu_memory_change(&timeline, &pause, UINT64_MAX).bytes, -600);
	assert_false(gpu_memory_at(&timeline, PROCESS, 149, &bytes));
}

/* Frees after a pause are its, until something is allocated, or something else begins. */
static void finalizers_run_after_pauses(void **state)
{
	static const struct {
		uint64_t next_ns;
		int64_t change;
	} cases[] = {
		{UINT64_MAX, -700},
		{25 * MS, -700},
		{23 * MS, -500},
		{21 * MS, -400},
	};
	_cleanup_(gpu_release) struct gpu_timeline timeline = {};
	struct gpu_device *device = gpu_device(&timeline, PROCESS, 0);
	struct gpu_pause pause = {10 * MS, 20 * MS, PROCESS, THREAD, true, false};

	device->seen_ns = 1;
	device->until_ns = 100 * MS;
	set(device, 1 * MS, 1000);
	set(device, 15 * MS, 600); /* within it */
	set(device, 22 * MS, 500);
	set(device, 24 * MS, 300);
	set(device, 26 * MS, 310); /* grows */
	set(device, 27 * MS, 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct gpu_memory_change change =
			gpu_memory_change(&timeline, &pause, cases[i].next_ns);

		assert_true(change.known);
		assert_int_equal(change.bytes, cases[i].change);
	}
	device->memory.count = 4;
	set(device, 30 * MS + 1, 0); /* too late */
	assert_int_equal(gpu_memory_change(&timeline, &pause, UINT64_MAX).bytes, -700);
	pause.process = PROCESS + 1;
	assert_false(gpu_memory_change(&timeline, &pause, UINT64_MAX).known);
}

static void add_call(struct gpu_driver *driver, enum gpu_driver_kind kind, uint64_t start_ns,
	uint64_t bytes)
{
	struct gpu_driver_call *added = vec_add(&driver->calls);

	assert_non_null(added);
	*added = (struct gpu_driver_call){.start_ns = start_ns,
		.end_ns = start_ns + 20 * US,
		.bytes = bytes,
		.tid = THREAD,
		.kind = kind};
}

/* Where probes on the driver saw the calls, sizes add up until one is not known. */
static void calls_of_the_driver_add_up(void **state)
{
	_cleanup_(gpu_release) struct gpu_timeline timeline = {};
	struct gpu_driver *driver = gpu_driver(&timeline, PROCESS);
	struct gpu_pause pause = {1 * MS, 2 * MS, PROCESS, THREAD, true, false};
	struct gpu_spans found = {};
	int64_t bytes;

	driver->attached_ns = 10;
	add_call(driver, GPU_DRIVER_FREE, 8 * MS, 0);
	add_call(driver, GPU_DRIVER_ALLOCATE, 100 * US, 500);
	add_call(driver, GPU_DRIVER_WAIT, 200 * US, 0);
	add_call(driver, GPU_DRIVER_ALLOCATE, 300 * US, 70);
	add_call(driver, GPU_DRIVER_FREE, 1500 * US, 500);
	add_call(driver, GPU_DRIVER_ALLOCATE, 1550 * US, 3);
	gpu_settle(&timeline);
	gpu_settle(&timeline);
	assert_true(gpu_memory_at(&timeline, PROCESS, 50 * US, &bytes));
	assert_int_equal(bytes, 0);
	assert_true(gpu_memory_at(&timeline, PROCESS, 1 * MS, &bytes));
	assert_int_equal(bytes, 570);
	assert_true(gpu_memory_at(&timeline, PROCESS, 8 * MS, &bytes));
	assert_int_equal(bytes, 73);
	assert_false(gpu_memory_at(&timeline, PROCESS, 8 * MS + 1, &bytes));
	assert_false(gpu_memory_at(&timeline, PROCESS, 9, &bytes));
	assert_int_equal(gpu_memory_change(&timeline, &pause, UINT64_MAX).bytes, -497);
	assert_int_equal(gpu_retries_find(&timeline, PROCESS, &found), 0);
	assert_int_equal(found.items.count, 2);
	assert_int_equal(found.items.items[0].start_ns, 1500 * US);
	vec_free(&found.items);
}

/* ── retries ── */

/* 'A' allocates, 'X' fails to, 'F' frees, 'W' waits: each 10 µs after the one before, for 20 µs; ' ': 200 µs pass. */
static void make_calls(struct gpu_timeline *timeline, uint32_t tid, const char *calls)
{
	struct gpu_launcher *launcher = gpu_launcher(timeline, PROCESS, tid);
	uint64_t at = MS;

	for (; *calls; calls++) {
		struct gpu_allocation *allocation;
		struct gpu_wait *wait;

		at += *calls == ' ' ? 200 * US : 10 * US;
		if (*calls == ' ')
			continue;
		if (*calls == 'W') {
			wait = vec_add(&launcher->waits);
			*wait = (struct gpu_wait){.start_ns = at, .end_ns = at + 20 * US};
		} else {
			allocation = vec_add(&launcher->allocations);
			*allocation = (struct gpu_allocation){.start_ns = at,
				.end_ns = at + 20 * US,
				.frees = *calls == 'F',
				.failed = *calls == 'X'};
		}
		at += 20 * US;
	}
}

static void retries_free_to_allocate(void **state)
{
	static const struct {
		const char *calls;
		size_t retried; /* calls */
	} cases[] = {
		{"AAAAAAA", 0},	  /* growth */
		{"FFFFFFF", 0},	  /* the end */
		{"A A F F A", 0}, /* each by itself */
		{"XFFFA", 5},
		{"XFFFAFF", 5}, /* the last ones are no longer for it */
		{"AXFFFA", 5},
		{"AAFA", 2},	/* not known to have failed */
		{"XWFWFWA", 4}, /* waits are none of its calls */
		{"XA", 0},	/* there was room the second time */
		{"X FFA", 3},
		{"XF FA XFFXFA", 2 + 6},
		{"XFX", 3}, /* and it ran out after all */
		{"W", 0},
		{"", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(gpu_release) struct gpu_timeline timeline = {};
		struct gpu_spans found = {};
		uint64_t sum_ns = 0;

		make_calls(&timeline, THREAD, cases[i].calls);
		make_calls(&timeline, THREAD + 1, "FFF"); /* another thread's are its own */
		gpu_settle(&timeline);
		assert_int_equal(gpu_retries_find(&timeline, PROCESS, &found), 0);
		for (size_t j = 0; j < found.items.count; j++)
			sum_ns += found.items.items[j].end_ns - found.items.items[j].start_ns;
		assert_int_equal(sum_ns, cases[i].retried * 20 * US);
		vec_free(&found.items);
		assert_int_equal(gpu_retries_find(&timeline, PROCESS + 1, &found), 0);
		assert_int_equal(found.items.count, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels_are_sums),
		cmocka_unit_test(what_is_missing_is_not_known),
		cmocka_unit_test(finalizers_run_after_pauses),
		cmocka_unit_test(calls_of_the_driver_add_up),
		cmocka_unit_test(retries_free_to_allocate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
