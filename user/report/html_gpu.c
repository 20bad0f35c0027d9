/* Idle intervals of GPUs, times of which nothing is known, memory at steps' ends → packed columns, as many as a page has room for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "devices.h"
#include "html_gpu.h"
#include "html_pack.h"
#include "stats.h"

#define LANES_MOST 8	 /* of one timeline */
#define SPANS_MOST 60000 /* of all devices: some 600 KB of the page */

struct lane {
	struct html_page *page;
	size_t device;		      /* index */
	const struct gpu_idle *idles; /* its own */
	size_t count;
	uint64_t least_ns; /* those that are longer are in the page */
};

/* µs from the recording's start on; 0 before it. */
static uint64_t since(const struct html_page *page, uint64_t ns)
{
	uint64_t origin_ns = page->input->recording->start_ns;

	return ns > origin_ns ? html_us(ns - origin_ns) : 0;
}

static uint64_t idle_ns(const struct gpu_idle *idle)
{
	return idle->end_ns - idle->start_ns;
}

/* 0 or -ENOMEM. */
static int find_lane(struct html_page *page, size_t device, struct lane *ret)
{
	const struct attribution *attribution = page->input->attribution;
	const struct gpu_charges *charges = &attribution->gpu_charges;
	size_t most = SPANS_MOST / attribution->gpu->devices.count;
	_cleanup_free_ uint64_t *lengths = NULL;
	size_t from = 0, to;

	while (from < charges->idles.count && charges->idles.items[from].device < device)
		from++;
	for (to = from; to < charges->idles.count && charges->idles.items[to].device == device;)
		to++;
	*ret = (struct lane){.page = page,
		.device = device,
		.idles = charges->idles.items + from,
		.count = to - from};
	if (ret->count <= most)
		return 0;
	lengths = calloc(ret->count, sizeof(*lengths));
	if (!lengths)
		return -ENOMEM;
	for (size_t i = 0; i < ret->count; i++)
		lengths[i] = idle_ns(&ret->idles[i]);
	ret->least_ns = stats_quantile(lengths, ret->count, 1 - (double)most / (double)ret->count);
	return 0;
}

enum { START, DURATION, PAUSE, COLUMNS };

/* The longest of its idle intervals, and what was left out. 0 or -ENOMEM. */
static int put_idles(const struct lane *lane)
{
	static const char *const names[COLUMNS] = {"start_us", "duration_us", "pause_us"};
	FILE *out = lane->page->out;
	_cleanup_free_ uint64_t *values = calloc(COLUMNS * (lane->count + 1), sizeof(*values));
	uint64_t *columns[COLUMNS], left_out = 0, left_out_ns = 0;
	size_t kept = 0;

	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < COLUMNS; i++)
		columns[i] = values + i * (lane->count + 1);
	for (size_t i = 0; i < lane->count; i++) {
		const struct gpu_idle *idle = &lane->idles[i];

		if (idle_ns(idle) <= lane->least_ns) {
			left_out++;
			stats_add(&left_out_ns, idle_ns(idle));
			continue;
		}
		columns[START][kept] = since(lane->page, idle->start_ns);
		columns[DURATION][kept] = since(lane->page, idle->end_ns) - columns[START][kept];
		columns[PAUSE][kept++] = html_us(idle->pause_ns);
	}
	html_uint(out, "left_out", left_out);
	html_uint(out, "left_out_ns", left_out_ns);
	html_uint(out, "least_ns", lane->least_ns);
	html_key(out, false, "idle");
	fprintf(out, "{\"count\":%zu,\"columns\":{", kept);
	for (size_t i = 0; i < COLUMNS; i++)
		html_column(out, !i, names[i], i == START ? HTML_RISING : HTML_PLAIN, columns[i],
			kept);
	fputs("}}", out);
	return 0;
}

/*
 * When its records are missing. Returns until when the page knows it: of very many such times the latest are left out, and
 * all from there on.
 */
static uint64_t put_unknown(const struct lane *lane)
{
	const struct gpu_device *device =
		&lane->page->input->attribution->gpu->devices.items[lane->device];
	size_t count = device->unknown.count < SPANS_MOST / LANES_MOST ? device->unknown.count
								       : SPANS_MOST / LANES_MOST;
	uint64_t until_ns = count < device->unknown.count ? device->unknown.items[count].start_ns
							  : device->until_ns;

	html_key(lane->page->out, false, "unknown");
	putc_unlocked('[', lane->page->out);
	for (size_t i = 0; i < count; i++)
		fprintf(lane->page->out, "%s[%llu,%llu]", i ? "," : "",
			(unsigned long long)since(lane->page, device->unknown.items[i].start_ns),
			(unsigned long long)since(lane->page, device->unknown.items[i].end_ns));
	putc_unlocked(']', lane->page->out);
	return until_ns;
}

static int put_lane(const struct lane *lane)
{
	struct html_page *page = lane->page;
	const struct attribution *attribution = page->input->attribution;
	const struct gpu_device *device = &attribution->gpu->devices.items[lane->device];
	const char *name = DEVICES_NAME(attribution, lane->device);
	uint64_t until_ns;

	fprintf(page->out, "{\"source\":\"%s\"", devices_source(attribution->gpu));
	html_text(page->out, "name", name, strlen(name), 80, &page->text);
	html_uint(page->out, "from_us", since(page, device->seen_ns));
	until_ns = put_unknown(lane);
	html_uint(page->out, "until_us", since(page, until_ns));
	if (put_idles(lane))
		return -ENOMEM;
	putc_unlocked('}', page->out);
	return 0;
}

/* Whether the lane of a device of @process belongs to the timeline of @track. */
static bool belongs(const struct html_page *page, uint32_t process, uint32_t track)
{
	const uint64_t *of = u64map_get(&page->tracks, process);

	return of ? *of == track : track == ATTRIB_NONE;
}

int html_gpu_write(struct html_page *page, uint32_t track)
{
	const struct attribution *attribution = page->input->attribution;
	const struct gpu_timeline *gpu = attribution ? attribution->gpu : NULL;
	size_t lanes = 0;
	int r = 0;

	for (size_t i = 0; !r && gpu && i < gpu->devices.count && lanes < LANES_MOST; i++) {
		struct lane lane;

		if (!belongs(page, gpu->devices.items[i].process, track))
			continue;
		r = find_lane(page, i, &lane);
		if (r)
			break;
		if (!lanes++)
			html_key(page->out, false, "gpus");
		putc_unlocked(lanes == 1 ? '[' : ',', page->out);
		r = put_lane(&lane);
	}
	if (lanes)
		putc_unlocked(']', page->out);
	return r;
}

/* In KiB, rounded down. */
static int64_t kib_of(const struct step_cost *cost)
{
	return cost->gpu_bytes >> 10;
}

/* Whether all of it is in the figures, not only what came since their records began. */
static bool is_total(const struct gpu_timeline *gpu, uint32_t process)
{
	bool total = false;

	for (size_t i = 0; i < gpu->devices.count; i++) {
		const struct gpu_device *device = &gpu->devices.items[i];

		if (device->process != process || !device->memory.count)
			continue;
		if (!device->memory_total)
			return false;
		total = true;
	}
	return total;
}

int html_gpu_memory_write(struct html_page *page, uint32_t track, uint32_t per_bin)
{
	const struct attribution *attribution = page->input->attribution;
	const struct track_cost *cost = &attribution->tracks.items[track];
	size_t count = cost->steps.count, bins = (count + per_bin - 1) / per_bin;
	_cleanup_free_ uint64_t *values =
		calloc(bins + 1, sizeof(*values)); /* more by one; 0: not known */
	int64_t least = INT64_MAX;

	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (cost->steps.items[i].gpu_bytes_known && kib_of(&cost->steps.items[i]) < least)
			least = kib_of(&cost->steps.items[i]);
	if (least == INT64_MAX)
		return 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t *value = &values[i / per_bin], kib;

		if (!cost->steps.items[i].gpu_bytes_known)
			continue;
		kib = (uint64_t)(kib_of(&cost->steps.items[i]) - least);
		if (kib + 1 > *value)
			*value = kib + 1;
	}
	html_key(page->out, false, "gpu_memory");
	fprintf(page->out, "{\"least_kib\":%lld", (long long)least);
	html_bool(page->out, "total",
		is_total(attribution->gpu, attribution->steps->tracks.items[track].process));
	html_column(page->out, false, "kib", HTML_KNOWN, values, bins);
	putc_unlocked('}', page->out);
	return 0;
}
