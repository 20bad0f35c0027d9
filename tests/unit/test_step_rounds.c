/* Steps that come in rounds with other work between them: is that other work, or pauses, or nothing regular? */
#include "step_fixture.h"

#define MS 1000000

struct pauses {
	VEC(struct pause) items;
	size_t read, asked;
};

static int next(void *source, struct pause *ret, struct err *err)
{
	struct pauses *pauses = source;

	pauses->asked++;
	if (pauses->read == pauses->items.count)
		return 0;
	*ret = pauses->items.items[pauses->read++];
	return 1;
}

static void pause_now(struct scene *scene, struct pauses *pauses, uint64_t ns)
{
	struct pause *pause = vec_add(&pauses->items);

	pause->id = pauses->items.count;
	pause->runtime = 1;
	pause->start_ns = scene->now_ns;
	pause->end_ns = scene->now_ns += ns;
	scene->work_ns += (int64_t)ns;
}

/* @rounds of 32 updates, after which the thread does something else. */
struct shape {
	const char *step;
	uint64_t other_ns;  /* work of its own */
	uint64_t pause_ns;  /* a collection by hand */
	uint64_t after_ns;  /* what it leaves to do at its end */
	unsigned vary;	    /* rounds differ by up to so many updates */
	uint64_t within_ns; /* collections that come anywhere, a few in a round */
};

static struct scene *play_rounds(const struct shape *shape, struct pauses *pauses)
{
	struct scene *scene = set_up();
	struct runtime *runtime = vec_add(&scene->recording.runtimes);

	*runtime = (struct runtime){.id = 1, .process = 1};
	scene->work_ns = 0;
	for (int i = 0; i < 41; i++) {
		unsigned updates = 32 + (shape->vary ? chance(scene, shape->vary) : 0);

		for (unsigned j = 0; j < updates; j++) {
			scene->now_ns += MS;
			scene->work_ns += MS;
			if (shape->within_ns && !chance(scene, 16))
				pause_now(scene, pauses, shape->within_ns);
			play(scene, shape->step);
		}
		scene->now_ns += shape->other_ns;
		scene->work_ns += (int64_t)shape->other_ns;
		if (shape->pause_ns)
			pause_now(scene, pauses, shape->pause_ns);
		scene->now_ns += shape->after_ns;
		scene->work_ns += (int64_t)shape->after_ns;
	}
	return scene;
}

/* The confidence, and whether rounds are noted; *ret_asked: whether pauses had to be read. */
static double confidence_of(const struct shape *shape, const char *spec, bool *ret_noted,
	bool *ret_asked)
{
	struct pauses pauses = {};
	struct scene *scene = play_rounds(shape, &pauses);
	struct step_track *track = (struct step_track *)find(scene, spec);
	double confidence;

	assert_int_equal(steps_rounds(&scene->recording, track, next, &pauses, &scene->err), 0);
	confidence = track->confidence;
	*ret_noted =
		strstr(track->note, "after every 32 of them comes other work") &&
		strstr(track->note, "--step torch:record:Optimizer.step#Adam.step/32 (41 steps)");
	assert_int_equal(*ret_noted, !!strstr(track->note, "other work"));
	*ret_asked = pauses.asked;
	vec_free(&pauses.items);
	tear_down(scene);
	return confidence;
}

static void test_rounds(void **state)
{
	static const struct {
		struct shape shape;
		const char *spec;
		bool noted, confident;
	} cases[] = {
		{{"Z o B U", 40 * MS}, "auto", true, false}, /* PPO */
		{{"Z B U", 40 * MS}, "auto", true, false},
		{{"Z o B U", 40 * MS, 5 * MS}, "auto", true, false},
		{{"Z o B U", 40 * MS, .within_ns = 80 * MS}, "auto", true, false},
		{{"Z o B U", .within_ns = 80 * MS}, "auto", false, true},
		{{"Z o B U", 3 * MS}, "auto", true,
			true}, /* a twelfth: it is said, and the steps stand */
		{{"Z o B U", 0}, "auto", false, true},
		{{"Z o B U", 40 * MS, .vary = 7}, "auto", false, true}, /* in no fixed rhythm */
		{{"L Z o B U", 40 * MS}, "auto", false, true},		/* each has its batch */
		{{"Z o B U", 0, 40 * MS}, "auto", false, true},		/* pauses */
		{{"Z o B U", 1 * MS, 80 * MS}, "auto", false, true},
		{{"Z o B U", 0, 80 * MS, .after_ns = 20 * MS}, "auto", false,
			true}, /* JAX's own callbacks */
		{{"Z o B U", 0, 8 * MS, .after_ns = 20 * MS}, "auto", true, false},
		{{"Z o B U", 40 * MS}, "torch:record:Optimizer.step#Adam.step", false, true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		bool noted, asked;
		double confidence = confidence_of(&cases[i].shape, cases[i].spec, &noted, &asked);

		if (noted != cases[i].noted || (confidence > STEP_CONFIDENT) != cases[i].confident)
			print_error("case %zu: %d, %.2f\n", i, noted, confidence);
		assert_int_equal(noted, cases[i].noted);
		assert_int_equal(confidence > STEP_CONFIDENT, cases[i].confident);
		assert_true(!noted || asked);
		assert_true(!asked || noted || cases[i].shape.pause_ns ||
			    cases[i].shape.within_ns || cases[i].shape.vary);
	}
}

/* Two products in turn are a layer's step, or a loop within a step; more are not that likely one. */
static void test_few_products(void **state)
{
	for (int products = 2; products <= 5; products++) {
		struct scene *scene = set_up();
		const struct step_track *track;

		for (int i = 0; i < 2000; i++)
			for (int j = 0; j < products; j++)
				gemm(scene, 1009 + j);
		track = find(scene, "auto");
		assert_int_equal(track->steps.count, 2000);
		assert_int_equal(track->confidence >= STEP_CONFIDENT, products > 3);
		assert_int_equal(!!strstr(track->note, "say --step blas:gemm/M"), products <= 3);
		tear_down(scene);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_few_products),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
