/* An attribution in; how often it collected, who called for that, who else waited, out: rows of a comparison. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "compare_priv.h"
#include "describe.h"

/* Adds to the row @name of what is named, or begins it. 0 or -ENOMEM. */
__attribute__((format(printf, 5, 6))) static int count(struct compare_run *run, const char *name,
	const char *unit, double value, const char *format, ...)
{
	struct compare_figure *figure;
	char of[sizeof(figure->of)];
	va_list args;

	va_start(args, format);
	vsnprintf(of, sizeof(of), format, args);
	va_end(args);
	for (size_t i = 0; i < run->figures.count; i++) {
		figure = &run->figures.items[i];
		if (strcmp(figure->name, name) || strcmp(figure->of, of))
			continue;
		figure->value += value;
		return 0;
	}
	figure = compare_add(run, name, unit, value);
	if (!figure)
		return -ENOMEM;
	snprintf(figure->of, sizeof(figure->of), "%s", of);
	figure->absent_is_0 = true;
	return 0;
}

static int add_classes(const struct attribution *attribution, struct compare_run *run)
{
	int r = 0;

	for (size_t i = 0; i < attribution->figures.classes.count && !r; i++) {
		const struct class_pauses *one = &attribution->figures.classes.items[i];

		r = one->class->rank
			    ? count(run, "collections", "count", (double)one->pauses, "%s",
				      one->class->collections)
			    : count(run, "collections", "count", (double)one->pauses, "%s (%s)",
				      one->class->collections, one->class->words);
	}
	return r;
}

/* A runtime that has calls for a collection and was watched for them: without any, that is an answer. */
static int add_watched(const struct attribution *attribution, struct compare_run *run)
{
	const struct recording *recording = attribution->recording;
	int r = 0;

	for (size_t i = 0; i < recording->runtimes.count && !r; i++) {
		const struct runtime_meaning *meaning =
			meaning_of(recording->runtimes.items[i].kind);

		if (!meaning->call)
			continue;
		run->asks = meaning;
		r = count(run, "calls", "count", 0, "%s calls", meaning->call);
	}
	return r;
}

/* Calls that were seen themselves. */
static int add_callers(const struct attribution *attribution, struct compare_run *run)
{
	const struct explicit_calls *calls = &attribution->explicit_calls;
	int r = 0;

	for (size_t i = 0; i < calls->callers.count && !r; i++) {
		const struct explicit_caller *caller = &calls->callers.items[i];
		const struct runtime_meaning *meaning =
			meaning_of_process(attribution->recording, caller->process);
		uint32_t frame = caller->who ? caller->who : caller->caller;

		r = count(run, "calls", "count", (double)caller->calls, "%s calls",
			meaning->call ? meaning->call : "collector");
		if (!r)
			r = count(run, "calls.by", "count", (double)caller->calls, "  by %s",
				frame		  ? DESCRIBE_FRAME(attribution->stacks, frame)
				: *caller->thread ? caller->thread
						  : "a thread not known");
	}
	if (!r && calls->stray)
		r = count(run, "calls.unseen", "count", (double)calls->stray,
			"collections by calls not seen");
	return r;
}

/* Calls of which only the pauses are known. */
static int add_asked(const struct attribution *attribution, struct compare_run *run)
{
	int r = 0;

	for (size_t i = 0; i < attribution->figures.asked.count && !r; i++) {
		const struct asked_pauses *asked = &attribution->figures.asked.items[i];

		r = count(run, "calls", "count", (double)asked->pauses, "collections by %s",
			asked->of->asks ? asked->of->asks : "calls");
		if (!r)
			r = count(run, "calls.by", "count", (double)asked->pauses, "  in %s",
				asked->frame ? DESCRIBE_FRAME(attribution->stacks, asked->frame)
					     : "code not known");
	}
	return r;
}

static int add_stalls(const struct attribution *attribution, struct compare_run *run)
{
	const struct explicit_calls *calls = &attribution->explicit_calls;
	int r = 0;

	for (size_t i = 0; i < calls->sums.count && !r; i++) {
		const struct stall_sum *sum = &calls->sums.items[i];
		const struct runtime_meaning *meaning =
			meaning_of_process(attribution->recording, sum->process);
		const char *name = sum->kind < meaning->wait_count && meaning->waits[sum->kind]
					   ? meaning->waits[sum->kind]
					   : "unknown";

		r = count(run, "stalls", "count", (double)sum->count, "waits: %s", name);
		if (!r)
			r = count(run, "stalls.total", "ns", (double)sum->total_ns,
				"waits: %s, total", name);
	}
	return r;
}

int compare_counts(const struct attribution *attribution, struct compare_run *run)
{
	int r = add_classes(attribution, run);

	if (!r)
		r = add_watched(attribution, run);
	if (!r)
		r = add_callers(attribution, run);
	if (!r)
		r = add_asked(attribution, run);
	return r ? r : add_stalls(attribution, run);
}
