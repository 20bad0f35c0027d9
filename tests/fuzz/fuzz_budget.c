/*
 * Budgets of any text, judged on an attribution made of the same bytes: no crash, no outcome
 * without a reason.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hotspot_facts.h"
#include "advice.h"
#include "budget.h"
#include "compare.h"
#include "meaning.h"

/* Pauses from bytes: 8 each. */
struct source {
	const uint8_t *data;
	size_t size, at;
	const struct recording *recording;
	const struct stack_table *stacks;
};

static void make_safepoint(const uint8_t *bytes, struct pause *ret)
{
	ret->flags = (uint32_t)bytes[3] << 1 | PAUSE_HAS_FACTS;
	ret->tid = bytes[4] & 3;
	memcpy(ret->facts,
		((int64_t[PAUSE_FACTS]){
			[HOTSPOT_OPERATION] = bytes[4] & 15,
			[HOTSPOT_CAUSE] = bytes[4] >> 4,
			[HOTSPOT_TTSP_NS] = ((int64_t)bytes[5] << (bytes[6] & 55)) - 1,
			[HOTSPOT_HEAP_BEFORE] = ((int64_t)bytes[6] << (bytes[5] & 55)) - 1,
			[HOTSPOT_HEAP_AFTER] = ((int64_t)bytes[7] << (bytes[5] & 55)) - 1,
			[HOTSPOT_LATE_STACK] = bytes[7] & 15,
		}),
		sizeof(ret->facts));
}

static int next_pause(void *source, struct pause *ret, struct err *err)
{
	struct source *state = source;
	const uint8_t *bytes = state->data + state->at;
	uint64_t start = 0;

	if (state->size - state->at < 8)
		return state->size & 1 ? -74 : 0;
	memcpy(&start, bytes, 3);
	state->at += 8;
	*ret = (struct pause){
		.id = state->at / 8,
		.start_ns = bytes[7] == 255 ? start << 40 : start,
		.runtime = bytes[3] & 3,
		.interpreter = (bytes[3] >> 2 & 3) - 1,
		.generation = (bytes[3] >> 4 & 7) - 1,
		.cause = bytes[4] & 7,
		.collected = bytes[5] & 1 ? UNKNOWN : (int64_t)bytes[5] << (bytes[4] >> 3),
		.heap_objects = bytes[5] & 2 ? UNKNOWN : (int64_t)bytes[5] << (bytes[6] & 31),
		.heap_pending = bytes[5] & 4 ? UNKNOWN : (int64_t)bytes[6] << (bytes[5] & 31),
		.rss_start = bytes[6] - 1,
		.rss_end = bytes[7] - 1,
		.waited_ns = bytes[6] - 1,
		.stack = bytes[7] & 7,
	};
	ret->end_ns = ret->start_ns + ((uint64_t)bytes[6] << (bytes[7] & 63));
	if (state->size & 16)
		make_safepoint(bytes, ret);
	meaning_judge(state->recording, state->stacks->strings, ret);
	return 1;
}

/* Functions, innermost first, of stacks 1 …; and causes, whose string ids follow. */
static const char *const names[] = {"java.lang.System.gc", "org.nd4j.X.invokeGc",
	"org.bytedeco.javacpp.Pointer.deallocator", "org.example.Trainer.fit", "hex.Y.z",
	"Main.main", "System.gc()", "Allocation Failure", "Metadata GC Threshold", "Exit"};

#define FRAMES 6

static void make_stacks(struct stack_table *stacks)
{
	for (uint32_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct frame frame = {.lang = i == 4 ? LANG_NATIVE : LANG_JAVA};

		frame.function = strtab_add(stacks->strings, names[i], strlen(names[i]));
		assert(frame.function == i + 1);
		if (i < FRAMES)
			stack_table_node(stacks, i ? i - 1 : 0, stack_table_frame(stacks, &frame));
	}
}

/* Of some JVM or other; calls of System.gc() and waits from bytes, 8 each. */
static void make_jvm(struct recording *recording, const uint8_t *data, size_t size)
{
	static const char *const collectors[] = {"G1", "Parallel", "ZGC", ""};

	strcpy(recording->runtimes.items[0].kind, "hotspot");
	strcpy(recording->runtimes.items[0].collector, collectors[size >> 5 & 3]);
	for (size_t i = 0; i + 8 <= size && i < 8192; i += 8) {
		struct stall *stall = vec_add(&recording->stalls);
		const uint8_t *bytes = data + i;

		assert(stall);
		memcpy(&stall->start_ns, bytes, 3);
		if (bytes[7] == 254)
			stall->start_ns <<= 40;
		stall->id = i / 8 + 1;
		stall->end_ns = stall->start_ns + ((uint64_t)bytes[6] << (bytes[7] & 63));
		stall->runtime = bytes[3] & 1 ? 1 : bytes[3] & 3;
		stall->tid = bytes[4] & 3;
		stall->kind = bytes[5] & 7;
		stall->collections = (bytes[5] >> 3) - 1;
		stall->stack = bytes[4] >> 4;
	}
}

static void make_steps(struct steps *steps, const uint8_t *data, size_t size)
{
	struct step_track *track = vec_add(&steps->tracks);
	uint64_t now = 0;

	assert(track);
	track->process = 1;
	track->tid = 1;
	strcpy(track->signal, size & 128 ? "dl4j:update:adam" : "x");
	track->measured = size & 2;
	track->confidence = size & 4 ? 1 : 0.5;
	for (size_t i = 0; i < size && i < 4096; i++) {
		struct step *step = vec_add(&track->steps);

		assert(step);
		step->start_ns = now + (data[i] & 3);
		now = step->start_ns + ((uint64_t)(data[i] >> 2) << (data[i] & 15));
		step->end_ns = now;
		step->rss_bytes = data[i] - 1;
	}
}

/* @runs of them before a change, and as many after it. */
static void compare_with_itself(const struct attribution *attribution, size_t runs)
{
	static const struct compare_rule rule = {.tolerance = 0.05, .run_to_run = 0.03};
	struct comparisons comparisons = {};
	struct compare_run *run, *all[4];

	assert(!compare_read(attribution, &run, NULL));
	for (size_t i = 0; i < 2 * runs; i++)
		all[i] = run;
	assert(!compare(all, runs, runs, &rule, &comparisons, NULL));
	assert(*comparisons.verdict);
	comparisons_release(&comparisons);
	compare_run_free(run);
}

static void judge(const char *text, const struct attribution *attribution)
{
	struct budget_result result = {};
	struct budget budget = {};
	struct err err = {};

	if (budget_parse(text, &budget, &err)) {
		assert(*err.text && !strchr(err.text, '\n') == !strchr(text, '\n'));
		return;
	}
	assert(budget.limit >= 0 && budget.limit < 1e30);
	assert(!budget_judge(&budget, attribution, &result));
	assert(result.known == (result.outcome != BUDGET_REFUSED));
	assert(result.outcome == BUDGET_KEPT || *result.why);
}

static void analyse(const char *text, const uint8_t *data, size_t size)
{
	struct recording recording = {};
	struct stack_table stacks = {};
	struct steps steps = {};
	struct source source = {data, size, 0, &recording, &stacks};
	struct attribution attribution = {};
	struct advices advices = {};

	assert(!stack_table_init(&stacks));
	for (uint32_t i = 1; i <= 2; i++) {
		struct process *process = vec_add(&recording.processes);
		struct runtime *runtime = vec_add(&recording.runtimes);

		assert(process && runtime);
		*process = (struct process){.id = i, .pid = (pid_t)i, .ppid = (pid_t)i - 1};
		*runtime = (struct runtime){
			.id = i, .process = i, .kind = "cpython", .version = "3.12.1"};
	}
	if (size & 16) {
		make_jvm(&recording, data, size);
		make_stacks(&stacks);
	}
	if (size & 8)
		make_steps(&steps, data, size);
	attrib_build(&recording, &stacks, &steps, NULL, next_pause, &source, &attribution, NULL);
	source.at = 0;
	advice_compute(&attribution, next_pause, &source, &advices, NULL);
	for (size_t i = 0; i < advices.items.count; i++)
		assert(*advices.items.items[i].title && *advices.items.items[i].estimate);
	compare_with_itself(&attribution, size & 4 ? 2 : 1);
	judge(text, &attribution);
	advices_release(&advices);
	attrib_release(&attribution);
	for (size_t i = 0; i < steps.tracks.count; i++)
		vec_free(&steps.tracks.items[i].steps);
	vec_free(&steps.tracks);
	stack_table_release(&stacks);
	recording_release(&recording);
}

/* A line of text, then bytes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[200];
	size_t length = 0;

	while (length < size && length + 1 < sizeof(text) && data[length] != '\n') {
		text[length] = (char)data[length];
		length++;
	}
	text[length] = '\0';
	if (length < size && data[length] == '\n')
		length++;
	analyse(text, data + length, size - length);
	return 0;
}
