/* What an open .gct file holds of GPUs in; out comes a timeline of them, all of it checked. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_fact.h"
#include "reader.h"
#include "utf8.h"

/* Lists are kept whole, up to here. */
#define LIST_MAX	(8u << 20)
#define UNKNOWN_MAX	(64u << 10) /* each may be of all devices of a process */
#define DEVICES_MOST	1024	    /* of all processes, and as many threads that launch */
#define DRIVERS_MOST	1024
#define DEVICES_OF_MOST 64 /* of one: see trace/gpu_facts.c */

/* Columns 1 and 2 of a row: a process that is there and a device, or none if @optional. */
static bool read_owner(const struct store_reader *reader, sqlite3_stmt *row, int at,
	uint32_t *ret_process, uint32_t *ret_device)
{
	uint64_t process, device = GPU_DEVICE_NONE;
	bool none = sqlite3_column_type(row, at + 1) == SQLITE_NULL;

	if (!reader_unsigned(row, at, UINT32_MAX, &process) ||
		(!none && !reader_unsigned(row, at + 1, GPU_DEVICE_NONE - 1, &device)) ||
		!recording_process(&reader->recording, (uint32_t)process))
		return false;
	*ret_process = (uint32_t)process;
	*ret_device = (uint32_t)device;
	return true;
}

/* Start and length at columns @at and the next. */
static bool read_span(sqlite3_stmt *row, int at, uint64_t *ret_start, uint64_t *ret_end)
{
	uint64_t start, length;

	if (!reader_unsigned(row, at, INT64_MAX, &start) ||
		!reader_unsigned(row, at + 1, INT64_MAX - start, &length))
		return false;
	*ret_start = start;
	*ret_end = start + length;
	return true;
}

/* Column @at, or 0 where it is not known. */
static uint64_t read_nonzero(sqlite3_stmt *row, int at)
{
	int64_t value = reader_known(row, at, INT64_MAX);

	return value < 0 ? 0 : (uint64_t)value;
}

/* A device that has a row; NULL: none has. */
static struct gpu_device *find_device(struct store_reader *reader, uint32_t process,
	uint32_t device)
{
	for (size_t i = 0; i < reader->gpu.devices.count; i++)
		if (reader->gpu.devices.items[i].process == process &&
			reader->gpu.devices.items[i].device == device)
			return &reader->gpu.devices.items[i];
	return NULL;
}

/* Whether @process may have one more: its rows come together. */
static bool may_have_more(const struct store_reader *reader, uint32_t process)
{
	size_t count = reader->gpu.devices.count, of = 0;

	while (of < count && reader->gpu.devices.items[count - 1 - of].process == process)
		of++;
	return count < DEVICES_MOST && of < DEVICES_OF_MOST;
}

static int read_device(struct store_reader *reader, sqlite3_stmt *row)
{
	const void *name = sqlite3_column_blob(row, 2);
	struct gpu_device *device;
	uint32_t process, number;
	uint64_t error;

	if (!read_owner(reader, row, 0, &process, &number) || number == GPU_DEVICE_NONE ||
		!reader_unsigned(row, 6, INT64_MAX, &error) || !may_have_more(reader, process))
		return 1;
	device = vec_add(&reader->gpu.devices);
	if (!device)
		return -ENOMEM;
	device->process = process;
	device->device = number;
	device->memory_bytes = read_nonzero(row, 3);
	device->seen_ns = read_nonzero(row, 4);
	device->until_ns = read_nonzero(row, 5);
	if (device->until_ns < device->seen_ns)
		device->seen_ns = device->until_ns = 0;
	if (error > reader->gpu.clock_error_ns)
		reader->gpu.clock_error_ns = error;
	utf8_clean(device->name, sizeof(device->name), name,
		name ? (size_t)sqlite3_column_bytes(row, 2) : 0);
	return 0;
}

static int read_launcher(struct store_reader *reader, sqlite3_stmt *row)
{
	struct gpu_launcher *launcher;
	uint64_t process, tid;

	if (!reader_unsigned(row, 0, UINT32_MAX, &process) ||
		!reader_unsigned(row, 1, UINT32_MAX, &tid) ||
		!recording_process(&reader->recording, (uint32_t)process) ||
		reader->gpu.launchers.count == DEVICES_MOST)
		return 1;
	launcher = gpu_launcher(&reader->gpu, (uint32_t)process, (uint32_t)tid);
	if (!launcher)
		return -ENOMEM;
	launcher->launches = read_nonzero(row, 2);
	launcher->gap_ns = read_nonzero(row, 3);
	return 0;
}

static int read_driver(struct store_reader *reader, sqlite3_stmt *row)
{
	struct gpu_driver *driver;
	uint64_t process, attached;

	if (!reader_unsigned(row, 0, UINT32_MAX, &process) ||
		!reader_unsigned(row, 1, INT64_MAX, &attached) ||
		!recording_process(&reader->recording, (uint32_t)process) ||
		reader->gpu.drivers.count == DRIVERS_MOST)
		return 1;
	driver = gpu_driver(&reader->gpu, (uint32_t)process);
	if (!driver)
		return -ENOMEM;
	driver->attached_ns = attached;
	driver->let_go_ns = read_nonzero(row, 2);
	driver->failed = read_nonzero(row, 3);
	return 0;
}

/* A row of the tables that may be long. */
struct gpu_row {
	uint32_t process, device;
	union {
		struct gpu_busy busy;
		struct {
			struct gpu_wait wait;
			uint64_t kind, flags;
			uint32_t tid;
		} call;
		struct gpu_bytes bytes;
		struct gpu_driver_call driver_call;
		struct {
			struct gpu_span span;
			uint64_t records, why;
		} unknown;
	};
};

static bool read_busy(struct store_reader *reader, const struct cursor *cursor, void *ret)
{
	sqlite3_stmt *row = cursor->rows;
	struct gpu_row *out = ret;
	struct gpu_busy busy = {};
	uint64_t tid = 0;

	if (!read_owner(reader, row, 1, &out->process, &out->device) ||
		!read_span(row, 3, &busy.start_ns, &busy.end_ns) ||
		!reader_unsigned(row, 8, busy.end_ns - busy.start_ns, &busy.gaps_ns) ||
		!reader_unsigned(row, 9, busy.gaps_ns, &busy.starved_ns) ||
		!find_device(reader, out->process, out->device))
		return false;
	busy.launch_ns = read_nonzero(row, 5);
	busy.previous_ns = read_nonzero(row, 6);
	busy.unsure_ns = read_nonzero(row, 10);
	busy.tid = reader_unsigned(row, 7, UINT32_MAX, &tid) ? (uint32_t)tid : 0;
	out->busy = busy;
	return true;
}

static int add_busy(struct store_reader *reader, const struct gpu_row *row)
{
	struct gpu_device *device = find_device(reader, row->process, row->device);
	struct gpu_busy busy = row->busy, *slot;
	uint64_t length;

	/* Of a device's last moments some records have come, but perhaps not all. */
	if (busy.start_ns < device->seen_ns)
		busy.start_ns = device->seen_ns;
	if (busy.end_ns > device->until_ns)
		busy.end_ns = device->until_ns;
	if (busy.start_ns >= busy.end_ns)
		return 0;
	length = busy.end_ns - busy.start_ns;
	busy.gaps_ns = busy.gaps_ns < length ? busy.gaps_ns : length;
	busy.starved_ns = busy.starved_ns < length ? busy.starved_ns : length;
	slot = vec_add(&device->busy);
	if (slot)
		*slot = busy;
	return slot ? 0 : -ENOMEM;
}

static bool read_call(struct store_reader *reader, const struct cursor *cursor, void *ret)
{
	sqlite3_stmt *row = cursor->rows;
	struct gpu_row *out = ret;
	struct gpu_wait wait = {};
	uint64_t tid;

	if (!read_owner(reader, row, 1, &out->process, &out->device) ||
		!reader_unsigned(row, 3, UINT32_MAX, &tid) || !tid ||
		!reader_unsigned(row, 4, UINT32_MAX, &out->call.kind) ||
		!read_span(row, 5, &wait.start_ns, &wait.end_ns))
		return false;
	wait.device = out->device;
	wait.done_ns = read_nonzero(row, 7);
	out->call.flags = read_nonzero(row, 8);
	wait.copy = out->call.flags & GPU_CALL_COPY;
	wait.queue = out->call.flags & GPU_CALL_QUEUE;
	out->call.tid = (uint32_t)tid;
	out->call.wait = wait;
	return reader->gpu.launchers.count < DEVICES_MOST;
}

/* Of a kind from a later gctrace nothing is known. */
static int add_call(struct store_reader *reader, const struct gpu_row *row)
{
	struct gpu_launcher *launcher = gpu_launcher(&reader->gpu, row->process, row->call.tid);
	struct gpu_allocation *allocation;
	struct gpu_wait *wait;

	if (!launcher)
		return -ENOMEM;
	if (row->call.kind == GPU_CALL_WAIT) {
		wait = vec_add(&launcher->waits);
		if (wait)
			*wait = row->call.wait;
		return wait ? 0 : -ENOMEM;
	}
	if (row->call.kind != GPU_CALL_ALLOCATE)
		return 0;
	allocation = vec_add(&launcher->allocations);
	if (allocation)
		*allocation = (struct gpu_allocation){row->call.wait.start_ns,
			row->call.wait.end_ns, row->device, row->call.flags & GPU_CALL_FREES,
			row->call.flags & GPU_CALL_FAILED};
	return allocation ? 0 : -ENOMEM;
}

static bool read_bytes(struct store_reader *reader, const struct cursor *cursor, void *ret)
{
	sqlite3_stmt *row = cursor->rows;
	struct gpu_row *out = ret;

	out->bytes.bytes = sqlite3_column_int64(row, 4);
	return read_owner(reader, row, 1, &out->process, &out->device) &&
	       find_device(reader, out->process, out->device) &&
	       reader_unsigned(row, 3, INT64_MAX, &out->bytes.time_ns) &&
	       sqlite3_column_type(row, 4) == SQLITE_INTEGER && out->bytes.bytes >= -MEMORY_MAX &&
	       out->bytes.bytes <= MEMORY_MAX;
}

static int add_bytes(struct store_reader *reader, const struct gpu_row *row)
{
	struct gpu_device *device = find_device(reader, row->process, row->device);
	struct gpu_bytes *bytes = vec_add(&device->memory);

	if (bytes)
		*bytes = row->bytes;
	return bytes ? 0 : -ENOMEM;
}

static bool read_driver_call(struct store_reader *reader, const struct cursor *cursor, void *ret)
{
	sqlite3_stmt *row = cursor->rows;
	struct gpu_row *out = ret;
	struct gpu_driver_call call = {};
	const char *function = (const char *)sqlite3_column_text(row, 4);
	uint64_t process, tid, kind;

	if (!reader_unsigned(row, 1, UINT32_MAX, &process) ||
		!reader_unsigned(row, 2, UINT32_MAX, &tid) || !tid ||
		!reader_unsigned(row, 3, UINT32_MAX, &kind) ||
		!read_span(row, 5, &call.start_ns, &call.end_ns))
		return false;
	call.tid = (uint32_t)tid;
	call.kind = (enum gpu_driver_kind)kind;
	call.function = function ? gpu_driver_function(function) : 0;
	if (!reader_unsigned(row, 7, INT64_MAX, &call.launches))
		call.launches = GPU_NOT_COUNTED;
	call.bytes = read_nonzero(row, 8);
	if (call.bytes > MEMORY_MAX)
		return false;
	out->process = (uint32_t)process;
	out->driver_call = call;
	for (size_t i = 0; i < reader->gpu.drivers.count; i++)
		if (reader->gpu.drivers.items[i].process == process)
			return true;
	return false;
}

/* Of a kind from a later gctrace nothing is known. */
static int add_driver_call(struct store_reader *reader, const struct gpu_row *row)
{
	struct gpu_driver *driver = gpu_driver(&reader->gpu, row->process);
	struct gpu_driver_call *call;

	if (row->driver_call.kind < GPU_DRIVER_WAIT || row->driver_call.kind > GPU_DRIVER_FREE)
		return 0;
	call = driver ? vec_add(&driver->calls) : NULL;
	if (call)
		*call = row->driver_call;
	return call ? 0 : -ENOMEM;
}

static bool read_unknown(struct store_reader *reader, const struct cursor *cursor, void *ret)
{
	sqlite3_stmt *row = cursor->rows;
	struct gpu_row *out = ret;

	out->unknown.span.start_ns = read_nonzero(row, 3);
	out->unknown.span.end_ns = read_nonzero(row, 4);
	return read_owner(reader, row, 1, &out->process, &out->device) &&
	       reader_unsigned(row, 5, INT64_MAX, &out->unknown.records) &&
	       reader_unsigned(row, 6, UINT32_MAX, &out->unknown.why);
}

static void note_why(struct store_reader *reader, uint64_t why)
{
	const char *refusal = gpu_refusal(why);

	if (refusal)
		snprintf(reader->gpu.note, sizeof(reader->gpu.note),
			"nothing can be recorded of a process's GPUs: %s", refusal);
	else if (why == GPU_UNKNOWN_ASIDE)
		snprintf(reader->gpu.note, sizeof(reader->gpu.note),
			"another user of CUPTI, such as a profiler, was active for some time: of that "
			"nothing is known");
}

static int add_unknown(struct store_reader *reader, const struct gpu_row *row)
{
	note_why(reader, row->unknown.why);
	for (size_t i = 0; i < reader->gpu.devices.count; i++) {
		struct gpu_device *device = &reader->gpu.devices.items[i];
		struct gpu_span *span, all = {device->seen_ns, device->until_ns};

		if (device->process != row->process ||
			(row->device != GPU_DEVICE_NONE && row->device != device->device))
			continue;
		span = vec_add(&device->unknown);
		if (!span)
			return -ENOMEM;
		*span = row->unknown.span.end_ns ? row->unknown.span : all;
		device->dropped += row->unknown.records;
	}
	return 0;
}

/* There are more rows than are kept: of what comes after @last_ns nothing is known. */
static void cut(struct store_reader *reader, const struct cursor *cursor, uint64_t last_ns)
{
	reader_damaged(reader, "more than %llu %s: the later ones were not read",
		(unsigned long long)cursor->read - 1, cursor->things);
	for (size_t i = 0; i < reader->gpu.devices.count; i++) {
		struct gpu_device *device = &reader->gpu.devices.items[i];

		if (device->until_ns > last_ns)
			device->until_ns = last_ns;
		if (device->until_ns <= device->seen_ns)
			device->seen_ns = device->until_ns = 0;
	}
}

static int read_list(struct store_reader *reader, struct cursor *cursor, const char *sql,
	bool (*read)(struct store_reader *, const struct cursor *, void *),
	int (*add)(struct store_reader *, const struct gpu_row *))
{
	uint64_t last_ns = 0, most = read == read_unknown ? UNKNOWN_MAX : LIST_MAX;
	int r = cursor_begin(reader, cursor, sql, NULL);
	struct gpu_row row = {};

	while (!r && (r = cursor_next(reader, cursor, read, &row, NULL)) > 0) {
		if (cursor->read > most) {
			cut(reader, cursor, last_ns);
			r = 0;
			break;
		}
		if (read == read_busy)
			last_ns = row.busy.start_ns;
		else if (read == read_call)
			last_ns = row.call.wait.start_ns;
		r = add(reader, &row);
	}
	sqlite3_finalize(cursor->rows);
	return r;
}

/* Devices and threads first: the rows of the others are theirs. 0 or -ENOMEM. */
static int read_all(struct store_reader *reader)
{
	static const struct {
		const char *table, *things, *columns;
		const char *added; /* the last column, which older recordings lack */
		bool (*read)(struct store_reader *, const struct cursor *, void *);
		int (*add)(struct store_reader *, const struct gpu_row *);
	} lists[] = {
		{"gpu_busy", "times busy of GPUs",
			"device, start_ns, duration_ns, launch_ns, previous_ns, tid, gaps_ns, starved_ns",
			"unsure_ns", read_busy, add_busy},
		{"gpu_call", "calls that wait for GPUs",
			"device, tid, kind, start_ns, duration_ns, done_ns", "flags", read_call,
			add_call},
		{"gpu_memory", "sizes of GPU memory", "device, time_ns", "bytes", read_bytes,
			add_bytes},
		{"gpu_unknown", "times in which nothing is known of a GPU",
			"device, start_ns, end_ns, records", "why", read_unknown, add_unknown},
		{"gpu_driver_call", "calls of CUDA's driver",
			"tid, kind, function, start_ns, duration_ns, launches", "bytes",
			read_driver_call, add_driver_call},
	};
	int r = reader_scan(reader, "gpu_device",
		"SELECT process, device, name, memory_bytes, seen_ns, until_ns, clock_error_ns "
		"FROM gpu_device ORDER BY process, device",
		read_device);

	if (!r)
		r = reader_scan(reader, "gpu_launcher",
			"SELECT process, tid, launches, gap_ns FROM gpu_launcher ORDER BY process, tid",
			read_launcher);
	if (!r && reader_has(reader, "gpu_driver", NULL))
		r = reader_scan(reader, "gpu_driver",
			"SELECT process, attached_ns, let_go_ns, failed FROM gpu_driver "
			"ORDER BY process",
			read_driver);
	for (size_t i = 0; !r && i < sizeof(lists) / sizeof(*lists); i++) {
		struct cursor cursor = {.table = lists[i].table, .things = lists[i].things};
		char sql[256];

		if (!reader_has(reader, lists[i].table, NULL))
			continue;
		snprintf(sql, sizeof(sql),
			"SELECT id, process, %s, %s FROM %s WHERE id > ? ORDER BY id",
			lists[i].columns,
			reader_has(reader, lists[i].table, lists[i].added) ? lists[i].added
									   : "NULL",
			lists[i].table);
		r = read_list(reader, &cursor, sql, lists[i].read, lists[i].add);
		if (r == -EBADMSG)
			r = 0; /* noted as damage */
	}
	return r;
}

/* What was seen of programs whose GPUs have no records: not each mode counts launches, and not always until the end. */
static const char *say_inferred(const struct gpu_timeline *gpu)
{
	size_t counted = 0, in_part = 0;

	for (size_t i = 0; i < gpu->drivers.count; i++) {
		const struct gpu_driver *driver = &gpu->drivers.items[i];

		counted += gpu_driver_counts(driver);
		in_part += gpu_driver_counts(driver) && driver->let_go_ns;
	}
	if (!counted)
		return "calls that wait for a GPU";
	return in_part || counted < gpu->drivers.count
		       ? "calls that wait for a GPU and, in part, launches"
		       : "launches and calls that wait for a GPU";
}

const struct gpu_timeline *store_gpu(struct store_reader *reader, struct err *err)
{
	if (reader->gpu_loaded)
		return &reader->gpu;
	if (reader_has(reader, "gpu_device", NULL) && reader_has(reader, "gpu_launcher", NULL) &&
		read_all(reader)) {
		err_set(err, ENOMEM, "cannot read %s: out of memory", reader->path);
		return NULL;
	}
	reader->gpu.inferred = !reader->gpu.devices.count && reader->gpu.drivers.count &&
			       reader->gpu.launchers.count;
	snprintf(reader->gpu.source, sizeof(reader->gpu.source), "%s",
		reader->gpu.inferred ? say_inferred(&reader->gpu) : "the CUPTI shim");
	gpu_settle(&reader->gpu);
	reader->gpu_loaded = true;
	return &reader->gpu;
}
