/* Made-up recordings: processes, steps and pauses by hand, for the tests of attrib/. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "hotspot_facts.h"
#include "attrib.h"
#include "meaning.h"
#include "u64map.h"

#define MS 1000000ull
#define US 1000ull

struct world {
	struct recording recording;
	struct stack_table stacks;
	struct steps steps;
	VEC(struct pause) pauses;
	size_t next;
	int ends_with; /* what the source returns after the last pause */
	uint64_t random;
	const struct gpu_timeline *gpu;
};

/* Process @i has id and runtime @i, and pid 100 + @i. */
static inline uint32_t world_process(struct world *world, pid_t ppid, const char *version)
{
	struct process *process = vec_add(&world->recording.processes);
	struct runtime *runtime = vec_add(&world->recording.runtimes);
	uint32_t id = (uint32_t)world->recording.processes.count;

	*process =
		(struct process){.id = id, .pid = 100 + (pid_t)id, .ppid = ppid, .comm = "python3"};
	*runtime = (struct runtime){.id = id, .process = id, .kind = "cpython"};
	snprintf(runtime->version, sizeof(runtime->version), "%s", version);
	return id;
}

static inline struct step_track *world_track(struct world *world, uint32_t process)
{
	struct step_track *track = vec_add(&world->steps.tracks);

	track->process = process;
	track->tid = 100 + process;
	track->measured = true;
	track->confidence = 0.97;
	track->per_step = 1;
	strcpy(track->signal, "test:step");
	return track;
}

static inline void world_init(struct world *world, uint64_t seed)
{
	*world = (struct world){.random = seed * 1000003};
	assert_int_equal(stack_table_init(&world->stacks), 0);
	world_process(world, 1, "3.11.2");
}

static inline void world_release(struct world *world)
{
	for (size_t i = 0; i < world->steps.tracks.count; i++)
		vec_free(&world->steps.tracks.items[i].steps);
	vec_free(&world->steps.tracks);
	vec_free(&world->pauses);
	stack_table_release(&world->stacks);
	recording_release(&world->recording);
}

static inline void world_step(struct step_track *track, uint64_t start_ns, uint64_t end_ns)
{
	struct step *step = vec_add(&track->steps);

	*step = (struct step){start_ns, end_ns, UNKNOWN, UNKNOWN};
}

static inline struct pause *world_pause(struct world *world, uint64_t start_ns, uint64_t length_ns)
{
	struct pause *pause = vec_add(&world->pauses);

	*pause = (struct pause){
		.id = world->pauses.count,
		.start_ns = start_ns,
		.end_ns = start_ns + length_ns,
		.runtime = 1,
		.generation = 2,
		.cause = CAUSE_AUTOMATIC,
		.collected = UNKNOWN,
		.uncollectable = UNKNOWN,
		.heap_objects = UNKNOWN,
		.heap_pending = UNKNOWN,
		.rss_start = UNKNOWN,
		.rss_end = UNKNOWN,
		.waited_ns = UNKNOWN,
	};
	return pause;
}

/* A stack of one frame, "Trainer.step /home/ada/<file>:<line>". */
static inline uint32_t world_stack(struct world *world, const char *file, uint32_t line)
{
	struct frame frame = {.line = line, .lang = LANG_PYTHON};

	frame.function = strtab_add(world->stacks.strings, "Trainer.step", 12);
	frame.file = strtab_add(world->stacks.strings, file, strlen(file));
	return stack_table_node(&world->stacks, 0, stack_table_frame(&world->stacks, &frame));
}

/* Makes process @id's runtime a JVM. */
static inline void world_jvm(struct world *world, uint32_t id, const char *version,
	const char *collector)
{
	struct runtime *runtime = &world->recording.runtimes.items[id - 1];

	strcpy(runtime->kind, "hotspot");
	snprintf(runtime->version, sizeof(runtime->version), "%s", version);
	snprintf(runtime->collector, sizeof(runtime->collector), "%s", collector);
	strcpy(world->recording.processes.items[id - 1].comm, "java");
}

static inline uint32_t world_string(struct world *world, const char *text)
{
	return strtab_add(world->stacks.strings, text, strlen(text));
}

/* A safepoint of process 1 with a young collection; everything else is not known. */
static inline struct pause *world_safepoint(struct world *world, uint64_t start_ns,
	uint64_t length_ns, const char *operation, const char *cause)
{
	struct pause *pause = world_pause(world, start_ns, length_ns);

	pause->generation = 0;
	pause->cause = *cause ? CAUSE_RUNTIME : CAUSE_UNKNOWN;
	pause->flags = PAUSE_HAS_FACTS;
	pause->interpreter = UNKNOWN;
	memcpy(pause->facts,
		((int64_t[PAUSE_FACTS]){
			[HOTSPOT_OPERATION] = world_string(world, operation),
			[HOTSPOT_CAUSE] = *cause ? world_string(world, cause) : 0,
			[HOTSPOT_TTSP_NS] = UNKNOWN,
			[HOTSPOT_CLEANUP_NS] = UNKNOWN,
			[HOTSPOT_CORE_NS] = UNKNOWN,
			[HOTSPOT_LEAVE_NS] = UNKNOWN,
			[HOTSPOT_HEAP_BEFORE] = UNKNOWN,
			[HOTSPOT_HEAP_AFTER] = UNKNOWN,
			[HOTSPOT_YOUNG_COLLECTIONS] = UNKNOWN,
			[HOTSPOT_FULL_COLLECTIONS] = UNKNOWN,
			[HOTSPOT_LATE_TID] = UNKNOWN,
			[HOTSPOT_LATE_RAN_NS] = UNKNOWN,
		}),
		sizeof(pause->facts));
	return pause;
}

/* Functions outermost first, separated by blanks: "java.lang.Thread.run org.example.Trainer.fit".
 */
static inline uint32_t world_java(struct world *world, const char *functions)
{
	uint32_t node = 0;

	for (const char *at = functions; *at;) {
		size_t len = strcspn(at, " ");
		struct frame frame = {.line = 7, .lang = LANG_JAVA};

		frame.function = strtab_add(world->stacks.strings, at, len);
		frame.file = world_string(world, "Some.java");
		node = stack_table_node(&world->stacks, node,
			stack_table_frame(&world->stacks, &frame));
		at += len + strspn(at + len, " ");
	}
	return node;
}

static inline struct stall *world_stall(struct world *world, uint32_t kind, uint32_t tid,
	uint64_t start_ns, uint64_t length_ns)
{
	struct stall *stall = vec_add(&world->recording.stalls);

	*stall = (struct stall){
		.id = world->recording.stalls.count,
		.start_ns = start_ns,
		.end_ns = start_ns + length_ns,
		.runtime = 1,
		.tid = tid,
		.kind = kind,
		.collections = UNKNOWN,
	};
	return stall;
}

/* In ascending order of process and tid. */
static inline void world_thread(struct world *world, uint32_t process, uint32_t tid,
	const char *name)
{
	struct thread *thread = vec_add(&world->recording.threads);

	*thread = (struct thread){.process = process, .tid = tid};
	snprintf(thread->name, sizeof(thread->name), "%s", name);
}

static inline int world_next(void *source, struct pause *ret, struct err *err)
{
	struct world *world = source;

	if (world->next == world->pauses.count)
		return world->ends_with;
	*ret = world->pauses.items[world->next++];
	if (!(ret->flags & PAUSE_HAS_FACTS)) /* as the reader has it */
		meaning_forget(meaning_of_runtime(&world->recording, ret->runtime), ret);
	meaning_judge(&world->recording, world->stacks.strings, ret);
	return 1;
}

static inline void world_build(struct world *world, struct attribution *ret)
{
	struct err err = {};

	world->next = 0;
	assert_int_equal(attrib_build(&world->recording, &world->stacks, &world->steps, world->gpu,
				 world_next, world, ret, &err),
		world->ends_with);
}

/* Uniform in [0, 1). */
static inline double world_random(struct world *world)
{
	world->random += 0x9e3779b97f4a7c15ull;
	return (double)(u64_mix(world->random) >> 11) * 0x1p-53;
}

/* Nearly Gaussian: mean 0, deviation 1, at most 6. */
static inline double world_gauss(struct world *world)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += world_random(world);
	return sum;
}
