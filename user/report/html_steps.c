/* Steps and their costs → compact bins that lose no slow step, a histogram, exact rows of the worst. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "cleanup.h"
#include "html_pack.h"
#include "html_steps.h"

#define CLASSES 240 /* of durations */
#define WORST	100

/* Beside the bits 0 … 3: the colours of the pauses in a bin. */
enum { BIN_PAUSED = 1 << 4, BIN_RSS = 1 << 5, BIN_RSS_SAME = 1 << 6 };

/* Time of pauses in one bin by their classes' colours. */
struct split {
	uint64_t ns[CLASS_COLOURS];
};

struct bin {
	uint64_t start_ns, end_ns, sum_ns, overlap_ns, cost_ns, pauses;
	uint64_t max_ns, max_at; /* the longest step, and which it is */
	int64_t rss_bytes;	 /* the most; UNKNOWN */
};

struct writer {
	struct html_pack pack;
	const struct attribution *attribution;
	const struct step_track *track;
	const struct track_cost *cost;
	uint64_t origin_ns, per_bin;
	int64_t end_us, rss_kib; /* of the bin before, as the reader knows them */
};

/* The oldest generation collected in it; where classes are not generations, that of its longest pause. */
static unsigned int colour_of_step(const struct attribution *attribution,
	const struct step_cost *cost)
{
	const struct pause_class *longest = attrib_class(attribution, cost->worst);
	const struct pause_class *class =
		longest && !longest->of->generations ? longest : cost->class;

	return class ? class->colour : CLASS_COLOURS - 1;
}

static uint64_t duration_of(const struct step *step)
{
	return step->end_ns > step->start_ns ? step->end_ns - step->start_ns : 0;
}

static void split_charge(struct split *splits, const struct step_track *track,
	const struct charge *charge, unsigned int colour, uint64_t per_bin)
{
	uint64_t left_ns = charge->overlap_ns;

	if (charge->worker) { /* what its consumer waited need not lie where the pause does */
		splits[charge->step / per_bin].ns[colour] += left_ns;
		return;
	}
	for (size_t i = charge->step; i < track->steps.count && left_ns; i++) {
		const struct step *step = &track->steps.items[i];
		uint64_t from =
			step->start_ns > charge->start_ns ? step->start_ns : charge->start_ns;
		uint64_t to = step->end_ns < charge->end_ns ? step->end_ns : charge->end_ns;
		uint64_t ns = to > from ? to - from : 0;

		if (step->start_ns >= charge->end_ns)
			return;
		ns = ns < left_ns ? ns : left_ns;
		splits[i / per_bin].ns[colour] += ns;
		left_ns -= ns;
	}
}

static struct split *split_overlap(const struct attribution *attribution, uint32_t track,
	size_t bins, uint64_t per_bin)
{
	const struct step_track *steps = &attribution->steps->tracks.items[track];
	struct split *splits = calloc(bins + 1, sizeof(*splits));

	for (size_t i = 0; splits && i < attribution->charges.count; i++) {
		const struct charge *charge = &attribution->charges.items[i];

		if (charge->track == track && charge->step < steps->steps.count)
			split_charge(splits, steps, charge,
				attrib_class(attribution, (uint32_t)i)->colour, per_bin);
	}
	return splits;
}

static struct bin gather(const struct writer *w, size_t first)
{
	size_t count = w->track->steps.count;
	struct bin bin = {.max_at = first, .rss_bytes = UNKNOWN};

	for (size_t i = first; i < count && i < first + w->per_bin; i++) {
		const struct step *step = &w->track->steps.items[i];
		uint64_t ns = duration_of(step);

		if (i == first)
			bin.start_ns = step->start_ns;
		bin.end_ns = step->end_ns;
		bin.sum_ns += ns;
		if (ns > bin.max_ns) {
			bin.max_ns = ns;
			bin.max_at = i;
		}
		if (step->rss_bytes > bin.rss_bytes)
			bin.rss_bytes = step->rss_bytes;
		if (i >= w->cost->steps.count)
			continue;
		bin.overlap_ns += w->cost->steps.items[i].overlap_ns;
		bin.cost_ns += w->cost->steps.items[i].cost_ns;
		bin.pauses += w->cost->steps.items[i].pauses;
	}
	return bin;
}

static void put_pauses(struct writer *w, const struct bin *bin, const struct split *split,
	unsigned int present)
{
	static const struct step_cost none = {.worst = ATTRIB_NONE};
	const struct step_cost *worst =
		bin->max_at < w->cost->steps.count ? &w->cost->steps.items[bin->max_at] : &none;

	html_pack_uint(&w->pack, html_us(bin->overlap_ns));
	html_pack_int(&w->pack, (int64_t)html_us(bin->overlap_ns) - (int64_t)html_us(bin->cost_ns));
	html_pack_uint(&w->pack, bin->pauses);
	if (present & (present - 1))
		for (unsigned int c = 0; c < CLASS_COLOURS; c++)
			if (present >> c & 1)
				html_pack_uint(&w->pack, html_us(split->ns[c]));
	if (w->per_bin == 1)
		return;
	html_pack_uint(&w->pack, html_us(worst->overlap_ns));
	html_pack_int(&w->pack,
		(int64_t)html_us(worst->overlap_ns) - (int64_t)html_us(worst->cost_ns));
	html_pack_uint(&w->pack, worst->pauses ? 1 + colour_of_step(w->attribution, worst) : 0);
}

static void put_bin(struct writer *w, const struct bin *bin, size_t first,
	const struct split *split)
{
	int64_t start_us = bin->start_ns >= w->origin_ns
				   ? (int64_t)html_us(bin->start_ns - w->origin_ns)
				   : -(int64_t)html_us(w->origin_ns - bin->start_ns);
	uint64_t extent_ns = bin->end_ns > bin->start_ns ? bin->end_ns - bin->start_ns : 0;
	int64_t sum_us = (int64_t)html_us(bin->sum_ns);
	int64_t extent_us = w->per_bin == 1 ? sum_us : (int64_t)html_us(extent_ns);
	int64_t rss_kib = bin->rss_bytes >> 10;
	unsigned int flags = 0, present = 0;

	html_pack_int(&w->pack, start_us - w->end_us);
	html_pack_uint(&w->pack, (uint64_t)sum_us);
	w->end_us = start_us + extent_us;
	if (w->per_bin > 1) {
		html_pack_int(&w->pack, extent_us - sum_us);
		html_pack_uint(&w->pack, html_us(bin->max_ns));
		html_pack_uint(&w->pack, bin->max_at - first);
	}
	for (unsigned int c = 0; c < CLASS_COLOURS; c++)
		present |= (split->ns[c] > 0) << c;
	if (bin->pauses || bin->overlap_ns)
		flags = BIN_PAUSED | present;
	if (bin->rss_bytes >= 0)
		flags |= rss_kib == w->rss_kib ? BIN_RSS_SAME : BIN_RSS;
	html_pack_uint(&w->pack, flags);
	if (flags & BIN_PAUSED)
		put_pauses(w, bin, split, present);
	if (flags & BIN_RSS) {
		html_pack_int(&w->pack, rss_kib - w->rss_kib);
		w->rss_kib = rss_kib;
	}
}

int html_steps_write(FILE *out, const struct attribution *attribution, uint32_t track,
	uint32_t per_bin)
{
	struct writer w = {
		.attribution = attribution,
		.track = &attribution->steps->tracks.items[track],
		.cost = &attribution->tracks.items[track],
		.origin_ns = attribution->recording->start_ns,
		.per_bin = per_bin,
	};
	size_t count = w.track->steps.count, bins = (count + per_bin - 1) / per_bin;
	_cleanup_free_ struct split *splits = split_overlap(attribution, track, bins, per_bin);

	if (!splits)
		return -ENOMEM;
	html_pack_begin(&w.pack, out);
	for (size_t i = 0; i < bins; i++) {
		struct bin bin = gather(&w, i * per_bin);

		put_bin(&w, &bin, i * per_bin, &splits[i]);
	}
	html_pack_end(&w.pack);
	return 0;
}

/* What the step would have taken without its pauses. */
static uint64_t without_pauses(const struct track_cost *cost, size_t index, uint64_t duration_ns)
{
	uint64_t cost_ns = index < cost->steps.count ? cost->steps.items[index].cost_ns : 0;

	return cost_ns < duration_ns ? duration_ns - cost_ns : 0;
}

static size_t class_of(uint64_t ns, double low, double width)
{
	double class = ns ? (log((double)ns) - low) / width : 0;

	return class <= 0 ? 0 : class >= CLASSES - 1 ? CLASSES - 1 : (size_t) class;
}

static void put_counts(FILE *out, const char *name, const uint64_t *counts)
{
	html_key(out, false, name);
	for (size_t i = 0; i < CLASSES; i++)
		fprintf(out, "%c%" PRIu64, i ? ',' : '[', counts[i]);
	putc_unlocked(']', out);
}

void html_distribution_write(FILE *out, const struct attribution *attribution, uint32_t track)
{
	const struct step_track *steps = &attribution->steps->tracks.items[track];
	const struct track_cost *cost = &attribution->tracks.items[track];
	uint64_t with[CLASSES] = {}, without[CLASSES] = {}, low_ns = UINT64_MAX, high_ns = 1;
	double low, width;

	for (size_t i = 0; i < steps->steps.count; i++) {
		uint64_t ns = duration_of(&steps->steps.items[i]);
		uint64_t less_ns = without_pauses(cost, i, ns);

		low_ns = less_ns && less_ns < low_ns ? less_ns : low_ns;
		high_ns = ns > high_ns ? ns : high_ns;
	}
	if (low_ns > high_ns)
		low_ns = high_ns;
	high_ns += high_ns / 1000 + 1; /* the longest lies in the last class, not on its edge */
	low = log((double)low_ns);
	width = (log((double)high_ns) - low) / CLASSES;
	for (size_t i = 0; i < steps->steps.count; i++) {
		uint64_t ns = duration_of(&steps->steps.items[i]);

		with[class_of(ns, low, width)]++;
		without[class_of(without_pauses(cost, i, ns), low, width)]++;
	}
	fprintf(out, "{\"low_ns\":%" PRIu64 ",\"high_ns\":%" PRIu64, low_ns, high_ns);
	put_counts(out, "with", with);
	put_counts(out, "without", without);
	putc_unlocked('}', out);
}

/* The indices of the greatest values seen, greatest first. */
struct top {
	size_t count;
	struct top_item {
		uint64_t value;
		size_t index;
	} items[WORST];
};

static void top_add(struct top *top, uint64_t value, size_t index)
{
	size_t at;

	if (!value || (top->count == WORST && value <= top->items[WORST - 1].value))
		return;
	at = top->count < WORST ? top->count++ : WORST - 1;
	for (; at && top->items[at - 1].value < value; at--)
		top->items[at] = top->items[at - 1];
	top->items[at] = (struct top_item){value, index};
}

static int by_index(const void *one, const void *other)
{
	const struct top_item *a = one, *b = other;

	return (a->index > b->index) - (a->index < b->index);
}

static int put_step(FILE *out, const struct attribution *attribution, uint32_t track, size_t index,
	struct html_stacks *stacks)
{
	const struct step *step = &attribution->steps->tracks.items[track].steps.items[index];
	const struct track_cost *costs = &attribution->tracks.items[track];
	struct step_cost cost = {.worst = ATTRIB_NONE};
	int64_t start_ns = (int64_t)(step->start_ns - attribution->recording->start_ns);
	uint32_t stack = STACK_NONE, frame;
	int r;

	if (index < costs->steps.count)
		cost = costs->steps.items[index];
	if (cost.worst < attribution->charges.count)
		stack = attribution->charges.items[cost.worst].stack;
	r = html_stacks_frame(stacks, attrib_trigger(attribution->stacks, stack), &frame);
	fprintf(out, "{\"index\":%zu,\"start_ns\":%" PRId64, index, start_ns);
	html_uint(out, "duration_ns", duration_of(step));
	html_uint(out, "overlap_ns", cost.overlap_ns);
	html_uint(out, "cost_ns", cost.cost_ns);
	html_uint(out, "pauses", cost.pauses);
	html_uint(out, "class", colour_of_step(attribution, &cost));
	html_uint(out, "frame", frame);
	putc_unlocked('}', out);
	return r;
}

int html_worst_write(FILE *out, const struct attribution *attribution, uint32_t track,
	struct html_stacks *stacks)
{
	const struct step_track *steps = &attribution->steps->tracks.items[track];
	const struct track_cost *cost = &attribution->tracks.items[track];
	struct top longest = {}, dearest = {};
	struct top_item all[2 * WORST];
	size_t count = 0;
	int r = 0;

	for (size_t i = 0; i < steps->steps.count; i++) {
		top_add(&longest, duration_of(&steps->steps.items[i]), i);
		if (i < cost->steps.count)
			top_add(&dearest, cost->steps.items[i].cost_ns, i);
	}
	for (size_t i = 0; i < longest.count; i++)
		all[count++] = longest.items[i];
	for (size_t i = 0; i < dearest.count; i++)
		all[count++] = dearest.items[i];
	qsort(all, count, sizeof(*all), by_index);
	putc_unlocked('[', out);
	for (size_t i = 0; !r && i < count; i++) {
		if (i && all[i].index == all[i - 1].index)
			continue;
		if (i)
			putc_unlocked(',', out);
		r = put_step(out, attribution, track, all[i].index, stacks);
	}
	putc_unlocked(']', out);
	return r;
}
