/* Recording and summary in; the headline figures and the sentence that answers "is it GC?" out. */
#include <stdio.h>
#include <string.h>

#include "parse.h"
#include "request_cost.h"
#include "runtime_words.h"
#include "stall_sums.h"
#include "utf8.h"
#include "verdict.h"

/* Below this and ATTRIB_HARMLESS, no step of a training job is hurt by its pauses. */
#define HARMLESS_PAUSE_NS 10000000

uint64_t verdict_end_ns(const struct recording *recording, const struct summary *summary)
{
	uint64_t end_ns = recording->end_ns;

	if (end_ns)
		return end_ns;
	end_ns = recording->start_ns;
	if (summary->last_end_ns > end_ns)
		end_ns = summary->last_end_ns;
	for (size_t i = 0; i < recording->processes.count; i++)
		if (recording->processes.items[i].exit_ns > end_ns)
			end_ns = recording->processes.items[i].exit_ns;
	return end_ns;
}

uint64_t verdict_span_ns(const struct recording *recording, const struct summary *summary)
{
	return verdict_end_ns(recording, summary) - recording->start_ns;
}

/* How long @process was traced in a recording that ends at @end_ns. */
static uint64_t process_span_ns(const struct recording *recording, const struct process *process,
	uint64_t end_ns)
{
	uint64_t start_ns = recording_traced_from(recording, process);

	if (process->exit_ns && process->exit_ns < end_ns)
		end_ns = process->exit_ns;
	return end_ns > start_ns ? end_ns - start_ns : 0;
}

uint64_t verdict_process_span_ns(const struct recording *recording, const struct summary *summary,
	const struct process *process)
{
	return process_span_ns(recording, process, verdict_end_ns(recording, summary));
}

struct traced {
	const struct process *one; /* any of them */
	size_t count, paused;
	uint64_t total_ns;
};

/* The processes that have a runtime, each counted once however many it has. */
static struct traced find_traced(const struct recording *recording, const struct summary *summary)
{
	struct traced traced = {0};
	struct u64map seen = {0}, paused = {0};
	uint64_t end_ns = verdict_end_ns(recording, summary);

	for (size_t i = 0; i < recording->runtimes.count; i++) {
		uint32_t id = recording->runtimes.items[i].process;
		const struct process *process = recording_process(recording, id);

		if (process && summary_of_runtime(summary, recording->runtimes.items[i].id).count &&
			!u64map_get(&paused, id) && !u64map_put(&paused, id, 1))
			traced.paused++;
		if (!process || u64map_get(&seen, id) || u64map_put(&seen, id, 1))
			continue;
		traced.one = process;
		traced.count++;
		if (__builtin_add_overflow(traced.total_ns,
			    process_span_ns(recording, process, end_ns), &traced.total_ns))
			traced.total_ns = UINT64_MAX;
	}
	u64map_release(&seen);
	u64map_release(&paused);
	return traced;
}

uint64_t verdict_traced_ns(const struct recording *recording, const struct summary *summary)
{
	return find_traced(recording, summary).total_ns;
}

bool verdict_complete(const struct recording *recording)
{
	return recording->complete && !recording->cut_off && !*recording->damage &&
	       !recording->drops.count && !recording_missed_total(recording);
}

void verdict_missing(const struct recording *recording, char *text, size_t size)
{
	uint64_t drops = recording_drop_total(recording),
		 missed = recording_missed_total(recording);
	char shown[sizeof(recording->damage) * 3];

	utf8_show(shown, sizeof(shown), recording->damage,
		strnlen(recording->damage, sizeof(recording->damage)), sizeof(recording->damage));
	if (recording->cut_off)
		snprintf(text, size, "the recording was cut off");
	else if (*recording->damage)
		snprintf(text, size, "the file is damaged (%s)", shown);
	else if (drops)
		snprintf(text, size, "%llu event%s lost", (unsigned long long)drops,
			drops == 1 ? " was" : "s were");
	else if (missed)
		snprintf(text, size, "%llu collection%s seen by no probe",
			(unsigned long long)missed, missed == 1 ? " was" : "s were");
	else
		snprintf(text, size, "the recording was not closed as complete");
}

const char *verdict_process_name(const struct process *process, char *text, size_t size)
{
	char comm[sizeof(process->comm) * 3];

	if (!process) {
		snprintf(text, size, "an unknown process");
		return text;
	}
	utf8_show(comm, sizeof(comm), process->comm, strnlen(process->comm, sizeof(process->comm)),
		sizeof(process->comm));
	snprintf(text, size, "%s (%d)", comm, (int)process->pid);
	return text;
}

const char *verdict_share(uint64_t part, uint64_t whole, char *text, size_t size)
{
	double percent = whole ? 100.0 * (double)part / (double)whole : 0;

	if (!whole)
		snprintf(text, size, "-");
	else if (part && percent < 0.005)
		snprintf(text, size, "<0.01 %%");
	else if (!part)
		snprintf(text, size, "0 %%");
	else
		snprintf(text, size, "%.*f %%", percent < 1 ? 2 : 1, percent);
	return text;
}

static const char *blind(const struct recording *recording, char *text, size_t size)
{
	const struct process *first =
		recording->processes.count ? recording->processes.items : NULL;
	char pid[16] = "PID";

	if (first && !first->exit_ns)
		snprintf(pid, sizeof(pid), "%d", (int)first->pid);
	snprintf(text, size,
		"BLIND: no runtime was probed in %s%s, so nothing is known of its pauses: "
		"\"gctrace doctor -p %s\" says why%s.",
		first ? VERDICT_NAME(first) : "any process",
		recording->processes.count > 1 ? " or any other process" : "", pid,
		first && first->exit_ns ? " while such a program runs" : "");
	return text;
}

/* "GC", "GC and stops": what stops the processes of @recording. Returns @text. */
static const char *subject_of(const struct recording *recording, char *text, size_t size)
{
	const struct runtime_meaning *sole = words_sole(recording);
	size_t used;

	snprintf(text, size, "%s", sole ? sole->subject : "");
	for (const struct runtime_meaning *const *at = runtime_meanings; *at && !sole; at++) {
		used = strlen(text);
		if (words_has(recording, *at) && !strstr(text, (*at)->cause))
			snprintf(text + used, size - used, "%s%s", used ? " and " : "",
				used ? (*at)->cause : (*at)->subject);
	}
	if (!*text)
		snprintf(text, size, "GC");
	return text;
}

/* "paused": what they do to a process; of several runtimes, what the last of them does. */
static const char *verb_of(const struct recording *recording)
{
	const struct runtime_meaning *sole = words_sole(recording);
	const char *verb = sole ? sole->verb : "paused";

	for (const struct runtime_meaning *const *at = runtime_meanings; *at && !sole; at++)
		if (words_has(recording, *at))
			verb = (*at)->verb;
	return verb;
}

/* Stalls as far as no other figure has them. */
struct beside {
	uint64_t count, total_ns, max_ns;
	const char *max_name; /* of the longest */
};

static const char *name_of_stall(const struct recording *recording, uint64_t id)
{
	for (size_t i = 0; i < recording->stalls.count; i++)
		if (recording->stalls.items[i].id == id)
			return meaning_wait(recording, &recording->stalls.items[i]);
	return "";
}

static struct beside beside_pauses(const struct recording *recording,
	const struct explicit_calls *calls)
{
	struct beside beside = {.max_name = ""};

	for (size_t i = 0; i < calls->sums.count; i++) {
		const struct stall_sum *sum = &calls->sums.items[i];

		beside.count += sum->beside;
		stats_add(&beside.total_ns, sum->beside_ns);
		if (sum->beside_max_ns <= beside.max_ns)
			continue;
		beside.max_ns = sum->beside_max_ns;
		beside.max_name = name_of_stall(recording, sum->beside_longest);
	}
	return beside;
}

static struct beside beside_nothing(const struct recording *recording)
{
	struct beside beside = {.max_name = ""};
	struct stall_sums sums = {0};

	if (!stall_sums_make(&sums, recording) && sums.count)
		beside = (struct beside){sums.count, sums.total_ns, sums.max_ns, sums.max_name};
	stall_sums_release(&sums);
	return beside;
}

const char *verdict_stalls(const struct recording *recording, const struct attribution *attribution,
	uint64_t time_ns, char *text, size_t size)
{
	struct beside beside = attribution ? beside_pauses(recording, &attribution->explicit_calls)
					   : beside_nothing(recording);

	*text = '\0';
	if (beside.count && (beside.max_ns >= HARMLESS_PAUSE_NS ||
				    (double)beside.total_ns >= ATTRIB_HARMLESS * (double)time_ns))
		snprintf(text, size,
			" Not in these figures: %llu stall%s in which a thread waited for the collector, "
			"%s in all, longest %s (%s).",
			(unsigned long long)beside.count, beside.count == 1 ? "" : "s",
			FORMAT_DURATION(beside.total_ns), FORMAT_DURATION(beside.max_ns),
			beside.max_name);
	return text;
}

static const char *no_pause(const struct recording *recording, const char *who, const char *span,
	const char *stalls, char *text, size_t size)
{
	const struct runtime_meaning *sole = words_sole(recording);

	if (!verdict_complete(recording))
		snprintf(text, size,
			"No %s of %s was seen in %s, but the recording is incomplete: that "
			"proves nothing.",
			sole ? sole->pause : "pause", who, span);
	else if (sole && sole->not_once)
		snprintf(text, size, "%s %s in %s%s.%s", sole->not_once, who, span,
			*stalls ? "" : ": look elsewhere", stalls);
	else
		snprintf(text, size, "GC did not pause %s at all in %s%s.%s", who, span,
			*stalls ? "" : ": look elsewhere", stalls);
	return text;
}

/* "generation 2, automatic", "full, System.gc()" of the longest pause. */
static void say_worst(const struct stack_table *stacks, const struct pause *worst, char *text,
	size_t size)
{
	char reason[128] = "";
	uint32_t string = worst->class->of->reason ? worst->class->of->reason(worst) : 0;

	if (!worst->class->of->reason) {
		snprintf(text, size, "%s%s%s", worst->class->words, worst->cause ? ", " : "",
			worst->cause ? pause_cause_name(worst->cause) : "");
		return;
	}
	if (stacks && string)
		utf8_show(reason, sizeof(reason), strtab_get(stacks->strings, string),
			strtab_len(stacks->strings, string), 40);
	snprintf(text, size, "%s%s%s", worst->class->words, *reason ? ", " : "", reason);
}

/* ", 93.1 % of it to collect", of pauses that need not collect. */
static void say_collecting(const struct summary_kind *kind, char *text, size_t size)
{
	*text = '\0';
	if (!kind || !kind->meaning->apart || !kind->sum.total_ns)
		return;
	if (kind->collecting == kind->sum.count)
		snprintf(text, size, ", all of it to collect");
	else if (!kind->collecting && !kind->unsure)
		snprintf(text, size, ", none of it to collect");
	else
		snprintf(text, size, ", %s%s of it to collect", kind->unsure ? "at least " : "",
			VERDICT_SHARE(kind->collecting_ns, kind->sum.total_ns));
}

/* "pause", "stops": what @count of them are called. */
static const char *pauses_of(const struct runtime_meaning *sole, uint64_t count)
{
	if (!sole)
		return count == 1 ? "pause" : "pauses";
	return count == 1 ? sole->pause : sole->pauses;
}

const char *verdict_sentence(const struct recording *recording, const struct stack_table *stacks,
	const struct attribution *attribution, const struct summary *summary, char *text,
	size_t size)
{
	uint64_t span_ns = verdict_span_ns(recording, summary);
	struct traced traced = find_traced(recording, summary);
	uint64_t traced_ns = traced.total_ns;
	const struct runtime_meaning *sole = words_sole(recording);
	bool complete = verdict_complete(recording);
	char who[112], share[40] = "", collecting[64] = "", worst[160], subject[64];
	char stalls[VERDICT_STALLS_BYTES];
	bool harmless = complete && traced_ns && request_costs_harmless(attribution) &&
			summary->max_ns < HARMLESS_PAUSE_NS &&
			(double)summary->total_ns < ATTRIB_HARMLESS * (double)traced_ns;

	if (traced.count == 1)
		verdict_process_name(traced.one, who, sizeof(who));
	else if (traced.paused && traced.paused < traced.count)
		snprintf(who, sizeof(who), "%zu of %zu processes", traced.paused, traced.count);
	else
		snprintf(who, sizeof(who), "%zu processes", traced.count);
	if (!recording->runtimes.count && !summary->count)
		return blind(recording, text, size);
	verdict_stalls(recording, attribution, traced_ns, stalls, sizeof(stalls));
	if (!summary->count)
		return no_pause(recording, who, FORMAT_DURATION(span_ns), stalls, text, size);
	if (traced.count == 1 &&
		traced_ns) /* as for the share: it may have begun later or ended sooner */
		span_ns = traced_ns;
	if (traced_ns)
		snprintf(share, sizeof(share), " (%s%s)",
			VERDICT_SHARE(summary->total_ns, traced_ns),
			traced.count > 1 ? " of their time" : "");
	if (sole)
		say_collecting(summary_kinds_find(&summary->kinds, sole), collecting,
			sizeof(collecting));
	say_worst(stacks, &summary->worst[0], worst, sizeof(worst));
	snprintf(text, size, "%s %s %s for %s%s %s %s%s%s: %llu %s, longest %s%s (%s)%s%s",
		subject_of(recording, subject, sizeof(subject)), verb_of(recording), who,
		complete && !summary->open ? "" : "at least ", FORMAT_DURATION(summary->total_ns),
		traced.count > 1 ? "in all within" : "of", FORMAT_DURATION(span_ns), share,
		collecting, (unsigned long long)summary->count, pauses_of(sole, summary->count),
		pause_is_open(&summary->worst[0]) ? "at least " : "",
		FORMAT_DURATION(summary->max_ns), worst,
		harmless && !*stalls ? ": look elsewhere." : ".", stalls);
	return text;
}
