/*
 * What pauses cost by a thread's waits alone, against a simulated loop that is run once with each pause and once
 * without: the device takes what it gets in order, and the program is at most so many steps ahead of it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "gpu_charge.h"
#include "gpu_fixture.h"
#include "stats.h"

#define STEPS 400

struct loop {
	uint64_t host_ns, kernel_ns; /* of one launch */
	unsigned int launches, depth;
	uint64_t jitter_ns; /* of a step's host time */
	uint64_t
		room_ns; /* a launch waits until the device has no more to do than that; 0: it never does */
};

struct stop {
	unsigned int step, launch;
	uint64_t ns;
};

struct world {
	struct gpu_timeline timeline;
	struct gpu_pause pauses[8];
	size_t pause_count;
	uint64_t busy_ns[8]; /* the device's work when the pause began */
	uint64_t end_ns;     /* of the device's last work */
};

static void add_wait(struct world *world, uint64_t start_ns, uint64_t end_ns, uint64_t launches)
{
	struct gpu_driver *driver = gpu_driver(&world->timeline, PROCESS);
	struct gpu_driver_call *call = vec_add(&driver->calls);

	*call = (struct gpu_driver_call){start_ns, end_ns, launches, 0, THREAD, GPU_DRIVER_WAIT, 5};
}

static void pause_host(struct world *world, uint64_t *t, uint64_t free_ns, uint64_t ns)
{
	world->busy_ns[world->pause_count] = free_ns > *t ? free_ns - *t : 0;
	world->pauses[world->pause_count++] =
		(struct gpu_pause){*t, *t + ns, PROCESS, THREAD, true};
	*t += ns;
}

static void run_loop(const struct loop *loop, const struct stop *stops, size_t count,
	struct world *world)
{
	uint64_t t = 1000 * MS, free_ns = t, launches = 0, done_ns[STEPS];
	struct stats_random random = {7};

	*world = (struct world){};
	gpu_driver(&world->timeline, PROCESS)->attached_ns = t;
	world->timeline.inferred = true;
	for (unsigned int step = 0; step < STEPS; step++) {
		for (unsigned int i = 0; i < loop->launches; i++) {
			t += loop->host_ns;
			for (size_t j = 0; j < count; j++)
				if (stops[j].step == step && stops[j].launch == i)
					pause_host(world, &t, free_ns, stops[j].ns);
			if (loop->room_ns && free_ns > t + loop->room_ns)
				t = free_ns - loop->room_ns;
			free_ns = (free_ns > t ? free_ns : t) + loop->kernel_ns;
			launches++;
		}
		if (loop->jitter_ns)
			t += stats_draw(&random, loop->jitter_ns);
		done_ns[step] = free_ns;
		if (step >= loop->depth) {
			uint64_t start_ns = t, awaited = done_ns[step - loop->depth];

			t = (awaited > t ? awaited : t) + US;
			add_wait(world, start_ns, t, launches);
		}
	}
	world->end_ns = free_ns;
	gpu_settle(&world->timeline);
}

static const struct loop loops[] = {
	{20 * US, 500 * US, 8, 0, 0, 0}, /* bound by the device, the loss is read each step */
	{20 * US, 500 * US, 8, 1, 0, 0}, {20 * US, 500 * US, 8, 3, 0, 0},
	{20 * US, 500 * US, 8, 8, 0, 0}, {200 * US, 300 * US, 16, 2, 0, 0},
	{500 * US, 20 * US, 8, 0, 0, 0},				   /* by the host */
	{500 * US, 20 * US, 8, 3, 0, 0}, {20 * US, 500 * US, 64, 0, 0, 0}, /* long steps */
};

/* By how much @stop alone delays the device. */
static uint64_t truth(const struct loop *loop, struct stop stop)
{
	struct world with, without;
	uint64_t lost_ns;

	run_loop(loop, &stop, 1, &with);
	run_loop(loop, NULL, 0, &without);
	lost_ns = with.end_ns - without.end_ns;
	gpu_release(&with.timeline);
	gpu_release(&without.timeline);
	return lost_ns;
}

static struct gpu_cost infer_first(const struct loop *loop, const struct stop *stops, size_t count)
{
	struct gpu_charges charges;
	struct gpu_cost cost;
	struct world world;

	run_loop(loop, stops, count, &world);
	assert_int_equal(world.pause_count, count);
	assert_int_equal(gpu_charge(&world.timeline, world.pauses, world.pause_count, &charges), 0);
	cost = charges.pauses.items[0];
	gpu_charges_release(&charges);
	gpu_release(&world.timeline);
	return cost;
}

/* The host's own time between launches and the wait is not the device's: it is what the two ends differ by. */
static void a_pause_costs_what_it_delays(void **state)
{
	static const uint64_t lengths[] = {100 * US, 1 * MS, 3 * MS, 7 * MS, 20 * MS, 500 * MS};

	for (size_t i = 0; i < ARRAY_SIZE(loops); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(lengths); j++) {
			for (unsigned int k = 0; k < 7; k++) {
				struct stop stop = {
					150 + 13 * k, k % loops[i].launches, lengths[j]};
				struct gpu_cost cost = infer_first(&loops[i], &stop, 1);
				uint64_t lost_ns = truth(&loops[i], stop);

				assert_true(cost.known);
				if (stats_distance(cost.lost_ns, lost_ns) > 10 * US)
					fail_msg(
						"loop %zu, %llu us at launch %u: %llu us lost, inferred "
						"%llu (%llu to %llu)",
						i, (unsigned long long)(lengths[j] / US),
						stop.launch, (unsigned long long)(lost_ns / US),
						(unsigned long long)(cost.lost_ns / US),
						(unsigned long long)(cost.lost_low_ns / US),
						(unsigned long long)(cost.lost_high_ns / US));
				assert_int_equal(cost.hidden_ns + cost.exposed_ns, stop.ns);
				assert_int_equal(cost.exposed_ns, cost.lost_ns);
				assert_int_equal(cost.recovery_ns, 0);
			}
		}
	}
}

/* Where steps vary by themselves, the truth is between the two ends. */
static void an_uneven_loop_is_between_the_ends(void **state)
{
	const struct loop loop = {20 * US, 500 * US, 8, 2, 1000 * US, 0};
	size_t within = 0, all = 0;

	for (unsigned int k = 0; k < 60; k++) {
		struct stop stop = {150 + k, k % 8, (1 + k) * MS};
		struct gpu_cost cost = infer_first(&loop, &stop, 1);
		uint64_t lost_ns = truth(&loop, stop);

		assert_true(cost.known);
		all++;
		within += lost_ns + 100 * US >= cost.lost_low_ns &&
			  lost_ns <= cost.lost_high_ns + 100 * US;
	}
	if (within * 10 < all * 8)
		fail_msg("%zu of %zu", within, all);
}

/* A launch that waits for room makes up for a pause as a wait does, and is not seen: the low end knows. */
static void launches_that_wait_are_allowed_for(void **state)
{
	const struct loop loop = {20 * US, 500 * US, 64, 0, 0, 4 * MS};

	for (unsigned int k = 0; k < 10; k++) {
		struct stop stop = {150 + k, 6 * k, 3 * MS};
		struct gpu_cost cost = infer_first(&loop, &stop, 1);
		uint64_t lost_ns = truth(&loop, stop);

		assert_true(cost.known);
		assert_true(cost.lost_low_ns <= lost_ns + 10 * US);
		assert_true(cost.lost_high_ns + 10 * US >= lost_ns);
	}
}

/* Of two that follow closely the parts add up to what both cost. */
static void pauses_share_what_the_queue_holds(void **state)
{
	const struct loop *loop = &loops[2];
	const struct stop stops[] = {{150, 1, 5 * MS}, {150, 5, 9 * MS}};
	struct world with, without;
	struct gpu_charges charges;

	run_loop(loop, stops, 2, &with);
	run_loop(loop, NULL, 0, &without);
	assert_int_equal(gpu_charge(&with.timeline, with.pauses, 2, &charges), 0);
	assert_true(charges.pauses.items[0].known && charges.pauses.items[1].known);
	assert_true(charges.pauses.items[0].lost_ns <= 10 * US); /* the queue held more than that */
	assert_true(stats_distance(charges.pauses.items[0].lost_ns +
					   charges.pauses.items[1].lost_ns,
			    with.end_ns - without.end_ns) <= 10 * US);
	gpu_charges_release(&charges);
	gpu_release(&with.timeline);
	gpu_release(&without.timeline);
}

static bool is_known(const struct world *world)
{
	struct gpu_charges charges;
	bool known;

	assert_int_equal(gpu_charge(&world->timeline, world->pauses, world->pause_count, &charges),
		0);
	known = charges.pauses.items[0].known;
	gpu_charges_release(&charges);
	return known;
}

static void what_cannot_be_told_is_not_known(void **state)
{
	const struct stop stop = {150, 1, 5 * MS};
	struct gpu_driver *driver;
	struct world world;

	run_loop(&loops[1], &stop, 1, &world);
	driver = gpu_driver(&world.timeline, PROCESS);
	assert_true(is_known(&world));
	world.pauses[0].stops_all = false;
	assert_true(is_known(&world));
	world.pauses[0].tid = THREAD + 1; /* of a thread that does not hold the program up */
	assert_false(is_known(&world));
	world.pauses[0].tid = THREAD;
	world.pauses[0].process = PROCESS + 1;
	assert_false(is_known(&world));
	world.pauses[0].process = PROCESS;
	driver->attached_ns = world.pauses[0].end_ns;
	assert_false(is_known(&world));
	driver->attached_ns = 0;
	while (driver->calls.count &&
		driver->calls.items[driver->calls.count - 1].end_ns > world.pauses[0].end_ns)
		driver->calls.count--; /* no wait comes after it */
	assert_false(is_known(&world));
	driver->calls.count = 0;
	assert_false(is_known(&world));
	gpu_release(&world.timeline);
}

/* Where launches could not be counted, the function alone says where a wait is. */
static void without_launches_functions_are_places(void **state)
{
	const struct stop stop = {150, 1, 5 * MS};
	struct gpu_driver *driver;
	struct world world;

	run_loop(&loops[1], &stop, 1, &world);
	driver = gpu_driver(&world.timeline, PROCESS);
	for (size_t i = 0; i < driver->calls.count; i++)
		driver->calls.items[i].launches = GPU_NOT_COUNTED;
	assert_true(is_known(&world));
	for (size_t i = 0; i < driver->calls.count; i++)
		driver->calls.items[i].function = (uint32_t)(i % 100); /* no place comes often */
	assert_false(is_known(&world));
	gpu_release(&world.timeline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pause_costs_what_it_delays),
		cmocka_unit_test(an_uneven_loop_is_between_the_ends),
		cmocka_unit_test(launches_that_wait_are_allowed_for),
		cmocka_unit_test(pauses_share_what_the_queue_holds),
		cmocka_unit_test(what_cannot_be_told_is_not_known),
		cmocka_unit_test(without_launches_functions_are_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
