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
	assert_int_equal(track->levels.count, *ret_noted);
	if (*ret_noted) {
		assert_string_equal(track->levels.items[0].signal,
			"torch:record:Optimizer.step#Adam.step/32");
		assert_int_equal(track->levels.items[0].steps, 41);
	}
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
		{{"Z o B U", 9 * MS / 5}, "auto", true, true},
		{{"Z o B U", 6 * MS / 5}, "auto", true, true},
		{{"Z o B U", MS / 4}, "auto", false, true},
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

/*
 * Products in turn are those of a step, or of a loop within one, whatever their number: no claim, not even where they are named.
 * Where other work comes after every tenth round of them, that level is offered.
 */
static void test_products(void **state)
{
	for (int products = 2; products <= 14; products += 3) {
		struct scene *scene = set_up();
		struct pauses pauses = {};
		struct step_track *track;
		char words[64];

		scene->work_ns = 0;
		for (int i = 0; i < 2000; i++) {
			int64_t other_ns = i % 10 == 9 ? 2 * products * MS : 0;

			for (int j = 0; j < products; j++) {
				scene->work_ns += MS;
				gemm(scene, 1009 + j);
			}
			scene->work_ns += other_ns;
			scene->now_ns += (uint64_t)(products * MS + other_ns);
		}
		track = (struct step_track *)find(scene, "auto");
		assert_int_equal(track->steps.count, 2000);
		assert_true(track->confidence > 0.6 && track->confidence < STEP_CONFIDENT);
		snprintf(words, sizeof(words), "say --step blas:gemm/M, M being %d N", products);
		assert_contains(track->note, words);
		assert_int_equal(steps_rounds(&scene->recording, track, next, &pauses, &scene->err),
			0);
		assert_int_equal(track->levels.count, 1);
		snprintf(words, sizeof(words), "blas:gemm/%d", 10 * products);
		assert_string_equal(track->levels.items[0].signal, words);
		assert_int_equal(track->levels.items[0].steps, 200);
		assert_true(find(scene, "blas:gemm")->confidence < STEP_CONFIDENT);
		assert_int_equal(find(scene, words)->steps.count, 200);
		assert_true(find(scene, words)->confidence == 1);
		tear_down(scene);
	}
}

/* Other work that came too rarely to know whether it recurs, until it is overdue. */
static void test_open(void **state)
{
	static const struct {
		int steps, every; /* all, and after how many of them other work comes */
		int until;	  /* that it comes at all */
		bool open;
	} cases[] = {
		{40, 0, 0, false},
		{40, 32, 40, true},
		{160, 32, 40, true},
		{163, 32, 40, false},
		{140, 32, 140, true},
		{180, 32, 129, false},
		{162, 32, 162, false},
		{40, 1, 1, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct scene *scene = set_up();
		struct pauses pauses = {};
		bool open = !cases[i].open;

		scene->work_ns = 0;
		for (int j = 1; j <= cases[i].steps; j++) {
			bool other =
				cases[i].every && j % cases[i].every == 0 && j <= cases[i].until;

			play(scene, "Z o B U");
			scene->now_ns += (other ? 20 : 1) * MS;
			scene->work_ns += (other ? 20 : 1) * MS;
		}
		assert_int_equal(steps_rounds_open(&scene->recording, find(scene, "auto"), next,
					 &pauses, &open, &scene->err),
			0);
		if (open != cases[i].open)
			print_error("case %zu\n", i);
		assert_int_equal(open, cases[i].open);
		tear_down(scene);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_products),
		cmocka_unit_test(test_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
