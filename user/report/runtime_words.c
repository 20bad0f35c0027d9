/* What a runtime's entry in meaning/ says, in the words of reports. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "runtime_words.h"

const struct runtime_meaning *words_sole(const struct recording *recording)
{
	const struct runtime_meaning *found = NULL;

	for (size_t i = 0; i < recording->runtimes.count; i++) {
		const struct runtime_meaning *meaning =
			meaning_of(recording->runtimes.items[i].kind);

		if (found && found != meaning)
			return NULL;
		found = meaning;
	}
	return found;
}

bool words_has(const struct recording *recording, const struct runtime_meaning *meaning)
{
	for (size_t i = 0; i < recording->runtimes.count; i++)
		if (meaning_of(recording->runtimes.items[i].kind) == meaning)
			return true;
	return false;
}

const struct runtime_meaning *words_any(const struct recording *recording,
	bool (*fits)(const struct runtime_meaning *meaning))
{
	for (const struct runtime_meaning *const *at = runtime_meanings; *at; at++)
		if (fits(*at) && words_has(recording, *at))
			return *at;
	return NULL;
}

bool words_generations(const struct runtime_meaning *meaning)
{
	return meaning->generations;
}

bool words_apart(const struct runtime_meaning *meaning)
{
	return meaning->apart;
}

bool words_waits(const struct runtime_meaning *meaning)
{
	return meaning->wait_count;
}

bool words_reach(const struct runtime_meaning *meaning)
{
	return meaning_fact(meaning, FACT_TTSP) >= 0;
}

bool words_reach_matters(const struct pause *pause, int64_t ttsp_ns)
{
	return ttsp_ns >= 1000000 ||
	       (ttsp_ns > 0 && (uint64_t)ttsp_ns >= pause_duration(pause) / 10);
}

const char *words_bytes(int64_t bytes, char *text, size_t size)
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

const char *words_wait(const struct recording *recording, const struct stall *stall, char *text,
	size_t size)
{
	const char *call = meaning_of_runtime(recording, stall->runtime)->call;

	if (stall->kind != STALL_EXPLICIT || !call)
		snprintf(text, size, "%s", meaning_wait(recording, stall));
	else if (stall->collections < 0)
		snprintf(text, size, "%s", call);
	else if (!stall->collections)
		snprintf(text, size, "%s, no collection", call);
	else
		snprintf(text, size, "%s, %" PRId64 " collection%s", call, stall->collections,
			stall->collections == 1 ? "" : "s");
	return text;
}

static bool has_call(const struct runtime_meaning *meaning)
{
	return meaning->call;
}

const char *words_call(const struct recording *recording)
{
	const struct runtime_meaning *meaning = words_any(recording, has_call);

	return meaning ? meaning->call : "the collector";
}

const char *words_left_out(const struct recording *recording, uint64_t count, char *text,
	size_t size)
{
	const struct runtime_meaning *meaning = words_any(recording, words_apart);
	const char *pauses = count == 1 ? "pause" : "pauses";

	if (meaning)
		pauses = count == 1 ? meaning->pause : meaning->pauses;
	snprintf(text, size,
		"Left out everywhere (--gc-only): %" PRIu64 " %s in which nothing was collected.",
		count, pauses);
	return text;
}

const char *words_thread(const struct recording *recording, uint32_t id, int64_t tid)
{
	const struct runtime *runtime = recording_runtime(recording, id);
	const struct thread *thread =
		runtime && tid > 0 && tid <= UINT32_MAX
			? recording_thread(recording, runtime->process, (uint32_t)tid)
			: NULL;

	return thread && *thread->name ? thread->name : NULL;
}

const char *words_time(const struct recording *recording, uint64_t ns, char *text, size_t size)
{
	int64_t wall_ns = recording_wall_ns(recording, ns);
	time_t seconds = (time_t)(wall_ns / 1000000000);
	struct tm parts;
	char clock[16];

	if (!localtime_r(&seconds, &parts) || !strftime(clock, sizeof(clock), "%H:%M:%S", &parts))
		snprintf(clock, sizeof(clock), "--:--:--");
	if (wall_ns < 0)
		snprintf(text, size, "-");
	else
		snprintf(text, size, "%s.%03d", clock, (int)(wall_ns / 1000000 % 1000));
	return text;
}

const char *words_zone(const struct recording *recording, char *text, size_t size)
{
	int64_t wall_ns = recording_wall_ns(recording, recording->start_ns);
	time_t seconds = (time_t)(wall_ns / 1000000000);
	struct tm parts;

	if (wall_ns < 0 || !localtime_r(&seconds, &parts) || !strftime(text, size, "%Z", &parts))
		*text = '\0';
	return text;
}
