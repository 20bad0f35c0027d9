/* Facts about GPUs in, one row each out. */
#include <errno.h>
#include <string.h>

#include "writer.h"

/* 0 is what is not known. */
static void bind_nonzero(sqlite3_stmt *put, int at, uint64_t value)
{
	if (value)
		bind_unsigned(put, at, value);
	else
		sqlite3_bind_null(put, at);
}

static void bind_device(sqlite3_stmt *put, int at, uint32_t device)
{
	bind_known(put, at, device == GPU_DEVICE_NONE ? UNKNOWN : (int64_t)device);
}

static void bind_described(sqlite3_stmt *put, const struct gpu_fact *fact)
{
	const char *name = fact->described.name;

	sqlite3_bind_int64(put, 1, fact->process);
	sqlite3_bind_int64(put, 2, fact->device);
	writer_bind_text(put, 3, name ? name : "");
	bind_nonzero(put, 4, fact->described.memory_bytes);
	bind_nonzero(put, 5, fact->described.seen_ns);
	bind_nonzero(put, 6, fact->described.until_ns);
	bind_unsigned(put, 7, fact->described.clock_error_ns);
}

static void bind_busy(sqlite3_stmt *put, const struct gpu_fact *fact)
{
	const struct gpu_busy *busy = &fact->busy;

	sqlite3_bind_int64(put, 1, fact->process);
	sqlite3_bind_int64(put, 2, fact->device);
	bind_unsigned(put, 3, busy->start_ns);
	bind_unsigned(put, 4, busy->end_ns - busy->start_ns);
	bind_nonzero(put, 5, busy->launch_ns);
	bind_nonzero(put, 6, busy->previous_ns);
	bind_nonzero(put, 7, busy->tid);
	bind_unsigned(put, 8, busy->gaps_ns);
	bind_unsigned(put, 9, busy->starved_ns);
	bind_nonzero(put, 10, busy->unsure_ns);
}

static void bind_call(sqlite3_stmt *put, const struct gpu_fact *fact)
{
	const struct gpu_wait *wait = &fact->call.wait;

	sqlite3_bind_int64(put, 1, fact->process);
	bind_device(put, 2, wait->device);
	sqlite3_bind_int64(put, 3, fact->call.tid);
	sqlite3_bind_int64(put, 4, fact->call.kind);
	bind_unsigned(put, 5, wait->start_ns);
	bind_unsigned(put, 6, wait->end_ns - wait->start_ns);
	bind_nonzero(put, 7, wait->done_ns);
	bind_nonzero(put, 8,
		(wait->copy ? GPU_CALL_COPY : 0) | (wait->queue ? GPU_CALL_QUEUE : 0) |
			(fact->call.frees ? GPU_CALL_FREES : 0) |
			(fact->call.failed ? GPU_CALL_FAILED : 0));
}

static void bind_launcher(sqlite3_stmt *put, const struct gpu_fact *fact)
{
	sqlite3_bind_int64(put, 1, fact->process);
	sqlite3_bind_int64(put, 2, fact->launcher.tid);
	bind_unsigned(put, 3, fact->launcher.launches);
	bind_nonzero(put, 4, fact->launcher.gap_ns);
}

static void bind_memory(sqlite3_stmt *put, const struct gpu_fact *fact)
{
	sqlite3_bind_int64(put, 1, fact->process);
	sqlite3_bind_int64(put, 2, fact->device);
	bind_unsigned(put, 3, fact->memory.time_ns);
	sqlite3_bind_int64(put, 4, fact->memory.bytes);
}

static void bind_unknown(sqlite3_stmt *put, const struct gpu_fact *fact)
{
	sqlite3_bind_int64(put, 1, fact->process);
	bind_device(put, 2, fact->device);
	bind_nonzero(put, 3, fact->unknown.span.start_ns);
	bind_nonzero(put, 4, fact->unknown.span.end_ns);
	bind_unsigned(put, 5, fact->unknown.records);
	sqlite3_bind_int64(put, 6, fact->unknown.why);
}

static void bind_driver(sqlite3_stmt *put, const struct gpu_fact *fact)
{
	sqlite3_bind_int64(put, 1, fact->process);
	bind_unsigned(put, 2, fact->driver.attached_ns);
	bind_nonzero(put, 3, fact->driver.let_go_ns);
	bind_unsigned(put, 4, fact->driver.failed);
}

static void bind_driver_call(sqlite3_stmt *put, const struct gpu_fact *fact)
{
	const struct gpu_driver_call *call = &fact->driver_call;

	sqlite3_bind_int64(put, 1, fact->process);
	sqlite3_bind_int64(put, 2, call->tid);
	sqlite3_bind_int64(put, 3, call->kind);
	writer_bind_text(put, 4, gpu_driver_functions[call->function]);
	bind_unsigned(put, 5, call->start_ns);
	bind_unsigned(put, 6, call->end_ns - call->start_ns);
	bind_known(put, 7, call->launches == GPU_NOT_COUNTED ? UNKNOWN : (int64_t)call->launches);
	bind_nonzero(put, 8, call->bytes);
}

static bool is_backward(const struct gpu_fact *fact)
{
	switch (fact->kind) {
	case GPU_FACT_BUSY:
		return fact->busy.end_ns < fact->busy.start_ns;
	case GPU_FACT_CALL:
		return fact->call.wait.end_ns < fact->call.wait.start_ns;
	case GPU_FACT_DRIVER_CALL:
		return fact->driver_call.end_ns < fact->driver_call.start_ns;
	default:
		return false;
	}
}

int store_put_gpu(struct store_writer *writer, const struct gpu_fact *fact)
{
	static const struct {
		enum put put;
		void (*bind)(sqlite3_stmt *put, const struct gpu_fact *fact);
	} tables[] = {
		[GPU_FACT_DEVICE] = {GPU_DEVICE, bind_described},
		[GPU_FACT_BUSY] = {GPU_BUSY, bind_busy},
		[GPU_FACT_CALL] = {GPU_CALL, bind_call},
		[GPU_FACT_LAUNCHER] = {GPU_LAUNCHER, bind_launcher},
		[GPU_FACT_MEMORY] = {GPU_MEMORY, bind_memory},
		[GPU_FACT_UNKNOWN] = {GPU_UNKNOWN, bind_unknown},
		[GPU_FACT_DRIVER] = {GPU_DRIVER, bind_driver},
		[GPU_FACT_DRIVER_CALL] = {GPU_DRIVER_CALL, bind_driver_call},
	};
	sqlite3_stmt *put = writer_begin(writer, tables[fact->kind].put);

	if (!put) {
		writer->lost++;
		return writer->failed;
	}
	if (is_backward(fact))
		return -EINVAL;
	tables[fact->kind].bind(put, fact);
	return writer_put_event(writer, put);
}
