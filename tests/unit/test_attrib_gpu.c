/*
 * What a training loop lost, by GPU records: a replayed program with its pauses, against the same without them. Then when the
 * records do not say it.
 */
#include "attrib_fixture.h"
#include "gpu_fixture.h"

#define STEPS  199
#define PAUSES 17

struct scene {
	struct world world;
	struct program program;
	struct gpu_timeline timeline;
	struct gpu_pause pauses[PAUSES];
	uint64_t lost_ns; /* the truth */
	struct attribution got;
};

/* The host waits for the step before last, and has something else to do in every seventh. */
static void make_program(struct program *ret)
{
	struct stats_random random = {5};
	uint64_t ends[STEPS];

	for (int i = 0; i < STEPS; i++) {
		add_op(ret, OP_MARK, 0, 0);
		if (i % 7 == 3)
			add_op(ret, OP_WORK, 0, 6 * MS);
		for (int k = 0; k < 23; k++) {
			add_op(ret, OP_WORK, 0, 5 * US + stats_draw(&random, 20 * US));
			add_op(ret, OP_LAUNCH, 0, 50 * US + stats_draw(&random, 100 * US));
		}
		ends[i] = ret->launches - 1;
		if (i >= 2)
			add_op(ret, OP_EVENT, 0, ends[i - 2]);
	}
}

static void setup(struct scene *scene)
{
	struct step_track *track;
	struct play play, base;

	*scene = (struct scene){};
	make_program(&scene->program);
	for (uint64_t i = 0; i < PAUSES; i++) {
		uint64_t start_ns = 20 * MS + i * 19 * MS;

		scene->pauses[i] = (struct gpu_pause){
			start_ns, start_ns + (i + 1) * 700 * US, PROCESS, THREAD, true};
	}
	play_program(&scene->program, NULL, 0, SIZE_MAX, NULL, &base);
	play_program(&scene->program, scene->pauses, PAUSES, SIZE_MAX, &scene->timeline, &play);
	scene->lost_ns = play.device_ns[0] - base.device_ns[0];
	world_init(&scene->world, 1);
	track = world_track(&scene->world, PROCESS);
	for (size_t i = 1; i < play.marks.count; i++)
		world_step(track, play.marks.items[i - 1], play.marks.items[i]);
	/* The source gives them in the order in which they ended; one of them out of turn shows that places are kept. */
	for (size_t i = 0; i < PAUSES; i++) {
		size_t index = i < 2 ? 1 - i : i;

		world_pause(&scene->world, scene->pauses[index].start_ns,
			scene->pauses[index].end_ns - scene->pauses[index].start_ns)
			->tid = THREAD;
	}
	scene->world.gpu = &scene->timeline;
	play_release(&play);
	play_release(&base);
}

static void teardown(struct scene *scene)
{
	attrib_release(&scene->got);
	world_release(&scene->world);
	gpu_release(&scene->timeline);
	vec_free(&scene->program.ops);
}

static void test_measured(void **state)
{
	struct scene scene;
	const struct track_cost *cost;
	uint64_t steps_ns = 0, charges_ns = 0, idle_ns = 0, charged_ns = 0;

	setup(&scene);
	world_build(&scene.world, &scene.got);
	cost = &scene.got.tracks.items[0];
	assert_true(cost->by_gpu);
	assert_int_equal(attrib_source(cost), COST_MEASURED);
	assert_int_equal(cost->gpu_device, 0);
	assert_in_range((uint64_t)cost->cost.ns + 10 * US, scene.lost_ns, scene.lost_ns + 20 * US);
	assert_int_equal(cost->cost.low_ns, cost->cost.ns);
	assert_int_equal(cost->cost.high_ns, cost->cost.ns);
	for (size_t i = 0; i < cost->steps.count; i++) {
		const struct step_cost *step = &cost->steps.items[i];

		assert_true(step->gpu_known);
		assert_true(step->cost_ns <= step->overlap_ns);
		assert_true(step->gpu_pause_ns <= step->gpu_idle_ns);
		steps_ns += step->cost_ns;
		idle_ns += step->gpu_pause_ns;
	}
	for (size_t i = 0; i < scene.got.charges.count; i++) {
		const struct gpu_cost *lost = &scene.got.gpu_charges.pauses.items[i];
		const struct charge *charge = &scene.got.charges.items[i];

		assert_true(charge->gpu_known);
		assert_int_equal(charge->gpu_idle_ns, lost->exposed_ns + lost->recovery_ns);
		assert_int_equal(charge->cost_ns, lost->lost_ns);
		charges_ns += charge->cost_ns;
		charged_ns += charge->gpu_idle_ns;
	}
	assert_int_equal(steps_ns, cost->cost.ns);
	assert_int_equal(charges_ns, cost->cost.ns);
	assert_int_equal(idle_ns, charged_ns);
	/* The first two were given in each other's place. */
	assert_int_equal(scene.got.charges.items[0].start_ns, scene.pauses[1].start_ns);
	for (size_t i = 0; i < scene.got.gpu_charges.idles.count; i++) {
		const struct gpu_idle *idle = &scene.got.gpu_charges.idles.items[i];

		if (idle->pause != GPU_NO_PAUSE)
			assert_in_range(idle->end_ns, scene.got.charges.items[idle->pause].end_ns,
				scene.got.charges.items[idle->pause].end_ns + 7 * MS);
	}
	teardown(&scene);
}

/* The cost remains that of steps: as it is without a timeline. */
static void check_not_by_gpu(struct scene *scene)
{
	struct attribution without = {};

	world_build(&scene->world, &scene->got);
	scene->world.gpu = NULL;
	world_build(&scene->world, &without);
	assert_false(scene->got.tracks.items[0].by_gpu);
	assert_int_equal(scene->got.tracks.items[0].source, without.tracks.items[0].source);
	assert_memory_equal(&scene->got.tracks.items[0].cost, &without.tracks.items[0].cost,
		sizeof(struct cost_estimate));
	for (size_t i = 0; i < without.charges.count; i++)
		assert_int_equal(scene->got.charges.items[i].cost_ns,
			without.charges.items[i].cost_ns);
	attrib_release(&without);
	teardown(scene);
}

static void test_records_missing(void **state)
{
	struct scene scene;
	struct gpu_span *unknown;

	setup(&scene);
	unknown = vec_add(&scene.timeline.devices.items[0].unknown);
	*unknown = (struct gpu_span){
		scene.pauses[3].start_ns + 100 * US, scene.pauses[3].start_ns + 200 * US};
	check_not_by_gpu(&scene);
}

static void test_inferred(void **state)
{
	struct scene scene;

	setup(&scene);
	scene.timeline.inferred = true;
	check_not_by_gpu(&scene);
}

static void test_a_few_steps_profiled(void **state)
{
	struct scene scene;
	struct gpu_device *device;

	setup(&scene);
	device = &scene.timeline.devices.items[0];
	device->until_ns = scene.pauses[5].start_ns;
	while (device->busy.items[device->busy.count - 1].end_ns > device->until_ns)
		device->busy.count--;
	check_not_by_gpu(&scene);
}

static void test_another_process(void **state)
{
	struct scene scene;

	setup(&scene);
	scene.timeline.devices.items[0].process = PROCESS + 1;
	check_not_by_gpu(&scene);
}

/* Without steps pauses have their costs all the same; one at the runtime's exit has none. */
static void test_no_steps(void **state)
{
	struct scene scene;

	setup(&scene);
	vec_free(&scene.world.steps.tracks.items[0].steps);
	scene.world.steps.tracks.count = 0;
	scene.world.pauses.items[PAUSES - 1].cause = CAUSE_SHUTDOWN;
	world_build(&scene.world, &scene.got);
	assert_int_equal(scene.got.charges.count, 0);
	assert_int_equal(scene.got.gpu_charges.pauses.count, PAUSES);
	for (size_t i = 0; i < PAUSES; i++)
		assert_int_equal(scene.got.gpu_charges.pauses.items[i].known, i != PAUSES - 1);
	scene.world.steps.tracks.count = 1;
	teardown(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_measured),
		cmocka_unit_test(test_records_missing),
		cmocka_unit_test(test_inferred),
		cmocka_unit_test(test_a_few_steps_profiled),
		cmocka_unit_test(test_another_process),
		cmocka_unit_test(test_no_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
