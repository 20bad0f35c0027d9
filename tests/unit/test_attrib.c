/* Charges against a table of every nanosecond. */
#include "attrib_fixture.h"
#include "needs.h"

#define SPAN 4001 /* ns of the small worlds */

/* Which interval holds each nanosecond: the first by start among those of the track. */
struct table {
	int holder[SPAN];
	bool own[SPAN]; /* some pause of the process itself is there */
};

static void fill(struct table *table, const struct world *world, uint32_t process)
{
	for (uint64_t t = 0; t < SPAN; t++) {
		uint64_t first = UINT64_MAX;

		table->holder[t] = -1;
		table->own[t] = false;
		for (size_t i = 0; i < world->pauses.count; i++) {
			const struct pause *pause = &world->pauses.items[i];
			uint64_t start = pause->start_ns, length = pause_duration(pause);

			if (pause->runtime != process) {
				if (pause->waited_ns < 0)
					continue;
				if ((uint64_t)pause->waited_ns < length)
					start = pause->end_ns - (uint64_t)pause->waited_ns;
			}
			if (t < start || t >= pause->end_ns)
				continue;
			table->own[t] |= pause->runtime == process;
			if (start < first) {
				first = start;
				table->holder[t] = (int)i;
			}
		}
	}
}

static void check_table(const struct world *world, const struct attribution *got)
{
	const struct step_track *track = &world->steps.tracks.items[0];
	const struct track_cost *cost = &got->tracks.items[0];
	static struct table table;
	uint64_t overlap = 0, outside = 0, own = 0, in_charges = 0, in_steps = 0, cost_ns = 0;
	uint64_t charged_ns = 0;

	fill(&table, world, track->process);
	for (size_t i = 0; i < track->steps.count; i++) {
		uint64_t in_step = 0;

		for (uint64_t t = track->steps.items[i].start_ns; t < track->steps.items[i].end_ns;
			t++)
			in_step += table.holder[t] >= 0;
		assert_int_equal(cost->steps.items[i].overlap_ns, in_step);
		assert_true(cost->steps.items[i].cost_ns <= in_step);
		assert_true(!in_step == (cost->steps.items[i].worst == ATTRIB_NONE));
		overlap += in_step;
		cost_ns += cost->steps.items[i].cost_ns;
	}
	for (uint64_t t = 0; t < SPAN; t++) {
		bool inside = false;

		for (size_t i = 0; i < track->steps.count; i++)
			inside |= t >= track->steps.items[i].start_ns &&
				  t < track->steps.items[i].end_ns;
		outside += table.holder[t] >= 0 && !inside;
		own += table.own[t];
	}
	assert_int_equal(cost->overlap_ns, overlap);
	assert_int_equal(cost->outside_ns, outside);
	assert_int_equal(cost->pause_ns, own);
	assert_int_equal(cost->overlap_ns + cost->outside_ns,
		cost->pause_ns + cost->worker_waited_ns);
	for (size_t i = 0; i < got->charges.count; i++) {
		const struct charge *charge = &got->charges.items[i];
		uint64_t held = 0;

		for (size_t s = 0; s < track->steps.count; s++)
			for (uint64_t t = track->steps.items[s].start_ns;
				t < track->steps.items[s].end_ns; t++)
				held += table.holder[t] == (int)i;
		assert_int_equal(charge->overlap_ns, held);
		assert_true(charge->cost_ns <= charge->overlap_ns);
		in_charges += charge->overlap_ns;
		charged_ns += charge->cost_ns;
	}
	for (size_t i = 0; i < cost->steps.count; i++)
		in_steps += cost->steps.items[i].overlap_ns;
	assert_int_equal(in_charges, in_steps);
	assert_int_equal(charged_ns, cost_ns);
}

/*
 * Pauses that overlap each other, lie across boundaries and in the gaps between steps; waiting for
 * workers.
 */
static void test_each_nanosecond_is_charged_once(void **state)
{
	for (uint64_t seed = 1; seed <= 211; seed++) {
		struct attribution got = {};
		struct world world;
		struct step_track *track;
		uint64_t now = 0;

		world_init(&world, seed);
		world_process(&world, 101, "3.11.2");
		track = world_track(&world, 1);
		while (now + 400 < SPAN) {
			uint64_t start = now + (uint64_t)(world_random(&world) * 2) * 31;

			now = start + 1 + (uint64_t)(world_random(&world) * 300);
			world_step(track, start, now);
		}
		for (int i = 0; i < 23; i++) {
			uint64_t start = (uint64_t)(world_random(&world) * 3000);
			uint64_t length = (uint64_t)(world_random(&world) * (i % 5 ? 60 : 900));
			struct pause *pause = world_pause(&world, start, length);

			pause->runtime = world_random(&world) < 0.3 ? 2 : 1;
			if (pause->runtime == 2 && i % 3)
				pause->waited_ns = (int64_t)(world_random(&world) * 120);
		}
		world_build(&world, &got);
		check_table(&world, &got);
		attrib_release(&got);
		world_release(&world);
	}
}

static void test_a_pause_is_split_at_the_boundary(void **state)
{
	struct attribution got = {};
	struct world world;
	struct step_track *track;

	world_init(&world, 1);
	track = world_track(&world, 1);
	for (uint64_t i = 0; i < 3; i++)
		world_step(track, 1000 + 100 * i, 1100 + 100 * i);
	world_pause(&world, 980, 150)->generation =
		1;		       /* 20 before, 100 in the first, 30 in the second */
	world_pause(&world, 1290, 20); /* 10 in the third, 10 after it */
	world_pause(&world, 1500, 7);
	world_build(&world, &got);
	assert_int_equal(got.tracks.items[0].steps.items[0].overlap_ns, 100);
	assert_int_equal(got.tracks.items[0].steps.items[1].overlap_ns, 30);
	assert_int_equal(got.tracks.items[0].steps.items[2].overlap_ns, 10);
	assert_int_equal(got.tracks.items[0].steps.items[0].pauses, 1);
	assert_string_equal(got.tracks.items[0].steps.items[1].class->name, "1");
	assert_int_equal(got.tracks.items[0].steps.items[2].worst, 1);
	assert_int_equal(got.tracks.items[0].outside, 3);
	assert_int_equal(got.tracks.items[0].outside_ns, 37);
	assert_int_equal(got.charges.items[0].step, 0);
	assert_int_equal(got.charges.items[2].step, ATTRIB_NONE);
	assert_int_equal(got.tracks.items[0].base, BASE_NONE); /* three steps are too few */
	assert_int_equal(got.tracks.items[0].source, COST_UNTOLD);
	assert_non_null(got.tracks.items[0].untold);
	assert_int_equal(got.tracks.items[0].cost.ns, 0);
	assert_int_equal(got.tracks.items[0].steps.items[0].cost_ns, 100);
	attrib_release(&got);
	world_release(&world);
}

/*
 * Who stops whom: workers, their own workers, subinterpreters, strangers, runtimes that do not
 * exist.
 */
static void test_whose_pause_it_is(void **state)
{
	NEEDS("cpython");
	struct attribution got = {};
	struct world world;
	struct pause *pause;

	world_init(&world, 1);
	world_process(&world, 101, "3.11.2"); /* 2: a worker */
	world_process(&world, 102, "3.11.2"); /* 3: a worker's worker */
	world_process(&world, 1, "3.12.1");   /* 4: trains too */
	world_process(&world, 1, "3.11.2");   /* 5: a stranger */
	world_step(world_track(&world, 1), 1000, 2000);
	world_step(world_track(&world, 4), 1000, 2000);
	world_pause(&world, 1000, 10);
	pause = world_pause(&world, 1100, 20); /* waited for unknown */
	pause->runtime = 2;
	pause = world_pause(&world, 1200, 30);
	pause->runtime = 2;
	pause->waited_ns = 17;
	pause = world_pause(&world, 1300, 40);
	pause->runtime = 3;
	pause->waited_ns = 40;
	pause = world_pause(&world, 1400, 50);
	pause->runtime = 4;
	pause->interpreter = 1; /* a GIL of its own */
	pause = world_pause(&world, 1500, 60);
	pause->runtime = 5;
	pause = world_pause(&world, 1600, 70);
	pause->runtime = 77;
	pause = world_pause(&world, 1700, 80);
	pause->interpreter = 1; /* 3.11: the same GIL */
	world_pause(&world, 1800, 90)->cause = CAUSE_SHUTDOWN;
	world_build(&world, &got);
	assert_int_equal(got.tracks.items[0].overlap_ns, 10 + 17 + 80);
	assert_int_equal(got.tracks.items[0].pauses, 3);
	assert_int_equal(got.tracks.items[0].pause_ns, 90 + 90);
	assert_int_equal(got.tracks.items[0].outside_ns, 90);
	assert_int_equal(got.tracks.items[0].worker_pauses, 2);
	assert_int_equal(got.tracks.items[0].worker_ns, 50);
	assert_int_equal(got.tracks.items[0].worker_waited_ns, 17);
	assert_int_equal(got.charges.items[2].overlap_ns, 17);
	assert_true(got.charges.items[2].worker);
	assert_int_equal(got.tracks.items[1].overlap_ns, 0);
	assert_int_equal(got.tracks.items[1].outside, 1);
	assert_int_equal(got.tracks.items[1].outside_ns, 50);
	assert_int_equal(got.elsewhere, 3);
	assert_int_equal(got.elsewhere_ns, 40 + 60 + 70);
	assert_int_equal(got.figures.durations.count, 8);
	assert_int_equal(got.figures.exits, 1);
	assert_int_equal(got.figures.durations.total_ns, 360);
	attrib_release(&got);
	world_release(&world);
}

static void test_without_steps_only_totals_are_kept(void **state)
{
	struct attribution got = {};
	struct world world;

	world_init(&world, 1);
	for (uint64_t i = 0; i < 23; i++)
		world_pause(&world, 1000 * i, i)->cause = i < 3 ? CAUSE_SHUTDOWN : CAUSE_AUTOMATIC;
	world_build(&world, &got);
	assert_int_equal(got.charges.count, 0);
	assert_int_equal(got.elsewhere, 23);
	assert_int_equal(got.elsewhere_ns, 253);
	assert_int_equal(got.figures.exits, 3);
	assert_int_equal(got.figures.durations.count, 20);
	assert_int_equal(got.figures.longest.id, 23);
	assert_int_equal(got.end_ns, 22022);
	attrib_release(&got);
	world_release(&world);
}

static void test_what_came_before_the_damage_is_kept(void **state)
{
	struct attribution got = {};
	struct world world;

	world_init(&world, 1);
	world_step(world_track(&world, 1), 1000, 2000);
	world_pause(&world, 1500, 10);
	world.ends_with = -74;
	world_build(&world, &got);
	assert_int_equal(got.tracks.items[0].overlap_ns, 10);
	attrib_release(&got);
	world_release(&world);
}

static void test_triggers(void **state)
{
	NEEDS("cpython");
	static const char *const files[] = {"/usr/lib/python3.11/copy.py", "/home/ada/train.py",
		"/opt/venv/lib/site-packages/x.py"};
	struct attribution got = {};
	struct world world;
	uint32_t node = 0, *triggers, own, native;
	struct frame frame = {.lang = LANG_PYTHON};

	world_init(&world, 1);
	for (int i = 0; i < 3; i++) { /* outermost first */
		frame.file = strtab_add(world.stacks.strings, files[i], strlen(files[i]));
		node = stack_table_node(&world.stacks, node,
			stack_table_frame(&world.stacks, &frame));
	}
	own = world.stacks.nodes[world.stacks.nodes[node].parent].frame;
	frame = (struct frame){.lang = LANG_NATIVE};
	native = stack_table_node(&world.stacks, 0, stack_table_frame(&world.stacks, &frame));
	assert_int_equal(attrib_trigger(&world.stacks, node), own);
	assert_int_equal(attrib_trigger(&world.stacks, native), world.stacks.nodes[native].frame);
	assert_int_equal(attrib_trigger(&world.stacks, STACK_NONE), 0);
	assert_int_equal(attrib_trigger(&world.stacks, 1u << 31), 0);
	triggers = attrib_triggers(&world.stacks);
	for (uint32_t i = 0; i < world.stacks.node_count; i++)
		assert_int_equal(triggers[i], attrib_trigger(&world.stacks, i));
	free(triggers);
	world_step(world_track(&world, 1), 1000, 2000);
	world_pause(&world, 1100, 10)->stack = node;
	world_pause(&world, 1200, 30)->stack = native;
	world_pause(&world, 1300, 7)->stack = 1u << 31;
	world.pauses.items[1].collected = 5;
	world_build(&world, &got);
	assert_int_equal(got.triggers.count, 3);
	assert_int_equal(got.triggers.items[0].cost_ns, 30);
	assert_int_equal(got.triggers.items[0].collected, 5);
	assert_int_equal(got.triggers.items[1].frame, own);
	assert_int_equal(got.triggers.items[1].collected, UNKNOWN);
	assert_int_equal(got.triggers.items[2].frame, 0);
	attrib_release(&got);
	world_release(&world);
}

/* Compilation in the first step is not a cost of its pauses; what they cost no other step tells. */
static void test_warm_up_does_not_distort(void **state)
{
	struct attribution got = {};
	struct step_track *track;
	struct world world;
	uint64_t now = 10000 * MS;

	world_init(&world, 5);
	track = world_track(&world, 1);
	world_step(track, 2000 * MS, now);
	for (uint64_t i = 0; i < 400; i++)
		world_pause(&world, 2000 * MS + 15 * MS * i, MS);
	for (uint64_t i = 1; i < 301; i++, now += 10 * MS + (i - 1) % 7 * 10 * US)
		world_step(track, now, now + 10 * MS + i % 7 * 10 * US);
	world_build(&world, &got);
	assert_in_range(got.tracks.items[0].steps.items[0].base_ns, 10 * MS, 11 * MS);
	assert_int_equal(got.tracks.items[0].overlap_ns, 400 * MS);
	assert_int_equal(got.tracks.items[0].source, COST_UNTOLD);
	assert_int_equal(got.tracks.items[0].cost.ns, 0);
	assert_int_equal(got.tracks.items[0].slow.steps, 0);
	assert_int_equal(got.tracks.items[0].slow.other, 1);
	attrib_release(&got);
	world_release(&world);
}

/* Before the probes of the steps there were perhaps steps: no pause then was outside of them for sure. */
static void test_before_steps_were_seen(void **state)
{
	struct attribution got = {};
	struct step_track *track;
	struct world world;

	world_init(&world, 7);
	world_process(&world, 1, "3.11.2");
	track = world_track(&world, 1);
	track->seen_ns = 1000;
	for (uint64_t i = 0; i < 23; i++)
		world_step(track, 2000 + 100 * i, 2100 + 100 * i);
	world_pause(&world, 100, 30);
	world_pause(&world, 110, 7); /* within it */
	world_pause(&world, 990, 10);
	world_pause(&world, 999, 11);
	world_pause(&world, 1990, 17);
	world_build(&world, &got);
	assert_int_equal(got.tracks.items[0].outside, 5);
	assert_int_equal(got.tracks.items[0].outside_ns, 30 + 10 + 10 + 10);
	assert_int_equal(got.tracks.items[0].unseen, 3);
	assert_int_equal(got.tracks.items[0].unseen_ns, 30 + 10);
	assert_int_equal(got.tracks.items[0].overlap_ns, 7);
	attrib_release(&got);
	world_release(&world);
}

/* No pause makes a window longer, so windows have no counterfactual. */
static void test_windows_have_no_counterfactual(void **state)
{
	struct attribution got = {};
	struct step_track *track;
	struct world world;

	world_init(&world, 5);
	track = world_track(&world, 1);
	track->measured = false;
	for (uint64_t i = 0; i < 23; i++)
		world_step(track, 100 * MS * i, 100 * MS * (i + 1));
	world_pause(&world, 500 * MS, 50 * MS);
	world_build(&world, &got);
	assert_int_equal(got.tracks.items[0].base, BASE_NONE);
	assert_int_equal(got.tracks.items[0].source, COST_UNTOLD);
	assert_int_equal(got.tracks.items[0].cost.ns, 0);
	assert_int_equal(got.tracks.items[0].slow.steps, 0);
	attrib_release(&got);
	world_release(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_nanosecond_is_charged_once),
		cmocka_unit_test(test_a_pause_is_split_at_the_boundary),
		cmocka_unit_test(test_whose_pause_it_is),
		cmocka_unit_test(test_without_steps_only_totals_are_kept),
		cmocka_unit_test(test_what_came_before_the_damage_is_kept),
		cmocka_unit_test(test_triggers),
		cmocka_unit_test(test_warm_up_does_not_distort),
		cmocka_unit_test(test_before_steps_were_seen),
		cmocka_unit_test(test_windows_have_no_counterfactual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
