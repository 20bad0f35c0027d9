/* Several threads and processes, what the user asks for, and calls that no training makes. */
#include "step_fixture.h"

static void test_threads_at_once(void **state)
{
	struct scene *scene = set_up();
	const struct step_track *track;

	for (int i = 0; i < 101; i++) {
		scene->tid = 1013;
		play(scene, "Z B U");
		if (i % 3)
			play(scene, "Z B U");
		scene->tid = 1019;
		play(scene, "Z B U");
	}
	track = find(scene, "auto");
	assert_int_equal(track->steps.count, 168);
	assert_int_equal(track->tid, 1013);
	assert_contains(track->note,
		"2 threads of this process run steps at once (tids 1013, 1019)");
	tear_down(scene);
}

static void test_threads_in_turn(void **state)
{
	struct scene *scene = set_up();
	const struct step_track *track;

	for (int i = 0; i < 3; i++) {
		scene->tid = (uint32_t)(2003 + i);
		repeat(scene, "Z B U", 31 + 2 * i);
	}
	track = find(scene, "auto");
	assert_int_equal(track->steps.count, 31 + 33 + 35);
	assert_contains(track->note, "3 threads ran steps one after another");
	tear_down(scene);
}

static void test_processes(void **state)
{
	struct scene *scene = set_up();

	for (uint32_t process = 1; process <= 4; process++) {
		scene->process = process;
		scene->tid = process * 100;
		if (process == 2) /* a worker that has its own pattern of calls */
			for (int i = 0; i < 997; i++)
				gemm(scene, i % 7);
		else if (process != 4)
			repeat(scene, "L Z o B U", process == 3 ? 103 : 101);
		else
			repeat(scene, "L", 997);
	}
	assert_int_equal(try_find(scene, "auto"), 0);
	assert_int_equal(scene->steps.tracks.count, 2);
	assert_int_equal(scene->steps.tracks.items[0].process, 3);
	assert_int_equal(scene->steps.tracks.items[0].steps.count, 103);
	assert_int_equal(scene->steps.tracks.items[1].steps.count, 101);
	assert_ptr_equal(steps_track(&scene->steps, 1), &scene->steps.tracks.items[1]);
	assert_null(steps_track(&scene->steps, 2));
	tear_down(scene);
}

static void test_named(void **state)
{
	struct scene *scene = set_up();
	const struct step_track *track;

	for (int i = 0; i < 101; i++) {
		play(scene, "L o B o B U");
		call(scene, "user:libfoo:bar", NULL, UNKNOWN);
	}
	assert_int_equal(find(scene, "auto")->steps.count, 101);
	assert_string_equal(scene->steps.tracks.items[0].signal, "user:libfoo:bar");
	assert_int_equal(find(scene, "libfoo:bar")->steps.count, 101);
	assert_int_equal(find(scene, "user:libfoo:bar/2")->steps.count, 51);
	assert_int_equal(find(scene, "torch:record:Optimizer.st")->steps.count, 101);
	assert_int_equal(find(scene, "torch:record:Optimizer.step#Adam.step/4")->steps.count, 26);
	track = find(scene, "torch:backward/2");
	assert_int_equal(track->steps.count, 101);
	assert_int_equal(track->per_step, 2);
	assert_true(track->confidence > 0.9);
	/* With nothing but the update, the pattern decides. */
	assert_int_equal(find(scene, "torch:loss:cross_entropy_loss/2")->steps.count, 101);
	tear_down(scene);
}

static void test_named_wrongly(void **state)
{
	struct scene *scene = set_up();

	repeat(scene, "L Z o B U", 23);
	repeat(scene, "L Z o B V", 23);
	assert_int_equal(try_find(scene, "torch:bakward"), -ENOENT);
	assert_contains(scene->err.text,
		"no mark of \"torch:bakward\" in the recording; it has torch:backward, ");
	assert_int_equal(try_find(scene, "torch:record:Optimizer.step"), -ENOENT);
	assert_contains(scene->err.text, "may be any of ");
	assert_contains(scene->err.text, "Optimizer.step#Adam.step");
	assert_contains(scene->err.text, "Optimizer.step#SGD.step");
	assert_int_equal(try_find(scene, "Torch:backward"), -ENOENT);
	tear_down(scene);
	scene = set_up();
	assert_int_equal(try_find(scene, "torch:backward"), -ENOENT);
	assert_contains(scene->err.text, "no step marks at all");
	tear_down(scene);
}

/* A function that calls itself: three marks in a row. */
static void test_named_nested(void **state)
{
	struct scene *scene = set_up();

	for (int i = 0; i < 101; i++) {
		for (int j = 0; j < 3; j++)
			call(scene, "user:libfoo:walk", NULL, UNKNOWN);
		scene->now_ns += 100 * CALL_NS;
	}
	assert_int_equal(find(scene, "libfoo:walk")->steps.count, 303);
	assert_contains(scene->steps.tracks.items[0].note, "about 3 at a time");
	assert_int_equal(find(scene, "libfoo:walk/3")->steps.count, 101);
	assert_string_equal(scene->steps.tracks.items[0].note, "");
	tear_down(scene);
}

static void test_few(void **state)
{
	struct scene *scene = set_up();
	const struct step_track *track;

	assert_int_equal(try_find(scene, "auto"), 0);
	assert_contains(scene->steps.note, "no step signal: no library");
	signal_of(scene, "torch:backward");
	assert_int_equal(try_find(scene, "auto"), 0);
	assert_contains(scene->steps.note,
		"no step signal: 1 place was found, but could not be probed");
	scene->recording.signals.items[0].attached_ns = 1;
	assert_int_equal(try_find(scene, "auto"), 0);
	assert_contains(scene->steps.note,
		"no step signal: 1 place was probed and none was called");
	play(scene, "Z B U");
	track = find(scene, "auto");
	assert_int_equal(track->steps.count, 1);
	assert_contains(track->note, "one step only");
	assert_true(track->confidence < 0.1);
	play(scene, "Z B U");
	assert_contains(find(scene, "auto")->note, "2 steps only");
	repeat(scene, "Z B U", 2);
	track = find(scene, "auto");
	assert_int_equal(track->steps.count, 4);
	assert_true(track->confidence < STEP_CONFIDENT);
	assert_int_equal(try_find(scene, "none"), 0);
	assert_int_equal(scene->steps.tracks.count, 0);
	tear_down(scene);
}

/* A library that was loaded after the collector's probes: its first steps may have gone unseen. */
static void test_late(void **state)
{
	struct scene *scene = set_up();
	struct runtime *runtime = vec_add(&scene->recording.runtimes);
	struct signal *signal = signal_of(scene, "torch:record");

	*runtime = (struct runtime){.id = 1, .process = 1, .attached_ns = 7000000};
	signal->attached_ns = 17000000;
	assert_int_equal(try_find(scene, "auto"), 0);
	assert_contains(scene->steps.note,
		"none was called after 12.00 ms, when the last one was;");
	repeat(scene, "Z B U", 23);
	assert_int_equal(find(scene, "auto")->seen_ns, 17000000);
	signal->attached_ns = 16999999;
	assert_int_equal(find(scene, "auto")->seen_ns, 0);
	signal->attached_ns = 17000000;
	runtime->process = 2;
	assert_int_equal(find(scene, "auto")->seen_ns, 0);
	tear_down(scene);
}

static void test_windows(void **state)
{
	struct scene *scene = set_up();
	const struct step_track *track;

	repeat(scene, "Z B U", 997);
	track = find(scene, "window:7ms");
	assert_int_equal(track->steps.count,
		(scene->now_ns + CALL_NS - 5000000 + 6999999) / 7000000);
	assert_false(track->measured);
	assert_true(track->confidence == 0);
	assert_int_equal(track->steps.items[0].start_ns, 5000000);
	assert_int_equal(track->steps.items[track->steps.count - 1].end_ns,
		scene->now_ns + CALL_NS);
	assert_int_equal(try_find(scene, "window:1ns"), -EINVAL);
	assert_contains(scene->err.text, "choose longer ones");
	tear_down(scene);
}

static void test_spec(void **state)
{
	static const char *const wrong[] = {"", "backward", "window", "window:", "window:0",
		"window:5q", "torch:", ":x", "a:b/0", "a:b/-1", "a:b/99999999999", "a:b/", "/2",
		"a\nb:c", "none/2"};
	struct step_spec spec = {.every = 23};
	struct err err;
	char text[200];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		err.text[0] = '\0';
		assert_int_equal(step_spec_parse(wrong[i], &spec, &err), -EINVAL);
		assert_true(strlen(err.text) > 20);
		assert_int_equal(spec.every, 23);
	}
	assert_int_equal(step_spec_parse("window:1.5s", &spec, NULL), 0);
	assert_true(spec.way == STEP_WINDOW && spec.window_ns == 1500000000);
	assert_int_equal(step_spec_parse("usdt:provider:name/4", &spec, NULL), 0);
	assert_true(spec.way == STEP_NAMED && spec.every == 4);
	assert_string_equal(spec.name, "usdt:provider:name");
	assert_int_equal(step_spec_parse("torch:record:a/b/most", &spec, NULL), 0);
	assert_true(spec.way == STEP_NAMED && spec.most && !spec.every);
	assert_string_equal(spec.name, "torch:record:a/b");
	assert_int_equal(step_spec_parse("torch:record:a/mostly", &spec, NULL), 0);
	assert_true(!spec.most && !spec.every);
	assert_string_equal(spec.name, "torch:record:a/mostly");
	assert_int_equal(step_spec_parse("/usr/lib/libfoo.so:bar", &spec, NULL), 0);
	assert_string_equal(spec.name, "/usr/lib/libfoo.so:bar");
	assert_int_equal(spec.every, 0);
	memset(text, 'x', sizeof(text));
	memcpy(text, "a:", 2);
	text[199] = '\0';
	assert_int_equal(step_spec_parse(text, &spec, NULL), -EINVAL);
	text[159] = '\0';
	assert_int_equal(step_spec_parse(text, &spec, NULL), 0);
	assert_int_equal(step_spec_parse("auto", &spec, NULL), 0);
	assert_int_equal(spec.way, STEP_AUTO);
	assert_int_equal(step_spec_parse("none", &spec, NULL), 0);
	assert_int_equal(spec.way, STEP_NONE);
}

static void test_hostile(void **state)
{
	static const uint64_t times[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, 1ull << 63, 5, 5, 5};
	static const char *const specs[] = {"auto", "torch:backward", "torch:record", "jax:execute",
		"jax:pjit", "blas:gemm", "window:1000000s", "torch:backward/1000000", "none"};
	struct scene *scene = set_up();

	play(scene, "L Z U V B o");
	jit(scene, "x");
	jit(scene, "");
	run(scene, INT64_MAX);
	run(scene, INT64_MIN);
	gemm(scene, -5);
	for (uint32_t series = 0; series < 30;
		series++) /* also of series that nobody has described */
		for (size_t i = 0; i < 97; i++) {
			struct mark mark = {series, times[(i * 7 + series) % 8] + chance(scene, 3),
				(int64_t)times[i % 8]};

			assert_int_equal(step_marks_add(&scene->marks, &mark), 0);
		}
	scene->recording.series.items[3].signal = 77;
	scene->recording.processes.items[0].exit_ns = 1;
	for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++)
		for (int j = 0; j < 2; j++) {
			scene->now_ns = j ? 0 : UINT64_MAX - CALL_NS;
			try_find(scene, specs[i]);
		}
	tear_down(scene);
}

/* Random sequences of everything: whatever comes out is in order and does not overlap. */
static void test_chance(void **state)
{
	for (uint32_t seed = 0; seed < 101; seed++) {
		struct scene *scene = set_up();

		scene->random = seed;
		for (int i = 0; i < 997; i++) {
			scene->tid = 1 + chance(scene, 1 + seed % 3);
			switch (chance(scene, 1 + seed % 5)) {
			case 0:
				torch(scene, "LZUVBo"[chance(scene, 6)]);
				break;
			case 1:
				jit(scene, chance(scene, 2) ? "step" : "loss");
				break;
			case 2:
				run(scene, chance(scene, 7));
				break;
			case 3:
				gemm(scene, chance(scene, 3));
				break;
			default:
				torch(scene, 'B');
			}
		}
		if (!try_find(scene, "auto") && scene->steps.tracks.count)
			find(scene, "auto");
		tear_down(scene);
	}
}

static void test_many_series(void **state)
{
	struct scene *scene = set_up();

	repeat(scene, "Z B U", 101);
	for (uint32_t i = 0; i < 100003; i++) {
		uint32_t id = (uint32_t)scene->recording.series.count + 1;
		struct series *series = vec_add(&scene->recording.series);
		struct mark mark = {id, 5000000 + i, UNKNOWN};

		*series = (struct series){.id = id,
			.signal = 1 + i % 3,
			.process = i % 1009,
			.tid = i,
			.number = i % 5 ? UNKNOWN : (int)i};
		assert_int_equal(step_marks_add(&scene->marks, &mark), 0);
	}
	assert_int_equal(try_find(scene, "auto"), 0);
	assert_true(scene->steps.tracks.count >= 1);
	assert_int_equal(scene->steps.tracks.items[0].steps.count, 101);
	assert_true(scene->steps.candidates.count <= 40);
	tear_down(scene);
}

static int wish_of(const char *text, struct signal_wish *ret, struct step_spec *spec,
	struct err *err)
{
	assert_int_equal(step_spec_parse(text, spec, err), 0);
	return step_spec_wish(spec, ret, err);
}

static void test_wishes(void **state)
{
	struct signal_wish wish;
	struct step_spec spec;
	struct err err;

	assert_int_equal(wish_of("libfoo:bar", &wish, &spec, &err), 0);
	assert_string_equal(wish.library, "libfoo");
	assert_string_equal(wish.symbol, "bar");
	assert_string_equal(wish.name, "user:libfoo:bar");
	assert_string_equal(spec.recorded, wish.name);
	assert_false(wish.usdt);
	assert_int_equal(wish_of("/opt/a:b/libfoo.so.1:a::b::c", &wish, &spec, &err), 0);
	assert_int_equal(wish_of("usdt:python:gc__start/4", &wish, &spec, &err), 0);
	assert_true(wish.usdt);
	assert_string_equal(wish.library, "python");
	assert_string_equal(wish.name, "user:usdt:python:gc__start");
	assert_int_equal(wish_of("/usr/lib/libfoo.so.1:a::b", &wish, &spec, &err), 0);
	assert_string_equal(wish.library, "libfoo.so.1");
	assert_string_equal(wish.symbol, "a::b");
	assert_string_equal(spec.recorded, "user:libfoo.so.1:a::b");
}

static void test_names_of_no_probe(void **state)
{
	static const char *const odd[] = {"usdt:foo", "foo::bar"};
	struct signal_wish wish = {.name = "untouched"};
	struct step_spec spec;
	char text[150] = "lib:";
	struct err err;

	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		assert_int_equal(wish_of(odd[i], &wish, &spec, &err), -EINVAL);
		assert_non_null(strstr(err.text, "LIBRARY:FUNCTION"));
		assert_string_equal(spec.name, odd[i]);
		assert_memory_equal(spec.recorded, "user:", 5);
		assert_string_equal(spec.recorded + 5, odd[i]);
	}
	memset(text + 4, 'x', 145);
	assert_int_equal(wish_of(text, &wish, &spec, &err), -EINVAL);
	assert_non_null(strstr(err.text, "too long"));
	assert_string_equal(wish.name, "untouched");
}

/* A library that was given by its path is recorded by its name. */
static void test_path(void **state)
{
	struct scene *scene = set_up();

	for (int i = 0; i < 53; i++)
		call(scene, "user:libfoo.so:bar", NULL, UNKNOWN);
	assert_int_equal(find(scene, "/usr/lib/libfoo.so:bar/1")->steps.count, 53);
	tear_down(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads_at_once),
		cmocka_unit_test(test_threads_in_turn),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_named),
		cmocka_unit_test(test_named_wrongly),
		cmocka_unit_test(test_named_nested),
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_spec),
		cmocka_unit_test(test_wishes),
		cmocka_unit_test(test_names_of_no_probe),
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_chance),
		cmocka_unit_test(test_many_series),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
