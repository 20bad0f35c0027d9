/*
 * What made slow steps slow, where it is known how long their thread worked and waited: a pause, or what else was in the
 * same step. Steps of 10 ms, 4 of them work, and every 20th is slow.
 */
#include "attrib_fixture.h"

#define STEPS 400
#define EVERY 20

struct slow_case {
	uint64_t work_ns; /* more in a slow step */
	uint64_t wait_ns; /* of a slow step, outside its pause */
	uint64_t after;	  /* steps after a slow one in which the thread does not wait */
	bool known;	  /* how long the thread worked */
};

/* Pauses are 15, 22 or 29 ms long. */
static void run(const struct slow_case *slow, struct slow_pattern *ret)
{
	struct attribution got = {};
	struct step_track *track;
	uint64_t now = 1000 * MS;
	struct world world;

	world_init(&world, 7);
	track = world_track(&world, 1);
	for (uint64_t i = 0; i < STEPS; i++) {
		bool is_slow = i % EVERY == EVERY / 2;
		uint64_t pause = is_slow ? 15 * MS + i * 7 % 21 * MS : 0;
		uint64_t work = 4 * MS + (is_slow ? slow->work_ns : 0);
		uint64_t wait = (i + EVERY / 2) % EVERY <= slow->after ? 0 : 6 * MS;
		uint64_t length;

		wait = is_slow ? slow->wait_ns : wait;
		if (is_slow && slow->wait_ns > 6 * MS) /* all of the pause is within the wait */
			wait -= pause;
		length = work + wait + pause + (uint64_t)(world_random(&world) * 1e5);
		if (is_slow)
			world_pause(&world, now + work, pause)->tid = track->tid + 1;
		world_step(track, now, now + length);
		if (slow->known)
			track->steps.items[i].work_ns = (int64_t)work;
		now += length;
	}
	world.recording.end_ns = now;
	world_build(&world, &got);
	*ret = got.tracks.items[0].slow;
	attrib_release(&got);
	world_release(&world);
}

static void check(const struct slow_case *slow, uint64_t by_pauses, uint64_t otherwise)
{
	struct slow_pattern found;

	run(slow, &found);
	assert_int_equal(found.steps, by_pauses);
	assert_int_equal(found.other, otherwise);
}

/* The device has work for the next steps: the loop makes up for the pause, but the step with it was slow. */
static void test_a_pause_made_it_slow(void **state)
{
	check(&(struct slow_case){.after = 3, .known = true}, STEPS / EVERY, 0);
	check(&(struct slow_case){.after = 3}, STEPS / EVERY, 0);
}

/* A checkpoint of 28 ms, beside pauses of which 6 ms would have been waiting: 34 of 37 to 51 ms. */
static void test_work_made_it_slow(void **state)
{
	check(&(struct slow_case){.work_ns = 28 * MS, .after = 8, .known = true}, 0, STEPS / EVERY);
}

/* The device took 37 ms more in the same steps, whatever the length of the pause. */
static void test_a_wait_made_it_slow(void **state)
{
	check(&(struct slow_case){.wait_ns = 43 * MS, .known = true}, 0, STEPS / EVERY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_pause_made_it_slow),
		cmocka_unit_test(test_work_made_it_slow),
		cmocka_unit_test(test_a_wait_made_it_slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
