/* Launches of graphs and waits for a device, as the driver's functions show them → exactly their steps. */
#include "step_fixture.h"

static void graph(struct scene *scene, int64_t handle)
{
	call(scene, "cuda:graph", NULL, handle);
}

static void read_back(struct scene *scene, int64_t bytes)
{
	call(scene, "cuda:read", NULL, bytes);
	call(scene, "cuda:sync", "stream", UNKNOWN);
}

/* The warm-up calls the optimizer, the capture does so once more, and from then on there are only launches. */
static void test_whole_step(void **state)
{
	struct scene *scene = set_up();
	const struct step_track *track;

	repeat(scene, "Z o B U ", 11);
	for (int i = 0; i < 997; i++) {
		graph(scene, 0x55d0c0ffee);
		if (i % 10 == 9)
			read_back(scene, 4);
	}
	track = find(scene, "auto");
	assert_int_equal(track->steps.count, 997);
	assert_string_equal(track->signal, "cuda:graph");
	assert_true(track->confidence > 0.7);
	assert_contains(track->note, "--step cuda:graph/N");
	assert_int_equal(find(scene, "cuda:graph")->steps.count, 997);
	assert_int_equal(find(scene, "cuda:graph:55d0c0ffee")->steps.count, 997);
	tear_down(scene);
}

static void test_with_evaluation(void **state)
{
	struct scene *scene = set_up();

	for (int i = 0; i < 499; i++) {
		graph(scene, 1);
		for (int j = 0; i % 50 == 49 && j < 23; j++)
			graph(scene, 2);
	}
	assert_int_equal(find(scene, "auto")->steps.count, 499);
	tear_down(scene);
}

/* Four micro-batches and the update. */
static void test_accumulation(void **state)
{
	struct scene *scene = set_up();

	for (int i = 0; i < 211; i++) {
		for (int j = 0; j < 4; j++)
			graph(scene, 1);
		graph(scene, 2);
	}
	assert_int_equal(find(scene, "auto")->steps.count, 211);
	tear_down(scene);
}

/* A graph for each part of the model. */
static void test_parts(void **state)
{
	struct scene *scene = set_up();
	const struct step_track *track;

	for (int i = 0; i < 307; i++)
		for (int64_t part = 1; part <= 5; part++)
			graph(scene, part);
	track = find(scene, "auto");
	assert_int_equal(track->steps.count, 307);
	assert_string_equal(track->signal, "cuda:graph");
	assert_contains(track->note, "5 calls make a step, by the pattern of their handles");
	assert_true(track->confidence > 0.8);
	tear_down(scene);
}

/* Forward and backward are graphs, four of each to an update: the optimizer knows what a step is. */
static void test_framework_goes_on(void **state)
{
	struct scene *scene = set_up();
	const struct step_track *track;

	for (int i = 0; i < 211; i++) {
		play(scene, "Z");
		for (int j = 0; j < 4; j++) {
			graph(scene, 1);
			graph(scene, 2);
		}
		play(scene, "U");
		read_back(scene, 4);
	}
	track = find(scene, "auto");
	assert_int_equal(track->steps.count, 211);
	assert_string_equal(track->signal, "torch:record:Optimizer.step#Adam.step");
	tear_down(scene);
}

/* Nothing but the loss that is read in each step, and two other waits: shown, and no claims. */
static void test_reads(void **state)
{
	struct scene *scene = set_up();
	const struct step_track *track;

	for (int i = 0; i < 211; i++) {
		call(scene, "cuda:sync", "event", UNKNOWN);
		read_back(scene, 4);
		call(scene, "cuda:sync", "event", UNKNOWN);
	}
	track = find(scene, "auto");
	assert_int_equal(track->steps.count, 211);
	assert_true(track->confidence < 0.7);
	tear_down(scene);
}

static void range(struct scene *scene, const char *name)
{
	call(scene, "nvtx", name, UNKNOWN);
}

/* Ranges of NVTX: the one that is called a step, whatever is in it; a number at its end is none of its name. */
static void test_ranges(void **state)
{
	struct scene *scene = set_up(), *nameless = set_up();
	const struct step_track *track;
	char name[32];

	for (int i = 0; i < 307; i++) {
		snprintf(name, sizeof(name), "train step %d", i);
		range(scene, name);
		range(scene, "forward");
		range(scene, "layer");
		range(scene, "layer");
		range(scene, "backward");
		for (int j = 0; i % 50 == 49 && j < 23; j++)
			range(scene, "eval step");
		range(nameless, "a");
		range(nameless, "b");
		range(nameless, "b");
	}
	track = find(scene, "auto");
	assert_int_equal(track->steps.count, 307);
	assert_contains(track->signal, "nvtx:train step ");
	assert_true(track->confidence > 0.8);
	assert_int_equal(find(scene, "nvtx:backward")->steps.count, 307);
	track = find(nameless, "auto");
	assert_int_equal(track->steps.count, 307);
	assert_true(track->confidence < 0.7);
	tear_down(scene);
	tear_down(nameless);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_step),
		cmocka_unit_test(test_with_evaluation),
		cmocka_unit_test(test_accumulation),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_framework_goes_on),
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
