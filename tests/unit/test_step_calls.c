/* Marks of JAX, of collectives and of calls without a framework → exactly their steps. */
#include "step_fixture.h"

/* A thousand other programs, as a warm-up runs them. */
static void warm_up(struct scene *scene)
{
	char name[32];

	for (int i = 0; i < 1009; i++) {
		snprintf(name, sizeof(name), "_helper_%u", chance(scene, 61));
		jit(scene, name);
		if (chance(scene, 4))
			run(scene, 1 + chance(scene, 5));
	}
	for (int i = 0; i < 29; i++)
		run(scene, 600); /* large, but of the warm-up only */
}

static void jax_step(struct scene *scene, int i, int64_t inputs)
{
	jit(scene, "add");
	run(scene, 2);
	jit(scene, "train_step");
	if (i == 0 || i == 500) /* compiled: the first run goes another way */
		for (int j = 0; j < 131; j++)
			jit(scene, j % 3 ? "_where" : "multiply");
	else
		run(scene, inputs);
	if (i % 10 == 9) {
		jit(scene, "mean");
		run(scene, 1);
	}
	if (i % 100 == 99) {
		jit(scene, "epoch_summary");
		run(scene, 470);
	}
	if (i % 200 == 199)
		for (int j = 0; j < 37; j++) {
			jit(scene, "evaluate");
			run(scene, 230);
		}
}

static void test_jax(void **state)
{
	struct scene *scene = set_up();
	const struct step_track *track;

	warm_up(scene);
	for (int i = 0; i < 997; i++)
		jax_step(scene, i, 460);
	track = find(scene, "auto");
	assert_int_equal(track->steps.count, 997);
	assert_string_equal(track->signal, "jax:pjit:train_step");
	assert_contains(track->note, "jax:execute:460");
	assert_true(track->confidence > 0.9);
	assert_in_range(closed(track), 4, 6);
	assert_int_equal(find(scene, "jax:pjit:train_step")->steps.count, 997);
	assert_int_equal(find(scene, "jax:execute:460")->steps.count, 995);
	tear_down(scene);
}

/* Compiled ahead: no function is called. */
static void test_jax_programs_only(void **state)
{
	struct scene *scene = set_up();

	for (int i = 0; i < 500; i++)
		run(scene, 1 + chance(scene, 5));
	for (int i = 0; i < 499; i++) {
		run(scene, 2);
		run(scene, 460);
		run(scene, 1);
		if (i % 100 == 99) {
			run(scene, 470);
			for (int j = 0; j < 37; j++)
				run(scene, 230);
		}
	}
	assert_int_equal(find(scene, "auto")->steps.count, 499);
	assert_string_equal(scene->steps.tracks.items[0].signal, "jax:execute:460");
	tear_down(scene);
}

/* A plugin without symbols: only functions. */
static void test_jax_functions_only(void **state)
{
	struct scene *named = set_up(), *nameless = set_up();

	for (int i = 0; i < 307; i++) {
		jit(named, "_where");
		jit(named, "_where");
		jit(named, "make_step");
		if (i % 50 == 49)
			for (int j = 0; j < 23; j++)
				jit(named, "eval_step");
		jit(nameless, "a");
		jit(nameless, "b");
		jit(nameless, "a");
		jit(nameless, "c");
	}
	assert_int_equal(find(named, "auto")->steps.count, 307);
	assert_string_equal(named->steps.tracks.items[0].signal, "jax:pjit:make_step");
	assert_int_equal(find(nameless, "auto")->steps.count, 307);
	tear_down(named);
	tear_down(nameless);
}

/* Two functions with as many inputs. */
static void test_jax_same_inputs(void **state)
{
	struct scene *scene = set_up();

	for (int i = 0; i < 307; i++) {
		jit(scene, "train_step");
		run(scene, 23);
		if (i % 5 == 4)
			for (int j = 0; j < 7; j++) {
				jit(scene, "eval_step");
				run(scene, 23);
			}
	}
	assert_int_equal(find(scene, "auto")->steps.count, 307);
	assert_string_equal(scene->steps.tracks.items[0].signal, "jax:pjit:train_step");
	tear_down(scene);
}

/* Gradients several times, one update; then twice as often; then with another structure of inputs.
 */
static void test_jax_accumulation(void **state)
{
	struct scene *scene = set_up();
	const struct step_track *track;

	for (int i = 0; i < 307; i++) {
		for (int j = 0; j < (i < 101 ? 2 : 4); j++) {
			jit(scene, "gradients");
			run(scene, i < 211 ? 8 : 9);
			jit(scene, "add");
			run(scene, 12);
		}
		jit(scene, "update");
		run(scene, i < 211 ? 25 : 26);
		if (i % 53 == 52)
			for (int j = 0; j < 17; j++) {
				jit(scene, "accuracy");
				run(scene, 8);
			}
	}
	track = find(scene, "auto");
	assert_int_equal(track->steps.count, 307);
	assert_string_equal(track->signal, "jax:pjit:update");
	tear_down(scene);
}

/* Gradients compiled, the optimizer not: its library's helpers run programs of the same size. */
static void test_jax_gradients_only(void **state)
{
	struct scene *scene = set_up();

	for (int i = 0; i < 103; i++) {
		jit(scene, "loss");
		run(scene, 12);
		for (int j = 0; j < 2; j++) {
			jit(scene, "tree_bias_correction");
			run(scene, 12);
		}
		for (int j = 0; j < 60; j++) {
			jit(scene, j % 2 ? "multiply" : "add");
			run(scene, 2);
		}
	}
	assert_int_equal(find(scene, "auto")->steps.count, 103);
	assert_string_equal(scene->steps.tracks.items[0].signal, "jax:pjit:loss");
	tear_down(scene);
}

/* Something with more inputs than the step, every ten or twenty of them. */
static void test_jax_average(void **state)
{
	static const char *const names[] = {"ema", "f"};

	for (size_t i = 0; i < 2; i++) {
		struct scene *scene = set_up();

		for (int j = 0; j < 307; j++) {
			jit(scene, "g");
			run(scene, 12);
			if (j % 10 == 9) {
				jit(scene, names[i]);
				run(scene, 20);
			}
		}
		assert_int_equal(find(scene, "auto")->steps.count, 307);
		tear_down(scene);
	}
}

/* Operations one at a time, not compiled into a step. */
static void test_jax_eager(void **state)
{
	static const char *const names[] = {
		"dot", "add", "dot", "add", "_where", "multiply", "subtract"};
	static const int64_t inputs[] = {2, 2, 2, 2, 3, 2, 2};
	struct scene *scene = set_up();

	for (int i = 0; i < 211; i++)
		for (int j = 0; j < 7; j++) {
			jit(scene, names[j]);
			run(scene, inputs[j]);
		}
	assert_int_equal(find(scene, "auto")->steps.count, 211);
	tear_down(scene);
}

/* Twelve blocks of six shapes and a head: 73 calls a step. */
static void transformer(struct scene *scene, int64_t batch)
{
	for (int block = 0; block < 12; block++)
		for (int i = 0; i < 6; i++)
			gemm(scene, batch + i);
	gemm(scene, batch + 99);
}

static void test_calls_transformer(void **state)
{
	struct scene *scene = set_up();
	const struct step_track *track;
	size_t steps;

	for (int i = 0; i < 29; i++) /* attached in the middle of a step */
		gemm(scene, i % 6);
	gemm(scene, 99);
	for (int i = 0; i < 211; i++) {
		transformer(scene, i < 101 ? 0 : 1000); /* another batch size */
		if (i % 50 == 49)
			for (int j = 0; j < 7 * 37; j++)
				gemm(scene, 5000 + j % 37);
	}
	track = find(scene, "auto");
	assert_in_range(track->steps.count, 211, 212);
	assert_int_equal(track->per_step, 73);
	assert_string_equal(track->signal, "blas:gemm");
	assert_contains(track->note, "73 calls make a step");
	steps = track->steps.count; /* which the next search lets go */
	assert_int_equal(find(scene, "blas:gemm")->steps.count, steps);
	tear_down(scene);
}

/* Forward and back through layers that are alike; nothing tells steps in one shape, or in chance.
 */
static void test_calls(void **state)
{
	static const int64_t shapes[] = {1, 2, 2, 2, 3, 4, 5, 2, 5, 2, 5, 2, 6};
	struct scene *layers = set_up(), *single = set_up(), *random = set_up();

	for (int i = 0; i < 101; i++)
		for (size_t j = 0; j < sizeof(shapes) / sizeof(*shapes); j++) {
			gemm(layers, shapes[j]);
			gemm(single, 7);
			gemm(random, chance(random, 23));
		}
	assert_int_equal(find(layers, "auto")->steps.count, 101);
	assert_int_equal(find(layers, "auto")->per_step, 13);
	assert_int_equal(try_find(single, "auto"), 0);
	assert_int_equal(single->steps.tracks.count, 0);
	assert_contains(single->steps.note, "no step signal: blas:gemm:7 fired 1313 times");
	assert_int_equal(find(single, "blas:gemm/13")->steps.count, 101);
	assert_int_equal(try_find(random, "auto"), 0);
	assert_int_equal(random->steps.tracks.count, 0);
	assert_true(random->steps.candidates.count > 20);
	tear_down(layers);
	tear_down(single);
	tear_down(random);
}

static void test_collectives(void **state)
{
	struct scene *buckets = set_up(), *one = set_up();
	const struct step_track *track;

	for (int i = 0; i < 211; i++) {
		call(buckets, "nccl:allreduce", NULL, 1000);
		call(buckets, "nccl:allreduce", NULL, 1000);
		call(buckets, "nccl:allreduce", NULL, 700);
		call(one, "torch:allreduce", NULL, 4096);
	}
	track = find(buckets, "auto");
	assert_int_equal(track->steps.count, 211);
	assert_int_equal(track->per_step, 3);
	track = find(one, "auto");
	assert_int_equal(track->steps.count, 211);
	assert_true(track->confidence < STEP_CONFIDENT);
	assert_contains(track->note, "--step torch:allreduce:4096/N");
	tear_down(buckets);
	tear_down(one);
}

static void test_boosting(void **state)
{
	struct scene *scene = set_up();

	for (int i = 0; i < 101; i++)
		call(scene, "xgboost:update", NULL, UNKNOWN);
	assert_int_equal(find(scene, "auto")->steps.count, 101);
	tear_down(scene);
}

/* A cross-validation has a booster for each part of the data; a search has one after another. */
static void test_boosting_in_turn(void **state)
{
	static const int folds[] = {2, 3, 5, 10, 31};

	for (size_t i = 0; i < sizeof(folds) / sizeof(*folds); i++) {
		struct scene *turns = set_up(), *search = set_up();
		const struct step_track *track;

		for (int j = 0; j < 101; j++)
			for (int k = 0; k < folds[i]; k++) {
				call(turns, "xgboost:update", NULL, 4096 * (k + 1));
			}
		for (int k = 0; k < folds[i]; k++)
			for (int j = 0; j < 101; j++)
				call(search, "xgboost:update", NULL, 4096 * (k + 1));
		track = find(turns, "auto");
		assert_int_equal(track->steps.count, 101);
		assert_int_equal(track->per_step, folds[i]);
		assert_string_equal(track->signal, "xgboost:update");
		assert_true(track->confidence > 0.9);
		assert_int_equal(turns->steps.candidates.count, 1);
		assert_int_equal(turns->steps.candidates.items[0].marks, 101 * folds[i]);
		track = find(search, "auto");
		assert_int_equal(track->steps.count, 101 * folds[i]);
		assert_true(track->confidence > 0.9);
		tear_down(turns);
		tear_down(search);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jax),
		cmocka_unit_test(test_jax_programs_only),
		cmocka_unit_test(test_jax_functions_only),
		cmocka_unit_test(test_jax_same_inputs),
		cmocka_unit_test(test_jax_accumulation),
		cmocka_unit_test(test_jax_gradients_only),
		cmocka_unit_test(test_jax_average),
		cmocka_unit_test(test_jax_eager),
		cmocka_unit_test(test_calls_transformer),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_collectives),
		cmocka_unit_test(test_boosting),
		cmocka_unit_test(test_boosting_in_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
