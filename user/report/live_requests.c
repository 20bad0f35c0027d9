/* Marks of requests and responses in; how many were answered, and how fast, out. */
#include <stdlib.h>
#include <string.h>

#include "live_requests.h"
#include "live_step_words.h"
#include "parse.h"
#include "stats.h"
#include "text_cell.h"

#define SERVERS_SHOWN 4 /* with a line each */

static struct live_server *server_of(struct live_requests *requests, uint32_t process)
{
	struct live_server *added;

	for (size_t i = 0; i < requests->servers.count; i++)
		if (requests->servers.items[i].process == process)
			return &requests->servers.items[i];
	added = vec_add(&requests->servers);
	if (added)
		added->process = process;
	return added;
}

static void answer(struct live_requests *requests, uint32_t process, uint64_t duration_ns)
{
	struct live_server *server = server_of(requests, process);
	uint64_t *added = server ? vec_add(&server->durations) : NULL;

	if (added)
		*added = duration_ns;
}

bool live_requests_has(const struct signal *signal)
{
	return !strncmp(signal->name, "http:", strlen("http:"));
}

bool live_requests_mark(struct live_requests *requests, const struct recording *recording,
	const struct mark *mark)
{
	const struct series *series = recording_series(recording, mark->series);
	const struct signal *signal = series ? recording_signal(recording, series->signal) : NULL;
	const uint64_t *began_ns;
	uint64_t key;

	if (!signal || !live_requests_has(signal))
		return false;
	requests->seen = true;
	if (series->number < 0) /* of more connections than are told apart */
		return true;
	key = (uint64_t)series->process << 32 | (uint32_t)series->number;
	began_ns = u64map_get(&requests->open, key);
	if (!strcmp(signal->name, "http:request")) {
		if (requests->open.count >= LIVE_OPEN)
			u64map_release(&requests->open);
		u64map_put(&requests->open, key, mark->time_ns);
	} else if (!strcmp(signal->name, "http:connection")) {
		u64map_remove(&requests->open, key); /* of the one before, that was given up */
	} else if (!strcmp(signal->name, "http:response") && began_ns) {
		answer(requests, series->process, stats_distance(mark->time_ns, *began_ns));
		u64map_remove(&requests->open, key);
	}
	return true;
}

void live_requests_release(struct live_requests *requests)
{
	u64map_release(&requests->open);
	for (size_t i = 0; i < requests->servers.count; i++)
		vec_free(&requests->servers.items[i].durations);
	vec_free(&requests->servers);
	*requests = (struct live_requests){};
}

bool live_requests_any(const struct live_requests *requests)
{
	for (size_t i = 0; i < requests->servers.count; i++)
		if (requests->servers.items[i].durations.count)
			return true;
	return false;
}

static int busiest_first(const void *a, const void *b)
{
	const struct live_server *one = a, *other = b;

	if (one->durations.count != other->durations.count)
		return one->durations.count < other->durations.count ? 1 : -1;
	return (one->process > other->process) - (one->process < other->process);
}

static void put_server(FILE *out, const struct recording *recording,
	const struct live_server *server, uint64_t time_ns)
{
	const uint64_t *durations = server->durations.items;
	size_t count = server->durations.count;

	live_step_head(out, recording, time_ns, server->process);
	fprintf(out, "requests %zu, median %s, slowest %s\n", count,
		FORMAT_DURATION(stats_median(durations, count)),
		FORMAT_DURATION(stats_quantile(durations, count, 1)));
}

void live_requests_tell(struct live_requests *requests, FILE *out,
	const struct recording *recording, uint64_t time_ns)
{
	unsigned long long others = 0, servers = 0;

	if (!live_requests_any(requests))
		return;
	qsort(requests->servers.items, requests->servers.count, sizeof(*requests->servers.items),
		busiest_first);
	for (size_t i = 0; i < requests->servers.count; i++) {
		struct live_server *server = &requests->servers.items[i];

		if (i < SERVERS_SHOWN && server->durations.count) {
			put_server(out, recording, server, time_ns);
		} else {
			others += server->durations.count;
			servers += server->durations.count > 0;
		}
		vec_free(&server->durations);
	}
	requests->servers.count = 0;
	if (!others)
		return;
	cell_time(out, recording, time_ns);
	fprintf(out, "       … requests %llu in %llu other process%s\n", others, servers,
		servers == 1 ? "" : "es");
}
