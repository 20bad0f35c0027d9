/* Marks as trainings with DL4J make them → exactly their iterations. */
#include "step_fixture.h"

static void java(struct scene *scene, char what)
{
	static const struct {
		char letter;
		const char *signal, *label;
	} calls[] = {
		{'A', "dl4j:update", "adam"},
		{'S', "dl4j:update", "sgd"},
		{'N', "dl4j:update", "nesterovs"},
		{'o', "dl4j:loss", NULL},
	};

	if (what >= '1' && what <= '9') {
		gemm(scene, what - '0');
		return;
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].letter == what)
			call(scene, calls[i].signal, calls[i].label, UNKNOWN);
}

static void fit(struct scene *scene, const char *letters, int times)
{
	while (times-- > 0)
		for (const char *letter = letters; *letter; letter++)
			java(scene, *letter);
}

/* One updater; evaluations and score() in between add losses and products. */
static void test_one_updater(void **state)
{
	struct scene *scene = set_up();
	const struct step_track *track;

	for (int i = 0; i < 1009; i++) {
		fit(scene, "123o456A", 1);
		if (i % 101 == 100)
			fit(scene, "123", 17);
		if (i % 211 == 210)
			fit(scene, "123o", 3);
	}
	track = find(scene, "auto");
	assert_int_equal(track->steps.count, 1009);
	assert_int_equal(track->per_step, 1);
	assert_string_equal(track->signal, "dl4j:update:adam");
	assert_true(track->confidence > 0.95);
	assert_string_equal(track->note, "");
	assert_int_equal(find(scene, "dl4j:update")->steps.count, 1009);
	assert_int_equal(find(scene, "dl4j:update:adam")->steps.count, 1009);
	tear_down(scene);
}

/* Updaters of two kinds, of one kind twice (batch normalisation parts them), losses of two outputs.
 */
static void test_several_updaters(void **state)
{
	static const struct {
		const char *step;
		uint32_t per_step;
	} shapes[] = {{"12o3AS", 2}, {"12o3AA", 2}, {"12o3AAAAA", 5}, {"12oo3ASN", 3}, {"oAS", 2},
		{"oAAA", 3}};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		struct scene *scene = set_up();
		const struct step_track *track;

		for (int j = 0; j < 503; j++) {
			fit(scene, shapes[i].step, 1);
			if (j % 53 == 52)
				fit(scene, "12o", 7);
		}
		track = find(scene, "auto");
		assert_int_equal(track->steps.count, 503);
		assert_int_equal(track->per_step, shapes[i].per_step);
		assert_true(track->confidence > 0.95);
		tear_down(scene);
	}
}

/* A mark in a hundred is lost: steps are not invented, and few are missed. */
static void test_losses_of_marks(void **state)
{
	struct scene *scene = set_up();
	const struct step_track *track;

	scene->lose = 10;
	fit(scene, "12o3AS", 997);
	track = find(scene, "auto");
	assert_in_range(track->steps.count, 980, 997);
	tear_down(scene);
}

/* NoOp has no native updater: the loss is all there is. */
static void test_no_updater(void **state)
{
	struct scene *scene = set_up();
	const struct step_track *track;

	fit(scene, "123o456", 211);
	track = find(scene, "auto");
	assert_int_equal(track->steps.count, 211);
	assert_string_equal(track->signal, "dl4j:loss");
	assert_true(track->confidence >= STEP_CONFIDENT && track->confidence < 0.9);
	assert_contains(track->note, "score()");
	tear_down(scene);
}

/* SameDiff: one update per variable, among the gradients' products; no loss is reduced this way. */
static void test_samediff(void **state)
{
	static const char *const steps[] = {"1234A5A6A7A", "1234AA55A6A7AA"};
	static const uint32_t variables[] = {4, 6};

	for (size_t i = 0; i < 2; i++) {
		struct scene *scene = set_up();
		const struct step_track *track;

		fit(scene, steps[i], 307);
		track = find(scene, "auto");
		assert_in_range(track->steps.count, 306, 308);
		assert_int_equal(track->per_step, variables[i]);
		assert_true(track->confidence >= STEP_CONFIDENT);
		tear_down(scene);
	}
}

/* Nothing shows how many updates make a step: steps are shown, but no claim is made. */
static void test_updates_alone(void **state)
{
	struct scene *scene = set_up();
	const struct step_track *track;

	fit(scene, "A", 1201);
	track = find(scene, "auto");
	assert_int_equal(track->steps.count, 1201);
	assert_true(track->confidence < STEP_CONFIDENT);
	assert_contains(track->note, "--step dl4j:update/N");
	track = find(scene, "dl4j:update/12");
	assert_in_range(track->steps.count, 100, 101);
	assert_true(track->confidence >= STEP_CONFIDENT);
	tear_down(scene);
}

/* ParallelWrapper: each thread trains a copy; a fit() in another thread after the first. */
static void test_threads(void **state)
{
	struct scene *scene = set_up();
	const struct step_track *track;

	for (int i = 0; i < 211; i++) {
		scene->tid = 2003 + i % 2;
		fit(scene, "12o3A", 1);
	}
	track = find(scene, "auto");
	assert_in_range(track->steps.count, 105, 106);
	assert_contains(track->note, "2 threads of this process run steps at once");
	tear_down(scene);
	scene = set_up();
	fit(scene, "12o3A", 101);
	scene->tid = 3001;
	fit(scene, "12o3A", 103);
	track = find(scene, "auto");
	assert_int_equal(track->steps.count, 204);
	assert_contains(track->note, "one after another");
	tear_down(scene);
}

/* A step begins at its first update; the loss before the first one is of no step. */
static void test_begins_at_the_update(void **state)
{
	struct scene *scene = set_up();
	const struct step_track *track;
	uint64_t first_ns;

	fit(scene, "12o3", 1);
	first_ns = scene->now_ns;
	fit(scene, "AS", 1);
	fit(scene, "12o3AS", 100);
	track = find(scene, "auto");
	assert_int_equal(track->steps.count, 101);
	assert_in_range(track->steps.items[0].start_ns, first_ns + 1, first_ns + 2 * CALL_NS - 1);
	tear_down(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_updater),
		cmocka_unit_test(test_several_updaters),
		cmocka_unit_test(test_losses_of_marks),
		cmocka_unit_test(test_no_updater),
		cmocka_unit_test(test_samediff),
		cmocka_unit_test(test_updates_alone),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_begins_at_the_update),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
