/* What pauses of a runtime with classes of its own cost steps, in a build that knows it alone. */
#include "attrib_fixture.h"
#include "cleanup.h"
#include "report.h"

enum { SMALL, BIG, REST, OTHER, CLASSES };

static const struct runtime_meaning toy;
/* Their order is not that of their ranks; what has no rank is in two classes. */
static const struct pause_class classes[CLASSES] = {
	[SMALL] = {&toy, "small", "small", "small", "small turns", SMALL, 0, 0, 1},
	[BIG] = {&toy, "big", "big", "big", "big turns", BIG, 2, 1, 2},
	[REST] = {&toy, "rest", "rest", "rest", "turns", REST, 1, 0, 0},
	[OTHER] = {&toy, "other", "-", "other", "turns", OTHER, 3, UNKNOWN, 0},
};

/* A test says a pause's class by its interpreter, which the toy does not have. */
static void judge(const struct strtab *strings, struct pause *pause)
{
	pause->class = &classes[pause->interpreter];
	pause->collects = 1;
}

static const struct runtime_meaning toy = {.kind = "toy",
	.label = "Toy",
	.subject = "Turning",
	.cause = "turning",
	.pause = "turn",
	.pauses = "turns",
	.verb = "held up",
	.classes = classes,
	.class_count = CLASSES,
	.judge = judge};

const struct runtime_meaning *const runtime_meanings[] = {&toy, NULL};

#define STEPS 229
#define STEP  (10 * MS)

static void set_up(struct world *world)
{
	world_init(world, 7);
	strcpy(world->recording.runtimes.items[0].kind, "toy");
}

static void turn(struct world *world, int class, uint64_t start_ns, uint64_t length_ns)
{
	struct pause *pause = world_pause(world, start_ns, length_ns);

	pause->interpreter = class;
	pause->generation = UNKNOWN;
}

static const char *name(const struct pause_class *class)
{
	return class ? class->name : "none";
}

/* Of the highest rank, however short; what has no rank names no step. */
static void test_a_step_has_a_class(void **state)
{
	struct attribution got = {};
	const struct step_cost *steps;
	struct step_track *track;
	struct world world;

	set_up(&world);
	track = world_track(&world, 1);
	for (uint64_t i = 0; i < 5; i++)
		world_step(track, 1000 + 100 * i, 1100 + 100 * i);
	turn(&world, BIG, 1001, 2);
	turn(&world, SMALL, 1010, 30);
	turn(&world, REST, 1050, 40);
	turn(&world, REST, 1110, 40);
	turn(&world, SMALL, 1160, 3);
	turn(&world, OTHER, 1210, 50);
	turn(&world, SMALL, 1390, 20); /* 10 in each of two */
	turn(&world, BIG, 1410, 0);    /* of no length: counted where it began */
	world_build(&world, &got);
	steps = got.tracks.items[0].steps.items;
	assert_string_equal(name(steps[0].class), "big");
	assert_string_equal(name(attrib_class(&got, steps[0].worst)), "rest");
	assert_string_equal(name(steps[1].class), "small");
	assert_string_equal(name(steps[2].class), "none");
	assert_string_equal(name(attrib_class(&got, steps[2].worst)), "other");
	assert_string_equal(name(steps[3].class), "small");
	assert_string_equal(name(steps[4].class), "big");
	assert_int_equal(got.classes.count, CLASSES);
	for (uint32_t i = 0; i < got.charges.count; i++)
		assert_ptr_equal(attrib_class(&got, i),
			&classes[world.pauses.items[i].interpreter]);
	assert_null(attrib_class(&got, ATTRIB_NONE));
	assert_int_equal(got.figures.full, 2);
	attrib_release(&got);
	world_release(&world);
}

/* Steps of 10 ms; every @every-th is longer by a pause of @class. */
struct slow {
	int class;
	uint64_t every, length_ns;
};

static void build(struct world *world, const struct slow *slow, size_t count,
	struct attribution *ret)
{
	struct step_track *track;
	uint64_t now = 1000 * MS;

	set_up(world);
	track = world_track(world, 1);
	track->period_ns = STEP;
	for (uint64_t i = 0; i < STEPS; i++) {
		uint64_t start_ns = now;

		now += STEP;
		for (size_t k = 0; k < count; k++) {
			if (i % slow[k].every != slow[k].every - 1)
				continue;
			turn(world, slow[k].class, now, slow[k].length_ns);
			now += slow[k].length_ns;
			break;
		}
		world_step(track, start_ns, now);
	}
	world->recording.start_ns = 1000 * MS;
	world->recording.end_ns = now;
	world->recording.complete = true;
	world_build(world, ret);
}

static char *report(struct world *world, const struct attribution *attribution, const char *format)
{
	const struct report_input input = {.recording = &world->recording,
		.stacks = &world->stacks,
		.next = world_next,
		.source = world,
		.attribution = attribution};
	struct err err = {};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	world->next = 0;
	assert_int_equal(report_find(format)->write(&input, out, &err), 0);
	fclose(out);
	return text;
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
}

static void test_slow_steps_are_of_a_class(void **state)
{
	static const struct slow slow[] = {{BIG, 23, 60 * MS}, {SMALL, 7, 9 * MS}};
	_cleanup_free_ char *text = NULL, *json = NULL, *page = NULL;
	const struct slow_pattern *found;
	struct attribution got = {};
	struct world world;

	build(&world, slow, ARRAY_SIZE(slow), &got);
	found = &got.tracks.items[0].slow;
	assert_string_equal(name(found->class), "big");
	assert_int_equal(found->chief, STEPS / 23);
	assert_true(found->every == 23);
	assert_true(found->regular);
	assert_int_equal(found->steps, STEPS / 23 + STEPS / 7 - STEPS / (23 * 7));
	text = report(&world, &got, "text");
	json = report(&world, &got, "json");
	page = report(&world, &got, "html");
	has(text, "Turning stopped training for ");
	has(text, "  felt   Every 23rd step is 7.0 × the median of 10.00 ms; ");
	has(text, "  cause  Big turns: 9 of 40 turns in steps, 65.9 % of their time.\n");
	has(text, "STOPPED       LOST  CLASS  TRIGGERED IN\n");
	has(text, "60.00 ms    big  ");
	has(json, "\"generation\":null,\"class\":\"big\",\"rss_bytes\"");
	has(json, "\"generation\":null,\"class\":\"small\",\"rss_bytes\"");
	has(json, "\"generation\":null,\"class\":null,\"rss_bytes\"");
	has(page, "\"pauses\":1,\"class\":{\"order\":3,\"place\":2}");
	attrib_release(&got);
	world_release(&world);
}

/* What has no rank is one: 7 × 30 + 11 × 30 ms outweigh 3 × 100. */
static void test_classes_without_a_rank_are_one(void **state)
{
	static const struct slow slow[] = {
		{SMALL, 73, 100 * MS}, {REST, 31, 30 * MS}, {OTHER, 19, 30 * MS}};
	_cleanup_free_ char *text = NULL;
	const struct slow_pattern *found;
	struct attribution got = {};
	struct world world;

	build(&world, slow, ARRAY_SIZE(slow), &got);
	found = &got.tracks.items[0].slow;
	assert_int_equal(found->class->rank, 0);
	assert_int_equal(found->chief, STEPS / 31 + STEPS / 19);
	text = report(&world, &got, "text");
	has(text, "  cause  Turns: 19 of 22 turns in steps, ");
	attrib_release(&got);
	world_release(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_step_has_a_class),
		cmocka_unit_test(test_slow_steps_are_of_a_class),
		cmocka_unit_test(test_classes_without_a_rank_are_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
