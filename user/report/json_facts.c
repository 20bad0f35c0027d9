/* A pause's class and facts, as its runtime's entry in meaning/ lists them, in; keys and values out. */
#include "json_facts.h"
#include "json_line.h"
#include "json_stack.h"
#include "meaning.h"

static void put_fact(FILE *out, const struct stack_table *stacks, const struct pause_fact *fact,
	int64_t value, struct report_room *room)
{
	const char *key = fact->json ? fact->json : fact->key;

	switch (fact->unit) {
	case FACT_STRING:
		json_word(out, key, stacks, (uint32_t)value);
		return;
	case FACT_STACK:
		json_stack(out, key, stacks, (uint32_t)value, room);
		return;
	default:
		line_known(out, key, value);
	}
}

void json_facts(FILE *out, const struct stack_table *stacks, const struct pause *pause,
	struct report_room *room)
{
	const struct runtime_meaning *meaning = pause->class->of;

	line_text(out, "class", pause->class->name);
	line_bool(out, "gc", pause->collects);
	for (size_t i = 0; i < meaning->fact_count; i++)
		put_fact(out, stacks, &meaning->facts[i], pause->facts[i], room);
}

void json_known_times(FILE *out, const struct pause *pause)
{
	const struct runtime_meaning *meaning = pause->class->of;

	if (!(pause->flags & PAUSE_HAS_FACTS))
		return;
	for (size_t i = 0; i < meaning->fact_count; i++)
		if (meaning->facts[i].unit == FACT_NS && pause->facts[i] >= 0)
			line_known(out,
				meaning->facts[i].json ? meaning->facts[i].json
						       : meaning->facts[i].key,
				pause->facts[i]);
}
