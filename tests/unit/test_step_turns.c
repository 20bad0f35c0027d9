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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_turn),
		cmocka_unit_test(test_in_turn_evaluated),
		cmocka_unit_test(test_not_in_turn),
		cmocka_unit_test(test_one_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
