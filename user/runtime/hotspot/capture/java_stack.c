/* Physical Java frames → stack nodes, each decoded once. In: a JVM's memory. Out: named frames. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "java_code.h"
#include "java_stack.h"
#include "u64map.h"
#include "vec.h"

#define CACHE_FRAMES (1u << 20) /* of the stack table that are remembered at most */

/*
 * A name stays true as long as the class does. For a compiled frame that goes without saying: no
 * two nmethods of a JVM have the same compile id. An interpreted one is known by addresses alone,
 * which the next class may get: those are forgotten whenever classes have been unloaded.
 */
struct java_stacks {
	const struct jvm *jvm;
	const struct stack_table *table;
	uint32_t generation;		     /* of the table */
	struct java_code *code;		     /* NULL: not there yet, or never */
	bool hopeless;			     /* this JVM's layouts cannot be known */
	uint64_t unloaded;		     /* of .interpreted */
	struct u64map compiled, interpreted; /* hash of a physical frame → index into runs */
	/* How many frames, then the stack table's ids of them, innermost first; run after run. */
	VEC(uint32_t) runs;
	uint32_t found[1 + JAVA_INLINE_MAX]; /* a run that is not remembered */
	struct java_frame decoded[JAVA_INLINE_MAX];
};

/* What one call of java_stack() knows. */
struct naming {
	uint64_t unloaded;
	uint64_t (*unloaded_now)(void *arg);
	void *arg;
	struct stack_table *table;
};

struct java_stacks *java_stacks_new(void)
{
	return calloc(1, sizeof(struct java_stacks));
}

static void forget_interpreted(struct java_stacks *cache)
{
	u64map_release(&cache->interpreted);
	cache->interpreted = (struct u64map){0};
}

static void forget(struct java_stacks *cache)
{
	forget_interpreted(cache);
	u64map_release(&cache->compiled);
	cache->compiled = (struct u64map){0};
	cache->runs.count = 0;
}

void java_stacks_free(struct java_stacks *cache)
{
	if (!cache)
		return;
	forget(cache);
	vec_free(&cache->runs);
	java_code_free(cache->code);
	free(cache);
}

/* Makes the cache one of @jvm and @table, with what was true when @unloaded classes had gone. */
static void prepare(struct java_stacks *cache, const struct jvm *jvm,
	const struct stack_table *table, uint64_t unloaded)
{
	int r;

	if (cache->jvm != jvm || cache->table != table || cache->generation != table->generation ||
		cache->runs.count > CACHE_FRAMES)
		forget(cache);
	if (cache->unloaded != unloaded)
		forget_interpreted(cache);
	if (cache->jvm != jvm) {
		java_code_free(steal_ptr(cache->code));
		cache->hopeless = false;
	}
	cache->jvm = jvm;
	cache->table = table;
	cache->generation = table->generation;
	cache->unloaded = unloaded;
	if (cache->code || cache->hopeless)
		return;
	r = java_code_new(jvm, &cache->code, NULL);
	cache->hopeless = r && r != -EAGAIN && r != -ENOMEM;
}

static uint32_t mark(struct stack_table *table, const char *text)
{
	struct frame frame = {.lang = LANG_MARK};

	frame.function = strtab_add(table->strings, text, strlen(text));
	return frame.function == STRTAB_NONE ? 0 : stack_table_frame(table, &frame);
}

static uint32_t intern(struct stack_table *table, const struct java_frame *java)
{
	struct frame frame = {.lang = LANG_JAVA, .line = java->line};

	frame.function = strtab_add(table->strings, java->function, strlen(java->function));
	frame.file = strtab_add(table->strings, java->file, strlen(java->file));
	if (frame.function == STRTAB_NONE || frame.file == STRTAB_NONE)
		return 0;
	return stack_table_frame(table, &frame);
}

/* Returns how many frames were decoded, or -errno. */
static int decode(struct java_stacks *cache, const struct event_java_frame *raw)
{
	int r;

	if (!cache->code)
		return -EAGAIN;
	if (raw->kind == EVENT_COMPILED)
		return java_compiled(cache->code, raw->code, raw->compile_id, raw->check, raw->at,
			cache->decoded, JAVA_INLINE_MAX);
	if (raw->kind != EVENT_INTERPRETED)
		return -EBADMSG;
	r = java_interpreted(cache->code, raw->code, raw->check, raw->at, cache->decoded);
	return r ? r : 1;
}

/*
 * Whether a class may have gone between the frame's capture and now, that is, while it was decoded:
 * then what was read may have been another's. HotSpot counts a class before it frees its memory.
 */
static bool moved(const struct naming *naming)
{
	uint64_t now = naming->unloaded_now ? naming->unloaded_now(naming->arg) : UINT64_MAX;

	return naming->unloaded != UINT64_MAX && now != naming->unloaded;
}

static void remember(struct java_stacks *cache, const struct event_java_frame *raw, uint64_t key)
{
	bool compiled = raw->kind == EVENT_COMPILED;
	size_t start = cache->runs.count;

	if (!compiled && cache->unloaded == UINT64_MAX)
		return;
	for (size_t i = 0; i <= cache->found[0]; i++) {
		uint32_t *slot = vec_add(&cache->runs);

		if (!slot) {
			cache->runs.count = start;
			return;
		}
		*slot = cache->found[i];
	}
	u64map_put(compiled ? &cache->compiled : &cache->interpreted, key, start);
}

static uint64_t key_of(const struct event_java_frame *raw)
{
	uint64_t key = u64_mix((uint64_t)raw->compile_id << 32 | (uint32_t)raw->at);

	key = u64_mix(raw->check + key);
	return u64_mix(raw->code + key);
}

/* The run of frames that @raw stands for: their number, then their ids, innermost first. */
static const uint32_t *find_run(struct java_stacks *cache, const struct event_java_frame *raw,
	struct naming *naming)
{
	const struct u64map *map =
		raw->kind == EVENT_COMPILED ? &cache->compiled : &cache->interpreted;
	uint64_t key = key_of(raw);
	const uint64_t *known = raw->kind == EVENT_COMPILED || raw->kind == EVENT_INTERPRETED
					? u64map_get(map, key)
					: NULL;
	int count;

	if (known)
		return &cache->runs.items[*known];
	count = decode(cache, raw);
	cache->found[0] = 1;
	if (count <= 0 || moved(naming)) {
		cache->found[1] = mark(naming->table,
			count > 0 || count == -ESTALE ? "[unloaded]" : "[unreadable]");
		return cache->found;
	}
	cache->found[0] = (uint32_t)count;
	for (int i = 0; i < count; i++)
		cache->found[1 + i] = intern(naming->table, &cache->decoded[i]);
	remember(cache, raw, key);
	return cache->found;
}

static const char *end_mark(uint32_t flags)
{
	if (flags & EVENT_STACK_BROKEN)
		return "[unreadable]";
	if (flags & EVENT_STACK_TRUNCATED)
		return "[truncated]";
	return flags & EVENT_STACK_VIRTUAL ? "[virtual thread]" : NULL;
}

uint32_t java_stack(struct java_stacks *cache, const struct jvm *jvm,
	const struct event_java_stack *stack, uint64_t unloaded,
	uint64_t (*unloaded_now)(void *arg), void *arg, struct stack_table *table)
{
	struct naming naming = {unloaded, unloaded_now, arg, table};
	const char *end = end_mark(stack->flags);
	uint32_t node = STACK_NONE;

	if (!stack->count)
		return STACK_NONE;
	prepare(cache, jvm, table, unloaded);
	if (end)
		node = stack_table_node(table, node, mark(table, end));
	for (size_t i = stack->count; i--;) {
		const uint32_t *run = find_run(cache, &stack->frames[i], &naming);

		for (size_t frame = run[0]; frame; frame--)
			node = stack_table_node(table, node, run[frame]);
	}
	return node;
}
