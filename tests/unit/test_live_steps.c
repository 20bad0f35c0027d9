/* The steps of a live session: counted once each, slow ones named, whatever is forgotten meanwhile. */
#include "step_fixture.h"

#include "live_sums.h"
#include "window.h"

#define MS 1000000ull

/* What a session says; the scene's marks go to it as they come. */
struct session {
	struct scene *scene;
	struct live_sums sums;
	char *text;
	size_t size;
	FILE *out;
	size_t fed;
};

static struct session *start(const char *step, uint64_t min_ns, unsigned int most)
{
	struct session *session = calloc(1, sizeof(*session));
	struct step_spec spec;
	struct err err;

	session->scene = set_up();
	session->out = open_memstream(&session->text, &session->size);
	assert_int_equal(step_spec_parse(step, &spec, &err), 0);
	session->sums.lines = (struct live_lines){.min_ns = min_ns, .most = most};
	live_steps_start(&session->sums.steps, &spec, min_ns, most ? LIVE_NAMED : 0);
	return session;
}

static void end(struct session *session)
{
	fclose(session->out);
	free(session->text);
	live_sums_release(&session->sums);
	tear_down(session->scene);
	free(session);
}

static int by_time(const void *a, const void *b)
{
	const struct mark *one = a, *other = b;

	return (one->time_ns > other->time_ns) - (one->time_ns < other->time_ns);
}

/* All signals are probed, from the begin on. */
static void attach(struct scene *scene)
{
	for (size_t i = 0; i < scene->recording.signals.count; i++)
		scene->recording.signals.items[i].attached_ns = scene->recording.start_ns;
}

/* Hands over what the scene has gathered, by time. */
static void feed(struct session *session)
{
	struct scene *scene = session->scene;
	VEC(struct mark) marks = {0};

	for (size_t i = 0; i < scene->marks.lines.count; i++) {
		const struct step_line *line = &scene->marks.lines.items[i];

		for (size_t j = 0; j < line->marks.count; j++) {
			const struct step_mark *mark = &line->marks.items[j];
			struct mark *added = vec_add(&marks);

			*added = (struct mark){
				line->series, mark->time_ns, UNKNOWN, mark->skipped, mark->work_ns};
		}
	}
	attach(scene);
	if (marks.count)
		qsort(marks.items, marks.count, sizeof(*marks.items), by_time);
	for (size_t i = 0; i < marks.count; i++) {
		live_sums_mark(&session->sums, session->out, &scene->recording, &marks.items[i]);
		live_sums_tell(&session->sums, session->out, &scene->recording,
			marks.items[i].time_ns);
	}
	vec_free(&marks);
	step_marks_release(&scene->marks);
	memset(&scene->marks, 0, sizeof(scene->marks));
}

/* The end of the session; what it said. */
static const char *finish(struct session *session)
{
	feed(session);
	session->scene->recording.end_ns = session->scene->now_ns + CALL_NS;
	live_sums_tell(&session->sums, session->out, &session->scene->recording, UINT64_MAX);
	fflush(session->out);
	return session->text;
}

static size_t count_of(const char *text, const char *what)
{
	size_t count = 0;

	for (; (text = strstr(text, what)); text++)
		count++;
	return count;
}

/* Σ N of "steps N, " and "steps N in …" */
static size_t steps_told(const char *text)
{
	size_t sum = 0;

	while ((text = strstr(text, " steps "))) {
		text += strlen(" steps ");
		sum += strtoul(text, NULL, 10);
	}
	return sum;
}

static const struct pause_class second = {.words = "generation 2", .rank = 3};
static struct runtime_meaning meaning;

static void pause_at(struct session *session, uint64_t start_ns, uint64_t length_ns)
{
	static struct pause_class class;
	struct pause pause = {.start_ns = start_ns,
		.end_ns = start_ns + length_ns,
		.runtime = 1,
		.class = &class,
		.tid = 1009};
	bool shown;

	class = second;
	class.of = &meaning;
	if (!session->scene->recording.runtimes.count) {
		struct runtime *runtime = vec_add(&session->scene->recording.runtimes);

		runtime->id = runtime->process = 1;
	}
	shown = live_lines_take(&session->sums.lines, pause.end_ns, length_ns);
	live_steps_pause(&session->sums.steps, &session->scene->recording, &pause, shown);
}

/* 50,021 steps of four calls each, with evaluations: far more than are kept. */
static void test_each_once(void **state)
{
	struct session *session = start("auto", LIVE_MIN_NS, LIVE_LINES);
	const char *text;

	for (int i = 0; i < 50021; i++) {
		play(session->scene, "ZoBU");
		if (i % 5000 == 4999)
			repeat(session->scene, "o", 1500);
		if (i % 97 == 96)
			feed(session);
		assert_true(session->sums.steps.window.marks.lines.count < 8);
	}
	text = finish(session);
	assert_int_equal(steps_told(text), 50021);
	assert_int_equal(count_of(text, "steps: by torch:record:Optimizer.step#Adam.step"), 1);
	assert_int_equal(count_of(text, "no longer"), 0);
	end(session);
}

/* Marks are kept, but not all of them. */
static void test_what_is_kept(void **state)
{
	struct session *session = start("auto", LIVE_MIN_NS, LIVE_LINES);
	struct step_window *window = &session->sums.steps.window;

	for (int i = 0; i < 20000; i++) {
		size_t kept = 0;

		play(session->scene, "ZoBU");
		if (i % 997 != 996)
			continue;
		feed(session);
		for (size_t j = 0; j < window->marks.lines.count; j++)
			kept += window->marks.lines.items[j].marks.count;
		assert_true(kept < WINDOW_THREAD + 2 * 10000 * 5 / 10);
	}
	finish(session);
	end(session);
}

/* Two updates a step: however the marks are cut, the second begins none. */
static void test_two_updates(void **state)
{
	struct session *session = start("auto", LIVE_MIN_NS, LIVE_LINES);

	for (int i = 0; i < 30011; i++) {
		play(session->scene, "LZoBUV");
		if (i % 101 == 100)
			feed(session);
	}
	assert_int_equal(steps_told(finish(session)), 30011);
	end(session);
}

/* Every third call, as the user says. */
static void test_as_the_user_says(void **state)
{
	struct session *session = start("torch:backward/3", LIVE_MIN_NS, LIVE_LINES);

	for (int i = 0; i < 3 * 20011; i++) {
		play(session->scene, "oB");
		if (i % 101 == 100)
			feed(session);
	}
	assert_int_equal(steps_told(finish(session)), 20011);
	end(session);
}

/* Calls with no pattern, and a signal that never comes, are not told of. */
static void test_not_told(void **state)
{
	struct session *session = start("auto", LIVE_MIN_NS, LIVE_LINES);
	const char *text;

	for (int i = 0; i < 20000; i++) {
		play(session->scene, chance(session->scene, 3) ? "o" : "k");
		if (i % 101 == 100)
			feed(session);
	}
	text = finish(session);
	assert_int_equal(steps_told(text), 0);
	assert_int_equal(count_of(text, "steps: not told yet"), 1);
	end(session);
	session = start("none", LIVE_MIN_NS, LIVE_LINES);
	repeat(session->scene, "ZoBU", 20000);
	assert_string_equal(finish(session), "");
	end(session);
	session = start("auto", LIVE_MIN_NS, LIVE_LINES); /* nothing that could mark steps */
	live_sums_tell(&session->sums, session->out, &session->scene->recording, MS);
	live_sums_tell(&session->sums, session->out, &session->scene->recording, 5000 * MS);
	assert_string_equal(finish(session), "");
	end(session);
}

/* Few steps are told of only when they are known. */
static void test_few(void **state)
{
	struct session *session = start("auto", LIVE_MIN_NS, LIVE_LINES);
	const char *text;

	repeat(session->scene, "ZoBU", 7);
	text = finish(session);
	assert_int_equal(steps_told(text), 0);
	assert_null(strstr(text, "confidence"));
	end(session);
}

static void pass(struct session *session, uint64_t ns)
{
	session->scene->now_ns += ns;
}

/* A slow step is named soon after the next one begins, with what pauses were of it. */
static void test_slow_ones(void **state)
{
	struct session *session = start("auto", LIVE_MIN_NS, LIVE_LINES);
	const char *text;
	size_t before;

	for (int i = 0; i < 200; i++) {
		play(session->scene, "ZoBU");
		pass(session, 9 * MS);
		feed(session);
	}
	fflush(session->out);
	before = strlen(session->text);
	pause_at(session, session->scene->now_ns, 266 * MS);
	pass(session, 266 * MS);
	for (int i = 0; i < 23; i++) { /* there may have been a look just before */
		play(session->scene, "ZoBU");
		pass(session, 9 * MS);
		feed(session);
	}
	fflush(session->out);
	text = session->text + before;
	assert_int_equal(count_of(text, "step of 27"), 1);
	assert_contains(text, " × the median, 266.0 ms of it GC (generation 2)\n");
	/* One that is slow for another reason is not named, but is the slowest. */
	pass(session, 500 * MS);
	for (int i = 0; i < 120; i++) {
		play(session->scene, "ZoBU");
		pass(session, 9 * MS);
		feed(session);
	}
	text = finish(session) + before;
	assert_int_equal(count_of(text, "step of "), 1);
	assert_contains(text, "slowest 50");
	assert_contains(text, ", none of it in pauses\n");
	assert_int_equal(steps_told(session->text), 343);
	end(session);
}

/* 5,000 short pauses a second: they are on the line of the steps, which are not named. */
static void test_many_short_pauses(void **state)
{
	struct session *session = start("auto", LIVE_MIN_NS, LIVE_LINES);
	const char *text;
	uint64_t began_ns = session->scene->now_ns;

	for (int i = 0; i < 10000; i++) {
		play(session->scene, "ZoBU");
		for (int j = 0; j < 3; j++) {
			pause_at(session, session->scene->now_ns, i % 100 ? 50000 : 300000);
			pass(session, i % 100 ? 50000 : 300000);
		}
		feed(session);
	}
	text = finish(session);
	assert_int_equal(steps_told(text), 10000);
	assert_int_equal(count_of(text, "step of "), 0);
	assert_int_equal(count_of(text, "  | "), count_of(text, " more pauses, "));
	assert_true(count_of(text, "\n") <= 3 + (session->scene->now_ns - began_ns) / (1000 * MS));
	assert_int_equal(count_of(text, "--min-duration 0 shows each"), 1);
	end(session);
	session = start("auto", 0, 0); /* --min-duration 0: each slow one is named */
	for (int i = 0; i < 10000; i++) {
		play(session->scene, "ZoBU");
		pause_at(session, session->scene->now_ns, i % 100 ? 50000 : 900000);
		pass(session, i % 100 ? 50000 : 900000);
		feed(session);
	}
	text = finish(session);
	assert_true(count_of(text, "step of ") > 50);
	assert_int_equal(count_of(text, "more pause"), 0);
	end(session);
}

/* Of six processes the four with the slowest steps have a line each, the others one; and none is lost. */
static void test_processes(void **state)
{
	struct session *session = start("auto", LIVE_MIN_NS, LIVE_LINES);
	const char *text;

	for (uint32_t i = 2; i <= 6; i++) {
		struct process *process = vec_add(&session->scene->recording.processes);

		process->id = i;
		process->pid = (pid_t)(1009 + i);
	}
	for (int i = 0; i < 1009; i++) {
		for (uint32_t j = 1; j <= 6; j++) {
			session->scene->process = j;
			session->scene->tid = 1008 + j;
			play(session->scene, "ZoBU");
		}
		feed(session);
	}
	/* One ends, and is forgotten later. */
	session->scene->recording.processes.items[5].exit_ns = session->scene->now_ns + 1;
	for (int i = 0; i < 1009; i++) {
		session->scene->process = 1;
		session->scene->tid = 1009;
		play(session->scene, "ZoBU");
		pass(session, MS);
		feed(session);
		if (i == 1000)
			session->scene->recording.processes.count = 5;
	}
	text = finish(session);
	assert_int_equal(steps_told(text), 7 * 1009);
	assert_int_equal(count_of(text, "steps: by "), 1);
	assert_contains(text, "in 2 other processes, slowest ");
	end(session);
}

/* So many pauses in one step that they are not all kept: what it was stopped by is not known. */
static void test_too_many_pauses(void **state)
{
	struct session *session = start("auto", LIVE_MIN_NS, LIVE_LINES);
	const char *text;

	for (int i = 0; i < 100; i++) {
		play(session->scene, "ZoBU");
		pass(session, MS);
		feed(session);
	}
	for (int i = 0; i < LIVE_PAUSES + 7; i++) {
		pause_at(session, session->scene->now_ns, 10000);
		pass(session, 20000);
	}
	assert_true(session->sums.steps.pauses.count <= LIVE_PAUSES);
	repeat(session->scene, "ZoBU", 23);
	text = finish(session);
	assert_contains(text, ", how much of it in pauses is not known");
	assert_int_equal(steps_told(text), 123);
	end(session);
}

/*
 * A learner that from some time on plays after every 32nd step: told of at first, then not, and not again, as its report
 * would not. Without rounds the latest marks alone would be steps again.
 */
static void test_rounds(void **state)
{
	struct session *session = start("auto", LIVE_MIN_NS, LIVE_LINES);
	const char *text;

	session->scene->work_ns = 0;
	for (int i = 0; i < 32 * 700; i++) {
		bool plays = i >= 32 * 40 && i < 32 * 300 && i % 32 == 31;

		play(session->scene, "ZoBU");
		session->scene->work_ns += (plays ? 100 : 1) * MS;
		pass(session, (plays ? 100 : 1) * MS);
		if (i % 3 == 0)
			feed(session);
	}
	text = finish(session);
	assert_int_equal(count_of(text, "steps: by "), 1);
	assert_int_equal(count_of(text, "steps: no longer told"), 1);
	assert_true(steps_told(text) >= 32 * 40);
	assert_true(steps_told(text) < 32 * 300);
	end(session);
}

/* A learner that plays from the begin on: nothing is told of its steps, as it is not known yet that it comes back to that. */
static void test_rounds_from_the_begin(void **state)
{
	struct session *session = start("auto", LIVE_MIN_NS, LIVE_LINES);
	const char *text;

	session->scene->work_ns = 0;
	for (int i = 0; i < 48 * 23; i++) {
		bool plays = i % 48 == 12;

		play(session->scene, "ZoBU");
		session->scene->work_ns += (plays ? 700 : 31) * MS;
		pass(session, (plays ? 700 : 31) * MS);
		feed(session);
	}
	text = finish(session);
	assert_null(strstr(text, "steps: by "));
	assert_int_equal(steps_told(text), 0);
	end(session);
}

/* Other work that comes once is waited for, and then the steps are told: all of them. */
static void test_no_rounds(void **state)
{
	struct session *session = start("auto", LIVE_MIN_NS, LIVE_LINES);
	const char *text;

	session->scene->work_ns = 0;
	for (int i = 0; i < 997; i++) {
		play(session->scene, "ZoBU");
		session->scene->work_ns += (i == 13 ? 700 : 31) * MS;
		pass(session, (i == 13 ? 700 : 31) * MS);
		feed(session);
	}
	text = finish(session);
	assert_contains(text,
		"steps: by torch:record:Optimizer.step#Adam.step, confidence 0.98, if no loop around them shows\n");
	assert_int_equal(count_of(text, "steps: no longer told"), 0);
	assert_int_equal(steps_told(text), 997);
	end(session);
}

static void answer_on(struct session *session, const char *name, int64_t connection)
{
	call(session->scene, name, NULL, connection);
	feed(session);
}

/* A response answers the request before it on its connection; what has none is not counted, and nothing is said of steps. */
static void test_requests(void **state)
{
	struct session *session = start("auto", LIVE_MIN_NS, LIVE_LINES);
	const char *text;

	answer_on(session, "http:response", 7); /* its request was not seen */
	for (int i = 0; i < 211; i++) {
		answer_on(session, "http:request", 7);
		answer_on(session, "http:request", 9);
		answer_on(session, "http:response", 9);
		answer_on(session, "http:response", 7);
		answer_on(session, "http:response", 7);
	}
	answer_on(session, "http:request", 7);
	answer_on(session, "http:request", 7); /* the one before was aborted */
	answer_on(session, "http:response", 7);
	answer_on(session, "http:request", UNKNOWN);
	answer_on(session, "http:response", UNKNOWN);
	answer_on(session, "http:request", 9);
	pass(session, 1000 * MS);
	text = finish(session);
	assert_contains(text, "1009 requests 423, median ");
	assert_int_equal(count_of(text, " requests "), 1);
	assert_null(strstr(text, "steps"));
	assert_int_equal(session->sums.requests.open.count, 1);
	end(session);
	session = start("http:request", LIVE_MIN_NS, LIVE_LINES); /* as the user says */
	for (int i = 0; i < 211; i++) {
		answer_on(session, "http:request", 7);
		answer_on(session, "http:response", 7);
	}
	text = finish(session);
	assert_int_equal(steps_told(text), 211);
	assert_null(strstr(text, " requests "));
	end(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_once),
		cmocka_unit_test(test_what_is_kept),
		cmocka_unit_test(test_two_updates),
		cmocka_unit_test(test_as_the_user_says),
		cmocka_unit_test(test_not_told),
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_slow_ones),
		cmocka_unit_test(test_many_short_pauses),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_too_many_pauses),
		cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_rounds_from_the_begin),
		cmocka_unit_test(test_no_rounds),
		cmocka_unit_test(test_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
