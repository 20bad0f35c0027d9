/* What a safepoint's flags and counts mean, in words. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "safepoint_words.h"

int64_t safepoint_freed(const struct safepoint *safepoint)
{
	if (safepoint->heap_before < 0 || safepoint->heap_after < 0 ||
		safepoint->heap_after > safepoint->heap_before)
		return UNKNOWN;
	return safepoint->heap_before - safepoint->heap_after;
}

bool safepoint_reach_matters(const struct pause *pause)
{
	int64_t ttsp_ns = pause_safepoint(pause)->ttsp_ns;

	return ttsp_ns >= 1000000 ||
	       (ttsp_ns > 0 && (uint64_t)ttsp_ns >= pause_duration(pause) / 10);
}

const char *safepoint_bytes(int64_t bytes, char *text, size_t size)
{
	static const char units[] = "KMGT";
	double value = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes < 0) {
		snprintf(text, size, "-");
		return text;
	}
	for (; value >= 1023.5 && unit < sizeof(units) - 2; unit++)
		value /= 1024;
	snprintf(text, size, "%.*f%c", value < 9.95 && unit > 1 ? 1 : 0, value, units[unit]);
	return text;
}

const char *stall_words(const struct stall *stall, char *text, size_t size)
{
	if (stall->kind != STALL_EXPLICIT)
		snprintf(text, size, "%s", stall_kind_name(stall->kind));
	else if (stall->collections < 0)
		snprintf(text, size, "System.gc()");
	else if (!stall->collections)
		snprintf(text, size, "System.gc(), no collection");
	else
		snprintf(text, size, "System.gc(), %" PRId64 " collection%s", stall->collections,
			stall->collections == 1 ? "" : "s");
	return text;
}

bool runtime_is_jvm(const struct runtime *runtime)
{
	return runtime && meaning_of(runtime->kind)->safepoints;
}

const char *safepoint_kind_name(enum safepoint_kind kind)
{
	for (const struct runtime_meaning *const *at = runtime_meanings; *at; at++)
		if ((*at)->safepoints && kind < (*at)->class_count)
			return (*at)->classes[kind].name;
	return "unknown";
}

const struct runtime_meaning *meaning_with_safepoints(const struct recording *recording)
{
	for (size_t i = 0; i < recording->runtimes.count; i++)
		if (runtime_is_jvm(&recording->runtimes.items[i]))
			return meaning_of(recording->runtimes.items[i].kind);
	return meaning_of("");
}

enum runtime_kinds recording_kinds(const struct recording *recording)
{
	enum runtime_kinds kinds = RUNTIMES_NONE;

	for (size_t i = 0; i < recording->runtimes.count && kinds != RUNTIMES_BOTH; i++)
		kinds |= runtime_is_jvm(&recording->runtimes.items[i]) ? RUNTIMES_JVM
								       : RUNTIMES_OTHER;
	return kinds;
}

bool process_is_jvm(const struct recording *recording, uint32_t process)
{
	bool any = false;

	for (size_t i = 0; i < recording->runtimes.count; i++) {
		const struct runtime *runtime = &recording->runtimes.items[i];

		if (runtime->process == process && !runtime_is_jvm(runtime))
			return false;
		any |= runtime->process == process;
	}
	return any;
}

const char *runtime_thread(const struct recording *recording, uint32_t id, int64_t tid)
{
	const struct runtime *runtime = recording_runtime(recording, id);
	const struct thread *thread =
		runtime && tid > 0 && tid <= UINT32_MAX
			? recording_thread(recording, runtime->process, (uint32_t)tid)
			: NULL;

	return thread && *thread->name ? thread->name : NULL;
}
