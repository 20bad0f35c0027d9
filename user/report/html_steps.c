/* Steps and their costs → compact bins that lose no slow step, a histogram. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "cleanup.h"
#include "html_pack.h"
#include "html_steps.h"
#include "model_track.h"

#define CLASSES 240 /* of durations */

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
	int64_t end_us, rss_kib; /* of the bin before, as the reader has them */
};

static uint64_t duration_of(const struct step *step)
{
	return step->end_ns > step->start_ns ? step->end_ns - step->start_ns : 0;
}

/* What the picture marks as lost: all of the pauses where that cannot be told. */
static uint64_t lost_of(const struct track_cost *track, const struct step_cost *step)
{
	return attrib_told(track) ? step->cost_ns : step->overlap_ns;
}

static void split_charge(struct split *splits, const struct step_track *track,
	const struct charge *charge, unsigned int colour, uint64_t per_bin)
{
	uint64_t left_ns = charge->overlap_ns;

	if (charge->worker) { /* its consumer need not have waited while the pause lasted */
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
		bin.cost_ns += lost_of(w->cost, &w->cost->steps.items[i]);
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
		(int64_t)html_us(worst->overlap_ns) - (int64_t)html_us(lost_of(w->cost, worst)));
	html_pack_uint(&w->pack, worst->pauses ? 1 + model_step_colour(w->attribution, worst) : 0);
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

/* What the step would have taken without its pauses; what it took where that cannot be told. */
static uint64_t without_pauses(const struct track_cost *cost, size_t index, uint64_t duration_ns)
{
	uint64_t cost_ns = index < cost->steps.count && attrib_told(cost)
				   ? cost->steps.items[index].cost_ns
				   : 0;

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
	high_ns += high_ns / 1000 +
		   1; /* the longest is to lie within the last class, not on its edge */
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
