/*
 * Advice for the JVM, against a collector that follows HotSpot's rules in the large: eden fills and
 * is collected, what is promoted fills the old generation, System.gc() comes by the clock. What
 * advice promises on one run must hold in a second run that follows it.
 */
#include <math.h>

#include "jvm_advice.h"

#define FIXTURE_KINDS	    jvm_advice_kinds
#define FIXTURE_KINDS_COUNT JVM_ADVICES
#include "advice_fixture.h"

#define MIB	1048576.0
#define SERVICE 77

/* Bytes and ns. */
struct program {
	const char *name, *collector;
	uint64_t steps, work_ns;
	double eden, vary; /* vary: eden differs by so much from one collection to the next */
	double allocated;  /* a step */
	double promoted;   /* share of what a young collection looks at; garbage of the old one */
	double live, heap; /* old generation: what stays; its size */
	double fixed_ns;   /* of a young collection */
	double byte_ns;	   /* of it, for each byte allocated since the last */
	double live_ns, dead_ns; /* of a full one, for each byte */
	uint64_t window_ms;	 /* System.gc() every so often; 0: never */
	double freed;		 /* share of the young garbage that System.gc() still finds */
	double loop_ns;		 /* a counted loop of this length runs always; 0: none */
	double runs;		 /* the share of that for which its thread has a processor */
	uint64_t metadata;	 /* collections for metadata in the first steps */
	bool dl4j, javacpp, concurrent;
};

struct jvm {
	const struct program *program;
	struct world *world;
	struct step_track *track;
	double used, room; /* of eden */
	double old;	   /* garbage in the old generation */
	uint64_t now, next_call_ns, step_start;
	uint32_t loop, caller;
};

static struct pause *stop(struct jvm *jvm, double ns, const char *operation, const char *cause)
{
	double ttsp = 50000;
	struct pause *pause;

	if (jvm->program->loop_ns > 0)
		ttsp += world_random(jvm->world) * jvm->program->loop_ns;
	pause = world_safepoint(jvm->world, jvm->now, (uint64_t)(ns + ttsp), operation, cause);
	pause->facts[HOTSPOT_TTSP_NS] = (int64_t)ttsp;
	pause->facts[HOTSPOT_CORE_NS] = (int64_t)ns;
	pause->tid = 101;
	if (ttsp > (double)MS) {
		pause->facts[HOTSPOT_LATE_STACK] = jvm->loop;
		pause->facts[HOTSPOT_LATE_RAN_NS] = (int64_t)(jvm->program->runs * ttsp);
	}
	jvm->now = pause->end_ns;
	return pause;
}

static void set_heap(const struct jvm *jvm, struct pause *pause, double before)
{
	pause->facts[HOTSPOT_HEAP_BEFORE] = (int64_t)before;
	pause->facts[HOTSPOT_HEAP_AFTER] = (int64_t)(jvm->program->live + jvm->old + jvm->used);
}

static double heap_now(const struct jvm *jvm)
{
	return jvm->program->live + jvm->old + jvm->used;
}

static void collect_full(struct jvm *jvm, const char *cause)
{
	const struct program *program = jvm->program;
	double before = heap_now(jvm), dead = jvm->old + jvm->used;
	struct pause *pause;

	jvm->used = jvm->old = 0;
	pause = stop(jvm, program->live * program->live_ns + dead * program->dead_ns,
		"ParallelGCFailedAllocation", cause);
	pause->flags |= PAUSE_FULL;
	pause->generation = 1;
	set_heap(jvm, pause, before);
}

static void collect_young(struct jvm *jvm, const char *cause)
{
	const struct program *program = jvm->program;
	double before = heap_now(jvm);
	struct pause *pause;

	jvm->old += jvm->used * program->promoted;
	pause = stop(jvm, program->fixed_ns + program->byte_ns * jvm->used,
		"ParallelGCFailedAllocation", cause);
	jvm->used = 0;
	jvm->room = program->eden * (1 + program->vary * (2 * world_random(jvm->world) - 1));
	set_heap(jvm, pause, before);
	if (program->heap > 0 && program->live + jvm->old > program->heap - program->eden)
		collect_full(jvm, "Ergonomics");
}

/* In a service thread: its stall lasts as long as the collection. */
static void call(struct jvm *jvm)
{
	uint64_t from = jvm->now;
	struct stall *stall;
	struct pause *pause;

	jvm->used *= jvm->program->freed;
	if (jvm->program->concurrent) {
		pause = stop(jvm, jvm->program->fixed_ns, "G1TryInitiateConcMark", "System.gc()");
	} else {
		collect_full(jvm, "System.gc()");
		pause = &jvm->world->pauses.items[jvm->world->pauses.count - 1];
	}
	pause->tid = SERVICE;
	stall = world_stall(jvm->world, STALL_EXPLICIT, SERVICE, from, jvm->now - from);
	stall->collections = 1;
	stall->stack = jvm->caller;
}

static void run_step(struct jvm *jvm, uint64_t index)
{
	const struct program *program = jvm->program;
	uint64_t start = jvm->now;

	jvm->now += program->work_ns + index * 7919 % 101 * 1000;
	if (index < program->metadata)
		collect_young(jvm, "Metadata GC Threshold");
	for (double left = program->allocated; left > 0;) {
		double part = fmin(left, jvm->room - jvm->used);

		jvm->used += part;
		left -= part;
		if (left > 0)
			collect_young(jvm, "Allocation Failure");
	}
	if (program->window_ms && jvm->now >= jvm->next_call_ns) {
		call(jvm);
		jvm->next_call_ns = jvm->now + program->window_ms * MS;
	}
	world_step(jvm->track, start, jvm->now);
}

static void run(const struct program *program, struct world *world, struct attribution *ret)
{
	static char cmdline[] = "java\0-Xmx512m\0-cp\0x\0Train";
	struct jvm jvm = {.program = program, .world = world, .now = 1000 * MS};
	struct process *process;

	world_init(world, 1);
	world_jvm(world, 1, "17.0.15+6", program->collector);
	process = &world->recording.processes.items[0];
	process->cmdline = malloc(sizeof(cmdline));
	memcpy(process->cmdline, cmdline, sizeof(cmdline));
	process->cmdline_len = sizeof(cmdline);
	world_thread(world, 1, SERVICE, "DeallocatorServ");
	jvm.track = world_track(world, 1);
	strcpy(jvm.track->signal, program->dl4j ? "dl4j:update:adam" : "xgboost:update");
	jvm.room = program->eden;
	jvm.next_call_ns = jvm.now + program->window_ms * MS;
	jvm.loop = world_java(world, "org.example.Trainer.main org.example.Matrix.multiply");
	jvm.caller = world_java(world,
		program->javacpp
			? "org.example.Trainer.fit org.bytedeco.javacpp.Pointer.deallocator "
			  "java.lang.System.gc"
		: program->dl4j
			? "java.lang.Thread.run "
			  "org.nd4j.x.DeallocatorService$DeallocatorServiceThread.run "
			  "org.nd4j.linalg.memory.BasicMemoryManager.invokeGc java.lang.System.gc"
			: "java.lang.Thread.run org.example.Cleaner.run java.lang.System.gc");
	for (uint64_t i = 0; i < program->steps; i++)
		run_step(&jvm, i);
	world->recording.start_ns = 1000 * MS;
	world->recording.end_ns = jvm.now;
	world_build(world, ret);
}

static double number_after(const char *text, const char *prefix)
{
	const char *at = strstr(text, prefix);
	char unit = 0;
	double value = 0;

	if (!at || sscanf(at + strlen(prefix), "%lf%c", &value, &unit) < 1)
		fail_msg("no %s in \"%s\"", prefix, text);
	return value * (unit == 'm' ? MIB : unit == 'g' ? 1024 * MIB : 1);
}

/* The program with the advice followed. */
static struct program follow(const struct program *program, const struct advice *advice)
{
	struct program after = *program;

	switch (kind_of(advice)) {
	case ADVICE_YOUNG:
		after.eden = number_after(advice->line,
				     strstr(advice->line, "-Xmn") ? "-Xmn" : "NewSize=") /
			     1.25;
		break;
	case ADVICE_EXPLICIT_WINDOW:
		after.window_ms = (uint64_t)number_after(advice->line, "setAutoGcWindow(");
		break;
	case ADVICE_EXPLICIT_TOGGLE:
		assert_string_equal(advice->line,
			"Nd4j.getMemoryManager().togglePeriodicGc(false);");
		after.window_ms = 0;
		break;
	case ADVICE_EXPLICIT_OFF:
		assert_string_equal(advice->line, "-XX:+DisableExplicitGC");
		after.window_ms = 0;
		break;
	case ADVICE_MEMORY_LIMIT:
		assert_string_equal(advice->line, "-Dorg.bytedeco.javacpp.maxphysicalbytes=0");
		after.window_ms = 0;
		break;
	case ADVICE_EXPLICIT_CONCURRENT:
		after.concurrent = true;
		break;
	case ADVICE_TTSP:
		assert_non_null(strstr(advice->line, "-XX:+UseCountedLoopSafepoints"));
		after.loop_ns = 100 * US;
		break;
	case ADVICE_METASPACE:
		assert_string_equal(advice->line, "-XX:MetaspaceSize=256m");
		after.metadata = 0;
		break;
	case ADVICE_HEAP:
		after.heap = number_after(advice->line, "-Xmx");
		break;
	default:
		fail_msg("%s cannot be followed", advice_name(advice->kind));
	}
	return after;
}

/* Whether what came is within what was promised. */
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

static const struct {
	struct program program;
	unsigned kinds, not_kinds; /* a bit for each that must be advised, that must not */
} programs[] = {
	{{.name = "small eden, constant work",
		 .collector = "Parallel",
		 .steps = 997,
		 .work_ns = 5 * MS,
		 .eden = 32 * MIB,
		 .vary = 0.4,
		 .allocated = 3 * MIB,
		 .fixed_ns = 6e6,
		 .byte_ns = 0.01},
		BIT(ADVICE_YOUNG), BIT(ADVICE_TTSP) | BIT(ADVICE_EXPLICIT_OFF)},
	{{.name = "the same, constant sizes",
		 .collector = "G1",
		 .steps = 997,
		 .work_ns = 5 * MS,
		 .eden = 32 * MIB,
		 .allocated = 3 * MIB,
		 .fixed_ns = 3e6,
		 .byte_ns = 0.1},
		BIT(ADVICE_YOUNG), 0},
	{{.name = "all goes with allocation",
		 .collector = "Parallel",
		 .steps = 997,
		 .work_ns = 5 * MS,
		 .eden = 32 * MIB,
		 .vary = 0.4,
		 .allocated = 3 * MIB,
		 .fixed_ns = 1e4,
		 .byte_ns = 0.3,
		 .dl4j = true},
		0, BIT(ADVICE_YOUNG)},
	{{.name = "DL4J's window, much lives",
		 .collector = "Parallel",
		 .steps = 1999,
		 .work_ns = 5 * MS,
		 .eden = 64 * MIB,
		 .allocated = MIB / 8,
		 .live = 200 * MIB,
		 .fixed_ns = 2e6,
		 .live_ns = 0.5,
		 .dead_ns = 0.5,
		 .window_ms = 500,
		 .freed = 1,
		 .dl4j = true},
		BIT(ADVICE_EXPLICIT_WINDOW) | BIT(ADVICE_EXPLICIT_TOGGLE),
		BIT(ADVICE_EXPLICIT_OFF) | BIT(ADVICE_YOUNG)},
	{{.name = "DL4J's window, in vain",
		 .collector = "Parallel",
		 .steps = 1999,
		 .work_ns = 5 * MS,
		 .eden = 64 * MIB,
		 .allocated = MIB / 8,
		 .live = 200 * MIB,
		 .fixed_ns = 2e6,
		 .live_ns = 0.5,
		 .dead_ns = 0.5,
		 .window_ms = 500,
		 .freed = 0.1,
		 .dl4j = true},
		BIT(ADVICE_EXPLICIT_OFF) | BIT(ADVICE_EXPLICIT_TOGGLE),
		BIT(ADVICE_EXPLICIT_WINDOW)},
	{{.name = "G1, called by hand",
		 .collector = "G1",
		 .steps = 1999,
		 .work_ns = 5 * MS,
		 .eden = 64 * MIB,
		 .allocated = MIB,
		 .live = 100 * MIB,
		 .fixed_ns = 4e6,
		 .live_ns = 1.5,
		 .dead_ns = 0.5,
		 .window_ms = 500,
		 .freed = 1},
		BIT(ADVICE_EXPLICIT_CONCURRENT) | BIT(ADVICE_EXPLICIT_OFF),
		BIT(ADVICE_EXPLICIT_WINDOW) | BIT(ADVICE_EXPLICIT_TOGGLE)},
	{{.name = "called by hand, and it frees",
		 .collector = "Parallel",
		 .steps = 1999,
		 .work_ns = 5 * MS,
		 .eden = 64 * MIB,
		 .allocated = MIB / 2,
		 .live = 100 * MIB,
		 .fixed_ns = 4e6,
		 .live_ns = 1.5,
		 .dead_ns = 0.5,
		 .window_ms = 1000,
		 .freed = 1},
		BIT(ADVICE_EXPLICIT_OFF), BIT(ADVICE_EXPLICIT_CONCURRENT)},
	{{.name = "counted loops",
		 .collector = "Parallel",
		 .steps = 997,
		 .work_ns = 5 * MS,
		 .eden = 64 * MIB,
		 .allocated = 3 * MIB,
		 .fixed_ns = 1e6,
		 .loop_ns = 15e6,
		 .runs = 1},
		BIT(ADVICE_TTSP), 0},
	{{.name = "threads that are descheduled",
		 .collector = "Parallel",
		 .steps = 997,
		 .work_ns = 5 * MS,
		 .eden = 64 * MIB,
		 .allocated = 3 * MIB,
		 .fixed_ns = 1e6,
		 .loop_ns = 15e6,
		 .runs = 0.01},
		0, BIT(ADVICE_TTSP)},
	{{.name = "counted loops beside other programs",
		 .collector = "Parallel",
		 .steps = 997,
		 .work_ns = 5 * MS,
		 .eden = 64 * MIB,
		 .allocated = 3 * MIB,
		 .fixed_ns = 1e6,
		 .loop_ns = 45e6,
		 .runs = 0.3},
		BIT(ADVICE_TTSP), 0},
	{{.name = "counted loops under G1",
		 .collector = "G1",
		 .steps = 997,
		 .work_ns = 5 * MS,
		 .eden = 64 * MIB,
		 .allocated = 3 * MIB,
		 .fixed_ns = 1e6,
		 .loop_ns = 15e6},
		0, BIT(ADVICE_TTSP)},
	{{.name = "class loading",
		 .collector = "Serial",
		 .steps = 499,
		 .work_ns = 5 * MS,
		 .eden = 64 * MIB,
		 .allocated = MIB / 4,
		 .fixed_ns = 20e6,
		 .metadata = 7},
		BIT(ADVICE_METASPACE), BIT(ADVICE_TTSP)},
	{{.name = "a heap too small",
		 .collector = "Parallel",
		 .steps = 1499,
		 .work_ns = 5 * MS,
		 .eden = 32 * MIB,
		 .allocated = 3 * MIB,
		 .promoted = 0.5,
		 .live = 300 * MIB,
		 .heap = 480 * MIB,
		 .fixed_ns = 1e6,
		 .live_ns = 1,
		 .dead_ns = 0.1},
		BIT(ADVICE_HEAP), 0},
	{{.name = "JavaCPP at its limit",
		 .collector = "Serial",
		 .steps = 1999,
		 .work_ns = 5 * MS,
		 .eden = 80 * MIB,
		 .vary = 0.4,
		 .allocated = MIB,
		 .live = 100 * MIB,
		 .fixed_ns = 4e6,
		 .byte_ns = 0.2,
		 .live_ns = 1,
		 .dead_ns = 0.1,
		 .window_ms = 500,
		 .freed = 1,
		 .javacpp = true},
		BIT(ADVICE_MEMORY_LIMIT), BIT(ADVICE_EXPLICIT_OFF)},
	{{.name = "the same, in vain",
		 .collector = "Serial",
		 .steps = 1999,
		 .work_ns = 5 * MS,
		 .eden = 80 * MIB,
		 .vary = 0.4,
		 .allocated = MIB,
		 .live = 10 * MIB,
		 .fixed_ns = 1e6,
		 .byte_ns = 1,
		 .live_ns = 1,
		 .dead_ns = 1,
		 .window_ms = 500,
		 .freed = 1,
		 .javacpp = true},
		0, BIT(ADVICE_MEMORY_LIMIT)},
};

static const struct program *find_program(const char *name)
{
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		if (!strcmp(programs[i].program.name, name))
			return &programs[i].program;
	fail_msg("no program %s", name);
	abort();
}

static size_t count_of(const struct advices *advices, int kind)
{
	size_t count = 0;

	for (size_t i = 0; i < advices->items.count; i++)
		count += kind_of(&advices->items.items[i]) == kind;
	return count;
}

static void test_promises_are_kept(void **state)
{
	unsigned broken = 0;

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		struct attribution before = {};
		struct advices advices = {};
		struct world world;

		run(&programs[i].program, &world, &before);
		advise(&world, &before, &advices);
		for (int kind = 1; kind < JVM_ADVICES; kind++) {
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
		for (size_t j = 0; j < advices.items.count; j++)
			if (kind_of(&advices.items.items[j]) != ADVICE_NOTHING &&
				!try_advice(&programs[i].program, &before,
					&advices.items.items[j])) {
				print_message("# that was not kept\n");
				broken++;
			}
		advices_release(&advices);
		attrib_release(&before);
		world_release(&world);
	}
	assert_int_equal(broken, 0);
}

/* What the lengths tell of their growth, and the times to safepoint in them, narrows the promise.
 */
static void test_promises_are_narrow(void **state)
{
	static const struct {
		const char *program;
		double low, high; /* of what is saved, as shares of the pauses */
		const char *said;
	} cases[] = {
		/* What is left may take 1.6 times as long in another run: UNLIKE_MOST in advice.c. */
		{"small eden, constant work", 0.45, 0.85, "as they differ"},
		{"counted loops under G1", 0.45, 0.85, "do not tell"},
		{"the same, constant sizes", -0.01, 1.01, "do not tell"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct attribution before = {};
		struct advices advices = {};
		const struct advice *advice;
		struct world world;
		double paused;

		run(find_program(cases[i].program), &world, &before);
		advise(&world, &before, &advices);
		paused = (double)before.tracks.items[0].overlap_ns;
		advice = need(&advices, ADVICE_YOUNG);
		assert_true((double)advice->saves_low_ns > cases[i].low * paused);
		assert_true((double)advice->saves_high_ns < cases[i].high * paused);
		assert_non_null(strstr(advice->estimate, cases[i].said));
		advices_release(&advices);
		attrib_release(&before);
		world_release(&world);
	}
}

/* Advice does not rest on what the recording lacks. */
static void test_unknown_facts(void **state)
{
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		struct attribution before = {};
		struct advices advices = {};
		struct world world;

		run(&programs[i].program, &world, &before);
		attrib_release(&before);
		for (size_t j = 0; j < world.pauses.count; j++) {
			struct pause *pause = &world.pauses.items[j];

			pause->facts[HOTSPOT_HEAP_BEFORE] = pause->facts[HOTSPOT_HEAP_AFTER] =
				UNKNOWN;
			pause->facts[HOTSPOT_TTSP_NS] = UNKNOWN;
			pause->facts[HOTSPOT_LATE_STACK] = STACK_NONE;
			pause->facts[HOTSPOT_LATE_RAN_NS] = UNKNOWN;
		}
		world_build(&world, &before);
		advise(&world, &before, &advices);
		assert_null(find(&advices, ADVICE_YOUNG));
		assert_null(find(&advices, ADVICE_EXPLICIT_WINDOW));
		assert_null(find(&advices, ADVICE_EXPLICIT_OFF));
		assert_null(find(&advices, ADVICE_TTSP));
		assert_null(find(&advices, ADVICE_HEAP));
		assert_true(advices.items.count > 0);
		advices_release(&advices);
		attrib_release(&before);
		world_release(&world);
	}
}

/* Fewer flags where releases know fewer; a guess where the late thread is not known. */
static void test_ttsp_of_8(void **state)
{
	struct attribution before = {};
	struct advices advices = {};
	const struct advice *advice;
	struct world world;

	run(find_program("counted loops"), &world, &before);
	strcpy(world.recording.runtimes.items[0].version, "1.8.0_412");
	for (size_t i = 0; i < world.pauses.count; i++) {
		world.pauses.items[i].facts[HOTSPOT_LATE_STACK] = STACK_NONE;
		world.pauses.items[i].facts[HOTSPOT_LATE_RAN_NS] = UNKNOWN;
	}
	advise(&world, &before, &advices);
	advice = need(&advices, ADVICE_TTSP);
	check_text(advice);
	assert_string_equal(advice->line, "-XX:+UseCountedLoopSafepoints");
	assert_int_equal(advice->saves_low_ns, 0);
	assert_non_null(strstr(advice->estimate, "guess"));
	advices_release(&advices);
	attrib_release(&before);
	world_release(&world);
}

/* Where it was is known, but not whether it ran: no more than a guess. */
static void test_ttsp_of_older_recordings(void **state)
{
	struct attribution before = {};
	struct advices advices = {};
	const struct advice *advice;
	struct world world;
	uint64_t told_ns;

	run(find_program("counted loops"), &world, &before);
	advise(&world, &before, &advices);
	advice = need(&advices, ADVICE_TTSP);
	assert_null(strstr(advice->estimate, "guess"));
	assert_non_null(strstr(advice->estimate, "Matrix.multiply"));
	assert_non_null(strstr(advice->estimate, "for one that ran on"));
	told_ns = advice->saves_ns;
	advices_release(&advices);
	for (size_t i = 0; i < world.pauses.count; i++)
		world.pauses.items[i].facts[HOTSPOT_LATE_RAN_NS] = UNKNOWN;
	advise(&world, &before, &advices);
	advice = need(&advices, ADVICE_TTSP);
	check_text(advice);
	assert_in_range(advice->saves_ns, told_ns / 2 - MS, told_ns / 2 + MS);
	assert_int_equal(advice->saves_low_ns, 0);
	assert_non_null(strstr(advice->estimate, "whether it ran meanwhile is not known: a guess"));
	advices_release(&advices);
	attrib_release(&before);
	world_release(&world);
}

/* An option that is already set is not advised. */
static void test_ttsp_with_the_flag(void **state)
{
	static const char cmdline[] = "java\0-XX:+UseCountedLoopSafepoints\0Train";
	struct attribution before = {};
	struct advices advices = {};
	struct process *process;
	struct world world;

	run(find_program("counted loops"), &world, &before);
	process = &world.recording.processes.items[0];
	free(process->cmdline);
	process->cmdline = malloc(sizeof(cmdline));
	memcpy(process->cmdline, cmdline, sizeof(cmdline));
	process->cmdline_len = sizeof(cmdline) - 1;
	advise(&world, &before, &advices);
	assert_null(find(&advices, ADVICE_TTSP));
	advices_release(&advices);
	attrib_release(&before);
	world_release(&world);
}

/* ZGC: pauses of nothing, the training thread waits. @kind of stall, from @stack. */
static void waiting(uint32_t kind, const char *functions, struct world *world,
	struct attribution *attribution, struct advices *advices)
{
	static const struct program program = {.collector = "ZGC",
		.steps = 499,
		.work_ns = 10 * MS,
		.eden = 64 * MIB,
		.allocated = MIB / 4,
		.fixed_ns = 1e4};
	uint32_t stack;

	run(&program, world, attribution);
	attrib_release(attribution);
	stack = world_java(world, functions);
	for (size_t i = 0; i < world->pauses.count; i++) {
		world->pauses.items[i].flags |= PAUSE_CONCURRENT;
		world->pauses.items[i].generation = UNKNOWN;
		world->pauses.items[i].facts[HOTSPOT_HEAP_BEFORE] = UNKNOWN;
	}
	for (uint64_t i = 0; i < 11; i++)
		world_stall(world, kind, 101, (1105 + 400 * i) * MS, 100 * MS)->stack = stack;
	world_build(world, attribution);
	advise(world, attribution, advices);
}

static void test_waits(void **state)
{
	static const struct {
		uint32_t kind;
		const char *functions, *signal;
		enum jvm_advice advice;
		const char *line, *part;
	} cases[] = {
		{STALL_ALLOCATION, "org.example.Trainer.fit", "x", ADVICE_HEAP, "-Xmx768m",
			"waited for the collector"},
		{STALL_EXPLICIT, "org.example.Trainer.fit java.lang.System.gc", "x",
			ADVICE_EXPLICIT_OFF, "-XX:+DisableExplicitGC", "not known"},
		{STALL_EXPLICIT,
			"org.example.Trainer.fit org.bytedeco.javacpp.Pointer.deallocator "
			"java.lang.System.gc",
			"x", ADVICE_MEMORY_LIMIT, "-Dorg.bytedeco.javacpp.maxphysicalbytes=0",
			"at its limit"},
		{STALL_EXPLICIT,
			"org.example.Trainer.fit org.bytedeco.javacpp.Pointer.deallocator "
			"java.lang.System.gc",
			"dl4j:update:adam", ADVICE_WORKSPACES, "WorkspaceMode.ENABLED", "guess"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct attribution attribution = {};
		struct advices advices = {};
		const struct advice *advice;
		struct world world;

		waiting(cases[i].kind, cases[i].functions, &world, &attribution, &advices);
		advices_release(&advices);
		strcpy(world.steps.tracks.items[0].signal, cases[i].signal);
		advise(&world, &attribution, &advices);
		advice = need(&advices, cases[i].advice);
		check_text(advice);
		assert_non_null(strstr(advice->line, cases[i].line));
		assert_non_null(strstr(advice->estimate, cases[i].part));
		assert_non_null(strstr(advice->estimate, "pauses and waits fall from"));
		assert_true(advice->saves_ns > 250 * MS && advice->saves_high_ns < 1150 * MS);
		assert_null(find(&advices, ADVICE_NOTHING));
		advices_release(&advices);
		attrib_release(&attribution);
		world_release(&world);
	}
}

/* However the heap and what is allocated between two collections compare, the old generation keeps its room. */
static void test_eden_fits_the_heap(void **state)
{
	static const double heaps[] = {32, 64, 100, 127, 256, 400, 511, 1000, 4000}; /* MiB */

	for (size_t i = 0; i < 2 * sizeof(heaps) / sizeof(*heaps); i++) {
		struct program program = *find_program("small eden, constant work");
		double heap = heaps[i / 2] * MIB, young, max = heap;
		struct attribution before = {};
		struct advices advices = {};
		const struct advice *advice;
		struct process *process;
		struct world world;
		char cmdline[64];
		int size;

		program.eden = 0.55 * heap;
		program.live = 0.3 * heap;
		program.allocated = heap / 16;
		if (i % 2)
			program.collector = "G1";
		run(&program, &world, &before);
		size = snprintf(cmdline, sizeof(cmdline), "java%c-Xmx%.0fm%cTrain", 0, heaps[i / 2],
			0);
		process = &world.recording.processes.items[0];
		free(process->cmdline);
		process->cmdline = malloc(sizeof(cmdline));
		memcpy(process->cmdline, cmdline, sizeof(cmdline));
		process->cmdline_len = (size_t)size + 1;
		advise(&world, &before, &advices);
		advice = need(&advices, ADVICE_YOUNG);
		check_text(advice);
		young = number_after(advice->line, i % 2 ? "NewSize=" : "-Xmn");
		if (strstr(advice->line, "-Xmx"))
			max = number_after(advice->line, "-Xmx");
		assert_true(max >= heap);
		assert_true(max - young >= fmin(heap - 1.25 * program.eden, 1.5 * program.live));
		assert_true(max - young >= 1.2 * program.live);
		assert_true(number_after(advice->risk, "-Xmx of ") >= young + program.live);
		advices_release(&advices);
		attrib_release(&before);
		world_release(&world);
	}
}

/* Two callers, one switch: advised once, with what both cost. */
static void test_a_switch_for_several_callers(void **state)
{
	struct attribution before = {};
	struct advices advices = {};
	const struct advice *advice;
	uint64_t one_ns;
	struct world world;
	uint32_t other;
	size_t odd = 0;

	run(find_program("G1, called by hand"), &world, &before);
	advise(&world, &before, &advices);
	one_ns = need(&advices, ADVICE_EXPLICIT_CONCURRENT)->saves_ns;
	advices_release(&advices);
	attrib_release(&before);
	other = world_java(&world,
		"org.example.Trainer.main org.example.Other.clean java.lang.System.gc");
	for (size_t i = 0; i < world.recording.stalls.count; i++)
		if (odd++ % 3 == 2)
			world.recording.stalls.items[i].stack = other;
	world_build(&world, &before);
	assert_int_equal(before.explicit_calls.callers.count, 2);
	advise(&world, &before, &advices);
	for (int kind = 1; kind < JVM_ADVICES; kind++)
		assert_true(count_of(&advices, kind) <= 1);
	advice = need(&advices, ADVICE_EXPLICIT_CONCURRENT);
	check_text(advice);
	assert_in_range(advice->saves_ns, one_ns - MS, one_ns + MS);
	assert_non_null(strstr(advice->estimate, "calls of 1 other caller"));
	assert_non_null(strstr(need(&advices, ADVICE_EXPLICIT_OFF)->title,
		"calls of System.gc(), most in"));
	advices_release(&advices);
	attrib_release(&before);
	world_release(&world);
}

/* DL4J's own switches come before the JVM's, and say where they do nothing. */
static void test_dl4j_before_the_jvm(void **state)
{
	static const char *const names[] = {"DL4J's window, in vain", "DL4J's window, much lives"};

	for (size_t i = 0; i < 2; i++) {
		struct program program = *find_program(names[i]);
		struct attribution before = {};
		struct advices advices = {};
		struct world world;
		bool broad = false;

		if (i)
			program.collector = "G1";
		program.fixed_ns = 1e4;
		program.allocated = MIB;
		run(&program, &world, &before);
		advise(&world, &before, &advices);
		assert_true(advices.items.count >= 2);
		for (size_t j = 0; j < advices.items.count; j++) {
			const struct advice *advice = &advices.items.items[j];
			bool own = strstr(advice->line, "Nd4j.");

			assert_false(own && broad);
			broad |= !strncmp(advice->line, "-XX:", 4) &&
				 kind_of(advice) != ADVICE_YOUNG;
			if (own)
				assert_non_null(strstr(advice->risk, "1.0.0-M2.1"));
		}
		assert_true(broad);
		advices_release(&advices);
		attrib_release(&before);
		world_release(&world);
	}
}

/* The JDK calls where direct buffers are used up: without the call they would be refused. */
static void test_buffers_need_the_call(void **state)
{
	struct attribution before = {};
	struct advices advices = {};
	struct world world;
	uint32_t stack;

	run(find_program("called by hand, and it frees"), &world, &before);
	attrib_release(&before);
	stack = world_java(&world,
		"org.example.Net.read java.nio.ByteBuffer.allocateDirect java.nio.Bits.reserveMemory java.lang.System.gc");
	for (size_t i = 0; i < world.recording.stalls.count; i++)
		world.recording.stalls.items[i].stack = stack;
	world_build(&world, &before);
	advise(&world, &before, &advices);
	assert_null(find(&advices, ADVICE_EXPLICIT_OFF));
	advices_release(&advices);
	attrib_release(&before);
	world_release(&world);
}

static void test_little_cost_is_left_alone(void **state)
{
	static const struct program program = {.collector = "G1",
		.steps = 997,
		.work_ns = 50 * MS,
		.eden = 64 * MIB,
		.allocated = MIB / 4,
		.fixed_ns = 1e6};
	struct attribution before = {};
	struct advices advices = {};
	struct world world;

	run(&program, &world, &before);
	advise(&world, &before, &advices);
	assert_int_equal(advices.items.count, 1);
	assert_int_equal(kind_of(&advices.items.items[0]), ADVICE_NOTHING);
	assert_non_null(strstr(advices.items.items[0].title, "alone"));
	advices_release(&advices);
	attrib_release(&before);
	world_release(&world);
}

/* Long times to safepoint under G1 are not a loop's fault: the answer says where to look. */
static void test_nothing_says_what_it_was(void **state)
{
	struct attribution before = {};
	struct advices advices = {};
	const struct advice *advice;
	struct world world;

	run(find_program("counted loops under G1"), &world, &before);
	attrib_release(&before);
	for (size_t i = 0; i < world.pauses.count; i++) {
		world.pauses.items[i].flags |= PAUSE_NO_COLLECTION;
		world.pauses.items[i].generation = UNKNOWN;
	}
	world_build(&world, &before);
	advise(&world, &before, &advices);
	assert_int_equal(advices.items.count, 1);
	advice = need(&advices, ADVICE_NOTHING);
	assert_non_null(strstr(advice->estimate, "threads than processors"));
	assert_non_null(strstr(advice->estimate, "without a collection"));
	assert_true(strlen(advice->estimate) < sizeof(advice->estimate) - 1);
	advices_release(&advices);
	attrib_release(&before);
	world_release(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_promises_are_kept),
		cmocka_unit_test(test_promises_are_narrow),
		cmocka_unit_test(test_unknown_facts),
		cmocka_unit_test(test_ttsp_of_8),
		cmocka_unit_test(test_ttsp_of_older_recordings),
		cmocka_unit_test(test_ttsp_with_the_flag),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_eden_fits_the_heap),
		cmocka_unit_test(test_a_switch_for_several_callers),
		cmocka_unit_test(test_dl4j_before_the_jvm),
		cmocka_unit_test(test_buffers_need_the_call),
		cmocka_unit_test(test_little_cost_is_left_alone),
		cmocka_unit_test(test_nothing_says_what_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
