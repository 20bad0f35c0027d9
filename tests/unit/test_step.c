/* Marks as trainings with PyTorch make them → exactly their steps. */
#include "step_fixture.h"

static void test_torch_plain(void **state)
{
	struct scene *scene = set_up();
	const struct step_track *track;

	play(scene, "Z");
	for (int i = 0; i < 997; i++) {
		play(scene, "L Z o B U");
		if (i % 13 == 12)
			play(scene, "L"); /* no more batches */
		if (i % 101 == 100) {
			repeat(scene, "L o", 17);
			play(scene, "L");
		}
	}
	repeat(scene, "L o", 31);
	track = find(scene, "auto");
	assert_int_equal(track->steps.count, 997);
	assert_int_equal(closed(track), 9);
	assert_string_equal(track->signal, "torch:record:Optimizer.step#Adam.step");
	assert_int_equal(track->per_step, 1);
	assert_int_equal(track->changes.count, 0);
	assert_true(track->confidence > 0.95);
	assert_true(track->measured);
	assert_string_equal(track->note, "");
	/* The evaluation after the last step is none of it. */
	assert_true(track->steps.items[996].end_ns < scene->now_ns - 50 * CALL_NS);
	tear_down(scene);
}

/* A few batches an epoch: what its end adds must not look like a pattern. */
static void test_torch_short_epochs(void **state)
{
	for (int batches = 1; batches <= 5; batches++) {
		struct scene *scene = set_up(), *bare = set_up();

		for (int i = 0; i < 211; i++) {
			bool last = i % batches == batches - 1;

			play(scene, last ? "L Z o B U L" : "L Z o B U");
			play(bare, last ? "L Z B L" : "L Z B");
		}
		assert_int_equal(find(scene, "auto")->steps.count, 211);
		assert_int_equal(find(bare, "auto")->steps.count, 211);
		tear_down(scene);
		tear_down(bare);
	}
}

/* 1, then 2, 4 and 16 backward passes a step; an evaluation now and then, also in the middle of a
 * step. */
static int accumulate(struct scene *scene, const char *batch, const char *update,
	const char *evaluation, const char *evaluation_end)
{
	static const int passes[] = {1, 2, 4, 16};
	int steps = 0, batches = 0;

	for (int phase = 0; phase < 4; phase++)
		for (int i = 0; i < 61; i++, steps++) {
			for (int j = 0; j < passes[phase]; j++) {
				play(scene, batch);
				if (++batches % 131 == 130 && *evaluation) {
					repeat(scene, evaluation, 13);
					play(scene, evaluation_end);
				}
			}
			play(scene, update);
		}
	return steps;
}

static void test_torch_accumulation(void **state)
{
	struct scene *scene = set_up();
	int steps = accumulate(scene, "L o B", "U Z", "L o", "L");
	const struct step_track *track = find(scene, "auto");

	assert_int_equal(track->steps.count, steps);
	assert_int_equal(track->per_step, 1);
	assert_contains(track->note,
		"1 torch:backward per step, 2 from step 60 on, 4 from step 121 on, "
		"16 from step 182 on");
	tear_down(scene);
}

static void test_torch_accumulation_backward(void **state)
{
	struct scene *scene = set_up();
	int steps = accumulate(scene, "L o B", "Z", "L o", "L");
	const struct step_track *track = find(scene, "auto");

	assert_int_equal(track->steps.count, steps);
	assert_int_equal(track->per_step, 16);
	assert_int_equal(track->changes.count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(track->changes.items[i].step, 61 * (i + 1));
		assert_int_equal(track->changes.items[i].from, 1u << i);
		assert_int_equal(track->changes.items[i].to, i < 2 ? 2u << i : 16);
	}
	assert_true(track->confidence > 0.8);
	tear_down(scene);
}

/* A GAN: two updates of one class a step. */
static void test_torch_gan(void **state)
{
	static const char *const with_loader = "L Z oB oB U Z oB U", *const without =
									     "Z oB oB U Z oB U";
	static const char *const losses = "Z oo B U Z o B U";
	static const char *const classes = "Z o B U Z o B V";
	const char *const all[] = {with_loader, without, losses, classes};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct scene *scene = set_up();
		const struct step_track *track;

		for (int j = 0; j < 211; j++) {
			play(scene, all[i]);
			if (j % 53 == 52)
				repeat(scene, "o", 29);
		}
		track = find(scene, "auto");
		assert_int_equal(track->steps.count, 211);
		assert_int_equal(track->per_step, 2);
		assert_true(track->confidence > STEP_CONFIDENT);
		tear_down(scene);
	}
}

/* A critic that is updated with every batch, a generator with every fifth. */
static void test_torch_critic(void **state)
{
	struct scene *scene = set_up();

	for (int i = 0; i < 307; i++) {
		play(scene, "L Z B U");
		if (i % 5 == 0)
			play(scene, "Z B U");
	}
	assert_int_equal(find(scene, "auto")->steps.count, 307);
	tear_down(scene);
}

static void test_torch_lbfgs(void **state)
{
	struct scene *scene = set_up();
	const struct step_track *track;

	for (int i = 0; i < 97; i++) {
		play(scene, "L U");
		repeat(scene, "Z o B", 1 + (int)chance(scene, 20));
	}
	track = find(scene, "auto");
	assert_int_equal(track->steps.count, 97);
	assert_int_equal(track->per_step, 1);
	assert_true(track->confidence > 0.9);
	assert_contains(track->note, "the number of torch:backward per step varies");
	tear_down(scene);
}

/* Several optimizers, or one for each layer, after one backward pass. */
static void test_torch_optimizers(void **state)
{
	static const char *const steps[] = {
		"L Z Z o B U U", "Z o B U V", "Z o B V U", "B UUUUUUU UUUUUUU"};

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct scene *scene = set_up();

		repeat(scene, steps[i], 101);
		assert_int_equal(find(scene, "auto")->steps.count, 101);
		tear_down(scene);
	}
}

/* Two trainings in one process, each with its optimizer. */
static void test_torch_phases(void **state)
{
	struct scene *scene = set_up();

	repeat(scene, "L Z o B U", 103);
	repeat(scene, "L o", 40);
	repeat(scene, "L Z o B V", 89);
	assert_int_equal(find(scene, "auto")->steps.count, 192);
	tear_down(scene);
}

/* An optimizer that is not seen: its zeroed gradients are; and nothing at all. */
static void test_torch_backward_only(void **state)
{
	struct scene *zero = set_up(), *bare = set_up();
	const struct step_track *track;

	for (int i = 0; i < 101; i++) {
		play(zero, "Z B B B");
		play(bare, "B");
		if (i % 31 == 30)
			repeat(bare, "o", 19);
	}
	track = find(zero, "auto");
	assert_int_equal(track->steps.count, 101);
	assert_int_equal(track->per_step, 3);
	track = find(bare, "auto");
	assert_int_equal(track->steps.count, 101);
	assert_contains(track->note, "no optimizer was seen");
	tear_down(zero);
	tear_down(bare);
}

/* Evaluation by batches every few steps, training without a loader: those batches make no steps. */
static void test_torch_evaluation_loader(void **state)
{
	for (int every = 4; every <= 100; every += 16) {
		struct scene *scene = set_up();

		for (int i = 0; i < 401; i++) {
			play(scene, "Z o B U");
			if (i % every == every - 1)
				play(scene, "LoLoLoLoL");
		}
		assert_int_equal(find(scene, "auto")->steps.count, 401);
		tear_down(scene);
	}
}

/* A signal that was let go stops while the training goes on. */
static void test_torch_let_go(void **state)
{
	struct scene *scene = set_up();
	const struct step_track *track;

	repeat(scene, "L Z o B U", 23);
	signal_of(scene, "torch:record")->let_go_ns = scene->now_ns;
	repeat(scene, "o B", 200);
	track = find(scene, "auto");
	assert_int_equal(track->steps.count, 223);
	assert_string_equal(track->signal, "torch:backward");
	track = find(scene, "torch:record:Optimizer.step#Adam.step");
	assert_int_equal(track->steps.count, 23);
	assert_contains(track->note, "let go");
	for (size_t i = 0; i < scene->steps.candidates.count; i++)
		if (!strcmp(scene->steps.candidates.items[i].signal,
			    "torch:record:Optimizer.zero_grad#Adam.zero_grad"))
			assert_contains(scene->steps.candidates.items[i].why, "let go at ");
	tear_down(scene);
}

/* Without losses an evaluation looks like a slow step, and the steps' note says so. */
static void test_torch_loss_let_go(void **state)
{
	for (int hot = 0; hot < 2; hot++) {
		struct scene *scene = set_up();
		const struct step_track *track;

		repeat(scene, "Z o B U", 101);
		repeat(scene, "o", 97);
		repeat(scene, "Z o B U", 101);
		signal_of(scene, "torch:loss")->let_go_ns = hot ? scene->now_ns : 0;
		track = find(scene, "auto");
		assert_int_equal(track->steps.count, 202);
		assert_int_equal(closed(track), !hot);
		assert_int_equal(!!strstr(track->note, "torch:loss ran hot and was let go"), hot);
		tear_down(scene);
	}
}

static uint64_t losses_of(const struct scene *scene)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < scene->steps.candidates.count; i++)
		if (!strncmp(scene->steps.candidates.items[i].signal, "torch:loss", 10))
			calls += scene->steps.candidates.items[i].marks;
	return calls;
}

static size_t marks_of(const struct scene *scene)
{
	size_t marks = 0;

	for (size_t i = 0; i < scene->marks.lines.count; i++)
		marks += scene->marks.lines.items[i].marks.count;
	return marks;
}

static struct scene *evaluate(int passes, bool thin)
{
	struct scene *scene = set_up();

	scene->thin = thin;
	for (int i = 0; i < 7; i++) {
		repeat(scene, i < 4 ? "Z o B U" : "Z o B o B U", 101);
		repeat(scene, "o", passes);
	}
	play(scene, "Z o B U");
	find(scene, "auto");
	return scene;
}

/* A loss that stands for those before it shows an evaluation as well as all of them would. */
static void test_torch_loss_thinned(void **state)
{
	static const int passes[] = {2, 3, 7, 11, 17, 37, 997, 30011};

	for (size_t i = 0; i < sizeof(passes) / sizeof(*passes); i++) {
		struct scene *all = evaluate(passes[i], false), *thin = evaluate(passes[i], true);
		const struct step_track *one = all->steps.tracks.items;
		const struct step_track *other = thin->steps.tracks.items;

		assert_int_equal(one->steps.count, 7 * 101 + 1);
		assert_true(passes[i] < 7 || closed(one) == 7);
		assert_int_equal(other->steps.count, one->steps.count);
		assert_memory_equal(other->steps.items, one->steps.items,
			one->steps.count * sizeof(*one->steps.items));
		assert_true(other->confidence == one->confidence);
		assert_string_equal(other->note, one->note);
		assert_int_equal(losses_of(thin), losses_of(all));
		assert_true(passes[i] < 30011 || marks_of(thin) * 40 < marks_of(all));
		tear_down(all);
		tear_down(thin);
	}
}

/* Let go for ten seconds because of a hot range, then tried again: backward passes went on, or
 * nothing. */
static void test_torch_let_go_for_a_while(void **state)
{
	for (int on = 0; on < 2; on++) {
		struct scene *scene = set_up();
		const struct step_track *track;

		repeat(scene, "Z B U", 401);
		for (int i = 0; i < 9001; i++)
			call(scene, "torch:record", "hot", UNKNOWN);
		if (on)
			repeat(scene, "B", 100003);
		else
			scene->now_ns += 10000000000;
		repeat(scene, "Z B U", 401);
		track = find(scene, "auto");
		if (on) {
			assert_string_equal(track->signal, "torch:backward");
			assert_true(track->steps.count > 100000);
		} else {
			assert_int_equal(track->steps.count, 802);
			assert_int_equal(closed(track), 1);
			assert_contains(track->note, "let go for a while, 1 time:");
		}
		tear_down(scene);
	}
}

/* A lost mark costs the step that it began, and no other. */
static void test_lost_marks(void **state)
{
	struct scene *scene = set_up();
	size_t left = 0;

	scene->lose = 20;
	repeat(scene, "L Z o B U", 1009);
	for (size_t i = 0; i < scene->marks.lines.count; i++) {
		uint32_t id = scene->marks.lines.items[i].series;
		const char *label = scene->recording.series.items[id - 1].label;

		if (label && !strcmp(label, "Optimizer.step#Adam.step"))
			left = scene->marks.lines.items[i].marks.count;
	}
	assert_in_range(left, 900, 1000);
	assert_in_range(find(scene, "auto")->steps.count, left - 5, left);
	tear_down(scene);
}

/* A step that was merely slow stays as long as it was; one with an evaluation behind it does not.
 */
static void test_slow_steps(void **state)
{
	struct scene *scene = set_up();
	const struct step_track *track;
	uint64_t usual;

	for (int i = 0; i < 211; i++) {
		play(scene, "L Z o B");
		if (i == 101)
			scene->now_ns += 500 * CALL_NS;
		if (i == 151) { /* slow, and something is logged meanwhile */
			play(scene, "o");
			scene->now_ns += 500 * CALL_NS;
			play(scene, "o");
		}
		play(scene, "U");
		if (i == 23)
			repeat(scene, "L o", 11);
	}
	track = find(scene, "auto");
	usual = track->period_ns;
	assert_int_equal(track->steps.count, 211);
	assert_int_equal(closed(track), 1);
	assert_true(track->steps.items[100].end_ns - track->steps.items[100].start_ns > 50 * usual);
	assert_true(track->steps.items[150].end_ns - track->steps.items[150].start_ns > 50 * usual);
	assert_true(track->steps.items[23].end_ns - track->steps.items[23].start_ns < 2 * usual);
	tear_down(scene);
}

/* A step has the difference of its two marks, unless one is not known, the origin changed, or it ends before the next. */
static void test_work(void **state)
{
	static const int unknown[] = {22, 49, 50, 119, 210};
	struct scene *scene = set_up();
	const struct step_track *track;

	for (int i = 0; i < 211; i++) {
		scene->work_ns = i == 50 ? UNKNOWN : i < 120 ? i * 709ll : (i - 120) * 709ll;
		play(scene, "L Z o B U");
		if (i == 22)
			repeat(scene, "L o", 11);
	}
	track = find(scene, "auto");
	assert_int_equal(track->steps.count, 211);
	for (int i = 0, next = 0; i < 211; i++) {
		bool known = i != unknown[next];

		assert_int_equal(track->steps.items[i].work_ns, known ? 709 : UNKNOWN);
		next += !known;
	}
	tear_down(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_torch_plain),
		cmocka_unit_test(test_torch_short_epochs),
		cmocka_unit_test(test_torch_accumulation),
		cmocka_unit_test(test_torch_accumulation_backward),
		cmocka_unit_test(test_torch_gan),
		cmocka_unit_test(test_torch_critic),
		cmocka_unit_test(test_torch_lbfgs),
		cmocka_unit_test(test_torch_optimizers),
		cmocka_unit_test(test_torch_phases),
		cmocka_unit_test(test_torch_backward_only),
		cmocka_unit_test(test_torch_evaluation_loader),
		cmocka_unit_test(test_torch_let_go),
		cmocka_unit_test(test_torch_loss_let_go),
		cmocka_unit_test(test_torch_loss_thinned),
		cmocka_unit_test(test_torch_let_go_for_a_while),
		cmocka_unit_test(test_lost_marks),
		cmocka_unit_test(test_slow_steps),
		cmocka_unit_test(test_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
