/* Marks of what servers received and sent → requests, each with its begin and end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "requests.h"
#include "step_priv.h"

struct request_event {
	uint64_t time_ns;
	uint32_t process;
	int64_t connection;
	bool response;
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
	return one->response - other->response;
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

/* Those of a signal with more series than are told apart have no number, and cannot be paired. */
static int add_line(const struct recording *recording, const struct step_line *line,
	request_events *ret)
{
	const struct series *series = recording_series(recording, line->series);
	const struct signal *signal = series ? recording_signal(recording, series->signal) : NULL;

	if (!signal || series->number < 0 || classify(signal->name, NULL) != CLASS_REQUEST)
		return 0;
	for (size_t i = 0; i < line->marks.count; i++) {
		struct request_event *event = vec_add(ret);

		if (!event)
			return -ENOMEM;
		event->time_ns = line->marks.items[i].time_ns;
		event->process = series->process;
		event->connection = series->number;
		event->response = !strcmp(signal->name, "http:response");
	}
	return 0;
}

static int add_unanswered(struct requests *requests, uint32_t process)
{
	struct unanswered *last =
		requests->unanswered.count
			? &requests->unanswered.items[requests->unanswered.count - 1]
			: NULL;

	if (!last || last->process != process) {
		last = vec_add(&requests->unanswered);
		if (!last)
			return -ENOMEM;
		last->process = process;
	}
	last->count++;
	return 0;
}

/* A response answers the request before it on its connection. */
static int pair(const request_events *events, struct requests *ret)
{
	const struct request_event *open = NULL;
	int r = 0;

	for (size_t i = 0; !r && i < events->count; i++) {
		const struct request_event *event = &events->items[i];
		bool same = open && open->process == event->process &&
			    open->connection == event->connection;
		struct request *request;

		if (open && !(same && event->response))
			r = add_unanswered(ret, open->process);
		if (r || !event->response || !same) {
			open = event->response ? NULL : event;
			continue;
		}
		request = vec_add(&ret->items);
		if (!request)
			return -ENOMEM;
		*request = (struct request){event->process, open->time_ns, event->time_ns};
		open = NULL;
	}
	return r || !open ? r : add_unanswered(ret, open->process);
}

int requests_find(const struct recording *recording, const struct step_marks *marks,
	struct requests *ret)
{
	request_events events = {};
	int r = 0;

	*ret = (struct requests){};
	for (size_t i = 0; !r && i < marks->lines.count; i++)
		r = add_line(recording, &marks->lines.items[i], &events);
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
	vec_free(&requests->unanswered);
}
