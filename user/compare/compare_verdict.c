/* Compared figures in; one paragraph out: did it help, by how much, how sure. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "stats.h"
#include "compare_verdict.h"
#include "describe.h"
#include "parse.h"

#define SAY(comparisons, ...)                                                                      \
	do {                                                                                       \
		size_t used_ = strlen((comparisons)->verdict);                                     \
		snprintf((comparisons)->verdict + used_, sizeof((comparisons)->verdict) - used_,   \
			__VA_ARGS__);                                                              \
	} while (0)

static const struct comparison *find(const struct comparisons *comparisons, const char *name)
{
	for (size_t i = 0; i < comparisons->items.count; i++)
		if (!strcmp(comparisons->items.items[i].name, name))
			return &comparisons->items.items[i];
	return NULL;
}

/* Steps take less or more time, and by how much; or nothing can be said. */
static void say_mean(struct comparisons *comparisons, const struct comparison *mean)
{
	double least = fmin(fabs(mean->low), fabs(mean->high));
	double most = fmax(fabs(mean->low), fabs(mean->high));

	if (!mean->has_interval) {
		SAY(comparisons,
			"Steps take %.1f %% %s time on average, but there are too few to tell "
			"a change from chance",
			100 * fabs(mean->change), mean->change < 0 ? "less" : "more");
		return;
	}
	if (mean->low <= 0 && mean->high >= 0) {
		SAY(comparisons,
			"No difference in step time that this many steps could show: mean "
			"%+.1f %% (95 %% interval %+.1f to %+.1f %%)",
			100 * mean->change, 100 * mean->low, 100 * mean->high);
		return;
	}
	SAY(comparisons,
		"%s: steps take %.1f %% %s time (95 %% interval %.1f to %.1f %%; mean %s, before "
		"%s)",
		mean->change < 0 ? "The change helped" : "Worse", 100 * fabs(mean->change),
		mean->change < 0 ? "less" : "more", 100 * least, 100 * most,
		FORMAT_DURATION(stats_whole(mean->after)),
		FORMAT_DURATION(stats_whole(mean->before)));
}

static void say_share(struct comparisons *comparisons, const struct comparison *share)
{
	SAY(comparisons, "; GC stopped training for %s of its time, before %s",
		DESCRIBE_SHARE(share->after), DESCRIBE_SHARE(share->before));
	if (share->has_interval && share->low <= 0 && share->high >= 0)
		SAY(comparisons, ", which may be chance");
}

static void say_steps(struct comparisons *comparisons, const struct attribution *before,
	const struct attribution *after)
{
	const struct comparison *mean = find(comparisons, "step.mean");
	const struct comparison *median = find(comparisons, "step.median");
	const struct comparison *share = find(comparisons, "stopped.share");
	const struct comparison *worst = find(comparisons, "step.p99");
	const struct comparison *rss = find(comparisons, "rss.growth_per_step");

	say_mean(comparisons, mean);
	say_share(comparisons, share);
	SAY(comparisons, "; 99 %% of the steps within %s, before %s",
		FORMAT_DURATION(stats_whole(worst->after)),
		FORMAT_DURATION(stats_whole(worst->before)));
	/* Other work, another machine: then the mean says nothing about GC. */
	if (fabs(median->change) > 0.1 &&
		fabs(mean->after - mean->before) >
			4 * fabs(share->after * mean->after - share->before * mean->before))
		SAY(comparisons, ". Most of that is not GC: the median step went from %s to %s",
			FORMAT_DURATION(stats_whole(median->before)),
			FORMAT_DURATION(stats_whole(median->after)));
	if (rss->known && rss->after > 4096 && rss->after > 2 * rss->before)
		SAY(comparisons, ". Resident memory grows by %s a step",
			DESCRIBE_BYTES(rss->after));
	if (before->steps->tracks.count > 1 || after->steps->tracks.count > 1)
		SAY(comparisons,
			". Of several processes that train, the busiest of each is compared");
	SAY(comparisons, ".");
}

static const char *lacks_steps(const struct attribution *attribution)
{
	if (!attribution->steps->tracks.count)
		return "no steps were found";
	return attribution->steps->tracks.items[0].measured
		       ? "the steps are not known with confidence"
		       : "windows of time are not steps";
}

static void say_pauses(struct comparisons *comparisons, const struct attribution *before,
	const struct attribution *after)
{
	const struct comparison *share = find(comparisons, "pause.share");
	const struct steps *steps = before->steps;
	bool first = !steps->tracks.count || !steps->tracks.items[0].measured ||
		     !(steps->tracks.items[0].confidence >= STEP_CONFIDENT);

	SAY(comparisons,
		"Only pauses can be compared, not steps: in the recording %s the change %s",
		first ? "before" : "after", lacks_steps(first ? before : after));
	if (share->known)
		SAY(comparisons, ". Pauses took %s of the traced time, before %s",
			DESCRIBE_SHARE(share->after), DESCRIBE_SHARE(share->before));
	SAY(comparisons, "; whether training got faster is not known.");
}

void compare_verdict(struct comparisons *comparisons, const struct attribution *before,
	const struct attribution *after)
{
	if (comparisons->comparable)
		say_steps(comparisons, before, after);
	else
		say_pauses(comparisons, before, after);
}
