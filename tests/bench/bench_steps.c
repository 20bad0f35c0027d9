/*
 * bench_steps [STEPS [PAUSES]]: made-up steps and pauses (1,000,000 of each; 0 steps: a recording
 * without any) through attribution and advice, in memory; prints what that cost. The inputs are not
 * counted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "advice.h"
#include "mem.h"
#include "meaning.h"
#include "u64map.h"

#define STACKS	3001
#define STEP_NS 10000000ull

struct source {
	uint64_t next, count, steps;
	const struct recording *recording;
};

static struct stack_table stacks;
static uint32_t leaves[STACKS];

static void must(int r, const char *what)
{
	if (!r)
		return;
	fprintf(stderr, "bench_steps: %s\n", what);
	exit(1);
}

static void make_stacks(void)
{
	must(stack_table_init(&stacks), "out of memory");
	for (uint32_t i = 0; i < STACKS; i++) {
		uint32_t node = 0;

		for (uint32_t depth = 0; depth < 12; depth++) {
			char name[48];
			struct frame frame = {.line = i % (depth * 37 + 1), .lang = LANG_PYTHON};

			frame.function = strtab_add(stacks.strings, name,
				(size_t)sprintf(name, "forward_%u", depth));
			frame.file = strtab_add(stacks.strings, name,
				(size_t)sprintf(name, "%s/model_%u.py",
					depth % 3 ? "/srv/train" : "/opt/lib/python3.11", depth));
			node = stack_table_node(&stacks, node, stack_table_frame(&stacks, &frame));
		}
		leaves[i] = node;
	}
}

/* Nothing is stored: pauses are made on demand, evenly over the steps. */
static int next_pause(void *source, struct pause *ret, struct err *err)
{
	struct source *state = source;
	uint64_t i = state->next++, random = u64_mix(i);
	uint64_t span = state->steps ? state->steps * STEP_NS : state->count * STEP_NS;
	int generation = random % 100 < 90 ? 0 : random % 100 < 99 ? 1 : 2;

	if (i == state->count)
		return 0;
	*ret = (struct pause){
		.id = i + 1,
		.start_ns = 1000000000 + (uint64_t)((unsigned __int128)span * i / state->count),
		.runtime = 1,
		.tid = 4711,
		.generation = generation,
		.cause = CAUSE_AUTOMATIC,
		.collected = (int64_t)(random >> 20 & 255) << 3 * generation,
		.uncollectable = 0,
		.heap_objects = 300000 + (int64_t)(random >> 30 & 4095),
		.heap_pending = (int64_t)(random >> 42 & 65535),
		.rss_start = UNKNOWN,
		.rss_end = UNKNOWN,
		.waited_ns = UNKNOWN,
		.stack = leaves[random % STACKS],
	};
	ret->end_ns = ret->start_ns + ((20000 + (random >> 40) % 30000) << 4 * generation);
	meaning_judge(state->recording, stacks.strings, ret);
	return 1;
}

static void make_steps(struct steps *steps, uint64_t count)
{
	struct step_track *track;
	uint64_t now = 1000000000;

	if (!count)
		return;
	track = vec_add(&steps->tracks);
	must(!track || vec_reserve((void **)&track->steps.items, &track->steps.capacity, count,
			       sizeof(struct step)),
		"out of memory");
	track->process = 1;
	track->measured = true;
	track->confidence = 1;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t end = 1000000000 + STEP_NS * (i + 1) + u64_mix(i) % (STEP_NS / 10);

		track->steps.items[track->steps.count++] =
			(struct step){now, end, UNKNOWN, UNKNOWN};
		now = end;
	}
}

static double seconds(void)
{
	return (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}

static double peak_mb(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss / 1024;
}

int main(int argc, char **argv)
{
	struct recording recording = {.start_ns = 1000000000};
	uint64_t steps = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	struct source source = {.count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000,
		.steps = steps,
		.recording = &recording};
	struct process *process = vec_add(&recording.processes);
	struct runtime *runtime = vec_add(&recording.runtimes);
	struct attribution attribution = {};
	struct advices advices = {};
	struct steps found = {};
	struct err err = {};
	double before, built, advised, mb;

	must(!process || !runtime, "out of memory");
	*process = (struct process){.id = 1, .pid = 4711, .comm = "python3"};
	*runtime = (struct runtime){.id = 1, .process = 1, .kind = "cpython", .version = "3.11.2"};
	make_stacks();
	make_steps(&found, steps);
	before = seconds();
	mb = peak_mb();
	must(attrib_build(&recording, &stacks, &found, NULL, next_pause, &source, &attribution,
		     &err),
		err.text);
	built = seconds();
	printf("attrib_build   %.2f s  %.0f MB\n", built - before, peak_mb() - mb);
	source.next = 0;
	must(advice_compute(&attribution, next_pause, &source, &advices, &err), err.text);
	advised = seconds();
	printf("advice_compute %.2f s  %.0f MB in all, with the input %.0f MB\n", advised - built,
		peak_mb() - mb, peak_mb());
	for (size_t i = 0; i < advices.items.count; i++)
		printf("  %s: %s\n", advice_name(advices.items.items[i].kind),
			advices.items.items[i].estimate);
	advices_release(&advices);
	attrib_release(&attribution);
	return 0;
}
