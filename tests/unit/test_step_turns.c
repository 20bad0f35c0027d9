/* Updates that are alike and take turns: never steps with confidence, and each level is offered. */
#include "step_fixture.h"

/* Names without and with the losses that PyTorch's functions compute. */
static const struct {
	const char *round;
	int updates;
} in_turn[] = {
	{"Z e U Z c U Z a U", 3},    /* SAC, losses by hand */
	{"Z e U Z oo c U Z a U", 3}, /* SAC */
	{"Zc U Zc U Za U", 3},	     /* TD3: an actor that learns every second time */
	{"o Zc U o Zc U Za U", 3}, {"Zc U Za U", 2}, /* WGAN */
	{"Zc U Zc U Zc U Zc U Zc U Za U", 6},
	{"L Z o c U L Z k a U", 2}, /* distillation with two loaders */
	{"L Z o B U L Z k B U", 2}, /* the same, known by the losses alone */
	{"Z o B U1 Z o B U2", 2},   /* networks that are alike, known by what is updated */
	{"Z B U1 Z B U2 Z B U3", 3}, {"Z c U1 Z a U1 Z c U2 Z a U2", 4},
	{"Z e U1 Z c U2 Z a U3", 3}, /* SAC, known by both */
};

static void test_in_turn(void **state)
{
	for (size_t i = 0; i < sizeof(in_turn) / sizeof(*in_turn); i++) {
		struct scene *scene = set_up();
		const struct step_track *track;
		char name[200];

		repeat(scene, in_turn[i].round, 101);
		track = find(scene, "auto");
		assert_int_equal(track->steps.count, 101 * in_turn[i].updates);
		assert_true(track->confidence > 0 && track->confidence < STEP_CONFIDENT);
		snprintf(name, sizeof(name), "--step %s/%d (101 steps)", track->signal,
			in_turn[i].updates);
		assert_contains(track->note, name);
		snprintf(name, sizeof(name), "%s/%d", "torch:record:Optimizer.step#Adam.step",
			in_turn[i].updates);
		track = find(scene, name);
		assert_int_equal(track->steps.count, 101);
		assert_true(track->confidence == 1);
		tear_down(scene);
	}
}

/* Rounds that an evaluation interrupts. */
static void test_in_turn_evaluated(void **state)
{
	struct scene *scene = set_up();
	const struct step_track *track;

	for (int i = 0; i < 101; i++) {
		play(scene, "Z e U Z oo c U Z a U");
		if (i % 23 == 22)
			repeat(scene, "o", 37);
	}
	track = find(scene, "auto");
	assert_int_equal(track->steps.count, 303);
	assert_true(track->confidence < STEP_CONFIDENT);
	tear_down(scene);
}

/* Different losses that take no turns: one after the other; one more now and then; another in evaluations. */
static void test_not_in_turn(void **state)
{
	struct scene *scenes[4];

	for (size_t i = 0; i < 4; i++)
		scenes[i] = set_up();
	repeat(scenes[0], "L Z o c U", 101);
	repeat(scenes[0], "L Z k a U", 201);
	for (int i = 0; i < 302; i++) {
		play(scenes[1], i % 16 ? "Z c U" : "Z c a U"); /* a regularizer */
		play(scenes[2], "L Z o c U");
		if (i % 5 == 4)
			repeat(scenes[2], "k", 7);
		play(scenes[3], i % 2 ? "Z o c c U" : "Z o c U"); /* more of the same */
	}
	for (size_t i = 0; i < 4; i++) {
		const struct step_track *track = find(scenes[i], "auto");

		assert_int_equal(track->steps.count, i < 3 ? 302 : 151);
		assert_true(track->confidence > 0.9);
		tear_down(scenes[i]);
	}
}

/* Backward passes whose class differs are one signal to people. */
static void test_one_name(void **state)
{
	struct scene *scene = set_up();
	size_t listed = 0;

	repeat(scene, "Z c U Z a U", 101);
	find(scene, "auto");
	for (size_t i = 0; i < scene->steps.candidates.count; i++) {
		const struct step_candidate *candidate = &scene->steps.candidates.items[i];

		if (strcmp(candidate->signal, "torch:backward") != 0)
			continue;
		listed++;
		assert_int_equal(candidate->marks, 202);
		assert_int_equal(candidate->per_step, 1);
	}
	assert_int_equal(listed, 1);
	assert_int_equal(find(scene, "torch:backward/2")->steps.count, 101);
	tear_down(scene);
}

/* Where only a part of the updates says what it writes to: it is let go while it is called too often. */
static void test_seen_in_part(void **state)
{
	struct scene *scene = set_up();
	const struct step_track *track;

	repeat(scene, "Z o B U", 5);
	repeat(scene, "Z o B U1 Z o B U2", 31);
	repeat(scene, "Z o B U", 1000);
	signal_of(scene, "torch:learner")->let_go_ns = scene->now_ns - 1;
	track = find(scene, "auto");
	assert_int_equal(track->steps.count, 1067);
	assert_true(track->confidence < STEP_CONFIDENT);
	assert_contains(track->note, "#Adam.step/2 (533 steps)");
	tear_down(scene);
}

/* Networks that learn together, or one alone: by what the first of the updates writes to, wherever that lies. */
static void test_no_turns(void **state)
{
	static const char *const one[] = {
		"Z o B U1", "Z o B U1 U2", "L Z o B U1 Z o B U2", "Z o B V1 U2", "Z o B U 1 Z 3"};

	for (size_t i = 0; i < sizeof(one) / sizeof(*one); i++) {
		struct scene *scene = set_up();
		const struct step_track *track;

		repeat(scene, one[i], 101);
		track = find(scene, "auto");
		assert_int_equal(track->steps.count, 101);
		assert_true(track->confidence > 0.9);
		for (size_t j = 0; j < scene->steps.candidates.count; j++)
			assert_null(strstr(scene->steps.candidates.items[j].signal, "learner"));
		assert_int_equal(try_find(scene, "torch:learner"), -ENOENT);
		tear_down(scene);
	}
}

/* What is written to first is another each time: a tensor that is made for it. */
static void test_no_learner(void **state)
{
	struct scene *scene = set_up();
	const struct step_track *track;

	for (int i = 0; i < 1009; i++) {
		play(scene, "Z o B U");
		call(scene, "torch:learner", NULL, 64 * (1 + chance(scene, 97)));
	}
	track = find(scene, "auto");
	assert_int_equal(track->steps.count, 1009);
	assert_true(track->confidence > 0.9);
	tear_down(scene);
}

/* TD3 and the like: a critic learns each time, an actor now and then. */
static void test_most(void **state)
{
	static const struct {
		const char *round;
		int most;
	} rounds[] = {{"Zc U Zc U Za U", 2}, {"Za U Zc U Zc U", 2},
		{"Z o B U1 Z o B U1 Z o B U2", 2},
		{"Z B U2 Z B U1 Z B U1 Z B U1 Z B U1 Z B U1", 5}};

	for (size_t i = 0; i < sizeof(rounds) / sizeof(*rounds); i++) {
		struct scene *scene = set_up();
		const struct step_track *track;
		char part[100];

		repeat(scene, rounds[i].round, 101);
		track = find(scene, "auto");
		assert_true(track->confidence < STEP_CONFIDENT);
		snprintf(part, sizeof(part),
			"say --step torch:record:Optimizer.step#Adam.step/most (%d steps)",
			101 * rounds[i].most);
		assert_contains(track->note, part);
		track = find(scene, "torch:record:Optimizer.step#Adam.step/most");
		assert_int_equal(track->steps.count, 101 * rounds[i].most);
		assert_true(track->confidence == 1);
		tear_down(scene);
	}
}

/* Nothing takes turns: the user is told, and each mark is a step. */
static void test_most_of_one(void **state)
{
	struct scene *scene = set_up();
	const struct step_track *track;

	repeat(scene, "Z o B U1", 101);
	track = find(scene, "torch:record:Optimizer.step#Adam.step/most");
	assert_int_equal(track->steps.count, 101);
	assert_contains(track->note, "they take no turns");
	tear_down(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_turn),
		cmocka_unit_test(test_in_turn_evaluated),
		cmocka_unit_test(test_not_in_turn),
		cmocka_unit_test(test_one_name),
		cmocka_unit_test(test_seen_in_part),
		cmocka_unit_test(test_no_turns),
		cmocka_unit_test(test_no_learner),
		cmocka_unit_test(test_most),
		cmocka_unit_test(test_most_of_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
