/* Pauses → distinct leaves by origin: one hash lookup per pause, none for a pause like the one before. */
#include <errno.h>
#include <stdlib.h>

#include "cleanup.h"
#include "devices.h"
#include "flame_leaves.h"
#include "u64map.h"

#define MOST_ORIGINS (1u << 20) /* what the key of a leaf has room for */

struct collector {
	struct flame_leaves leaves;
	struct u64map origins; /* runtime, interpreter → index */
	struct u64map known;   /* origin, stack, class, cause → index in that origin's leaves */
	struct u64map words;   /* string id → flame_leaf.cause */
	const struct runtime_meaning
		*meaning; /* of the last pause, and the place of its operation, or -1 */
	int operation;
	uint64_t last_key; /* of the leaf at last_leaf, when there is any */
	size_t last_leaf;
	bool causes;
};

static void collector_release(struct collector *collector)
{
	flame_leaves_release(&collector->leaves);
	u64map_release(&collector->origins);
	u64map_release(&collector->known);
	u64map_release(&collector->words);
}

void flame_leaves_release(struct flame_leaves *leaves)
{
	if (!leaves)
		return;
	for (size_t i = 0; i < leaves->origins.count; i++)
		vec_free(&leaves->origins.items[i].leaves);
	vec_free(&leaves->origins);
	vec_free(&leaves->words);
}

static int find_origin(struct collector *collector, const struct pause *pause, size_t *ret,
	struct err *err)
{
	struct flame_leaves *leaves = &collector->leaves;
	int32_t interpreter = pause->interpreter < 0 ? 0 : pause->interpreter;
	uint64_t key = (uint64_t)pause->runtime << 32 | (uint32_t)interpreter;
	const uint64_t *known = u64map_get(&collector->origins, key);
	struct flame_origin *origin;

	if (known) {
		*ret = *known;
		return 0;
	}
	if (leaves->origins.count == MOST_ORIGINS)
		return err_set(err, EOVERFLOW,
			"more than %u interpreters have pauses: draw fewer processes at a time",
			MOST_ORIGINS);
	if (u64map_put(&collector->origins, key, leaves->origins.count))
		return -ENOMEM;
	origin = vec_add(&leaves->origins);
	if (!origin)
		return -ENOMEM;
	origin->runtime = pause->runtime;
	origin->interpreter = interpreter;
	*ret = leaves->origins.count - 1;
	return 0;
}

/* Finds or makes the leaf that @shape describes. 0 or -ENOMEM. */
static int find_leaf(struct collector *collector, size_t at, const struct flame_leaf *shape)
{
	struct flame_origin *origin = &collector->leaves.origins.items[at];
	uint64_t key = (uint64_t)at << 44 | (uint64_t)shape->stack << 12 |
		       (uint64_t)shape->cause << 3 | shape->class % CLASSES_MOST;
	const uint64_t *known;
	struct flame_leaf *leaf;

	if (origin->leaves.count && key == collector->last_key)
		return 0;
	known = u64map_get(&collector->known, key);
	collector->last_leaf = known ? *known : origin->leaves.count;
	if (!known) {
		if (u64map_put(&collector->known, key, origin->leaves.count))
			return -ENOMEM;
		leaf = vec_add(&origin->leaves);
		if (!leaf)
			return -ENOMEM;
		*leaf = *shape;
	}
	collector->last_key = key;
	return 0;
}

static void count(uint64_t *total_ns, uint64_t *pauses, uint64_t ns)
{
	*total_ns += ns;
	++*pauses;
}

_Static_assert(CLASSES_MOST == 1 << 3 && FLAME_CAUSES + FLAME_WORDS < 1 << 8,
	"the key of a leaf: 20 bits of origin, which has one runtime, 32 of stack, 8 of cause, 3 of class");

/* The cause of a leaf for which its runtime has the words of string @name. 0 or -ENOMEM. */
static int find_words(struct collector *collector, uint32_t name, uint8_t *ret)
{
	const uint64_t *known = u64map_get(&collector->words, name);
	uint32_t *slot;

	if (known)
		*ret = (uint8_t)*known;
	if (known || collector->leaves.words.count == FLAME_WORDS)
		return 0;
	slot = vec_add(&collector->leaves.words);
	if (!slot || u64map_put(&collector->words, name,
			     FLAME_CAUSES + collector->leaves.words.count - 1))
		return -ENOMEM;
	*slot = name;
	*ret = (uint8_t)(FLAME_CAUSES + collector->leaves.words.count - 1);
	return 0;
}

/* The string of @pause's operation, or of the reason where its runtime has no operations. 0: there is none. */
static uint32_t words_of(struct collector *collector, const struct pause *pause)
{
	const struct runtime_meaning *meaning = pause->class->of;

	if (!(pause->flags & PAUSE_HAS_FACTS))
		return 0;
	if (collector->meaning != meaning) {
		collector->meaning = meaning;
		collector->operation = meaning_fact(meaning, FACT_OPERATION);
	}
	if (collector->operation >= 0)
		return (uint32_t)pause->facts[collector->operation];
	return meaning->reason ? meaning->reason(pause) : 0;
}

/* Runtimes that were not built in are one. */
static uint8_t number_of(const struct pause_class *class)
{
	size_t runtime = 0;

	while (runtime < FLAME_CLASSES / CLASSES_MOST - 1 && runtime_meanings[runtime] &&
		runtime_meanings[runtime] != class->of)
		runtime++;
	return (uint8_t)(runtime * CLASSES_MOST + class->order);
}

/* Stack, class and cause of the leaf that @pause belongs to. 0 or -ENOMEM. */
static int shape_of(struct collector *collector, const struct report_input *input,
	const struct pause *pause, struct flame_leaf *ret)
{
	uint32_t words = words_of(collector, pause);
	bool cause = collector->causes && pause->cause < FLAME_CAUSES && !pause->class->of->reason;

	*ret = (struct flame_leaf){
		.stack = pause->stack < input->stacks->node_count ? pause->stack : STACK_NONE,
		.class = number_of(pause->class),
		.cause = cause ? (uint8_t)pause->cause : 0,
	};
	return words ? find_words(collector, words, &ret->cause) : 0;
}

static int add_pause(struct collector *collector, const struct report_input *input,
	const struct pause *pause, uint64_t ns, struct err *err)
{
	struct flame_leaves *leaves = &collector->leaves;
	struct flame_origin *origin;
	struct flame_leaf shape;
	struct flame_leaf *leaf;
	struct flame_class *sum;
	size_t at = 0;
	int r;

	if (ns > INT64_MAX - leaves->ns)
		return err_set(err, EBADMSG,
			"the pauses of this recording add up to more than 292 years: it is damaged");
	r = find_origin(collector, pause, &at, err);
	if (!r)
		r = shape_of(collector, input, pause, &shape);
	if (!r)
		r = find_leaf(collector, at, &shape);
	if (r)
		return r;
	origin = &leaves->origins.items[at];
	leaf = &origin->leaves.items[collector->last_leaf];
	count(&leaf->ns, &leaf->pauses, ns);
	count(&origin->ns, &origin->pauses, ns);
	sum = &leaves->classes[shape.class];
	sum->class = pause->class;
	count(&sum->ns, &sum->pauses, ns);
	count(&leaves->ns, &leaves->pauses, ns);
	return 0;
}

/*
 * What pause @index, @pause, adds to its stack. False: nothing; if that is because it is not known what it did to the GPUs
 * of its process, it is counted.
 */
static bool weigh(struct collector *collector, const struct report_input *input,
	const struct pause *pause, uint64_t index, uint64_t *ret)
{
	const struct runtime *runtime;
	int64_t idle_ns;

	*ret = pause->end_ns > pause->start_ns ? pause_duration(pause) : 0;
	if (input->weight == WEIGHT_TIME)
		return true;
	idle_ns = devices_pause_idle(input->attribution, index);
	runtime = recording_runtime(input->recording, pause->runtime);
	if (idle_ns < 0 && runtime && devices_used(input->attribution, runtime->process))
		collector->leaves.unknown++;
	*ret = idle_ns > 0 ? (uint64_t)idle_ns : 0;
	return *ret > 0;
}

/* Finds the processes that have several runtimes, in one pass. 0 or -ENOMEM. */
static int find_shared(struct flame_leaves *leaves, const struct recording *recording)
{
	_cleanup_(u64map_release) struct u64map runtimes = {0};

	for (size_t i = 0; i < recording->runtimes.count; i++) {
		uint64_t *known = u64map_get(&runtimes, recording->runtimes.items[i].process);

		if (known)
			++*known;
		else if (u64map_put(&runtimes, recording->runtimes.items[i].process, 1))
			return -ENOMEM;
	}
	for (size_t i = 0; i < leaves->origins.count; i++) {
		struct flame_origin *origin = &leaves->origins.items[i];
		const struct runtime *runtime = recording_runtime(recording, origin->runtime);
		const uint64_t *known = runtime ? u64map_get(&runtimes, runtime->process) : NULL;

		origin->shared = known && *known > 1;
	}
	return 0;
}

int flame_leaves_collect(const struct report_input *input, bool causes, struct flame_leaves *ret,
	struct err *err)
{
	_cleanup_(collector_release) struct collector collector = {.causes = causes};
	uint64_t index = 0, ns;
	struct pause pause;
	int r = input->rewind ? input->rewind(input->source) : 0;

	if (r < 0)
		return err_set(err, -r, "cannot read the recording's pauses from the start");
	while ((r = input->next(input->source, &pause, err)) > 0) {
		uint64_t at = index++;

		if ((input->filter && !pause_passes(&pause, input->filter)) ||
			!weigh(&collector, input, &pause, at, &ns))
			continue;
		r = add_pause(&collector, input, &pause, ns, err);
		if (r == -ENOMEM)
			return err_set(err, ENOMEM, "memory ran out while adding up the pauses");
		if (r)
			return r;
	}
	if (r < 0)
		return r;
	if (find_shared(&collector.leaves, input->recording))
		return err_set(err, ENOMEM, "memory ran out while adding up the pauses");
	*ret = collector.leaves;
	collector.leaves = (struct flame_leaves){};
	return 0;
}
