/* What a collector counted → full collections, by its own rule. */
#include <math.h>

#include "blocks.h"
#include "fulls.h"
#include "pause.h"
#include "step.h"

#define TELLING                                                                                    \
	3 /* promoting collections that were due: fewer say nothing of how much they promote */

/* Steps: caches are cold in the first of them. */
#define AFTER  2
#define FOLLOW 8

static bool is_automatic_full(const struct fulls_collection *one)
{
	return one->full && one->automatic && one->heap > 0 && one->end_ns > one->start_ns;
}

/* Objects that a full collection looks at. */
static double objects_of(const struct fulls_collection *one)
{
	return (double)one->heap + (one->promoted > 0 ? (double)one->promoted : 0);
}

/* The index of the first that ends after @from_ns. */
static size_t first_after(const struct fulls *fulls, uint64_t from_ns)
{
	size_t low = 0, high = fulls->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (fulls->items[middle].end_ns <= from_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What the steps after @one take longer than those that follow them, ns. *@at: moves forward. */
static double after_effect(const struct fulls_collection *one, struct fulls_steps steps, size_t *at)
{
	double after = 0, follow = 0;

	while (*at < steps.count && steps.items[*at].start_ns < one->end_ns)
		++*at;
	if (*at + AFTER + FOLLOW > steps.count)
		return 0;
	for (size_t i = 0; i < AFTER + FOLLOW; i++)
		*(i < AFTER ? &after : &follow) += (double)step_duration(&steps.items[*at + i]);
	return after - follow * AFTER / FOLLOW;
}

/* Sums over full collections, or over those that promote to the oldest generation. */
struct sum {
	double count, ns, objects;
};

static bool promotes(const struct fulls *fulls, size_t at)
{
	const struct fulls_collection *one = &fulls->items[at];

	return !one->full && at + 1 < fulls->count && one->promoted != UNKNOWN &&
	       one[1].promoted > one->promoted;
}

static double object_ns(const struct sum *full, const struct sum *promoting)
{
	double replaced = promoting->count > 0 ? promoting->ns / promoting->count : 0;

	return full->objects > 0 ? fmax(full->ns - full->count * replaced, 0) / full->objects : 0;
}

double fulls_object_ns(const struct fulls *fulls, struct fulls_blocks blocks,
	struct fulls_steps steps)
{
	struct sum full[2] = {}, promoting[2] = {};
	size_t at = 0, step = 0;

	for (size_t i = 0; i < fulls->count; i++) {
		const struct fulls_collection *one = &fulls->items[i];
		const bool is_full = is_automatic_full(one);
		const struct block *block;
		struct sum *sum;
		bool usual;

		if (!is_full && !promotes(fulls, i))
			continue;
		while (at < blocks.count && blocks.items[at].to_ns <= one->start_ns)
			at++;
		block = at < blocks.count ? &blocks.items[at] : NULL;
		usual = !block || one->end_ns <= block->from_ns ||
			(!block->tried && one->start_ns >= block->from_ns + blocks.settle_ns);
		sum = &(is_full ? full : promoting)[usual];
		sum->count++;
		sum->ns += (double)(one->end_ns - one->start_ns);
		sum->ns += is_full ? after_effect(one, steps, &step) : 0;
		sum->objects += is_full ? objects_of(one) : 0;
	}
	return full[true].count > 0 ? object_ns(&full[true], &promoting[true])
				    : object_ns(&full[false], &promoting[false]);
}

uint64_t fulls_settled(const struct fulls *fulls, const struct block *block, uint64_t settle_ns)
{
	uint64_t settled = block->from_ns + settle_ns;
	size_t at = first_after(fulls, settled);

	if (at < fulls->count && fulls->items[at].start_ns < block->from_ns + settle_ns / 2)
		settled = fulls->items[at].end_ns;
	return settled < block->to_ns ? settled : block->to_ns;
}

double fulls_usual_ns(const struct fulls *fulls, double object_ns, uint64_t from_ns, uint64_t to_ns)
{
	double sum = 0;

	for (size_t i = first_after(fulls, from_ns);
		i < fulls->count && fulls->items[i].start_ns < to_ns; i++) {
		const struct fulls_collection *one = &fulls->items[i];
		uint64_t start = one->start_ns > from_ns ? one->start_ns : from_ns;
		uint64_t end = one->end_ns < to_ns ? one->end_ns : to_ns;

		if (is_automatic_full(one) && end > start)
			sum += object_ns * objects_of(one) * (double)(end - start) /
			       (double)(one->end_ns - one->start_ns);
	}
	return sum;
}

void fulls_count(const struct fulls *fulls, uint64_t from_ns, uint64_t to_ns,
	struct fulls_tally *tally)
{
	for (size_t i = first_after(fulls, from_ns);
		i < fulls->count && fulls->items[i].end_ns <= to_ns; i++) {
		const struct fulls_collection *one = &fulls->items[i], *next = one + 1;

		tally->collections += one->automatic;
		tally->manual += one->full && !one->automatic;
		if (promotes(fulls, i))
			tally->promoted += (double)(next->promoted - one->promoted);
	}
}

double fulls_heap(const struct fulls *fulls)
{
	double sum = 0, count = 0;

	for (size_t i = 0; i < fulls->count; i++) {
		if (!is_automatic_full(&fulls->items[i]))
			continue;
		sum += (double)fulls->items[i].heap;
		count++;
	}
	return count > 0 ? sum / count : 0;
}

/*
 * Collections come as objects are made, whatever the setting: how often they came as it is, says how often they come
 * with another threshold. A full one takes the place of one that would promote, so that half of the objects of one, on average,
 * are promoted beyond what it takes.
 */
struct fulls_rate fulls_rate(const struct fulls *fulls, const struct fulls_tally tallies[2],
	bool tried)
{
	const struct settings_pace *pace = &fulls->pace[tried];
	const struct fulls_tally *own = &tallies[tried];
	double collections, promoting, each, by_count, by_size, between;
	struct fulls_rate rate = {};

	if (!pace->on || !(own->steps > 0) || !(tallies[false].steps > 0))
		return rate;
	collections = tallies[false].collections / tallies[false].steps * fulls->pace[false].made /
		      pace->made;
	promoting = collections / pace->promotes;
	by_count = collections / (pace->promotes * pace->promotions + 1);
	each = promoting > 0 ? own->promoted / own->steps / promoting : 0;
	by_size = each > 0 ? promoting / (fulls_heap(fulls) * pace->share / each + 0.5) : 0;
	rate.by_size = promoting * own->steps >= TELLING && by_size < by_count;
	rate.per_step = rate.by_size ? by_size : by_count;
	/* One that the program asks for begins the count anew. */
	between = own->manual > 0 ? own->steps / own->manual : 0;
	if (between > 0)
		rate.per_step = floor(between * rate.per_step) / between;
	return rate;
}
