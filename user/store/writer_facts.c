/*
 * Facts in, one row each out, where a later one with the same id replaces the earlier; and the
 * stack table's growth.
 */
#include <inttypes.h>
#include <string.h>

#include "utf8.h"
#include "writer.h"

/* The text must live until the step unless it had to be cleaned; NULL stays NULL. */
static void bind_bytes(sqlite3_stmt *statement, int at, const char *text, size_t len)
{
	char *clean;

	if (!text || utf8_valid(text, len)) {
		sqlite3_bind_text64(statement, at, text, len, SQLITE_STATIC, SQLITE_UTF8);
		return;
	}
	clean = sqlite3_malloc64(3 * (sqlite3_uint64)len + 1);
	len = clean ? utf8_clean(clean, 3 * len + 1, text, len) : 0;
	sqlite3_bind_text64(statement, at, clean ? clean : "", len,
		clean ? sqlite3_free : SQLITE_STATIC, SQLITE_UTF8);
}

void writer_bind_text(sqlite3_stmt *statement, int at, const char *text)
{
	bind_bytes(statement, at, text, text ? strlen(text) : 0);
}

#define bind_field(statement, at, field)                                                           \
	bind_bytes(statement, at, field, strnlen(field, sizeof(field)))

/* A moment that has not come is 0, and NULL in the file. */
static void bind_moment(sqlite3_stmt *statement, int at, uint64_t ns)
{
	if (ns)
		bind_unsigned(statement, at, ns);
	else
		sqlite3_bind_null(statement, at);
}

int writer_put_meta(struct store_writer *writer, const char *key, const char *value)
{
	sqlite3_stmt *put = writer_begin(writer, META);

	if (!put)
		return writer->failed;
	writer_bind_text(put, 1, key);
	writer_bind_text(put, 2, value);
	return writer_step(writer, put);
}

int writer_put_meta_number(struct store_writer *writer, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return writer_put_meta(writer, key, text);
}

static int put_cpu(struct store_writer *writer, const struct process *process)
{
	sqlite3_stmt *put = process->cpu.until_ns ? writer_begin(writer, PROCESS_CPU) : NULL;

	if (!put)
		return writer->failed;
	sqlite3_bind_int64(put, 1, process->id);
	bind_unsigned(put, 2, process->cpu.from_ns);
	bind_unsigned(put, 3, process->cpu.until_ns);
	bind_unsigned(put, 4, process->cpu.used_ns);
	return writer_step(writer, put);
}

int store_put_process(struct store_writer *writer, const struct process *process)
{
	sqlite3_stmt *put = writer_begin(writer, PROCESS);

	if (!put)
		return writer->failed;
	sqlite3_bind_int64(put, 1, process->id);
	sqlite3_bind_int64(put, 2, process->pid);
	sqlite3_bind_int64(put, 3, process->ns_pid);
	sqlite3_bind_int64(put, 4, process->ppid);
	bind_field(put, 5, process->comm);
	sqlite3_bind_blob64(put, 6, process->cmdline, process->cmdline_len, SQLITE_STATIC);
	bind_unsigned(put, 7, process->seen_ns);
	bind_moment(put, 8, process->exit_ns);
	return writer_step(writer, put) ? writer->failed : put_cpu(writer, process);
}

int store_put_runtime(struct store_writer *writer, const struct runtime *runtime)
{
	sqlite3_stmt *put = writer_begin(writer, RUNTIME);

	if (!put)
		return writer->failed;
	if (u64map_put(&writer->runtimes, runtime->id,
		    (uint64_t)(uintptr_t)meaning_of(runtime->kind)))
		return writer_fail(writer, SQLITE_NOMEM);
	sqlite3_bind_int64(put, 1, runtime->id);
	sqlite3_bind_int64(put, 2, runtime->process);
	bind_field(put, 3, runtime->kind);
	bind_field(put, 4, runtime->version);
	bind_field(put, 5, runtime->tier);
	writer_bind_text(put, 6, runtime->path);
	writer_bind_text(put, 7, runtime->detail);
	bind_unsigned(put, 8, runtime->attached_ns);
	bind_unsigned(put, 9, runtime->missed);
	if (*runtime->collector)
		bind_field(put, 10, runtime->collector);
	else
		sqlite3_bind_null(put, 10);
	bind_known(put, 11, runtime->idle_calls);
	bind_known(put, 12, runtime->disabled_calls);
	return writer_step(writer, put);
}

int store_put_drop(struct store_writer *writer, const struct drop *drop)
{
	sqlite3_stmt *put = writer_begin(writer, DROP);

	if (!put)
		return writer->failed;
	bind_field(put, 1, drop->cause);
	bind_field(put, 2, drop->remedy);
	bind_unsigned(put, 3, drop->count);
	bind_unsigned(put, 4, drop->time_ns);
	return writer_step(writer, put);
}

int store_put_signal(struct store_writer *writer, const struct signal *signal)
{
	sqlite3_stmt *put = writer_begin(writer, SIGNAL);

	if (!put)
		return writer->failed;
	sqlite3_bind_int64(put, 1, signal->id);
	bind_field(put, 2, signal->name);
	writer_bind_text(put, 3, signal->probe);
	bind_unsigned(put, 4, signal->attached_ns);
	bind_unsigned(put, 5, signal->hits);
	bind_moment(put, 6, signal->let_go_ns);
	return writer_step(writer, put);
}

int store_put_series(struct store_writer *writer, const struct series *series)
{
	sqlite3_stmt *put = writer_begin(writer, SERIES);

	if (!put)
		return writer->failed;
	sqlite3_bind_int64(put, 1, series->id);
	sqlite3_bind_int64(put, 2, series->signal);
	sqlite3_bind_int64(put, 3, series->process);
	sqlite3_bind_int64(put, 4, series->tid);
	writer_bind_text(put, 5, series->label);
	if (series->number == UNKNOWN) /* else it may be negative: a hash is */
		sqlite3_bind_null(put, 6);
	else
		sqlite3_bind_int64(put, 6, series->number);
	return writer_step(writer, put);
}

int store_put_clock(struct store_writer *writer, const struct clock_shift *shift)
{
	sqlite3_stmt *put = writer_begin(writer, CLOCK);

	if (!put)
		return writer->failed;
	bind_unsigned(put, 1, shift->time_ns);
	sqlite3_bind_int64(put, 2, (int64_t)shift->time_ns + shift->offset_ns);
	return writer_step(writer, put);
}

int store_put_thread(struct store_writer *writer, const struct thread *thread)
{
	sqlite3_stmt *put = writer_begin(writer, THREAD);

	if (!put)
		return writer->failed;
	sqlite3_bind_int64(put, 1, thread->process);
	sqlite3_bind_int64(put, 2, thread->tid);
	bind_field(put, 3, thread->name);
	return writer_step(writer, put);
}

static int put_string(struct store_writer *writer, const struct strtab *strings, uint32_t id)
{
	sqlite3_stmt *put = writer_begin(writer, STRING);

	if (!put)
		return writer->failed;
	sqlite3_bind_int64(put, 1, (int64_t)id + writer->string_base);
	bind_bytes(put, 2, strtab_get(strings, id), strtab_len(strings, id));
	return writer_step(writer, put);
}

static int put_frame(struct store_writer *writer, const struct frame *frame, uint32_t id)
{
	sqlite3_stmt *put = writer_begin(writer, FRAME);

	if (!put)
		return writer->failed;
	sqlite3_bind_int64(put, 1, (int64_t)id + writer->frame_base);
	sqlite3_bind_int64(put, 2, in_file(frame->function, writer->string_base));
	bind_known(put, 3,
		frame->file ? (int64_t)in_file(frame->file, writer->string_base) : UNKNOWN);
	bind_known(put, 4, frame->line ? (int64_t)frame->line : UNKNOWN);
	sqlite3_bind_int64(put, 5, frame->lang);
	return writer_step(writer, put);
}

static int put_node(struct store_writer *writer, const struct stack_node *node, uint32_t id)
{
	sqlite3_stmt *put = writer_begin(writer, STACK);

	if (!put)
		return writer->failed;
	sqlite3_bind_int64(put, 1, (int64_t)id + writer->node_base);
	sqlite3_bind_int64(put, 2, in_file(node->parent, writer->node_base));
	sqlite3_bind_int64(put, 3, in_file(node->frame, writer->frame_base));
	return writer_step(writer, put);
}

/* The table was emptied: what it holds now gets ids after those written. */
static void begin_generation(struct store_writer *writer, uint32_t generation)
{
	writer->string_base += writer->strings - 1;
	writer->frame_base += writer->frames - 1;
	writer->node_base += writer->nodes - 1;
	writer->strings = writer->frames = writer->nodes = 1;
	writer->generation = generation;
}

int store_put_stacks(struct store_writer *writer, const struct stack_table *stacks)
{
	int r = writer->failed;

	if (writer->generation != stacks->generation)
		begin_generation(writer, stacks->generation);
	for (; !r && writer->strings < strtab_count(stacks->strings); writer->strings++)
		r = put_string(writer, stacks->strings, writer->strings);
	for (; !r && writer->frames < stacks->frame_count; writer->frames++)
		r = put_frame(writer, &stacks->frames[writer->frames], writer->frames);
	for (; !r && writer->nodes < stacks->node_count; writer->nodes++)
		r = put_node(writer, &stacks->nodes[writer->nodes], writer->nodes);
	return r;
}
