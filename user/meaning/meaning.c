/* A runtime's kind in; its entry out, or the one that claims nothing. */
#include <string.h>

#include "meaning.h"

/*
 * For a runtime that was not built in, such as one in a recording of a later gctrace: only what all pauses have in
 * common is reported, and nothing is interpreted as another runtime's.
 */
enum { UNKNOWN_FULL, UNKNOWN_OTHER, UNKNOWN_CLASS, UNKNOWN_CLASSES };

static const struct runtime_meaning unknown;

static const struct pause_class unknown_classes[UNKNOWN_CLASSES] = {
	[UNKNOWN_FULL] = {&unknown, "full", "full", "full", "full collections", UNKNOWN_FULL, 2, 1,
		1},
	[UNKNOWN_OTHER] = {&unknown, "not GC", "-", "no collection", "pauses", UNKNOWN_OTHER, 3, 0,
		0},
	[UNKNOWN_CLASS] = {&unknown, "unknown", "?", "unknown", "pauses", UNKNOWN_CLASS, 3, UNKNOWN,
		0},
};

static void unknown_judge(const struct strtab *strings, struct pause *pause)
{
	pause->class = &unknown_classes[pause->flags & PAUSE_NO_COLLECTION ? UNKNOWN_OTHER
					: pause->flags & PAUSE_FULL	   ? UNKNOWN_FULL
									   : UNKNOWN_CLASS];
	pause->collects = pause->flags & PAUSE_NO_COLLECTION ? 0
			  : pause->flags & PAUSE_FULL	     ? 1
							     : UNKNOWN;
	pause->at_exit = pause->cause == CAUSE_SHUTDOWN;
}

static const struct runtime_meaning unknown = {
	.kind = "",
	.label = "an unknown runtime",
	.subject = "GC",
	.cause = "GC",
	.pause = "pause",
	.pauses = "pauses",
	.verb = "paused",
	.process = "a runtime that this gctrace knows",
	.classes = unknown_classes,
	.class_count = UNKNOWN_CLASSES,
	.judge = unknown_judge,
};

const struct runtime_meaning *meaning_of(const char *kind)
{
	for (const struct runtime_meaning *const *at = runtime_meanings; *at; at++)
		if (!strcmp((*at)->kind, kind))
			return *at;
	return &unknown;
}

const struct runtime_meaning *meaning_of_runtime(const struct recording *recording, uint32_t id)
{
	const struct runtime *runtime = recording_runtime(recording, id);

	return runtime ? meaning_of(runtime->kind) : &unknown;
}

const struct runtime_meaning *meaning_of_process(const struct recording *recording, uint32_t id)
{
	const struct runtime_meaning *found = NULL;

	for (size_t i = 0; i < recording->runtimes.count; i++) {
		const struct runtime *runtime = &recording->runtimes.items[i];

		if (runtime->process != id)
			continue;
		if (found && found != meaning_of(runtime->kind))
			return &unknown;
		found = meaning_of(runtime->kind);
	}
	return found ? found : &unknown;
}

const struct exit_words *meaning_exit(const struct runtime_meaning *meaning)
{
	static const struct exit_words any = {
		"pause", "pauses", "the runtime's exit", "a runtime's exit"};

	return meaning && meaning->exit ? meaning->exit : &any;
}

int meaning_fact(const struct runtime_meaning *meaning, const char *key)
{
	for (int i = 0; i < meaning->fact_count; i++)
		if (!strcmp(meaning->facts[i].key, key))
			return i;
	return -1;
}

int64_t meaning_value(const struct pause *pause, const char *key)
{
	const struct runtime_meaning *meaning = pause->class->of;
	int place = meaning_fact(meaning, key);

	return place < 0 ? UNKNOWN : pause->facts[place];
}

const char *meaning_wait(const struct recording *recording, const struct stall *stall)
{
	const struct runtime_meaning *meaning = meaning_of_runtime(recording, stall->runtime);
	const char *name = stall->kind < meaning->wait_count ? meaning->waits[stall->kind] : NULL;

	return name ? name : "unknown";
}

void meaning_forget(const struct runtime_meaning *meaning, struct pause *pause)
{
	pause->flags &= ~(uint32_t)PAUSE_HAS_FACTS;
	for (int i = 0; i < meaning->fact_count; i++)
		pause->facts[i] = fact_is_id(meaning->facts[i].unit) ? 0 : UNKNOWN;
}

void meaning_judge(const struct recording *recording, const struct strtab *strings,
	struct pause *pause)
{
	meaning_of_runtime(recording, pause->runtime)->judge(strings, pause);
}

const char *meaning_reason(const struct strtab *strings, const struct pause *pause, size_t *ret_len)
{
	uint32_t string = pause->class->of->reason ? pause->class->of->reason(pause) : 0;
	const char *words = pause_cause_name(pause->cause);

	*ret_len = string ? strtab_len(strings, string) : strlen(words);
	return string ? strtab_get(strings, string) : words;
}
