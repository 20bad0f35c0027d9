/* Ranks that wait for each other: whose pauses fell into whose steps, against a table of every nanosecond. */
#include "attrib_fixture.h"

#define STEPS  199
#define PERIOD 1000 /* ns of the small worlds */
#define RANKS  3

/* Whether a pause of @process holds the nanosecond. */
static bool paused_at(const struct world *world, uint32_t process, uint64_t t)
{
	for (size_t i = 0; i < world->pauses.count; i++)
		if (world->pauses.items[i].runtime == process &&
			t >= world->pauses.items[i].start_ns && t < world->pauses.items[i].end_ns)
			return true;
	return false;
}

/* The sibling of @process that is paused then and began it first; 0: none, or @process itself is paused. */
static uint32_t holder_at(const struct world *world, uint32_t process, uint64_t t)
{
	uint64_t first = UINT64_MAX;
	uint32_t holder = 0;

	if (paused_at(world, process, t))
		return 0;
	for (size_t i = 0; i < world->pauses.count; i++) {
		const struct pause *pause = &world->pauses.items[i];

		if (t < pause->start_ns || t >= pause->end_ns || pause->start_ns >= first)
			continue;
		first = pause->start_ns;
		holder = pause->runtime;
	}
	return holder;
}

static void check_track(const struct world *world, const struct attribution *got, size_t index)
{
	const struct step_track *track = &world->steps.tracks.items[index];
	const struct track_cost *cost = &got->tracks.items[index];
	uint64_t by_rank[RANKS + 1] = {}, all = 0;

	for (size_t i = 0; i < track->steps.count; i++) {
		const struct step *step = &track->steps.items[i];
		uint64_t in_step = 0;

		for (uint64_t t = step->start_ns; t < step->end_ns; t++) {
			uint32_t holder = holder_at(world, track->process, t);

			by_rank[holder] += holder > 0;
			in_step += holder > 0;
		}
		assert_int_equal(cost->steps.items[i].held_ns, in_step);
		all += in_step;
	}
	assert_int_equal(cost->held_ns, all);
	assert_int_equal(cost->siblings.count, RANKS - 1);
	for (size_t i = 0; i < cost->siblings.count; i++)
		assert_int_equal(cost->siblings.items[i].held_ns,
			by_rank[cost->siblings.items[i].process]);
}

static void test_each_nanosecond_is_held_once(void **state)
{
	for (uint64_t seed = 1; seed <= 23; seed++) {
		struct attribution got = {};
		struct world world;

		world_init(&world, seed);
		for (int rank = 1; rank < RANKS; rank++)
			world_process(&world, 1, "3.11.2");
		for (uint32_t rank = 1; rank <= RANKS; rank++) {
			struct step_track *track = world_track(&world, rank);

			track->period_ns = PERIOD;
			for (uint64_t i = 0; i < STEPS; i++) /* a few ns late each */
				world_step(track, PERIOD * i + 7 * rank,
					PERIOD * (i + 1) + 7 * rank);
		}
		for (uint32_t rank = 1; rank <= RANKS; rank++) {
			/* no two of one rank touch, and no two of different ranks begin together */
			for (uint64_t t = rank; t < PERIOD * STEPS;) {
				uint64_t length = 3 * (1 + (uint64_t)(world_random(&world) * 599));

				world_pause(&world, t, length)->runtime = rank;
				t += length + 3 * (1 + (uint64_t)(world_random(&world) * 1999));
			}
		}
		world_build(&world, &got);
		for (size_t i = 0; i < RANKS; i++)
			check_track(&world, &got, i);
		attrib_release(&got);
		world_release(&world);
	}
}

/* Two loops of 10 ms; pauses of 25 ms in the second, every 23rd step. @coupled: the first waits for the second. */
static void run(struct world *world, bool coupled, struct attribution *ret)
{
	struct step_track *one, *other;
	uint64_t now[2] = {0, 0};

	world_init(world, 11);
	world_process(world, 1, "3.11.2");
	world_track(world, 1);
	other = world_track(world, 2);
	one = other - 1;
	one->period_ns = other->period_ns = 10 * MS;
	for (uint64_t i = 0; i < 401; i++) {
		uint64_t end[2] = {now[0] + 10 * MS + i % 7 * US, now[1] + 10 * MS + i % 5 * US};

		if (i % 23 == 11) {
			world_pause(world, now[1] + 3 * MS, 25 * MS)->runtime = 2;
			end[1] += 25 * MS;
		}
		if (coupled && end[1] > end[0])
			end[0] = end[1];
		if (coupled && end[0] > end[1])
			end[1] = end[0];
		world_step(one, now[0], end[0]);
		world_step(other, now[1], end[1]);
		now[0] = end[0];
		now[1] = end[1];
	}
	world_build(world, ret);
}

static void test_a_rank_that_waits(void **state)
{
	struct attribution got = {};
	struct world world;

	run(&world, true, &got);
	assert_int_equal(got.tracks.items[0].held_ns, 17 * 25 * MS);
	assert_int_equal(got.tracks.items[0].siblings.count, 1);
	assert_int_equal(got.tracks.items[0].siblings.items[0].process, 2);
	assert_int_equal(got.tracks.items[0].siblings.items[0].pauses, 17);
	assert_int_equal(got.tracks.items[0].slow.held, 17);
	assert_int_equal(got.tracks.items[0].slow.other, 0);
	assert_int_equal(got.tracks.items[1].held_ns, 0);
	assert_int_equal(got.tracks.items[1].slow.steps, 17);
	attrib_release(&got);
	world_release(&world);
}

/* Trainings beside each other, one pause of which after the other moves them against each other. */
static void test_no_rank_of_ours(void **state)
{
	struct attribution got = {};
	struct world world;

	run(&world, false, &got);
	assert_int_equal(got.tracks.items[0].held_ns, 0);
	assert_int_equal(got.tracks.items[0].siblings.count, 0);
	attrib_release(&got);
	world_release(&world);
}

static void test_other_signal_or_speed(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct attribution got = {};
		struct world world;

		world_init(&world, 3);
		world_process(&world, 1, "3.11.2");
		for (uint32_t rank = 1; rank <= 2; rank++) {
			struct step_track *track = world_track(&world, rank);
			uint64_t period = rank == 2 && i ? 2 * PERIOD : PERIOD;

			track->period_ns = period;
			for (uint64_t j = 0; j < STEPS; j++)
				world_step(track, period * j, period * (j + 1));
			if (rank == 2 && !i)
				strcpy(track->signal, "test:other");
		}
		world_pause(&world, 5003, 101)->runtime = 2;
		world_build(&world, &got);
		assert_int_equal(got.tracks.items[0].held_ns, 0);
		attrib_release(&got);
		world_release(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_nanosecond_is_held_once),
		cmocka_unit_test(test_a_rank_that_waits),
		cmocka_unit_test(test_no_rank_of_ours),
		cmocka_unit_test(test_other_signal_or_speed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
