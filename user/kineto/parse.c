/* A trace's text in; what is kept of its events out. yajl reads the JSON. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yajl/yajl_parse.h>

#include "cleanup.h"
#include "kineto_trace.h"
#include "number.h"

DEFINE_CLEANUP(yajl_handle, yajl_free);

enum place { START, ROOT, EVENTS, EVENT, ARGS, DEVICES, DEVICE, END };

enum key {
	KEY_OTHER,
	KEY_EVENTS,
	KEY_BASE,
	KEY_DEVICES,
	KEY_PHASE,
	KEY_CATEGORY,
	KEY_NAME,
	KEY_PID,
	KEY_TID,
	KEY_TIME,
	KEY_DURATION,
	KEY_ARGS,
	KEY_DEVICE,
	KEY_CORRELATION,
	KEY_MEMORY,
	KEY_ALLOCATED,
	KEY_BYTES,
	KEY_DEVICE_TYPE,
};

#define DEVICES 1024 /* that a process can have; a larger number is of something else */

struct event {
	char phase, category[32], name[192];
	size_t name_len; /* all of it */
	int64_t pid, tid, time_ns, duration_ns, device, correlation;
	int64_t allocated, bytes, device_type; /* of "[memory]" */
};

struct parser {
	struct kineto_trace *trace;
	const struct kineto_labels *labels;
	enum place place;
	unsigned int skipped; /* depth within what nobody reads */
	enum key key;
	struct event event;
	size_t pid;  /* index of the last event's */
	bool failed; /* memory is out */
};

static enum key find_key(enum place place, const char *text, size_t len)
{
#define KEY(place, name, key) {place, sizeof(name) - 1, name, key}
	static const struct {
		enum place place;
		size_t len;
		const char *name;
		enum key key;
	} keys[] = {
		KEY(EVENT, "ph", KEY_PHASE),
		KEY(EVENT, "cat", KEY_CATEGORY),
		KEY(EVENT, "name", KEY_NAME),
		KEY(EVENT, "pid", KEY_PID),
		KEY(EVENT, "tid", KEY_TID),
		KEY(EVENT, "ts", KEY_TIME),
		KEY(EVENT, "dur", KEY_DURATION),
		KEY(EVENT, "args", KEY_ARGS),
		KEY(ARGS, "device", KEY_DEVICE),
		KEY(ARGS, "correlation", KEY_CORRELATION),
		KEY(ARGS, "Device Id", KEY_DEVICE),
		KEY(ARGS, "Device Type", KEY_DEVICE_TYPE),
		KEY(ARGS, "Total Allocated", KEY_ALLOCATED),
		KEY(ARGS, "Bytes", KEY_BYTES),
		KEY(ROOT, "traceEvents", KEY_EVENTS),
		KEY(ROOT, "baseTimeNanoseconds", KEY_BASE),
		KEY(ROOT, "deviceProperties", KEY_DEVICES),
		KEY(DEVICE, "id", KEY_DEVICE),
		KEY(DEVICE, "name", KEY_NAME),
		KEY(DEVICE, "totalGlobalMem", KEY_MEMORY),
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].place == place && keys[i].len == len &&
			!strncasecmp(keys[i].name, text, len))
			return keys[i].key;
	return KEY_OTHER;
}

static void begin_event(struct event *event)
{
	event->phase = event->category[0] = event->name[0] = '\0';
	event->name_len = 0;
	event->pid = event->tid = event->time_ns = event->duration_ns = KINETO_NONE;
	event->device = event->correlation = KINETO_NONE;
	event->allocated = event->bytes = event->device_type = KINETO_NONE;
}

static void copy(char *to, size_t size, const char *text, size_t len)
{
	len = len < size - 1 ? len : size - 1;
	memcpy(to, text, len);
	to[len] = '\0';
}

/* ── events ── */

/* The row of the process of @event, or NULL. */
static struct kineto_pid *find_pid(struct parser *parser)
{
	struct kineto_trace *trace = parser->trace;
	int64_t pid = parser->event.pid;
	struct kineto_pid *row;

	if (parser->pid < trace->pids.count && trace->pids.items[parser->pid].pid == pid)
		return &trace->pids.items[parser->pid];
	for (size_t i = 0; i < trace->pids.count; i++)
		if (trace->pids.items[i].pid == pid) {
			parser->pid = i;
			return &trace->pids.items[i];
		}
	/* No job has that many processes; what has is a number of another kind. */
	if (trace->pids.count >= 4096)
		return NULL;
	row = vec_add(&trace->pids);
	if (!row) {
		parser->failed = true;
		return NULL;
	}
	*row = (struct kineto_pid){.pid = pid};
	parser->pid = trace->pids.count - 1;
	return row;
}

static void add_work(struct parser *parser, int64_t end_ns)
{
	const struct event *event = &parser->event;
	/* The lane of a device has its number, where the event itself does not say it; a lane of the host has the host's. */
	int64_t device = event->device != KINETO_NONE ? event->device : event->pid;
	struct kineto_work *work = vec_add(&parser->trace->work);

	parser->failed |= !work;
	if (work)
		*work = (struct kineto_work){.start_ns = event->time_ns,
			.end_ns = end_ns,
			.correlation = event->correlation > 0 ? (uint64_t)event->correlation : 0,
			.device = device >= 0 && device < DEVICES ? (uint32_t)device : 0,
			.call = KINETO_LOST};
}

static void add_call(struct parser *parser, int64_t end_ns)
{
	const struct event *event = &parser->event;
	struct kineto_pid *pid = find_pid(parser);
	struct kineto_call *call = pid ? vec_add(&parser->trace->calls) : NULL;

	if (!pid)
		return;
	pid->calls++;
	pid->events++;
	parser->failed |= !call;
	if (call)
		*call = (struct kineto_call){.start_ns = event->time_ns,
			.end_ns = end_ns,
			.correlation = event->correlation > 0 ? (uint64_t)event->correlation : 0,
			.begun_ns = KINETO_NONE,
			.done_ns = KINETO_NONE,
			.previous_ns = KINETO_NONE,
			.pid = (uint32_t)parser->pid,
			.tid = event->tid == KINETO_NONE ? 0 : (uint32_t)event->tid,
			.next = KINETO_LOST,
			.kinds = kineto_call_kinds(event->name)};
}

static void add_seen(struct parser *parser)
{
	const struct event *event = &parser->event;
	uint32_t label = event->name_len < sizeof(event->name)
				 ? kineto_labels_find(parser->labels, event->name, event->name_len)
				 : KINETO_LOST;
	struct kineto_pid *pid;
	struct kineto_seen *seen;

	if (event->pid == KINETO_NONE)
		return; /* of a lane with a name */
	pid = find_pid(parser);
	if (!pid)
		return;
	pid->events++;
	if (label == KINETO_LOST)
		return;
	seen = vec_add(&parser->trace->seen);
	parser->failed |= !seen;
	if (seen)
		*seen = (struct kineto_seen){event->time_ns, label, (uint32_t)parser->pid,
			event->tid == KINETO_NONE ? 0 : (uint32_t)event->tid};
}

/* Of c10::DeviceType: CUDA, and HIP under its own name. */
static bool is_gpu(int64_t device_type)
{
	return device_type == 1 || device_type == 6;
}

/* A tensor was allocated or freed: what all take by then. */
static void add_memory(struct parser *parser)
{
	const struct event *event = &parser->event;
	struct kineto_pid *pid;
	struct kineto_bytes *memory;

	if (strcmp(event->name, "[memory]") || !is_gpu(event->device_type) ||
		event->time_ns == KINETO_NONE || event->pid == KINETO_NONE ||
		event->allocated < 0 || event->bytes == KINETO_NONE || event->device < 0 ||
		event->device >= DEVICES)
		return;
	pid = find_pid(parser);
	memory = pid ? vec_add(&parser->trace->memory) : NULL;
	if (!pid)
		return;
	parser->failed |= !memory;
	if (memory)
		*memory = (struct kineto_bytes){event->time_ns, event->allocated, event->bytes,
			(uint32_t)parser->pid, (uint32_t)event->device};
}

static void end_event(struct parser *parser)
{
	const struct event *event = &parser->event;
	int64_t duration_ns = event->duration_ns == KINETO_NONE ? 0 : event->duration_ns, end_ns;

	if (event->phase == 'i')
		add_memory(parser);
	/* Flows, metadata, instants and counters have other phases. */
	if ((event->phase && event->phase != 'X') || event->time_ns == KINETO_NONE ||
		duration_ns < 0 || __builtin_add_overflow(event->time_ns, duration_ns, &end_ns))
		return;
	switch (kineto_category(event->category)) {
	case KINETO_WORK:
		add_work(parser, end_ns);
		break;
	case KINETO_CALL:
		add_call(parser, end_ns);
		break;
	case KINETO_ELSE:
		add_seen(parser);
		break;
	case KINETO_ASIDE:
		break;
	}
}

/* ── JSON ── */

static void take_of_event(struct event *event, enum key key, const char *text, size_t len)
{
	switch (key) {
	case KEY_PHASE:
		event->phase = len == 1 ? *text : '?';
		break;
	case KEY_CATEGORY:
		copy(event->category, sizeof(event->category), text, len);
		break;
	case KEY_NAME:
		copy(event->name, sizeof(event->name), text, len);
		event->name_len = len;
		break;
	case KEY_PID:
		event->pid = number_whole(text, len);
		break;
	case KEY_TID:
		event->tid = number_whole(text, len);
		break;
	case KEY_TIME:
		event->time_ns = number_thousandfold(text, len);
		break;
	case KEY_DURATION:
		event->duration_ns = number_thousandfold(text, len);
		break;
	case KEY_DEVICE:
		event->device = number_whole(text, len);
		break;
	case KEY_CORRELATION:
		event->correlation = number_whole(text, len);
		break;
	case KEY_DEVICE_TYPE:
		event->device_type = number_whole(text, len);
		break;
	case KEY_ALLOCATED:
		event->allocated = number_whole(text, len);
		break;
	case KEY_BYTES:
		event->bytes = number_whole(text, len);
		break;
	default:
		break;
	}
}

static void take_of_device(struct kineto_name *name, enum key key, const char *text, size_t len)
{
	if (key == KEY_DEVICE)
		name->device = number_whole(text, len);
	else if (key == KEY_NAME)
		copy(name->name, sizeof(name->name), text, len);
	else if (key == KEY_MEMORY)
		name->memory_bytes = number_whole(text, len);
}

/* A number or a string: some versions write one where others write the other. */
static void take(struct parser *parser, const char *text, size_t len)
{
	struct kineto_trace *trace = parser->trace;

	if (parser->skipped || parser->key == KEY_OTHER)
		return;
	if (parser->place == EVENT || parser->place == ARGS)
		take_of_event(&parser->event, parser->key, text, len);
	else if (parser->place == DEVICE)
		take_of_device(&trace->names.items[trace->names.count - 1], parser->key, text, len);
	else if (parser->place == ROOT && parser->key == KEY_BASE)
		trace->base_ns = number_whole(text, len);
	if (trace->base_ns == KINETO_NONE)
		trace->base_ns = 0;
}

static int on_number(void *context, const char *text, size_t len)
{
	take(context, text, len);
	return 1;
}

static int on_string(void *context, const unsigned char *text, size_t len)
{
	take(context, (const char *)text, len);
	return 1;
}

static int on_key(void *context, const unsigned char *text, size_t len)
{
	struct parser *parser = context;

	if (!parser->skipped)
		parser->key = find_key(parser->place, (const char *)text, len);
	return 1;
}

static int begin(struct parser *parser, bool map)
{
	enum place next = START;

	if (parser->skipped) {
		parser->skipped++;
		return 1;
	}
	if (parser->place == START) /* some tools write the list of events alone */
		next = map ? ROOT : EVENTS;
	else if (parser->place == ROOT && !map && parser->key == KEY_EVENTS)
		next = EVENTS;
	else if (parser->place == ROOT && !map && parser->key == KEY_DEVICES)
		next = DEVICES;
	else if (parser->place == EVENTS && map)
		next = EVENT;
	else if (parser->place == EVENT && map && parser->key == KEY_ARGS)
		next = ARGS;
	else if (parser->place == DEVICES && map)
		next = DEVICE;
	if (next == START) {
		parser->skipped = 1;
		return 1;
	}
	parser->trace->has_events |= next == EVENTS && parser->place == ROOT;
	if (next == EVENT)
		begin_event(&parser->event);
	parser->place = next;
	parser->key = KEY_OTHER;
	if (next == DEVICE && !vec_add(&parser->trace->names))
		parser->failed = true;
	return !parser->failed;
}

static int end(struct parser *parser)
{
	static const enum place outer[] = {[ROOT] = END,
		[EVENTS] = ROOT,
		[EVENT] = EVENTS,
		[ARGS] = EVENT,
		[DEVICES] = ROOT,
		[DEVICE] = DEVICES};

	if (parser->skipped) {
		parser->skipped--;
		return 1;
	}
	if (parser->place == EVENT) {
		parser->trace->has_events = true;
		end_event(parser);
	}
	parser->place = outer[parser->place];
	parser->key = KEY_OTHER;
	return !parser->failed;
}

static int on_map(void *context)
{
	return begin(context, true);
}

static int on_array(void *context)
{
	return begin(context, false);
}

static int on_end(void *context)
{
	return end(context);
}

static int not_json(yajl_handle handle, const struct kineto_text *text, uint64_t before,
	const uint8_t *bytes, size_t len, struct err *err)
{
	unsigned char *words = yajl_get_error(handle, 0, bytes, len);
	bool early = words && strstr((const char *)words, "premature EOF");

	if (early)
		err_set(err, EBADMSG,
			"%s was cut off: its JSON ends too early; export or copy it again",
			text->path);
	else
		err_set(err, EBADMSG,
			"%s is no trace: byte %llu is not JSON (%.*s); give the file that "
			"PyTorch's profiler exported, .json or .json.gz",
			text->path, (unsigned long long)(before + yajl_get_bytes_consumed(handle)),
			words ? (int)strcspn((const char *)words, "\n") : 0,
			words ? (const char *)words : "");
	if (words)
		yajl_free_error(handle, words);
	return -EBADMSG;
}

static int parse_all(yajl_handle handle, struct kineto_text *text, const struct parser *parser,
	struct err *err)
{
	const uint8_t *bytes = NULL;
	uint64_t before = 0;
	ssize_t len;

	while ((len = kineto_text_next(text, &bytes, err)) > 0) {
		yajl_status status = yajl_parse(handle, bytes, (size_t)len);

		if (parser->failed)
			return err_set(err, ENOMEM, "out of memory while reading %s", text->path);
		if (status != yajl_status_ok)
			return not_json(handle, text, before, bytes, (size_t)len, err);
		before += (uint64_t)len;
	}
	if (len < 0)
		return (int)len;
	if (!before)
		return err_set(err, EBADMSG, "%s is empty: export the trace again", text->path);
	if (yajl_complete_parse(handle) != yajl_status_ok)
		return not_json(handle, text, before, NULL, 0, err);
	return 0;
}

int kineto_parse(struct kineto_text *text, const struct kineto_labels *labels,
	struct kineto_trace *ret, struct err *err)
{
	static const yajl_callbacks callbacks = {
		.yajl_number = on_number,
		.yajl_string = on_string,
		.yajl_start_map = on_map,
		.yajl_map_key = on_key,
		.yajl_end_map = on_end,
		.yajl_start_array = on_array,
		.yajl_end_array = on_end,
	};
	struct parser parser = {.trace = ret, .labels = labels};
	_cleanup_(cleanup_yajl_free) yajl_handle handle = yajl_alloc(&callbacks, NULL, &parser);
	int r;

	*ret = (struct kineto_trace){};
	if (!handle)
		return err_set(err, ENOMEM, "out of memory while reading %s", text->path);
	yajl_config(handle, yajl_dont_validate_strings,
		1); /* names of kernels are of any encoding */
	r = parse_all(handle, text, &parser, err);
	if (!r && !ret->has_events)
		return err_set(err, EBADMSG,
			"%s is JSON, but no trace: it has no \"traceEvents\"; give the file that "
			"PyTorch's profiler exported",
			text->path);
	return r;
}

void kineto_trace_release(struct kineto_trace *trace)
{
	vec_free(&trace->work);
	vec_free(&trace->calls);
	vec_free(&trace->seen);
	vec_free(&trace->memory);
	vec_free(&trace->pids);
	vec_free(&trace->names);
}
