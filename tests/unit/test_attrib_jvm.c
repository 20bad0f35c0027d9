/* Safepoints and stalls of a JVM → whom they stop, who calls System.gc(), which frame is to blame.
 */
#include "attrib_fixture.h"
#include "needs.h"
#include "stats.h"

#define SERVICE 77 /* tid of the thread that calls System.gc() */

#define PERIODIC                                                                                   \
	"org.nd4j.linalg.api.memory.deallocation.DeallocatorService$DeallocatorServiceThread.run " \
	"org.nd4j.linalg.memory.BasicMemoryManager.invokeGc java.lang.System.gc "                  \
	"java.lang.Runtime.gc"

/* 211 steps of 10 ms by thread 101 of process 1. */
static void set_up(struct world *world, const char *collector)
{
	struct step_track *track;

	world_init(world, 1);
	world_jvm(world, 1, "17.0.15+6", collector);
	world->recording.start_ns = 1000 * MS;
	world->recording.end_ns = 4000 * MS;
	track = world_track(world, 1);
	for (uint64_t i = 0; i < 211; i++)
		world_step(track, (1000 + 10 * i) * MS, (1010 + 10 * i) * MS);
}

static void tear_down(struct world *world, struct attribution *attribution)
{
	attrib_release(attribution);
	world_release(world);
}

static void assert_function(const struct world *world, uint32_t frame, const char *name)
{
	assert_string_equal(strtab_get(world->stacks.strings, world->stacks.frames[frame].function),
		name);
}

/* The step of the training thread pays, whichever thread asked for the collection. */
static void test_any_requester_stops_the_track(void **state)
{
	NEEDS("hotspot");
	struct attribution attribution = {};
	struct world world;
	struct pause *pause;

	set_up(&world, "Parallel");
	pause = world_safepoint(&world, 1052 * MS, 4 * MS, "ParallelGCSystemGC", "System.gc()");
	pause->tid = SERVICE;
	pause->flags |= PAUSE_FULL;
	pause->generation = 1;
	world_safepoint(&world, 1078 * MS, 4 * MS, "ParallelGCFailedAllocation",
		"Allocation Failure")
		->tid = 101;
	pause = world_safepoint(&world, 1101 * MS, 1 * MS, "ThreadDump", "");
	pause->flags |= PAUSE_NO_COLLECTION;
	pause->generation = UNKNOWN;
	world_safepoint(&world, 1103 * MS, 1 * MS, "Exit", "");
	world_build(&world, &attribution);
	assert_int_equal(attribution.tracks.items[0].steps.items[5].overlap_ns, 4 * MS);
	assert_int_equal(attribution.tracks.items[0].steps.items[7].overlap_ns, 2 * MS);
	assert_int_equal(attribution.tracks.items[0].steps.items[8].overlap_ns, 2 * MS);
	assert_int_equal(attribution.tracks.items[0].steps.items[10].overlap_ns, 1 * MS);
	assert_string_equal(attribution.tracks.items[0].steps.items[5].class->name, "full");
	assert_null(attribution.tracks.items[0].steps.items[10].class);
	assert_int_equal(attribution.figures.durations.count, 3);
	assert_int_equal(attribution.figures.exits, 1);
	assert_int_equal(attribution.figures.full, 1);
	assert_int_equal(attribution.figures.full_ns, 4 * MS);
	assert_int_equal(attribution.figures.longest_full.tid, SERVICE);
	assert_string_equal(attrib_class(&attribution, 0)->name, "full");
	assert_string_equal(attrib_class(&attribution, 1)->name, "young");
	assert_null(attrib_class(&attribution, ATTRIB_NONE));
	tear_down(&world, &attribution);
}

static int full(const struct world *world, struct pause *pause)
{
	meaning_judge(&world->recording, world->stacks.strings, pause);
	return pause->class->full;
}

/* A generation of 2 is full for CPython, and for the JVM only what says so. */
static void test_full(void **state)
{
	NEEDS("cpython");
	NEEDS("hotspot");
	struct world world;
	struct pause *pause;

	world_init(&world, 1);
	pause = world_pause(&world, 0, 1);
	assert_int_equal(full(&world, pause), 1);
	world_jvm(&world, 1, "21", "G1");
	assert_int_equal(full(&world, pause), UNKNOWN);
	pause->flags |= PAUSE_FULL;
	pause->generation = 0;
	assert_int_equal(full(&world, pause), 1);
	pause->flags =
		PAUSE_HAS_FACTS |
		PAUSE_CONCURRENT; /* the first operation's name, and a collection in its stop */
	assert_int_equal(full(&world, pause), 0);
	assert_string_equal(pause->class->name, "concurrent step");
	pause->facts[HOTSPOT_YOUNG_COLLECTIONS] = 1;
	assert_int_equal(full(&world, pause), 0);
	assert_string_equal(pause->class->name, "young");
	world_release(&world);
}

static void test_times_to_safepoint(void **state)
{
	NEEDS("hotspot");
	struct attribution attribution = {};
	const struct fact_figures *ttsp;
	struct world world;

	set_up(&world, "Parallel");
	for (uint64_t i = 0; i < 23; i++)
		world_safepoint(&world, (1001 + 10 * i) * MS, 2 * MS, "ParallelGCFailedAllocation",
			"Allocation Failure")
			->facts[HOTSPOT_TTSP_NS] = i == 7 ? UNKNOWN : (int64_t)(i * 10 * US);
	world_build(&world, &attribution);
	ttsp = attrib_fact(&attribution, FACT_TTSP);
	assert_non_null(ttsp);
	assert_int_equal(ttsp->pauses, 23);
	assert_int_equal(ttsp->values.count, 22);
	assert_int_equal(sums_quantile(&ttsp->values, 1), 220 * US);
	assert_int_equal(ttsp->pause.id, 23);
	assert_null(attrib_fact(&attribution, "core_ns")); /* no budget needs its figures */
	tear_down(&world, &attribution);
}

static void test_triggers(void **state)
{
	NEEDS("hotspot");
	static const struct {
		const char *stack, *trigger, *caller, *who;
	} cases[] = {
		{"java.lang.Thread.run org.example.Trainer.main org.deeplearning4j.nn.X.fit "
		 "org.nd4j.linalg.Y.create java.util.ArrayList.grow",
			"org.example.Trainer.main", "org.nd4j.linalg.Y.create",
			"org.example.Trainer.main"},
		{"java.lang.Thread.run " PERIODIC,
			"org.nd4j.linalg.memory.BasicMemoryManager.invokeGc",
			"org.nd4j.linalg.memory.BasicMemoryManager.invokeGc",
			"org.nd4j.linalg.api.memory.deallocation.DeallocatorService$"
			"DeallocatorServiceThread.run"},
		{"java.lang.Thread.run sun.misc.GC$Daemon.run java.lang.System.gc",
			"java.lang.System.gc", NULL, NULL},
		{"Train.main Train.step java.util.Arrays.copyOf", "Train.step", "Train.step",
			"Train.step"},
		{"org.apache.spark.executor.Executor.run org.apache.spark.examples.Pi.call",
			"org.apache.spark.examples.Pi.call", "org.apache.spark.examples.Pi.call",
			"org.apache.spark.examples.Pi.call"},
		{"hex.tree.SharedTree.build water.MRTask.map", "water.MRTask.map",
			"water.MRTask.map", "hex.tree.SharedTree.build"},
		{"javassist.Loader.run hexagon.Grid.fill", "hexagon.Grid.fill", "hexagon.Grid.fill",
			"hexagon.Grid.fill"},
	};
	struct world world;

	world_init(&world, 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint32_t stack = world_java(&world, cases[i].stack), frame;
		uint32_t *triggers;

		assert_function(&world, attrib_trigger(&world.stacks, stack), cases[i].trigger);
		triggers = attrib_triggers(&world.stacks);
		assert_int_equal(triggers[stack], attrib_trigger(&world.stacks, stack));
		free(triggers);
		frame = explicit_asked(&world.stacks, stack);
		assert_int_equal(!frame, !cases[i].caller);
		if (frame)
			assert_function(&world, frame, cases[i].caller);
		frame = explicit_who(&world.stacks, stack);
		assert_int_equal(!frame, !cases[i].who);
		if (frame)
			assert_function(&world, frame, cases[i].who);
	}
	assert_int_equal(attrib_trigger(&world.stacks, STACK_NONE), 0);
	assert_int_equal(explicit_asked(&world.stacks, 1000000), 0);
	assert_int_equal(explicit_who(&world.stacks, 1000000), 0);
	world_release(&world);
}

/* Every 97 ms, in two threads of one name; two of three calls collect. */
static void call_periodically(struct world *world)
{
	uint32_t stack = world_java(world, "java.lang.Thread.run " PERIODIC);

	for (uint64_t i = 0; i < 19; i++) {
		uint64_t at = (1003 + 97 * i) * MS + i % 5 * MS;
		uint32_t tid = SERVICE + (uint32_t)(i & 1);
		struct stall *stall = world_stall(world, STALL_EXPLICIT, tid, at, 5 * MS);
		struct pause *pause;

		stall->stack = stack;
		stall->collections = i % 3 ? 1 : 0;
		if (!(i % 3))
			continue;
		pause = world_safepoint(world, at + MS / 2, 4 * MS, "ParallelGCSystemGC",
			"System.gc()");
		pause->tid = tid;
		pause->flags |= PAUSE_FULL;
		pause->facts[HOTSPOT_HEAP_BEFORE] = 300;
		pause->facts[HOTSPOT_HEAP_AFTER] = i % 2 ? 100 : 310;
	}
}

/* The training thread now and then; a thread of no name and no stack; and pauses that are nobody's.
 */
static void call_otherwise(struct world *world)
{
	uint32_t stack = world_java(world, "org.example.Trainer.fit java.lang.System.gc");

	for (uint64_t i = 0; i < 2; i++)
		world_stall(world, STALL_EXPLICIT, 101, (1201 + 500 * i) * MS, (400 + i) * MS)
			->stack = stack;
	world_stall(world, STALL_EXPLICIT, 5, 3900 * MS, MS);
	world_safepoint(world, 3950 * MS, 3 * MS, "ParallelGCSystemGC", "System.gc()");
	world_safepoint(world, 3960 * MS, 3 * MS, "ParallelGCFailedAllocation",
		"Allocation Failure");
}

static void check_training(const struct world *world, const struct explicit_caller *caller)
{
	assert_string_equal(caller->thread, "main");
	assert_true(caller->training);
	assert_int_equal(caller->calls, 2);
	assert_int_equal(caller->unknown, 2);
	assert_int_equal(caller->blocked_ns, 801 * MS);
	assert_int_equal(caller->blocked_max_ns, 401 * MS);
	assert_int_equal(caller->harm_ns, 801 * MS);
	assert_int_equal(caller->period_ns, 0);
	assert_int_equal(caller->freed_bytes, UNKNOWN);
	assert_int_equal(caller->pauses, 0);
	assert_function(world, caller->caller, "org.example.Trainer.fit");
}

static void check_periodic(const struct world *world, const struct explicit_caller *caller)
{
	assert_string_equal(caller->thread, "DeallocatorServ");
	assert_int_equal(caller->tid, SERVICE);
	assert_false(caller->training);
	assert_int_equal(caller->calls, 19);
	assert_int_equal(caller->collected, 12);
	assert_int_equal(caller->idle, 7);
	assert_int_equal(caller->unknown, 0);
	assert_int_equal(caller->blocked_ns, 19 * 5 * MS);
	assert_int_equal(caller->blocked_median_ns, 5 * MS);
	assert_int_equal(caller->pauses, 12);
	assert_int_equal(caller->pause_ns, 48 * MS);
	assert_int_equal(caller->harm_ns, 48 * MS);
	assert_int_equal(caller->overlap_ns, 48 * MS);
	assert_int_equal(caller->measured, 12);
	assert_int_equal(caller->before_bytes, 3600);
	assert_int_equal(caller->freed_bytes, 6 * 200);
	assert_int_equal(caller->period_ns, 98 * MS);
	assert_true(caller->regular);
	assert_function(world, caller->caller,
		"org.nd4j.linalg.memory.BasicMemoryManager.invokeGc");
}

static void test_callers(void **state)
{
	NEEDS("hotspot");
	struct attribution attribution = {};
	const struct explicit_calls *calls = &attribution.explicit_calls;
	struct world world;

	set_up(&world, "Parallel");
	world_thread(&world, 1, SERVICE, "DeallocatorServ");
	world_thread(&world, 1, SERVICE + 1, "DeallocatorServ");
	world_thread(&world, 1, 101, "main");
	call_periodically(&world);
	call_otherwise(&world);
	world_build(&world, &attribution);
	assert_int_equal(calls->callers.count, 3);
	assert_int_equal(calls->stray, 1);
	assert_int_equal(calls->stray_ns, 3 * MS);
	check_training(&world, &calls->callers.items[0]);
	check_periodic(&world, &calls->callers.items[1]);
	assert_string_equal(calls->callers.items[2].thread, "");
	assert_int_equal(calls->callers.items[2].tid, 5);
	assert_int_equal(calls->callers.items[2].caller, 0);
	assert_int_equal(calls->callers.items[2].who, 0);
	tear_down(&world, &attribution);
}

/* Two threads call at once: the pause belongs to the one that asked for it, and counts once. */
static void test_calls_at_once(void **state)
{
	NEEDS("hotspot");
	struct attribution attribution = {};
	struct world world;

	set_up(&world, "G1");
	world_stall(&world, STALL_EXPLICIT, 5, 1101 * MS, 50 * MS);
	world_stall(&world, STALL_EXPLICIT, 6, 1102 * MS, 49 * MS);
	world_safepoint(&world, 1104 * MS, 40 * MS, "G1CollectFull", "System.gc()")->tid = 6;
	world_safepoint(&world, 1145 * MS, 2 * MS, "G1CollectFull", "System.gc()")->tid = 99;
	/* Asked for by a caller, the cause is not known; and by another while it waits. */
	world_safepoint(&world, 1148 * MS, 1 * MS, "G1CollectFull", "")->tid = 5;
	world_safepoint(&world, 1149 * MS, 1 * MS, "G1CollectForAllocation", "")->tid = 8;
	/* A caller allocates while another calls: no call caused that collection. */
	world_stall(&world, STALL_EXPLICIT, 9, 1300 * MS, 10 * MS);
	world_safepoint(&world, 1304 * MS, 2 * MS, "G1CollectForAllocation", "")->tid = 5;
	world_build(&world, &attribution);
	assert_int_equal(attribution.explicit_calls.callers.count, 3);
	assert_int_equal(attribution.explicit_calls.callers.items[2].tid, 9);
	assert_int_equal(attribution.explicit_calls.callers.items[2].pauses, 0);
	for (size_t i = 0; i < 2; i++) {
		const struct explicit_caller *caller = &attribution.explicit_calls.callers.items[i];

		assert_int_equal(caller->pauses, caller->tid == 6 ? 1 : 2);
		assert_int_equal(caller->pause_ns, (caller->tid == 6 ? 40 : 3) * MS);
	}
	assert_int_equal(attribution.explicit_calls.stray, 0);
	tear_down(&world, &attribution);
}

static void test_irregular_callers(void **state)
{
	struct attribution attribution = {};
	struct world world;
	uint64_t at = 1000 * MS;

	set_up(&world, "G1");
	for (uint64_t i = 0; i < 23; i++) {
		at += (i % 2 ? 90 : 10) * MS;
		world_stall(&world, STALL_EXPLICIT, 5, at, MS);
	}
	world_build(&world, &attribution);
	assert_false(attribution.explicit_calls.callers.items[0].regular);
	assert_int_equal(attribution.explicit_calls.callers.items[0].first_ns, 1010 * MS);
	assert_int_equal(attribution.explicit_calls.callers.items[0].last_ns, at);
	tear_down(&world, &attribution);
}

/* Who sleeps between two calls is regular from return to call, however long each call blocks. */
static void test_callers_that_rest(void **state)
{
	struct attribution attribution = {};
	const struct explicit_caller *caller;
	struct world world;
	uint64_t at = 1000 * MS;

	set_up(&world, "Parallel");
	for (uint64_t i = 0; i < 23; i++) {
		uint64_t blocked = (i % 2 ? 180 : 2) * MS;

		world_stall(&world, STALL_EXPLICIT, 5, at, blocked);
		at += blocked + (50 + i % 3) * MS;
	}
	world_build(&world, &attribution);
	caller = &attribution.explicit_calls.callers.items[0];
	assert_false(caller->regular);
	assert_true(caller->rests);
	assert_int_equal(caller->rest_ns, 51 * MS);
	tear_down(&world, &attribution);
}

/* What of a stall pauses cover is in their figures; what they hardly leave is not worth a word. */
static void test_stalls_beside_pauses(void **state)
{
	NEEDS("hotspot");
	struct attribution attribution = {};
	const struct stall_sum *sums;
	struct world world;

	set_up(&world, "Parallel");
	for (uint64_t i = 0; i < 7; i++) {
		uint64_t at = (1100 + 100 * i) * MS;

		world_stall(&world, STALL_EXPLICIT, 5, at, 50 * MS);
		world_safepoint(&world, at + MS, (i ? 48 : 20) * MS, "ParallelGCSystemGC",
			"System.gc()");
	}
	world_stall(&world, STALL_ALLOCATION, 6, 1000 * MS, 30 * MS);
	world_build(&world, &attribution);
	assert_int_equal(attribution.explicit_calls.sums.count, 2);
	sums = attribution.explicit_calls.sums.items;
	assert_int_equal(sums[0].count, 7);
	assert_int_equal(sums[0].beside, 1);
	assert_int_equal(sums[0].beside_ns, 30 * MS);
	assert_int_equal(sums[0].beside_max_ns, 30 * MS);
	assert_int_equal(sums[0].beside_longest, 1);
	assert_int_equal(sums[1].beside, 1);
	assert_int_equal(sums[1].beside_ns, 30 * MS);
	tear_down(&world, &attribution);
}

/* A stall of the training thread slows its step, but is not a pause and not part of any cost. */
static void test_stalls_of_steps(void **state)
{
	struct attribution attribution = {};
	const struct track_cost *cost;
	struct world world;

	set_up(&world, "ZGC");
	world.steps.tracks.items[0].steps.items[20].end_ns += 90 * MS;
	for (size_t i = 21; i < 211; i++) {
		world.steps.tracks.items[0].steps.items[i].start_ns += 90 * MS;
		world.steps.tracks.items[0].steps.items[i].end_ns += 90 * MS;
	}
	/* In step 20, with 2 ms of pause within; over the end of step 30; of another thread. */
	world_stall(&world, STALL_ALLOCATION, 101, 1203 * MS, 80 * MS);
	world_stall(&world, STALL_ALLOCATION, 101, 1210 * MS, 80 * MS);
	world_stall(&world, STALL_PACING, 101, 1399 * MS, 2 * MS);
	world_stall(&world, STALL_ALLOCATION, 55, 1205 * MS, 500 * MS);
	world_safepoint(&world, 1220 * MS, 2 * MS, "ZMarkStart", "Allocation Rate");
	world_build(&world, &attribution);
	cost = &attribution.tracks.items[0];
	assert_int_equal(cost->stalls, 3);
	assert_int_equal(cost->stall_ns, 89 * MS);
	assert_int_equal(cost->stall_alone_ns, 87 * MS);
	assert_int_equal(cost->steps.items[20].stall_ns, 85 * MS);
	assert_int_equal(cost->steps.items[30].stall_ns, 1 * MS);
	assert_int_equal(cost->steps.items[31].stall_ns, 1 * MS);
	assert_int_equal(cost->overlap_ns, 2 * MS);
	assert_int_equal(cost->steps.items[20].cost_ns, 2 * MS);
	assert_int_equal(cost->slow.other, 1);
	assert_int_equal(cost->slow.stalled, 1);
	assert_int_equal(attribution.explicit_calls.sums.count, 2);
	assert_int_equal(attribution.explicit_calls.sums.items[0].kind, STALL_ALLOCATION);
	assert_int_equal(attribution.explicit_calls.sums.items[0].count, 3);
	assert_int_equal(attribution.explicit_calls.sums.items[0].total_ns, 660 * MS);
	assert_int_equal(attribution.explicit_calls.sums.items[0].max_ns, 500 * MS);
	assert_int_equal(attribution.explicit_calls.sums.items[0].longest, 4);
	assert_int_equal(attribution.explicit_calls.sums.items[0].training_ns, 160 * MS);
	assert_int_equal(attribution.explicit_calls.sums.items[1].kind, STALL_PACING);
	tear_down(&world, &attribution);
}

/* Times of a hostile file: backwards, at the end of time, of a runtime that is not there. */
static void test_hostile(void **state)
{
	NEEDS("hotspot");
	struct attribution attribution = {};
	struct world world;
	struct pause *pause;

	set_up(&world, "G1");
	world_stall(&world, STALL_EXPLICIT, 101, 2000 * MS, 0)->end_ns = 5;
	world_stall(&world, STALL_EXPLICIT, 101, 0, UINT64_MAX)->stack = 99999;
	world_stall(&world, STALL_EXPLICIT, 101, UINT64_MAX, 0);
	world_stall(&world, STALL_ALLOCATION, 101, 0, UINT64_MAX);
	world_stall(&world, 4711, 101, 1000 * MS, UINT64_MAX - 2000 * MS);
	world_stall(&world, STALL_EXPLICIT, 101, 1000 * MS, MS)->runtime = 99;
	for (int i = 0; i < 3; i++) {
		pause = world_safepoint(&world, 1100 * MS, UINT64_MAX - 1100 * MS, "G1CollectFull",
			"System.gc()");
		pause->tid = 101;
		pause->stack = 99999;
		pause->facts[HOTSPOT_LATE_STACK] = 99999;
		pause->facts[HOTSPOT_HEAP_BEFORE] = INT64_MAX;
		pause->facts[HOTSPOT_HEAP_AFTER] = 0;
		pause->facts[HOTSPOT_TTSP_NS] = INT64_MAX;
	}
	world_safepoint(&world, 1100 * MS, 0, "G1CollectFull", "System.gc()")->end_ns = 3;
	world_build(&world, &attribution);
	assert_int_equal(attribution.explicit_calls.callers.count, 1);
	assert_int_equal(attribution.explicit_calls.callers.items[0].calls, 3);
	assert_int_equal(attribution.explicit_calls.callers.items[0].freed_bytes, INT64_MAX);
	tear_down(&world, &attribution);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_requester_stops_the_track),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_times_to_safepoint),
		cmocka_unit_test(test_triggers),
		cmocka_unit_test(test_callers),
		cmocka_unit_test(test_calls_at_once),
		cmocka_unit_test(test_irregular_callers),
		cmocka_unit_test(test_stalls_of_steps),
		cmocka_unit_test(test_callers_that_rest),
		cmocka_unit_test(test_stalls_beside_pauses),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
