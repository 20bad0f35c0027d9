/*
 * Advice against a collector of our own: a small imitation of CPython's, run over a training loop
 * of known allocations. What advice promises on one run must hold in a second run that follows it.
 */
#include <math.h>

#include "cpython_facts.h"
#include "gc_advice.h"
#include "stats.h"

#define FIXTURE_KINDS	    gc_advice_kinds
#define FIXTURE_KINDS_COUNT GC_ADVICES
#include "advice_fixture.h"

#define OBJECT_NS  110.0 /* of the oldest generation */
#define YOUNG_NS   30.0
#define GARBAGE_NS 190.0
#define FAR_NS	   450.0 /* in a full collection of a heap larger than the caches */
#define FIXED_NS   900.0

/* What a loop allocates: objects per step. */
struct program {
	const char *name;
	uint64_t steps, work_ns;
	double heap;	  /* there from the start */
	double flight;	  /* freed by reference count at the step's end */
	double garbage;	  /* cycles, dropped at the step's end */
	double growth;	  /* kept for good */
	double held;	  /* kept until a session ends, and then cycles that nobody refers to */
	uint64_t session; /* steps */
	double replaced;  /* kept, in the place of as many that go */
	uint64_t by_hand; /* gc.collect() every so many steps; 0: never */
	bool disabled;
	double threshold;
	double older;	    /* thresholds of generations 1 and 2; 0: 10 */
	bool recorded;	    /* so are the thresholds */
	uint64_t freeze_at; /* step; 0: never */
};

enum object { FLIGHT, GARBAGE, HELD, KEPT, OBJECTS };

struct collector {
	const struct program *program;
	struct world *world;
	struct step_track *track;
	double here[4][OBJECTS]; /* by generation; 3: frozen */
	double dead[4];		 /* garbage that nothing refers to any more */
	double counts[3], total, pending;
	double most; /* freed by one collection */
	uint64_t now;
};

static void collect(struct collector *gc, int generation, bool manual)
{
	double looked = 0, freed = 0, ns = FIXED_NS, old = 0, survivors = 0;
	int to = generation < 2 ? generation + 1 : 2;
	struct pause *pause;

	for (int g = 0; g <= generation; g++) {
		for (int o = 0; o < OBJECTS; o++) {
			*(g == 2 ? &old : &looked) += gc->here[g][o];
			survivors += gc->here[g][o];
		}
		*(g == 2 ? &old : &looked) += gc->dead[g];
		freed += gc->dead[g];
		gc->dead[g] = 0;
		for (int o = 0; o < OBJECTS && g < to; o++) {
			gc->here[to][o] += gc->here[g][o];
			gc->here[g][o] = 0;
		}
	}
	gc->most = fmax(gc->most, freed);
	ns += OBJECT_NS * old + YOUNG_NS * looked +
	      (generation == 2 && old > 50000 ? FAR_NS : GARBAGE_NS) * freed;
	pause = world_pause(gc->world, gc->now, (uint64_t)ns);
	pause->generation = generation;
	pause->cause = manual ? CAUSE_MANUAL : CAUSE_AUTOMATIC;
	pause->collected = (int64_t)freed;
	pause->heap_objects = (int64_t)gc->total;
	pause->heap_pending = (int64_t)gc->pending;
	gc->now += (uint64_t)ns;
	for (int g = 0; g <= generation; g++)
		gc->counts[g] = 0;
	if (generation < 2)
		gc->counts[generation + 1]++;
	if (generation == 1)
		gc->pending += survivors;
	if (generation == 2) {
		gc->total = survivors;
		gc->pending = 0;
	}
}

static void allocate(struct collector *gc, enum object object)
{
	double older = gc->program->older > 0 ? gc->program->older : 10;

	gc->here[0][object]++;
	if (++gc->counts[0] <= gc->program->threshold || gc->program->disabled)
		return;
	for (int g = 2; g >= 0; g--) {
		if (gc->counts[g] <= (g ? older : gc->program->threshold) ||
			(g == 2 && gc->pending < gc->total / 4))
			continue;
		collect(gc, g, false);
		return;
	}
}

static void end_step(struct collector *gc, uint64_t index)
{
	bool over =
		gc->program->session && index % gc->program->session == gc->program->session - 1;
	double freed = 0, gone = gc->program->replaced;

	for (int g = 0; g < 4; g++) {
		freed += gc->here[g][FLIGHT];
		gc->here[g][FLIGHT] = 0;
		gc->dead[g] += gc->here[g][GARBAGE];
		gc->here[g][GARBAGE] = 0;
		gc->dead[g] += over ? gc->here[g][HELD] : 0;
		gc->here[g][HELD] = over ? 0 : gc->here[g][HELD];
	}
	for (int g = 3; g >= 0 && gone > 0; g--) { /* the eldest go first */
		double here = fmin(gone, gc->here[g][KEPT]);

		gc->here[g][KEPT] -= here;
		gone -= here;
		freed += here;
	}
	gc->counts[0] = fmax(0, gc->counts[0] - freed);
}

static void run_step(struct collector *gc, uint64_t index)
{
	const struct program *program = gc->program;
	double garbage = program->flight + program->garbage, held = garbage + program->held;
	double all = held + program->growth + program->replaced;
	uint64_t start = gc->now;

	for (double i = 0; i < all; i++) {
		double at = fmod(i * 0.6180339887, 1) * all; /* mixed, the same each time */

		allocate(gc, at < program->flight ? FLIGHT
			     : at < garbage	  ? GARBAGE
			     : at < held	  ? HELD
						  : KEPT);
	}
	gc->now += program->work_ns + index * 7919 % 101 * 1000;
	end_step(gc, index);
	if (program->by_hand && index % program->by_hand == program->by_hand - 1)
		collect(gc, 2, true);
	if (program->freeze_at && index == program->freeze_at) {
		collect(gc, 2, true);
		gc->world->pauses.count--; /* its cost is listed separately */
		for (int g = 0; g < 3; g++)
			for (int o = 0; o < OBJECTS; o++) {
				gc->here[3][o] += gc->here[g][o];
				gc->here[g][o] = 0;
			}
		memset(gc->counts, 0, sizeof(gc->counts));
	}
	world_step(gc->track, start, gc->now);
}

/* Runs @program. Returns how many objects of garbage one collection freed at most. */
static double run(const struct program *program, struct world *world, struct attribution *ret)
{
	struct collector gc = {.program = program, .world = world, .now = 1000 * MS};

	world_init(world, 1);
	gc.track = world_track(world, 1);
	gc.here[2][KEPT] = gc.total = program->heap;
	for (uint64_t i = 0; i < program->steps; i++)
		run_step(&gc, i);
	world->recording.end_ns = gc.now;
	if (program->recorded && world->pauses.count) {
		struct pause *first = &world->pauses.items[0];

		first->flags |= PAUSE_HAS_FACTS;
		first->facts[CPYTHON_THRESHOLD_0] = (int64_t)program->threshold;
		first->facts[CPYTHON_THRESHOLD_1] = first->facts[CPYTHON_THRESHOLD_2] =
			program->older > 0 ? (int64_t)program->older : 10;
	}
	world_build(world, ret);
	return gc.most;
}

/* The program with the advice followed. */
static struct program follow(const struct program *program, const struct advice *advice)
{
	struct program after = *program;

	switch (kind_of(advice)) {
	case ADVICE_FREEZE:
		after.freeze_at = 10;
		break;
	case ADVICE_THRESHOLD:
		assert_int_equal(sscanf(advice->line, "gc.set_threshold(%lf, %lf,",
					 &after.threshold, &after.older),
			2);
		break;
	case ADVICE_MANUAL:
		after.disabled = true;
		after.by_hand = advice->every;
		break;
	case ADVICE_DISABLE:
		after.disabled = true;
		break;
	case ADVICE_REMOVE:
		after.by_hand = 0;
		after.disabled &= !strstr(advice->line, "gc.enable()");
		break;
	case ADVICE_CYCLES:
		after.flight += after.garbage;
		after.replaced += after.held;
		after.garbage = after.held = 0;
		break;
	default:
		fail_msg("%s cannot be followed", advice_name(advice->kind));
	}
	return after;
}

/* The steps' 99th percentile after warm-up. */
static double tail_of(const struct world *world)
{
	const struct step_track *track = &world->steps.tracks.items[0];
	uint64_t *lengths = calloc(track->steps.count, sizeof(*lengths));
	double tail;

	for (size_t i = 10; i < track->steps.count; i++)
		lengths[i - 10] = track->steps.items[i].end_ns - track->steps.items[i].start_ns;
	tail = (double)stats_quantile(lengths, track->steps.count - 10, 0.99);
	free(lengths);
	return tail;
}

static double longest_of(const struct world *world)
{
	uint64_t longest = 0;

	for (size_t i = 0; i < world->pauses.count; i++)
		if (pause_duration(&world->pauses.items[i]) > longest)
			longest = pause_duration(&world->pauses.items[i]);
	print_message("# %52s longest %.1f ms\n", "", (double)longest / 1e6);
	return (double)longest;
}

/* Whether the slowest steps are no longer than was said, and a risk that is called small is. */
static bool is_tail_kept(const struct advice *advice, const struct world *before,
	const struct world *after)
{
	double came = tail_of(after) / tail_of(before);
	bool small = !strncmp(advice->risk, "small", 5);

	if (!advice->tail)
		return true;
	print_message("# %52s p99 x %.2f (at most %.2f), came %.2f\n", "", advice->tail,
		advice->tail_most, came);
	return came <= 1.1 * fmax(advice->tail_most, 1) && !(small && came > 1.25);
}

/* Whether what came is within what was promised, but for 1 %: the pauses before the change. */
static bool try_advice(const struct program *program, const struct world *recorded, double most,
	const struct attribution *before, const struct advice *advice)
{
	struct program changed = follow(program, advice);
	struct attribution after = {};
	struct world world;
	double freed = run(&changed, &world, &after);
	bool kept;

	check_text(advice);
	kept = is_kept(program->name, advice, before->tracks.items[0].overlap_ns,
		after.tracks.items[0].overlap_ns, 0.01);
	kept &= is_tail_kept(advice, recorded, &world);
	print_message("# %52s garbage %.0f, before %.0f\n", "", freed, most);
	kept &= advice->grows_objects < 0 || freed <= 1.1 * (most + (double)advice->grows_objects);
	if (kind_of(advice) == ADVICE_THRESHOLD)
		kept &= longest_of(&world) <= 1.1 * (double)advice->step_max_after_ns;
	attrib_release(&after);
	world_release(&world);
	return kept;
}

static const struct {
	struct program program;
	unsigned kinds; /* a bit for each that must be advised */
} programs[] = {
	{{.name = "cycles, large heap",
		 .steps = 401,
		 .work_ns = 5 * MS,
		 .heap = 300000,
		 .garbage = 5000,
		 .flight = 400,
		 .threshold = 700},
		1 << ADVICE_FREEZE | 1 << ADVICE_THRESHOLD},
	{{.name = "few cycles, large heap",
		 .steps = 997,
		 .work_ns = 5 * MS,
		 .heap = 500000,
		 .garbage = 50,
		 .flight = 3000,
		 .threshold = 700},
		1 << ADVICE_FREEZE | 1 << ADVICE_THRESHOLD | 1 << ADVICE_MANUAL},
	{{.name = "no cycles",
		 .steps = 997,
		 .work_ns = 5 * MS,
		 .heap = 500000,
		 .flight = 3000,
		 .threshold = 700},
		1 << ADVICE_FREEZE | 1 << ADVICE_DISABLE},
	{{.name = "growing",
		 .steps = 997,
		 .work_ns = 5 * MS,
		 .heap = 100000,
		 .flight = 500,
		 .growth = 1000,
		 .garbage = 100,
		 .threshold = 700},
		0},
	{{.name = "a replay buffer",
		 .steps = 997,
		 .work_ns = 5 * MS,
		 .heap = 300000,
		 .flight = 2000,
		 .replaced = 1000,
		 .garbage = 300,
		 .threshold = 700},
		1 << ADVICE_FREEZE},
	{{.name = "by hand, each step",
		 .steps = 211,
		 .work_ns = 5 * MS,
		 .heap = 200000,
		 .flight = 500,
		 .garbage = 3,
		 .threshold = 700,
		 .by_hand = 1},
		1 << ADVICE_REMOVE | 1 << ADVICE_FREEZE},
	{{.name = "by hand, much freed",
		 .steps = 211,
		 .work_ns = 5 * MS,
		 .heap = 200000,
		 .flight = 500,
		 .garbage = 3000,
		 .threshold = 700,
		 .by_hand = 1},
		1 << ADVICE_MANUAL | 1 << ADVICE_FREEZE},
	{{.name = "threshold of 10",
		 .steps = 211,
		 .work_ns = 5 * MS,
		 .heap = 20000,
		 .flight = 3000,
		 .garbage = 20,
		 .threshold = 10},
		1 << ADVICE_THRESHOLD},
	{{.name = "recorded: 300, 5, 5",
		 .steps = 401,
		 .work_ns = 5 * MS,
		 .heap = 200000,
		 .flight = 3000,
		 .garbage = 50,
		 .threshold = 300,
		 .older = 5,
		 .recorded = true},
		1 << ADVICE_THRESHOLD | 1 << ADVICE_FREEZE},
	{{.name = "recorded: 5000, 10, 10",
		 .steps = 401,
		 .work_ns = 5 * MS,
		 .heap = 100000,
		 .flight = 20000,
		 .garbage = 50,
		 .threshold = 5000,
		 .recorded = true},
		1 << ADVICE_FREEZE},
	/* Objects of a session grow old before they are garbage: the fewer full collections, the more of it each finds. */
	{{.name = "sessions",
		 .steps = 401,
		 .work_ns = 5 * MS,
		 .heap = 60000,
		 .flight = 400,
		 .held = 1200,
		 .session = 60,
		 .threshold = 700,
		 .recorded = true},
		1 << ADVICE_THRESHOLD},
	/* Most of what a young collection looks at stays: that it takes so long is not because of the little that it frees. */
	{{.name = "growing, little garbage",
		 .steps = 997,
		 .work_ns = 5 * MS,
		 .heap = 50000,
		 .flight = 3000,
		 .growth = 400,
		 .garbage = 40,
		 .threshold = 700,
		 .recorded = true},
		1 << ADVICE_THRESHOLD},
	/* With gc.disable(): nothing collects where the line is only dropped. */
	{{.name = "off, by hand each step",
		 .steps = 211,
		 .work_ns = 5 * MS,
		 .heap = 100000,
		 .flight = 2000,
		 .garbage = 10,
		 .threshold = 700,
		 .by_hand = 1,
		 .disabled = true},
		1 << ADVICE_REMOVE},
	/* Each step's graph outlives a hundred thresholds: full collections free it, whatever the threshold is. */
	{{.name = "autograd",
		 .steps = 401,
		 .work_ns = 5 * MS,
		 .heap = 150000,
		 .garbage = 40000,
		 .flight = 1000,
		 .threshold = 700,
		 .recorded = true},
		1 << ADVICE_FREEZE},
};

static void test_promises_are_kept(void **state)
{
	unsigned broken = 0;

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		struct attribution before = {};
		struct advices advices = {};
		struct world world;
		double most;

		most = run(&programs[i].program, &world, &before);
		advise(&world, &before, &advices);
		for (int kind = 1; kind < GC_ADVICES; kind++)
			if (programs[i].kinds & 1u << kind && !find(&advices, kind)) {
				print_message("# %s: %s is not advised\n", programs[i].program.name,
					FIXTURE_KINDS[kind].name);
				broken++;
			}
		for (size_t j = 0; j < advices.items.count; j++)
			if (kind_of(&advices.items.items[j]) != ADVICE_NOTHING)
				broken += !try_advice(&programs[i].program, &world, most, &before,
					&advices.items.items[j]);
		advices_release(&advices);
		attrib_release(&before);
		world_release(&world);
	}
	assert_int_equal(broken, 0);
}

/* What CPython's model would say of pauses that are another's is no advice. */
static void test_unknown_runtime(void **state)
{
	struct attribution before = {};
	struct advices advices = {};
	struct world world;

	run(&programs[0].program, &world, &before);
	advise(&world, &before, &advices);
	assert_non_null(find(&advices, ADVICE_FREEZE));
	advices_release(&advices);
	strcpy(world.recording.runtimes.items[0].kind, "smalltalk");
	advise(&world, &before, &advices);
	assert_int_equal(advices.items.count, 1);
	assert_int_equal(kind_of(&advices.items.items[0]), ADVICE_NOTHING);
	assert_string_equal(advices.items.items[0].title, "What would help is not known");
	advices_release(&advices);
	attrib_release(&before);
	world_release(&world);
}

static void test_little_cost_is_left_alone(void **state)
{
	static const struct program program = {.steps = 997,
		.work_ns = 50 * MS,
		.heap = 10000,
		.flight = 900,
		.garbage = 10,
		.threshold = 700};
	struct attribution before = {};
	struct advices advices = {};
	struct world world;

	run(&program, &world, &before);
	advise(&world, &before, &advices);
	assert_int_equal(advices.items.count, 1);
	assert_int_equal(kind_of(&advices.items.items[0]), ADVICE_NOTHING);
	assert_int_equal(advices.items.items[0].saves_ns, 0);
	assert_non_null(strstr(advices.items.items[0].title, "alone"));
	advices_release(&advices);
	attrib_release(&before);
	world_release(&world);
}

/* However long pauses were, a loop that lost next to nothing to them has nothing to gain; one that may have does. */
static void test_what_was_not_lost_is_left_alone(void **state)
{
	struct attribution before = {};
	struct track_cost *cost;
	struct advices advices = {};
	struct world world;

	run(&programs[0].program, &world, &before);
	cost = &before.tracks.items[0];
	cost->source = COST_MEASURED;
	cost->cost = (struct cost_estimate){
		0, -(int64_t)cost->time_ns / 100, (int64_t)cost->time_ns / 2000};
	advise(&world, &before, &advices);
	assert_int_equal(advices.items.count, 1);
	assert_int_equal(kind_of(&advices.items.items[0]), ADVICE_NOTHING);
	assert_non_null(strstr(advices.items.items[0].estimate,
		"next to nothing of that was lost"));
	advices_release(&advices);
	cost->cost.high_ns = (int64_t)cost->time_ns / 500;
	advise(&world, &before, &advices);
	assert_true(advices.items.count && kind_of(&advices.items.items[0]) != ADVICE_NOTHING);
	advices_release(&advices);
	cost->cost.high_ns = 0;
	cost->source = COST_UNTOLD;
	advise(&world, &before, &advices);
	assert_true(advices.items.count && kind_of(&advices.items.items[0]) != ADVICE_NOTHING);
	advices_release(&advices);
	attrib_release(&before);
	world_release(&world);
}

/* Of a recording that lacks sizes and yields, only what its durations bear is said. */
static void test_unknown_facts(void **state)
{
	struct attribution before = {};
	struct advices advices = {};
	const struct advice *freeze;
	struct world world;

	run(&programs[0].program, &world, &before);
	for (size_t i = 0; i < world.pauses.count; i++) {
		struct pause *pause = &world.pauses.items[i];

		pause->heap_objects = pause->heap_pending = UNKNOWN;
		pause->collected = UNKNOWN;
	}
	advise(&world, &before, &advices);
	freeze = find(&advices, ADVICE_FREEZE);
	assert_non_null(freeze);
	assert_int_equal(freeze->saves_low_ns, 0);
	assert_non_null(strstr(freeze->estimate, "guess"));
	assert_null(find(&advices, ADVICE_MANUAL));
	assert_null(find(&advices, ADVICE_DISABLE));
	assert_null(find(&advices, ADVICE_CYCLES));
	advices_release(&advices);
	attrib_release(&before);
	world_release(&world);
}

/* Without steps there is advice on the traced time, but none that counts in steps. */
static void test_without_steps(void **state)
{
	struct attribution before = {}, stepless = {};
	struct advices advices = {};
	struct world world;

	run(&programs[0].program, &world, &before);
	attrib_release(&before);
	vec_free(&world.steps.tracks.items[0].steps);
	world.steps.tracks.count = 0;
	world.recording.start_ns = 1000 * MS;
	world_build(&world, &stepless);
	advise(&world, &stepless, &advices);
	assert_non_null(find(&advices, ADVICE_FREEZE));
	assert_non_null(find(&advices, ADVICE_THRESHOLD));
	assert_null(find(&advices, ADVICE_MANUAL));
	assert_non_null(strstr(advices.items.items[0].estimate, "traced time"));
	for (size_t i = 0; i < advices.items.count; i++)
		check_text(&advices.items.items[i]);
	advices_release(&advices);
	attrib_release(&stepless);
	world_release(&world);
}

static void test_nothing_recorded(void **state)
{
	struct attribution none = {};
	struct advices advices = {};
	struct world world;

	world_init(&world, 1);
	world_build(&world, &none);
	advise(&world, &none, &advices);
	assert_int_equal(advices.items.count, 0);
	advices_release(&advices);
	attrib_release(&none);
	world_step(world_track(&world, 1), 1000, 2000);
	world_build(&world, &none);
	advise(&world, &none, &advices);
	assert_int_equal(advices.items.count, 1);
	assert_int_equal(kind_of(&advices.items.items[0]), ADVICE_NOTHING);
	advices_release(&advices);
	attrib_release(&none);
	world_release(&world);
}

static bool is_advised(struct world *world, const struct attribution *before, int kind)
{
	struct advices advices = {};
	bool found;

	advise(world, before, &advices);
	found = find(&advices, kind);
	advices_release(&advices);
	return found;
}

/* Forks of process 1; what one frees, the other's collector frees on its behalf. */
static void add_fork(struct world *world, int64_t collected)
{
	uint32_t child = world_process(world, 101, "3.11.2");
	struct pause *pause = world_pause(world, world->recording.end_ns - 9 * MS, MS);

	pause->runtime = child;
	pause->collected = collected;
}

/* Of a program that makes no cycles: only what was looked for often enough is not there, and in no process that inherits. */
static void test_off_only_where_nothing_was_freed(void **state)
{
	const struct program *program = &programs[2].program;
	struct attribution before = {};
	struct pause *pause;
	struct world world;

	assert_string_equal(program->name, "no cycles");
	run(program, &world, &before);
	assert_true(is_advised(&world, &before, ADVICE_DISABLE));
	/* A child that frees nothing, and one that does. */
	add_fork(&world, 0);
	attrib_release(&before);
	world_build(&world, &before);
	assert_true(is_advised(&world, &before, ADVICE_DISABLE));
	add_fork(&world, 1);
	attrib_release(&before);
	world_build(&world, &before);
	assert_false(is_advised(&world, &before, ADVICE_DISABLE));
	attrib_release(&before);
	world_release(&world);
	/* Something was freed before the first step. */
	run(program, &world, &before);
	pause = world_pause(&world, 2 * MS, MS);
	pause->generation = 0;
	pause->collected = 1;
	attrib_release(&before);
	world_build(&world, &before);
	assert_false(is_advised(&world, &before, ADVICE_DISABLE));
	attrib_release(&before);
	world_release(&world);
}

static void test_off_not_after_one_full_collection(void **state)
{
	struct program program = programs[2].program;
	struct attribution before = {};
	struct world world;
	uint64_t full;

	for (program.steps = 100; program.steps < 997; program.steps += 50) {
		run(&program, &world, &before);
		full = 0;
		for (size_t i = 0; i < world.pauses.count; i++)
			full += world.pauses.items[i].generation == 2;
		assert_int_equal(is_advised(&world, &before, ADVICE_DISABLE), full >= 3);
		attrib_release(&before);
		world_release(&world);
	}
	assert_true(full >= 3);
}

/* Thresholds that were set are known, and not advised to be lower. */
static void test_recorded_thresholds(void **state)
{
	static const struct program program = {.steps = 401,
		.work_ns = 5 * MS,
		.heap = 100000,
		.flight = 20000,
		.garbage = 50,
		.threshold = 1500,
		.older = 7,
		.recorded = true};
	struct attribution before = {};
	struct advices advices = {};
	const struct advice *raise;
	double to = 0, older = 0;
	struct world world;

	run(&program, &world, &before);
	advise(&world, &before, &advices);
	raise = need(&advices, ADVICE_THRESHOLD);
	assert_int_equal(sscanf(raise->line, "gc.set_threshold(%lf, %lf,", &to, &older), 2);
	assert_true(to >= 10 * 1500 && older == 7);
	assert_non_null(strstr(raise->estimate, "the thresholds are 1500, 7, 7"));
	assert_null(strstr(raise->estimate, "assuming"));
	advices_release(&advices);
	attrib_release(&before);
	world_release(&world);
}

/* What it sets it unsets, and what it kept goes. */
static void test_cycles_line_leaves_nothing_behind(void **state)
{
	struct attribution before = {};
	struct advices advices = {};
	struct world world;
	const char *line;

	run(&programs[0].program, &world, &before);
	advise(&world, &before, &advices);
	line = need(&advices, ADVICE_CYCLES)->line;
	assert_non_null(strstr(line, "gc.set_debug(gc.DEBUG_SAVEALL); gc.collect();"));
	assert_string_equal(strstr(line, "gc.set_debug(0)"), "gc.set_debug(0); gc.garbage.clear()");
	advices_release(&advices);
	attrib_release(&before);
	world_release(&world);
}

/* Garbage holds memory of a GPU only where there is one. */
static void test_gpu_memory_of_garbage(void **state)
{
	static const int kinds[] = {ADVICE_FREEZE, ADVICE_THRESHOLD, ADVICE_MANUAL, ADVICE_CYCLES};
	struct attribution before = {};
	struct advices advices = {};
	struct world world;
	size_t said = 0;

	for (size_t program = 0; program < 2; program++)
		for (int gpu = 0; gpu < 2; gpu++) {
			run(&programs[program].program, &world, &before);
			before.has_gpu_memory = gpu;
			advise(&world, &before, &advices);
			for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
				const struct advice *one = find(&advices, kinds[i]);

				assert_true(!one || !strstr(one->risk, "GPU memory") == !gpu);
				said += one && gpu;
			}
			advices_release(&advices);
			attrib_release(&before);
			world_release(&world);
		}
	assert_true(said >= 5);
}

/* Ranks of one training job get each piece of advice once. Names for all kinds. */
static void test_once_for_all_ranks(void **state)
{
	struct attribution both = {};
	struct advices advices = {};
	struct world world;
	size_t count;

	run(&programs[0].program, &world, &both);
	attrib_release(&both);
	world_process(&world, 1, "3.11.2");
	world_track(&world, 2);
	for (size_t i = 0; i < world.steps.tracks.items[0].steps.count; i++)
		world_step(&world.steps.tracks.items[1],
			world.steps.tracks.items[0].steps.items[i].start_ns,
			world.steps.tracks.items[0].steps.items[i].end_ns);
	count = world.pauses.count;
	for (size_t i = 0; i < count; i++) {
		struct pause copy = world.pauses.items[i];
		struct pause *pause = world_pause(&world, 0, 0);

		*pause = copy;
		pause->runtime = 2;
	}
	world_build(&world, &both);
	advise(&world, &both, &advices);
	for (size_t i = 0; i < advices.items.count; i++)
		for (size_t j = 0; j < i; j++)
			assert_ptr_not_equal(advices.items.items[i].kind,
				advices.items.items[j].kind);
	assert_true(advices.items.count >= 2);
	advices_release(&advices);
	attrib_release(&both);
	world_release(&world);
	for (int kind = 1; kind < GC_ADVICES; kind++)
		assert_true(*FIXTURE_KINDS[kind].name && FIXTURE_KINDS[kind].worth > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_promises_are_kept),
		cmocka_unit_test(test_little_cost_is_left_alone),
		cmocka_unit_test(test_what_was_not_lost_is_left_alone),
		cmocka_unit_test(test_unknown_runtime),
		cmocka_unit_test(test_unknown_facts),
		cmocka_unit_test(test_without_steps),
		cmocka_unit_test(test_nothing_recorded),
		cmocka_unit_test(test_once_for_all_ranks),
		cmocka_unit_test(test_off_only_where_nothing_was_freed),
		cmocka_unit_test(test_off_not_after_one_full_collection),
		cmocka_unit_test(test_recorded_thresholds),
		cmocka_unit_test(test_gpu_memory_of_garbage),
		cmocka_unit_test(test_cycles_line_leaves_nothing_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
