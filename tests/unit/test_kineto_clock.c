/* kineto: the clock of a trace against the recording's, by calls that both saw, or by what both say of the time of day. */
#include "kineto_fixture.h"
#include "u64map.h"

#define STEPS 211
#define LABEL "Optimizer.step#Adam.step"

/* When step @i of an ordinary loop begins, in µs: 10 ms, and up to 1 % more or less. */
static long long step_us(int i)
{
	return 1000000 + 10000ll * i + (long long)(u64_mix((uint64_t)i) % 201) - 100;
}

/* How long after its mark the event of call @i begins, in µs: 2 to 6, and once in a while much more. */
static long long late_us(int i)
{
	return i % 31 == 30 ? 400 : 2 + i % 5;
}

static void add_marks(struct scene *scene, const char *label, uint32_t process, uint32_t tid,
	long long moved_us)
{
	uint32_t series = add_series(scene, label, process, tid);

	for (int i = 0; i < STEPS; i++)
		mark(scene, series, NS(step_us(i) + moved_us));
}

/* The events of steps [from, to) with all times moved by @moved_us, and a kernel that begins 1 ms after the first. */
static void add_events(struct scene *scene, int tid, int from, int to, long long moved_us)
{
	for (int i = from; i < to; i++)
		annotation(scene, LABEL, tid, step_us(i) + late_us(i) + moved_us);
	work(scene, "kernel", 0, step_us(from) + 1000 + moved_us, 50, 0);
}

/* How far the kernel is from where it should be, in ns. */
static uint64_t wrong_by(const struct scene *scene, int from)
{
	uint64_t should = NS(step_us(from) + 1000), is = scene->timeline.devices.items[0].seen_ns;

	return is > should ? is - should : should - is;
}

static void assert_joined(const struct scene *scene, int from)
{
	assert_in_range(wrong_by(scene, from), 0, 6 * US);
	assert_in_range(scene->timeline.clock_error_ns, 2 * US, 10 * US);
	assert_string_equal(scene->timeline.note, "");
}

/* The time of day was adjusted by less than a recording notes. */
static void joined_through_calls(void **state)
{
	struct scene *scene = *state;

	add_marks(scene, LABEL, 1, PID, 0);
	add_marks(scene, LABEL, 1, PID + 2, 5003); /* of a thread that the trace does not have */
	add_events(scene, PID, 0, STEPS, 700);
	read_it(scene);
	assert_joined(scene, 0);
}

static void joined_in_a_window(void **state)
{
	struct scene *scene = *state;

	add_marks(scene, LABEL, 1, PID, 0);
	add_events(scene, PID, 103, 110, -900);
	read_it(scene);
	assert_joined(scene, 103);
}

/* Each event has a name of its own. */
static void joined_through_numbered_steps(void **state)
{
	struct scene *scene = *state;

	for (int i = 0; i < 5; i++) {
		char name[32];

		snprintf(name, sizeof(name), "ProfilerStep#%d", i + 17);
		mark(scene, add_series(scene, name, 1, PID), NS(step_us(i)));
		annotation(scene, name, PID, step_us(i) + late_us(i) - 500);
	}
	work(scene, "kernel", 0, step_us(0) + 1000 - 500, 50, 0);
	read_it(scene);
	assert_joined(scene, 0);
}

/* The trace's own time is wrong, or from another origin: steps that are not all alike fit at one place alone. */
static void joined_by_the_pattern(void **state)
{
	static const long long moved[] = {3600000000, -86400000000, -(WALL / 1000) + 5};

	for (size_t i = 0; i < 3; i++) {
		struct scene *scene;

		set_up((void **)&scene);
		add_marks(scene, LABEL, 1, PID, 0);
		add_events(scene, PID, 103, 140, moved[i]);
		read_it(scene);
		assert_joined(scene, 103);
		tear_down((void **)&scene);
	}
}

/* A mark every 10 ms to the µs: without the time of day it fits anywhere, with it at one place. */
static void a_regular_loop(void **state)
{
	struct scene *scene = *state;
	uint32_t series = add_series(scene, LABEL, 1, PID);

	for (int i = 0; i < STEPS; i++) {
		mark(scene, series, NS(10000 * i));
		if (i < 101)
			annotation(scene, LABEL, PID, 10000 * i + 3 + 700);
	}
	work(scene, "kernel", 0, 1700, 50, 0);
	read_it(scene);
	assert_in_range(scene->timeline.devices.items[0].seen_ns, NS(997), NS(1000));
	assert_string_equal(scene->timeline.note, "");
}

static void a_regular_loop_without_a_time(void **state)
{
	struct scene *scene = *state;
	uint32_t series = add_series(scene, LABEL, 1, PID);

	for (int i = 0; i < STEPS; i++) {
		mark(scene, series, NS(10000 * i));
		if (i < 101)
			annotation(scene, LABEL, PID, 10000 * i + 3 - WALL / 1000);
	}
	work(scene, "kernel", 0, 1000 - WALL / 1000, 50, 0);
	fputs("\n]}", scene->trace);
	fflush(scene->trace);
	refuses(scene, ERANGE, "does not say when it began");
}

/* A step every 1 ms could be its neighbour: then the time of day is all there is. */
static void a_loop_that_is_too_short(void **state)
{
	struct scene *scene = *state;
	uint32_t series = add_series(scene, LABEL, 1, PID);

	for (int i = 0; i < STEPS; i++) {
		mark(scene, series, NS(1000 * i));
		annotation(scene, LABEL, PID, 1000 * i + 3);
	}
	work(scene, "kernel", 0, 1000, 50, 0);
	read_it(scene);
	assert_int_equal(scene->timeline.devices.items[0].seen_ns, NS(1000));
	assert_int_equal(scene->timeline.clock_error_ns, 1 * MS);
	assert_non_null(strstr(scene->timeline.note,
		"its clock is known by the time of day alone"));
}

static void by_the_base_time(void **state)
{
	struct scene *scene = *state;

	add_marks(scene, LABEL, 1, PID, 0);
	add_events(scene, PID, 103, 105, 0); /* too few */
	read_it(scene);
	assert_int_equal(wrong_by(scene, 103), 0);
	assert_int_equal(scene->timeline.clock_error_ns, 1 * MS);
	assert_non_null(strstr(scene->timeline.note,
		"its clock is known by the time of day alone"));
}

/* The machine slept for an hour: from then on the two clocks of the recording are further apart. */
static void after_a_suspension(void **state)
{
	struct scene *scene = *state;

	*vec_add(&scene->recording.shifts) =
		(struct clock_shift){NS(500000), WALL - (int64_t)BEGIN + 3600000 * (int64_t)MS};
	add_events(scene, PID, 103, 104, 3600000000);
	read_it(scene);
	assert_int_equal(wrong_by(scene, 103), 0);
}

/* In a container the trace has other numbers; two containers may have the same. */
static void containers(void **state)
{
	struct scene *scene = *state;

	add_process(scene, 5003, 7);
	add_process(scene, 5009, 7);
	add_marks(scene, LABEL, 2, 5003, 4001);
	add_marks(scene, LABEL, 3, 5009, 0);
	for (int i = 0; i < 11; i++)
		event(scene,
			"{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"" LABEL
			"\", \"pid\": 7, "
			"\"tid\": 7, \"ts\": %lld, \"dur\": 5}",
			AT(step_us(i) + late_us(i)));
	call_of(scene, "cudaLaunchKernel", 7, 7, step_us(0) + 990, 5, 11);
	work(scene, "kernel", 0, step_us(0) + 1000, 50, 11);
	read_it(scene);
	assert_joined(scene, 0);
	assert_int_equal(scene->timeline.devices.items[0].process, 3);
	assert_int_equal(scene->timeline.devices.items[0].busy.items[0].tid, 5009);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(joined_through_calls),
		TEST(joined_in_a_window),
		TEST(joined_through_numbered_steps),
		TEST(joined_by_the_pattern),
		TEST(a_regular_loop),
		TEST(a_regular_loop_without_a_time),
		TEST(a_loop_that_is_too_short),
		TEST(by_the_base_time),
		TEST(after_a_suspension),
		TEST(containers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
