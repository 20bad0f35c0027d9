/* Requests and pauses → how many requests were stopped, for how long, and what they would have taken without. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attrib_priv.h"
#include "cleanup.h"
#include "meaning.h"
#include "request_cost.h"
#include "stats.h"

/* A time in which a process was paused, and for how long it had been before. */
struct stop {
	uint64_t start_ns, end_ns, before_ns;
	uint32_t process;
};

typedef VEC(struct stop) stops;

static int compare_stops(const void *a, const void *b)
{
	const struct stop *one = a, *other = b;

	if (one->process != other->process)
		return one->process < other->process ? -1 : 1;
	return (one->start_ns > other->start_ns) - (one->start_ns < other->start_ns);
}

static bool stops_requests(const struct runtime *runtime, const struct pause *pause)
{
	const struct runtime_meaning *meaning = pause->class->of;

	return runtime && !pause->at_exit &&
	       (!meaning->stops_others || meaning->stops_others(runtime, pause));
}

/* What @next returned last, or -ENOMEM. */
static int read_stops(const struct attribution *attribution, attrib_next_fn next, void *source,
	stops *ret, struct err *err)
{
	struct pause pause;
	int r;

	while ((r = next(source, &pause, err)) > 0) {
		const struct runtime *runtime =
			recording_runtime(attribution->recording, pause.runtime);
		struct stop *stop;

		if (!stops_requests(runtime, &pause))
			continue;
		stop = vec_add(ret);
		if (!stop)
			return err_set(err, ENOMEM,
				"out of memory while charging pauses to requests");
		*stop = (struct stop){pause.start_ns, pause.end_ns, 0, runtime->process};
	}
	return r;
}

/* By process and time, each moment once. */
static void settle_stops(stops *all)
{
	size_t kept = 0;

	if (all->count)
		qsort(all->items, all->count, sizeof(*all->items), compare_stops);
	for (size_t i = 0; i < all->count; i++) {
		struct stop stop = all->items[i];
		struct stop *last = kept ? &all->items[kept - 1] : NULL;

		if (last && last->process == stop.process) {
			stop.before_ns = last->before_ns + (last->end_ns - last->start_ns);
			if (stop.start_ns < last->end_ns)
				stop.start_ns = last->end_ns;
		}
		if (stop.end_ns > stop.start_ns)
			all->items[kept++] = stop;
	}
	all->count = kept;
}

/* How long the process of the @count stops was paused until @time_ns. */
static uint64_t stopped_until(const struct stop *all, size_t count, uint64_t time_ns)
{
	size_t low = 0, high = count;
	const struct stop *last;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all[middle].start_ns < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return 0;
	last = &all[low - 1];
	return last->before_ns + (time_ns < last->end_ns ? time_ns : last->end_ns) - last->start_ns;
}

/* The most that were under way at once; @requests are by start. */
static int most_at_once(const struct request *requests, size_t count, uint64_t *ret)
{
	_cleanup_free_ uint64_t *ends = calloc(count + 1, sizeof(*ends));
	size_t over = 0;

	if (!ends)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		ends[i] = requests[i].end_ns;
	qsort(ends, count, sizeof(*ends), stats_compare);
	*ret = 0;
	for (size_t i = 0; i < count; i++) {
		while (over < i && ends[over] <= requests[i].start_ns)
			over++;
		if (i + 1 - over > *ret)
			*ret = i + 1 - over;
	}
	return 0;
}

static struct request_times times_of(const uint64_t *values, size_t count)
{
	return (struct request_times){
		.p50_ns = stats_quantile(values, count, 0.5),
		.p99_ns = stats_quantile(values, count, 0.99),
		.max_ns = stats_quantile(values, count, 1),
	};
}

/* Of one process, with its @stop_count stops. */
static int sum_up(const struct request *requests, size_t count, const struct stop *all,
	size_t stop_count, struct request_cost *ret)
{
	_cleanup_free_ uint64_t *with = calloc(count + 1, sizeof(*with));
	_cleanup_free_ uint64_t *without = calloc(count + 1, sizeof(*without));

	if (!with || !without)
		return -ENOMEM;
	ret->requests = count;
	for (size_t i = 0; i < count; i++) {
		uint64_t overlap_ns = stopped_until(all, stop_count, requests[i].end_ns) -
				      stopped_until(all, stop_count, requests[i].start_ns);

		with[i] = requests[i].end_ns - requests[i].start_ns;
		without[i] = with[i] - overlap_ns;
		stats_add(&ret->time_ns, with[i]);
		stats_add(&ret->overlap_ns, overlap_ns);
		ret->stopped += overlap_ns > 0;
		if (overlap_ns > ret->overlap_max_ns)
			ret->overlap_max_ns = overlap_ns;
	}
	ret->with = times_of(with, count);
	ret->without = times_of(without, count);
	return most_at_once(requests, count, &ret->at_once);
}

static int add_process(struct attribution *attribution, const struct requests *requests,
	size_t from, size_t to, const stops *all)
{
	uint32_t process = requests->items.items[from].process;
	size_t first = vec_first(all, process, process),
	       last = vec_first(all, process, process + 1);
	struct request_cost *cost = vec_add(&attribution->requests);
	const struct request_rest *rest = requests_rest(requests, process);

	if (!cost)
		return -ENOMEM;
	cost->process = process;
	cost->unanswered = rest ? rest->unanswered : 0;
	return sum_up(&requests->items.items[from], to - from, all->items + first, last - first,
		cost);
}

static int add_untold(struct attribution *attribution, const struct requests *requests)
{
	for (size_t i = 0; i < requests->rests.count; i++) {
		const struct request_rest *rest = &requests->rests.items[i];
		struct request_untold *untold;

		if (!rest->untold && !rest->encrypted && !rest->http2)
			continue;
		untold = vec_add(&attribution->requests_untold);
		if (!untold)
			return -ENOMEM;
		*untold = (struct request_untold){
			rest->process, rest->untold, rest->encrypted, rest->http2};
	}
	return 0;
}

static int busiest_first(const void *a, const void *b)
{
	const struct request_cost *one = a, *other = b;

	if (one->requests != other->requests)
		return one->requests < other->requests ? 1 : -1;
	return (one->process > other->process) - (one->process < other->process);
}

int request_cost_find(struct attribution *attribution, const struct requests *requests,
	attrib_next_fn next, void *source, struct err *err)
{
	stops all = {};
	int read = 0, r = add_untold(attribution, requests);

	if (!r && !requests->items.count)
		return 0;
	if (!r)
		read = read_stops(attribution, next, source, &all, err);
	settle_stops(&all);
	for (size_t i = 0, end; !r && read != -ENOMEM && i < requests->items.count; i = end) {
		end = i + 1;
		while (end < requests->items.count &&
			requests->items.items[end].process == requests->items.items[i].process)
			end++;
		r = add_process(attribution, requests, i, end, &all);
	}
	vec_free(&all);
	if (r) {
		vec_free(&attribution->requests);
		return err_set(err, ENOMEM, "out of memory while charging pauses to requests");
	}
	if (attribution->requests.count)
		qsort(attribution->requests.items, attribution->requests.count,
			sizeof(struct request_cost), busiest_first);
	return read;
}

bool request_costs_harmless(const struct attribution *attribution)
{
	for (size_t i = 0; attribution && i < attribution->requests.count; i++) {
		const struct request_cost *cost = &attribution->requests.items[i];

		if ((double)cost->stopped >= ATTRIB_HARMLESS * (double)cost->requests)
			return false;
	}
	return true;
}
