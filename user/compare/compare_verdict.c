/* Compared figures in; one paragraph out: did it help, by how much, how sure. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "compare_priv.h"
#include "describe.h"
#include "parse.h"
#include "stats.h"

#define OWN_RATIO    2	  /* the mean changed by more than so many times what its work did … */
#define WORTH_SAYING 0.05 /* … and by more than this */
#define MAY_BE_CHANCE                                                                              \
	0.5 /* a tail that is worse by so much is mentioned, whether it can be judged or not */

/* Appends text, as much as fits. */
__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size,
	const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + used, size - used, format, args);
	va_end(args);
}

#define SAY(comparisons, ...)                                                                      \
	append((comparisons)->verdict, sizeof((comparisons)->verdict), __VA_ARGS__)

static const struct comparison *find(const struct comparisons *comparisons, const char *name)
{
	for (size_t i = 0; i < comparisons->items.count; i++)
		if (!strcmp(comparisons->items.items[i].name, name))
			return &comparisons->items.items[i];
	return NULL;
}

/* What the answer is made of. */
static const char *const judged[] = {"step.mean", "step.p99", "step.max"};

/* Nothing helped while something else is so much longer that chance alone would have to explain it. */
static enum compare_answer answer_of(const struct comparisons *comparisons)
{
	bool better = false, worse = false, longer = false;

	for (size_t i = 0; i < ARRAY_SIZE(judged); i++) {
		const struct comparison *item = find(comparisons, judged[i]);

		better |= item->judged == CHANGE_BETTER;
		worse |= item->judged == CHANGE_WORSE;
		longer |= item->judged == CHANGE_UNKNOWN && item->change >= MAY_BE_CHANCE;
	}
	if (worse || (better && !longer))
		return better && worse ? COMPARE_MIXED : better ? COMPARE_HELPED : COMPARE_WORSE;
	return find(comparisons, "step.mean")->judged == CHANGE_NONE && !longer
		       ? COMPARE_SAME
		       : COMPARE_INCONCLUSIVE;
}

static void say_mean(struct comparisons *comparisons)
{
	const struct comparison *mean = find(comparisons, "step.mean");
	bool sure = mean->judged == CHANGE_BETTER || mean->judged == CHANGE_WORSE;

	if (sure)
		SAY(comparisons, "steps take %.1f %% %s time", 100 * fabs(mean->change),
			mean->change < 0 ? "less" : "more");
	else
		SAY(comparisons, "the mean step changed by %+.1f %%%s", 100 * mean->change,
			mean->judged == CHANGE_UNKNOWN ? ", which may be chance" : "");
	SAY(comparisons, " (");
	if (mean->has_interval && comparisons->confidence < 0.95)
		SAY(comparisons, "%.0f %% interval %+.1f to %+.1f %%; ",
			100 * comparisons->confidence, 100 * mean->low, 100 * mean->high);
	SAY(comparisons, "mean %s, before %s)", FORMAT_DURATION(stats_whole(mean->after)),
		FORMAT_DURATION(stats_whole(mean->before)));
}

/* "; 99 % of the steps are within 6 ms, before 5 ms". Where the mean is all there is to say, only what stands out. */
static void say_tail(struct comparisons *comparisons, const char *name, const char *words)
{
	const struct comparison *item = find(comparisons, name);
	bool sure = item->judged == CHANGE_BETTER || item->judged == CHANGE_WORSE;

	if (!sure && item->change < MAY_BE_CHANCE)
		return;
	SAY(comparisons, "; %s%s %s, before %s%s",
		item->judged == CHANGE_WORSE	? "worse: "
		: item->judged == CHANGE_BETTER ? "better: "
						: "",
		words, FORMAT_DURATION(stats_whole(item->after)),
		FORMAT_DURATION(stats_whole(item->before)), sure ? "" : ", which may be chance");
}

static void say_share(struct comparisons *comparisons)
{
	const struct comparison *share = find(comparisons, "stopped.share");

	SAY(comparisons, "; GC stopped training for %s of its time, before %s",
		DESCRIBE_SHARE(share->after), DESCRIBE_SHARE(share->before));
}

/* Other work, another machine: then the mean says nothing about GC. */
static void say_other_work(struct comparisons *comparisons)
{
	const struct comparison *mean = find(comparisons, "step.mean");
	const struct comparison *median = find(comparisons, "step.median");
	const struct comparison *share = find(comparisons, "stopped.share");

	if (fabs(median->change) > 0.1 &&
		fabs(mean->after - mean->before) >
			4 * fabs(share->after * mean->after - share->before * mean->before))
		SAY(comparisons,
			". Most of that is not GC, but other work or a busier machine: the median step went from %s to %s",
			FORMAT_DURATION(stats_whole(median->before)),
			FORMAT_DURATION(stats_whole(median->after)));
}

/* The mean changed, and the thread's own work did not: a busier machine does that, among others. */
static void say_own(struct comparisons *comparisons)
{
	const struct comparison *mean = find(comparisons, "step.mean");
	const struct comparison *own = find(comparisons, "step.own");

	if (own->known && mean->judged == CHANGE_UNKNOWN &&
		fabs(mean->after - mean->before) > OWN_RATIO * fabs(own->after - own->before) &&
		fabs(mean->change) > WORTH_SAYING)
		SAY(comparisons,
			". The thread that makes the steps worked for %s of each, before %s: the rest it waited, or others had its processor",
			FORMAT_DURATION(stats_whole(own->after)),
			FORMAT_DURATION(stats_whole(own->before)));
}

/* What would have been seen, and what would show more. */
static void say_inconclusive(struct comparisons *comparisons, const struct compare_rule *rule)
{
	const struct comparison *mean = find(comparisons, "step.mean");

	if (!(mean->detectable > 0))
		return;
	SAY(comparisons,
		". Only a change of the mean of %.1f %% or more would probably have been seen, not one of %.3g %%",
		100 * mean->detectable, 100 * rule->tolerance);
	SAY(comparisons,
		comparisons->confidence < 0.95
			? ": more runs a side show less"
			: ": record several runs a side (gctrace diff a1 a2 a3 -- b1 b2 b3)");
}

static void say_steps(struct comparisons *comparisons, struct compare_run *const *runs,
	const struct compare_rule *rule)
{
	static const char *const begins[] = {
		[COMPARE_HELPED] = "The change helped: ",
		[COMPARE_WORSE] = "Worse: ",
		[COMPARE_MIXED] = "Better in part and worse in part: ",
		[COMPARE_SAME] = "No difference: ",
		[COMPARE_INCONCLUSIVE] = "Inconclusive: ",
	};
	const struct comparison *rss = find(comparisons, "rss.growth_per_step");
	bool several = false;

	SAY(comparisons, "%s", begins[comparisons->answer]);
	say_mean(comparisons);
	say_tail(comparisons, "step.p99", "99 % of the steps within");
	say_tail(comparisons, "step.max", "the worst step took");
	say_share(comparisons);
	say_other_work(comparisons);
	say_own(comparisons);
	if (comparisons->answer == COMPARE_INCONCLUSIVE)
		say_inconclusive(comparisons, rule);
	if (comparisons->answer == COMPARE_SAME)
		SAY(comparisons, ". A change of %.1f %% would have been seen",
			100 * find(comparisons, "step.mean")->detectable);
	if (rss->known && rss->after > 4096 && rss->after > 2 * rss->before)
		SAY(comparisons, ". Resident memory grows by %s a step",
			DESCRIBE_BYTES(rss->after));
	for (size_t i = 0; i < comparisons->runs[0] + comparisons->runs[1]; i++)
		several |= runs[i]->several;
	if (several)
		SAY(comparisons,
			". Of several processes that train, the busiest of each is compared");
	SAY(comparisons, ".");
}

static void say_pauses(struct comparisons *comparisons, struct compare_run *const *runs)
{
	const struct comparison *share = find(comparisons, "pause.share");
	size_t i = 0;

	while (!runs[i]->lacks)
		i++;
	SAY(comparisons,
		"Only pauses can be compared, not steps: in the recording %s the change %s",
		i < comparisons->runs[0] ? "before" : "after", runs[i]->lacks);
	if (share->known)
		SAY(comparisons, ". Pauses took %s of the traced time, before %s",
			DESCRIBE_SHARE(share->after), DESCRIBE_SHARE(share->before));
	SAY(comparisons, "; whether training got faster is not known.");
}

/* "System.gc() calls: 13, before none, most of them by Trainer.fit (Trainer.java:88)." */
static void say_calls(struct comparisons *comparisons, struct compare_run *const *runs)
{
	const struct comparison *calls = find(comparisons, "calls"), *most = NULL;
	char *text = comparisons->calls;
	const size_t size = sizeof(comparisons->calls);
	bool watched = true;

	for (size_t i = 0; i < comparisons->runs[0] + comparisons->runs[1]; i++)
		watched &= runs[i]->asks != NULL;
	if (!calls || (!calls->before && !calls->after)) {
		if (watched && !find(comparisons, "calls.unseen"))
			append(text, size, "Nobody called %s, before or after.",
				runs[0]->asks->call);
		return;
	}
	for (size_t i = 0; i < comparisons->items.count; i++) {
		const struct comparison *item = &comparisons->items.items[i];

		if (!strcmp(item->name, "calls.by") &&
			(!most || fabs(item->after - item->before) >
					  fabs(most->after - most->before)))
			most = item;
	}
	append(text, size, "%c%s: %.3g%s, before %.3g", calls->of[0] == 'c' ? 'C' : calls->of[0],
		calls->of + 1, calls->after,
		comparisons->runs[0] + comparisons->runs[1] > 2 ? " a run" : "", calls->before);
	if (most && most->after != most->before)
		append(text, size, "; most of the difference is%s", most->of + 1);
	append(text, size, ".");
}

static void say_chance(struct comparisons *comparisons, const struct compare_rule *rule)
{
	char *text = comparisons->chance;
	const size_t size = sizeof(comparisons->chance);

	if (comparisons->confidence < 0.95)
		append(text, size,
			"The intervals contain the chance between runs, as %zu and %zu of them show it.",
			comparisons->runs[0], comparisons->runs[1]);
	else
		append(text, size,
			"Chance between runs is not in the intervals, which come of the steps of one run each. The verdict "
			"and the exit status therefore take %.3g %% between runs for usual (--run-to-run).",
			100 * rule->run_to_run);
}

void compare_verdict(struct comparisons *comparisons, struct compare_run *const *runs,
	const struct compare_rule *rule)
{
	comparisons->answer = comparisons->comparable ? answer_of(comparisons) : COMPARE_PAUSES;
	if (comparisons->comparable)
		say_steps(comparisons, runs, rule);
	else
		say_pauses(comparisons, runs);
	say_calls(comparisons, runs);
	say_chance(comparisons, rule);
}

const char *compare_answer_name(enum compare_answer answer)
{
	static const char *const names[] = {
		"helped", "worse", "mixed", "same", "inconclusive", "pauses"};

	return names[answer];
}

const char *compare_change_name(enum compare_change change)
{
	static const char *const names[] = {NULL, "better", "worse", "same", "inconclusive"};

	return names[change];
}
