/* Marks and a step_spec → the steps of every process, or windows. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "parse.h"
#include "step_priv.h"

#define MAX_WINDOWS 4000000

/*
 * The signal that a typed name refers to, so that its marks are kept even if it was let go; or
 * NULL.
 */
static const char *signal_named(const struct recording *recording, const struct step_spec *spec)
{
	const char *const asked[] = {spec->name, spec->recorded};
	const char *best = NULL;

	for (size_t i = 0; i < recording->signals.count; i++) {
		const char *name = recording->signals.items[i].name;
		size_t len = strlen(name);

		for (size_t j = 0; j < ARRAY_SIZE(asked); j++)
			if (!strncmp(asked[j], name, len) &&
				(!asked[j][len] || asked[j][len] == ':') &&
				(!best || len > strlen(best)))
				best = name;
	}
	return best;
}

/*
 * The processes that do what only training does; if there are none, those with a runtime. 0 or
 * -ENOMEM.
 */
static int find_training(const struct study *study, struct u64map *ret)
{
	const struct recording *recording = study->recording;
	int r = 0;

	for (size_t i = 0; !r && i < study->symbols.count; i++) {
		const struct symbol *symbol = &study->symbols.items[i];

		if (CLASS_BIT(symbol->class) & TRAINING)
			r = u64map_put(ret, study->strands.items[symbol->strand].process, 1);
	}
	if (ret->count)
		return r;
	for (size_t i = 0; !r && i < recording->runtimes.count; i++)
		r = u64map_put(ret, recording->runtimes.items[i].process, 1);
	return r;
}

static int add_windows(const struct study *study, const struct process *process, uint64_t window_ns,
	struct steps *ret, struct err *err)
{
	uint64_t start = study->recording->start_ns, end = study->end_ns;
	struct step_track *track;

	if (process->seen_ns > start)
		start = process->seen_ns;
	if (process->exit_ns && process->exit_ns < end)
		end = process->exit_ns;
	if (end <= start)
		return 0;
	if ((end - start) / window_ns >= MAX_WINDOWS)
		return err_set(err, EINVAL,
			"windows of %s would be more than %d in this recording: choose longer ones",
			FORMAT_DURATION(window_ns), MAX_WINDOWS);
	track = vec_add(&ret->tracks);
	if (!track)
		return err_set(err, ENOMEM, "out of memory while making windows");
	*track = (struct step_track){.process = process->id,
		.tid = (uint32_t)process->pid,
		.per_step = 1,
		.period_ns = window_ns};
	snprintf(track->signal, sizeof(track->signal), "window:%lluns",
		(unsigned long long)window_ns);
	snprintf(track->note, sizeof(track->note), "windows of equal length, not steps");
	for (uint64_t at = start; at < end; at += window_ns) {
		struct step *step = vec_add(&track->steps);

		if (!step)
			return err_set(err, ENOMEM, "out of memory while making windows");
		*step = (struct step){
			at, end - at > window_ns ? at + window_ns : end, UNKNOWN, UNKNOWN};
		if (end - at <= window_ns)
			break;
	}
	return 0;
}

int steps_windows(const struct study *study, uint64_t window_ns, struct steps *ret, struct err *err)
{
	const struct recording *recording = study->recording;
	struct u64map train = {};
	int r = find_training(study, &train);

	if (r)
		err_set(err, ENOMEM, "out of memory while making windows");
	for (size_t i = 0; !r && i < recording->processes.count; i++)
		if (u64map_get(&train, recording->processes.items[i].id))
			r = add_windows(study, &recording->processes.items[i], window_ns, ret, err);
	u64map_release(&train);
	return r;
}

/* How many signals may mark steps: all but those of servers' requests. */
static size_t count_signals(const struct recording *recording)
{
	size_t count = 0;

	for (size_t i = 0; i < recording->signals.count; i++)
		count += classify(recording->signals.items[i].name, NULL) != CLASS_REQUEST;
	return count;
}

/* There were places to probe, but no call of any was seen. */
static void say_silent(const struct recording *recording, struct steps *ret)
{
	size_t probed = 0, all = count_signals(recording);
	uint64_t last_ns = 0;
	char since[64] = "";

	for (size_t i = 0; i < recording->signals.count; i++) {
		uint64_t attached_ns = recording->signals.items[i].attached_ns;

		if (classify(recording->signals.items[i].name, NULL) == CLASS_REQUEST)
			continue;
		probed += attached_ns > 0;
		last_ns = attached_ns > last_ns ? attached_ns : last_ns;
	}
	if (seen_late(recording, 0, last_ns))
		snprintf(since, sizeof(since), " after %s, when the last one was",
			FORMAT_DURATION(last_ns - recording->start_ns));
	if (probed)
		snprintf(ret->note, sizeof(ret->note),
			"no step signal: %zu place%s probed and none was called%s; name one with --step "
			"lib:symbol, or use --step window:5s",
			probed, probed == 1 ? " was" : "s were", since);
	else
		snprintf(ret->note, sizeof(ret->note),
			"no step signal: %zu place%s found, but could not be probed (gctrace doctor says "
			"why); use --step window:5s",
			all, all == 1 ? " was" : "s were");
}

/* Why there are no steps. */
static void say_none(const struct study *study, struct steps *ret)
{
	const struct symbol *busiest = NULL, *gone = NULL;
	char name[160];

	for (size_t i = 0; i < study->symbols.count; i++) {
		const struct symbol *symbol = &study->symbols.items[i];

		if (symbol->class == CLASS_REQUEST || symbol->class == CLASS_LEARNER)
			continue;
		if (symbol->let_go_ns && (!gone || symbol->marks > gone->marks))
			gone = symbol;
		if (!symbol->let_go_ns && (!busiest || symbol->marks > busiest->marks))
			busiest = symbol;
	}
	if (busiest) {
		symbol_name(busiest, name, sizeof(name));
		snprintf(ret->note, sizeof(ret->note),
			"no step signal: %.100s fired %llu time%s with no pattern that marks "
			"steps; name a "
			"signal with --step, or use --step window:5s",
			name, (unsigned long long)busiest->marks, busiest->marks == 1 ? "" : "s");
	} else if (gone) {
		snprintf(ret->note, sizeof(ret->note),
			"no step signal: %.80s fired too often and was let go; name another with "
			"--step "
			"lib:symbol, or use --step window:5s",
			gone->signal);
	} else if (count_signals(study->recording)) {
		say_silent(study->recording, ret);
	} else {
		snprintf(ret->note, sizeof(ret->note),
			"no step signal: no library that is known to mark steps was found; call "
			"getppid() once a step and say --step libc:getppid, or use --step window:5s");
	}
}

static int find(struct study *study, const struct step_spec *spec, struct steps *ret,
	struct err *err)
{
	int r = 0;

	switch (spec->way) {
	case STEP_NONE:
		snprintf(ret->note, sizeof(ret->note), "no steps, as asked");
		return 0;
	case STEP_WINDOW:
		if (!spec->window_ns)
			return err_set(err, EINVAL, "a window cannot be empty: write window:5s");
		r = steps_windows(study, spec->window_ns, ret, err);
		break;
	case STEP_NAMED:
		r = steps_named(study, spec, ret, err);
		break;
	case STEP_AUTO:
		r = steps_auto(study, ret);
		if (!r && !ret->tracks.count)
			say_none(study, ret);
		break;
	}
	if (r)
		return r;
	return candidates_list(study, ret);
}

/* Steps after the last mark that was kept are unknown, which each track says. */
static void say_until(const struct recording *recording, struct steps *steps)
{
	uint64_t until_ns = recording->steps_until_ns;

	if (!until_ns)
		return;
	until_ns -= recording->start_ns < until_ns ? recording->start_ns : until_ns;
	for (size_t i = 0; i < steps->tracks.count; i++) {
		char *note = steps->tracks.items[i].note;
		size_t len = strlen(note), room = sizeof(steps->tracks.items[i].note) - len;

		if (steps->tracks.items[i].measured)
			snprintf(note + len, room,
				"%sno step is known after %s: the recording had no room for more calls",
				len ? "; " : "", FORMAT_DURATION(until_ns));
	}
}

int steps_find(const struct recording *recording, struct step_marks *marks, uint64_t end_ns,
	const struct step_spec *spec, struct steps *ret, struct err *err)
{
	const char *keep = spec->way == STEP_NAMED ? signal_named(recording, spec) : NULL;
	struct steps steps = {};
	struct study study;
	struct err sentence = {};
	int r = study_build(recording, marks, end_ns, keep, &study);

	if (!r)
		r = find(&study, spec, &steps, &sentence);
	study_release(&study);
	if (!r) {
		say_until(recording, &steps);
		*ret = steps;
		return 0;
	}
	steps_release(&steps);
	if (r == -ENOMEM && !*sentence.text)
		return err_set(err, ENOMEM, "out of memory while finding steps");
	return err_set(err, -r, "%s", sentence.text);
}
