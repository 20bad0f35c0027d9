/*
 * Advice for Julia, against a collector that follows Julia's rules in the large: what is allocated fills an interval and
 * is collected, marking looks at old objects again, a program asks for collections of its own. What advice promises on
 * one run must hold in a second run that follows it.
 */
#include <math.h>

#include "julia_advice.h"

#define FIXTURE_KINDS	    julia_advice_kinds
#define FIXTURE_KINDS_COUNT JULIA_ADVICES
#include "advice_fixture.h"

#define MIB 1048576.0

/* Bytes and ns. */
struct program {
	const char *name, *version, *cmdline; /* cmdline: its arguments separated by blanks */
	uint64_t steps, work_ns;
	double allocated;	       /* a step */
	double interval;	       /* allocated between automatic collections */
	double old_ns;		       /* what marking takes, however much was allocated */
	double sweep_ns;	       /* for each MiB allocated */
	double full_ns;		       /* beside, of a full collection */
	uint64_t full_each;	       /* each so many automatic collections are full; 0: none */
	uint64_t asked_each;	       /* GC.gc() each so many steps; 0: never */
	uint64_t incremental_each;     /* GC.gc(false) */
	uint64_t gpu_each;	       /* both, as CUDA.jl does */
	double finalizers_ns, loop_ns; /* of each collection; a loop without safepoints */
	uint64_t hold_each; /* GC.enable(false), but for a GC.gc(false) each so many steps */
	double live, limit; /* automatic collections are full where so much is live; 0: never */
	bool no_books;	    /* gc_num is not understood */
};

struct julia {
	const struct program *program;
	struct world *world;
	struct step_track *track;
	double used; /* since the last collection */
	uint64_t now, automatic;
	uint32_t late;
};

enum { AUTO, FULL, INCREMENTAL };

static void collect(struct julia *julia, int asked, bool full)
{
	static const char *const words[] = {"auto", "full", "incremental"};
	const struct program *program = julia->program;
	double ttsp = 20000 + world_random(julia->world) * program->loop_ns;
	double mark = program->old_ns + (full ? program->full_ns : 0);
	/* Beyond an interval free pages go back to the kernel. */
	double beyond = julia->used > 1.01 * program->interval ? 2 : 1;
	double sweep = beyond * program->sweep_ns * julia->used / MIB;
	double post = program->finalizers_ns, length = ttsp + mark + sweep + post;
	struct pause *pause = world_pause(julia->world, julia->now, (uint64_t)length);

	pause->generation = UNKNOWN;
	pause->tid = 101;
	pause->cause = asked ? CAUSE_MANUAL : CAUSE_AUTOMATIC;
	pause->flags = PAUSE_HAS_FACTS | (full ? PAUSE_FULL : 0);
	memcpy(pause->facts,
		((int64_t[PAUSE_FACTS]){
			[JULIA_TTSP_NS] = (int64_t)ttsp,
			[JULIA_CORE_NS] = program->no_books ? UNKNOWN : (int64_t)(mark + sweep),
			[JULIA_MARK_NS] = program->no_books ? UNKNOWN : (int64_t)mark,
			[JULIA_SWEEP_NS] = program->no_books ? UNKNOWN : (int64_t)sweep,
			[JULIA_POST_NS] = (int64_t)post,
			[JULIA_FREED_BYTES] = (int64_t)julia->used,
			[JULIA_HEAP_BEFORE] = (int64_t)(program->live + julia->used),
			[JULIA_HEAP_AFTER] = (int64_t)program->live,
			[JULIA_ASKED] = world_string(julia->world, words[asked]),
			[JULIA_LATE_TID] = ttsp > (double)MS ? 117 : UNKNOWN,
			[JULIA_LATE_STACK] = ttsp > (double)MS ? julia->late : STACK_NONE,
			[JULIA_FULL_SWEEPS] = program->no_books ? UNKNOWN : full,
		}),
		sizeof(pause->facts));
	julia->used = 0;
	julia->now = pause->end_ns + 100 * US;
}

static void collect_automatic(struct julia *julia)
{
	const struct program *program = julia->program;
	const bool limited = program->limit > 0 && program->live > program->limit;

	julia->automatic++;
	collect(julia, AUTO,
		limited || (program->full_each && julia->automatic % program->full_each == 0));
}

static bool is_due(uint64_t index, uint64_t each)
{
	return each && index % each == each - 1;
}

static void run_step(struct julia *julia, uint64_t index)
{
	const struct program *program = julia->program;
	uint64_t start = julia->now;

	julia->now += program->work_ns + index * 7919 % 101 * 1000;
	for (double left = program->allocated; left > 0;) {
		double part = program->hold_each
				      ? left
				      : fmin(left, fmax(0, program->interval - julia->used));

		julia->used += part;
		left -= part;
		if (left > 0)
			collect_automatic(julia);
	}
	if (is_due(index, program->asked_each))
		collect(julia, FULL, true);
	if (is_due(index, program->incremental_each) || is_due(index, program->hold_each))
		collect(julia, INCREMENTAL, false);
	if (is_due(index, program->gpu_each)) {
		collect(julia, INCREMENTAL, false);
		collect(julia, FULL, true);
	}
	world_step(julia->track, start, julia->now);
}

/* A frame of Julia's own code. */
static uint32_t add_loop(struct world *world)
{
	const struct frame frame = {.line = 41,
		.lang = LANG_JULIA,
		.function = world_string(world, "crunch!"),
		.file = world_string(world, "/home/ada/train.jl")};

	return stack_table_node(&world->stacks, 0, stack_table_frame(&world->stacks, &frame));
}

static void set_command(struct process *process, const char *cmdline)
{
	process->cmdline_len = (uint32_t)strlen(cmdline) + 1;
	process->cmdline = strdup(cmdline);
	for (char *at = process->cmdline; (at = strchr(at, ' ')); at++)
		*at = '\0';
}

static void run(const struct program *program, struct world *world, struct attribution *ret)
{
	struct julia julia = {.program = program, .world = world, .now = 1000 * MS};
	struct runtime *runtime;

	world_init(world, 1);
	runtime = &world->recording.runtimes.items[0];
	strcpy(runtime->kind, "julia");
	strcpy(runtime->version, program->version);
	set_command(&world->recording.processes.items[0],
		program->cmdline ? program->cmdline : "julia train.jl");
	world_thread(world, 1, 117, "loader");
	julia.track = world_track(world, 1);
	julia.late = add_loop(world);
	for (uint64_t i = 0; i < program->steps; i++)
		run_step(&julia, i);
	world->recording.start_ns = 1000 * MS;
	world->recording.end_ns = julia.now;
	world_build(world, ret);
}

/* The program with the advice followed. */
static struct program follow(const struct program *program, const struct advice *advice)
{
	struct program after = *program;

	switch (kind_of(advice)) {
	case ADVICE_EVERY:
		assert_non_null(strstr(advice->line, "GC.gc(false)  # "));
		after.incremental_each = advice->every;
		after.asked_each = 0;
		break;
	case ADVICE_ENABLE:
		assert_non_null(strstr(advice->line, "GC.enable(false)"));
		after.hold_each = advice->every;
		break;
	case ADVICE_HEAP_HINT:
		assert_string_equal(advice->line, "--heap-size-hint=1024M");
		after.limit *= 2;
		after.full_each = 0;
		break;
	case ADVICE_GC_THREADS:
		assert_non_null(strstr(advice->line, "--gcthreads=4"));
		after.old_ns /= 1.8;
		after.full_ns /= 1.8;
		break;
	case ADVICE_FINALIZERS:
		after.finalizers_ns /= 20;
		break;
	case ADVICE_SAFEPOINT:
		assert_string_equal(advice->line, "GC.safepoint()  # in the loop of thread 117");
		assert_non_null(strstr(advice->estimate,
			"thread 117 (loader), out of crunch! (train.jl:41)"));
		after.loop_ns = 0;
		break;
	case ADVICE_GPU_MEMORY:
		after.gpu_each *= 3;
		break;
	default:
		fail_msg("%s cannot be followed", advice_name(advice->kind));
	}
	return after;
}

static bool try_advice(const struct program *program, const struct attribution *before,
	const struct advice *advice)
{
	struct program changed = follow(program, advice);
	struct attribution after = {};
	struct world world;
	bool kept;

	run(&changed, &world, &after);
	check_text(advice);
	kept = is_kept(program->name, advice, before->tracks.items[0].overlap_ns,
		after.tracks.items[0].overlap_ns, 0.02);
	attrib_release(&after);
	world_release(&world);
	return kept;
}

#define BIT(kind) (1u << (kind))
#define ALL	  (BIT(JULIA_ADVICES) - 1)

static const struct {
	struct program program;
	unsigned int kinds, not_kinds; /* a bit for each that must be advised, that must not */
} programs[] = {
	{{.name = "old objects marked again",
		 .version = "1.5.3",
		 .steps = 997,
		 .work_ns = MS,
		 .allocated = 0.3 * MIB,
		 .interval = 42 * MIB,
		 .old_ns = 100e6,
		 .sweep_ns = 1e5,
		 .live = 700 * MIB},
		BIT(ADVICE_ENABLE), ALL & ~BIT(ADVICE_ENABLE)},
	{{.name = "the same, 1.10",
		 .version = "1.10.4",
		 .steps = 997,
		 .work_ns = MS,
		 .allocated = 0.3 * MIB,
		 .interval = 42 * MIB,
		 .old_ns = 100e6,
		 .sweep_ns = 1e5,
		 .live = 700 * MIB},
		BIT(ADVICE_ENABLE) | BIT(ADVICE_GC_THREADS), BIT(ADVICE_HEAP_HINT)},
	{{.name = "the same, with threads",
		 .version = "1.13.1",
		 .cmdline = "julia -t 8 --gcthreads=4 train.jl",
		 .steps = 997,
		 .work_ns = MS,
		 .allocated = 0.3 * MIB,
		 .interval = 42 * MIB,
		 .old_ns = 100e6,
		 .sweep_ns = 1e5,
		 .live = 700 * MIB},
		BIT(ADVICE_ENABLE), BIT(ADVICE_GC_THREADS) | BIT(ADVICE_HEAP_HINT)},
	{{.name = "eight, by default four",
		 .version = "1.11.2",
		 .cmdline = "julia -t8 train.jl --gcthreads=4",
		 .steps = 997,
		 .work_ns = MS,
		 .allocated = 0.3 * MIB,
		 .interval = 42 * MIB,
		 .old_ns = 100e6,
		 .live = 700 * MIB},
		BIT(ADVICE_ENABLE), BIT(ADVICE_GC_THREADS)},
	{{.name = "all goes with allocation",
		 .version = "1.5.3",
		 .steps = 997,
		 .work_ns = MS,
		 .allocated = 3 * MIB,
		 .interval = 42 * MIB,
		 .old_ns = 1e5,
		 .sweep_ns = 3e5,
		 .live = 10 * MIB},
		0, ALL},
	{{.name = "as much sweeping as marking",
		 .version = "1.5.3",
		 .steps = 997,
		 .work_ns = MS,
		 .allocated = 0.3 * MIB,
		 .interval = 42 * MIB,
		 .old_ns = 4.5e6,
		 .sweep_ns = 7.5e4,
		 .live = 50 * MIB},
		0, ALL},
	{{.name = "more than may be held back",
		 .version = "1.5.3",
		 .steps = 199,
		 .work_ns = 100 * MS,
		 .allocated = 3001 * MIB,
		 .interval = 1250 * MIB,
		 .old_ns = 100e6,
		 .live = 700 * MIB},
		0, BIT(ADVICE_ENABLE)},
	{{.name = "GC.gc() each step",
		 .version = "1.5.3",
		 .steps = 997,
		 .work_ns = MS,
		 .allocated = 0.5 * MIB,
		 .interval = 42 * MIB,
		 .old_ns = 5e6,
		 .full_ns = 95e6,
		 .asked_each = 1,
		 .live = 300 * MIB},
		BIT(ADVICE_EVERY), ALL & ~BIT(ADVICE_EVERY)},
	{{.name = "the same, incremental known",
		 .version = "1.13.1",
		 .steps = 997,
		 .work_ns = MS,
		 .allocated = 3 * MIB,
		 .interval = 42 * MIB,
		 .old_ns = 5e6,
		 .full_ns = 95e6,
		 .asked_each = 31,
		 .live = 300 * MIB},
		BIT(ADVICE_EVERY), BIT(ADVICE_HEAP_HINT)},
	{{.name = "each third is full",
		 .version = "1.5.3",
		 .steps = 1999,
		 .work_ns = MS,
		 .allocated = 3 * MIB,
		 .interval = 84 * MIB,
		 .old_ns = 5e6,
		 .full_ns = 200e6,
		 .full_each = 3,
		 .live = 300 * MIB},
		BIT(ADVICE_EVERY), BIT(ADVICE_GC_THREADS)},
	{{.name = "a limit too low",
		 .version = "1.9.4",
		 .cmdline = "julia --heap-size-hint=512M train.jl",
		 .steps = 997,
		 .work_ns = MS,
		 .allocated = 3 * MIB,
		 .interval = 42 * MIB,
		 .old_ns = 5e6,
		 .full_ns = 200e6,
		 .live = 600 * MIB,
		 .limit = 512 * MIB},
		BIT(ADVICE_HEAP_HINT), BIT(ADVICE_GC_THREADS)},
	{{.name = "the same, of no use in 1.8",
		 .version = "1.8.5",
		 .cmdline = "julia --heap-size-hint=512M train.jl",
		 .steps = 997,
		 .work_ns = MS,
		 .allocated = 3 * MIB,
		 .interval = 42 * MIB,
		 .old_ns = 5e6,
		 .full_ns = 200e6,
		 .live = 600 * MIB,
		 .limit = 512 * MIB},
		0, BIT(ADVICE_HEAP_HINT) | BIT(ADVICE_GC_THREADS)},
	{{.name = "finalizers",
		 .version = "1.5.3",
		 .steps = 997,
		 .work_ns = MS,
		 .allocated = MIB,
		 .interval = 42 * MIB,
		 .old_ns = 5e6,
		 .finalizers_ns = 100e6,
		 .live = 100 * MIB},
		BIT(ADVICE_FINALIZERS), ALL & ~BIT(ADVICE_FINALIZERS)},
	{{.name = "a loop without safepoints",
		 .version = "1.5.3",
		 .steps = 997,
		 .work_ns = MS,
		 .allocated = MIB,
		 .interval = 42 * MIB,
		 .old_ns = 5e6,
		 .loop_ns = 60e6,
		 .live = 100 * MIB},
		BIT(ADVICE_SAFEPOINT), BIT(ADVICE_FINALIZERS) | BIT(ADVICE_GC_THREADS)},
	{{.name = "memory of a GPU is short",
		 .version = "1.10.4",
		 .cmdline = "julia --gcthreads 2 train.jl",
		 .steps = 997,
		 .work_ns = MS,
		 .allocated = MIB / 16,
		 .interval = 420 * MIB,
		 .old_ns = 5e6,
		 .full_ns = 95e6,
		 .gpu_each = 29,
		 .live = 300 * MIB},
		BIT(ADVICE_GPU_MEMORY), BIT(ADVICE_EVERY) | BIT(ADVICE_GC_THREADS)},
	{{.name = "once is not a habit",
		 .version = "1.10.4",
		 .cmdline = "julia --gcthreads 2 train.jl",
		 .steps = 997,
		 .work_ns = MS,
		 .allocated = MIB / 16,
		 .interval = 420 * MIB,
		 .old_ns = 5e6,
		 .full_ns = 95e6,
		 .gpu_each = 500,
		 .live = 300 * MIB},
		0, ALL},
	{{.name = "harmless",
		 .version = "1.13.1",
		 .steps = 997,
		 .work_ns = 10 * MS,
		 .allocated = MIB / 4,
		 .interval = 42 * MIB,
		 .old_ns = 1e5,
		 .live = 10 * MIB},
		0, ALL},
	{{.name = "gc_num not understood",
		 .version = "1.13.1",
		 .steps = 997,
		 .work_ns = MS,
		 .allocated = MIB,
		 .interval = 42 * MIB,
		 .old_ns = 100e6,
		 .live = 700 * MIB,
		 .no_books = true},
		0, ALL},
};

static void test_promises_are_kept(void **state)
{
	unsigned int broken = 0;

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		struct attribution before = {};
		struct advices advices = {};
		struct world world;

		run(&programs[i].program, &world, &before);
		advise(&world, &before, &advices);
		for (int kind = 1; kind < JULIA_ADVICES; kind++) {
			bool found = find(&advices, kind);

			if (programs[i].kinds & BIT(kind) && !found) {
				print_message("# %s: %s is not advised\n", programs[i].program.name,
					FIXTURE_KINDS[kind].name);
				broken++;
			}
			if (programs[i].not_kinds & BIT(kind) && found) {
				print_message("# %s: %s is advised\n", programs[i].program.name,
					FIXTURE_KINDS[kind].name);
				broken++;
			}
		}
		for (size_t k = 0; k < advices.items.count; k++)
			if (kind_of(&advices.items.items[k]) != ADVICE_NOTHING)
				broken += !try_advice(&programs[i].program, &before,
					&advices.items.items[k]);
		advices_release(&advices);
		attrib_release(&before);
		world_release(&world);
	}
	assert_int_equal(broken, 0);
}

/* The one piece of advice on @program. */
static void advise_alone(const struct program *program, void (*check)(const struct advice *advice))
{
	struct attribution attribution = {};
	struct advices advices = {};
	struct world world;

	run(program, &world, &attribution);
	advise(&world, &attribution, &advices);
	assert_int_equal(advices.items.count, 1);
	check(&advices.items.items[0]);
	advices_release(&advices);
	attrib_release(&attribution);
	world_release(&world);
}

static const struct program *program_called(const char *name)
{
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		if (!strcmp(programs[i].program.name, name))
			return &programs[i].program;
	fail_msg("there is no %s", name);
	return NULL;
}

static void check_harmless(const struct advice *advice)
{
	assert_string_equal(advice->title, "Leave the collector alone");
}

static void check_sweeping(const struct advice *advice)
{
	assert_string_equal(advice->title, "No setting of the collector would save much");
	assert_non_null(strstr(advice->estimate, "of it is sweeping"));
}

/* 42 MiB at 0.3 MiB a step are 140 steps; 4 × as many, each 0.3 MiB. */
static void check_growth(const struct advice *advice)
{
	assert_in_range(advice->every, 550, 600);
	assert_non_null(strstr(advice->estimate, "one each 42 MiB allocated"));
	assert_non_null(strstr(advice->risk, "a step"));
	assert_true(fabs((double)advice->grows_bytes - 3 * 42 * MIB) < 15 * MIB);
}

static void check_pairs(const struct advice *advice)
{
	assert_int_equal(kind_of(advice), ADVICE_GPU_MEMORY);
	assert_non_null(strstr(advice->estimate,
		": 34 times GC.gc(false) was directly followed by GC.gc(true)"));
}

static void test_words(void **state)
{
	advise_alone(program_called("harmless"), check_harmless);
	advise_alone(program_called("all goes with allocation"), check_sweeping);
	advise_alone(program_called("old objects marked again"), check_growth);
	advise_alone(program_called("memory of a GPU is short"), check_pairs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_promises_are_kept),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
