/* Marks of what servers received and sent → requests, each with its begin and end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "requests.h"
#include "step_priv.h"

/* Stored, as numbers of series: GC_UNTOLD_… */
#define UNTOLD_ENCRYPTED 1
#define UNTOLD_HTTP2	 2

/* At one moment in this order. */
enum request_kind { CONNECTED, ASKED, ANSWERED };

struct request_event {
	uint64_t time_ns;
	uint32_t process;
	int64_t connection;
	enum request_kind kind;
};

typedef VEC(struct request_event) request_events;

static int by_connection(const void *a, const void *b)
{
	const struct request_event *one = a, *other = b;

	if (one->process != other->process)
		return one->process < other->process ? -1 : 1;
	if (one->connection != other->connection)
		return one->connection < other->connection ? -1 : 1;
	if (one->time_ns != other->time_ns)
		return one->time_ns < other->time_ns ? -1 : 1;
	return (one->kind > other->kind) - (one->kind < other->kind);
}

static int by_start(const void *a, const void *b)
{
	const struct request *one = a, *other = b;

	if (one->process != other->process)
		return one->process < other->process ? -1 : 1;
	if (one->start_ns != other->start_ns)
		return one->start_ns < other->start_ns ? -1 : 1;
	return (one->end_ns > other->end_ns) - (one->end_ns < other->end_ns);
}

const struct request_rest *requests_rest(const struct requests *requests, uint32_t process)
{
	for (size_t i = 0; i < requests->rests.count; i++)
		if (requests->rests.items[i].process == process)
			return &requests->rests.items[i];
	return NULL;
}

/* New if need be; NULL when memory is out. */
static struct request_rest *get_rest(struct requests *requests, uint32_t process)
{
	struct request_rest *rest = (struct request_rest *)requests_rest(requests, process);

	if (rest)
		return rest;
	rest = vec_add(&requests->rests);
	if (rest)
		*rest = (struct request_rest){.process = process};
	return rest;
}

/* Marks that belong to no connection: why requests are not told, or (number UNKNOWN) of connections beyond those told apart. */
static int add_untold(const struct series *series, enum request_kind kind, size_t count,
	struct requests *ret)
{
	struct request_rest *rest = count ? get_rest(ret, series->process) : NULL;

	if (!rest)
		return count ? -ENOMEM : 0;
	if (series->number == UNKNOWN)
		rest->untold += kind == ANSWERED ? count : 0;
	rest->encrypted |= series->number == UNTOLD_ENCRYPTED;
	rest->http2 |= series->number == UNTOLD_HTTP2;
	return 0;
}

static int add_line(const struct recording *recording, const struct step_line *line,
	request_events *events, struct requests *ret)
{
	const struct series *series = recording_series(recording, line->series);
	const struct signal *signal = series ? recording_signal(recording, series->signal) : NULL;
	enum request_kind kind;

	if (!signal || classify(signal->name, NULL) != CLASS_REQUEST)
		return 0;
	kind = !strcmp(signal->name, "http:request")	? ASKED
	       : !strcmp(signal->name, "http:response") ? ANSWERED
							: CONNECTED;
	if (series->number == UNKNOWN || !strcmp(signal->name, "http:untold"))
		return add_untold(series, kind, line->marks.count, ret);
	for (size_t i = 0; i < line->marks.count; i++) {
		struct request_event *event = vec_add(events);

		if (!event)
			return -ENOMEM;
		*event = (struct request_event){
			line->marks.items[i].time_ns, series->process, series->number, kind};
	}
	return 0;
}

/* A connection, from its first event on. */
struct pairing {
	const struct request_event *open; /* the request that is under way */
	uint32_t process;
	int64_t connection;
	size_t first;	  /* how many requests there were before it */
	uint64_t answers; /* in it, less that of a request before the probes */
	bool begun;	  /* some of it was seen */
	bool out_of_turn; /* none of it is told */
};

static int finish(const struct pairing *pairing, struct requests *ret)
{
	struct request_rest *rest;

	if (!pairing->out_of_turn && !pairing->open)
		return 0;
	rest = get_rest(ret, pairing->process);
	if (!rest)
		return -ENOMEM;
	if (pairing->out_of_turn)
		rest->untold += pairing->answers;
	else
		rest->unanswered++;
	return 0;
}

static int take(struct pairing *pairing, const struct request_event *event, struct requests *ret)
{
	bool was_begun = pairing->begun;
	struct request *request;

	pairing->begun = true;
	/* The probes came between a request and its response. */
	if (event->kind == ANSWERED && !was_begun)
		return 0;
	pairing->answers += event->kind == ANSWERED;
	if (pairing->out_of_turn || event->kind == CONNECTED)
		return 0;
	if ((event->kind == ANSWERED) != (pairing->open != NULL)) {
		pairing->out_of_turn = true;
		ret->items.count = pairing->first;
		return 0;
	}
	if (event->kind == ASKED) {
		pairing->open = event;
		return 0;
	}
	request = vec_add(&ret->items);
	if (!request)
		return -ENOMEM;
	*request = (struct request){event->process, pairing->open->time_ns, event->time_ns};
	pairing->open = NULL;
	return 0;
}

/* A response answers the request before it on its connection. */
static int pair(const request_events *events, struct requests *ret)
{
	struct pairing pairing = {};
	int r = 0;

	for (size_t i = 0; !r && i < events->count; i++) {
		const struct request_event *event = &events->items[i];

		if (event->process != pairing.process || event->connection != pairing.connection ||
			event->kind == CONNECTED) {
			r = finish(&pairing, ret);
			pairing = (struct pairing){.process = event->process,
				.connection = event->connection,
				.first = ret->items.count};
		}
		r = r ? r : take(&pairing, event, ret);
	}
	return r ? r : finish(&pairing, ret);
}

int requests_find(const struct recording *recording, const struct step_marks *marks,
	struct requests *ret)
{
	request_events events = {};
	int r = 0;

	*ret = (struct requests){};
	for (size_t i = 0; !r && i < marks->lines.count; i++)
		r = add_line(recording, &marks->lines.items[i], &events, ret);
	if (!r && events.count) {
		qsort(events.items, events.count, sizeof(*events.items), by_connection);
		r = pair(&events, ret);
	}
	if (!r && ret->items.count)
		qsort(ret->items.items, ret->items.count, sizeof(*ret->items.items), by_start);
	vec_free(&events);
	return r;
}

void requests_release(struct requests *requests)
{
	vec_free(&requests->items);
	vec_free(&requests->rests);
}
