/* The small tables of an open .gct file in; out comes its struct recording, all of it checked. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "reader.h"
#include "utf8.h"

/* Column @at into a fixed field, cleaned and cut. */
static void read_field(sqlite3_stmt *row, int at, char *field, size_t size)
{
	const void *text = sqlite3_column_blob(row, at);

	utf8_clean(field, size, text, text ? (size_t)sqlite3_column_bytes(row, at) : 0);
}

/* Column @at into *ret, cleaned; NULL stays NULL. 0 or -ENOMEM. */
static int read_text(struct store_reader *reader, sqlite3_stmt *row, int at, char **ret)
{
	const void *text = sqlite3_column_blob(row, at);
	size_t len = text ? (size_t)sqlite3_column_bytes(row, at) : 0;

	len = reader_cut(reader, len, TEXT_MOST);

	if (sqlite3_column_type(row, at) == SQLITE_NULL)
		return 0;
	*ret = malloc(3 * len + 1);
	if (!*ret)
		return -ENOMEM;
	utf8_clean(*ret, 3 * len + 1, text, len);
	return 0;
}

/* Column @at into *ret: a moment, or 0 for NULL. Returns whether it is either. */
static bool read_moment(sqlite3_stmt *row, int at, uint64_t *ret)
{
	*ret = 0;
	return sqlite3_column_type(row, at) == SQLITE_NULL ||
	       reader_unsigned(row, at, INT64_MAX, ret);
}

static int read_meta(struct store_reader *reader, sqlite3_stmt *row)
{
	struct recording *recording = &reader->recording;
	char key[32], value[32];
	char *end;
	uint64_t number;

	read_field(row, 0, key, sizeof(key));
	read_field(row, 1, value, sizeof(value));
	if (!strcmp(key, "version"))
		read_field(row, 1, recording->version, sizeof(recording->version));
	else if (!strcmp(key, "host"))
		read_field(row, 1, recording->host, sizeof(recording->host));
	else if (!strcmp(key, "boot_id"))
		read_field(row, 1, recording->boot_id, sizeof(recording->boot_id));
	else if (!strcmp(key, "step"))
		read_field(row, 1, recording->step_asked, sizeof(recording->step_asked));
	errno = 0;
	number = strtoull(value, &end, 10);
	if (strcmp(key, "start_ns") && strcmp(key, "end_ns") && strcmp(key, "complete") &&
		strcmp(key, "steps_until_ns"))
		return 0;
	if (errno || *end || end == value || number > INT64_MAX)
		return 1;
	if (!strcmp(key, "steps_until_ns"))
		recording->steps_until_ns = number;
	else if (*key == 's')
		recording->start_ns = number;
	else if (*key == 'e')
		recording->end_ns = number;
	else
		recording->complete = number == 1;
	return 0;
}

static int read_clock(struct store_reader *reader, sqlite3_stmt *row)
{
	uint64_t monotonic, realtime;

	if (!reader_unsigned(row, 0, INT64_MAX, &monotonic) ||
		!reader_unsigned(row, 1, INT64_MAX, &realtime))
		return 1;
	if (!reader->clocks++)
		reader->recording.realtime_offset_ns = (int64_t)(realtime - monotonic);
	else
		recording_note_offset(&reader->recording, monotonic,
			(int64_t)(realtime - monotonic));
	return 0;
}

static int read_process(struct store_reader *reader, sqlite3_stmt *row)
{
	struct recording *recording = &reader->recording;
	size_t count = recording->processes.count;
	uint64_t id, pid, ns_pid, ppid, seen_ns, exit_ns;
	const void *cmdline = sqlite3_column_blob(row, 5);
	size_t len = reader_cut(reader, (size_t)sqlite3_column_bytes(row, 5), CMDLINE_MOST);
	struct process *process;

	if (!reader_unsigned(row, 0, UINT32_MAX, &id) ||
		!reader_unsigned(row, 1, INT32_MAX, &pid) ||
		!reader_unsigned(row, 2, INT32_MAX, &ns_pid) ||
		!reader_unsigned(row, 3, INT32_MAX, &ppid) ||
		!reader_unsigned(row, 6, INT64_MAX, &seen_ns) || !read_moment(row, 7, &exit_ns) ||
		!id || (count && recording->processes.items[count - 1].id >= id))
		return 1;
	process = vec_add(&recording->processes);
	if (!process)
		return -ENOMEM;
	*process = (struct process){
		.id = (uint32_t)id,
		.pid = (pid_t)pid,
		.ns_pid = (pid_t)ns_pid,
		.ppid = (pid_t)ppid,
		.seen_ns = seen_ns,
		.exit_ns = exit_ns,
		.cmdline = len ? malloc(len) : NULL,
		.cmdline_len = (uint32_t)len,
	};
	if (len && !process->cmdline)
		return -ENOMEM;
	if (len)
		memcpy(process->cmdline, cmdline, len);
	read_field(row, 4, process->comm, sizeof(process->comm));
	return 0;
}

static int read_cpu(struct store_reader *reader, sqlite3_stmt *row)
{
	struct process_cpu cpu = {};
	struct process *process;
	uint64_t id;

	if (!reader_unsigned(row, 0, UINT32_MAX, &id) ||
		!reader_unsigned(row, 1, INT64_MAX, &cpu.from_ns) ||
		!reader_unsigned(row, 2, INT64_MAX, &cpu.until_ns) ||
		!reader_unsigned(row, 3, INT64_MAX, &cpu.used_ns) || cpu.until_ns <= cpu.from_ns)
		return 1;
	process = (struct process *)recording_process(&reader->recording, (uint32_t)id);
	if (!process)
		return 1;
	process->cpu = cpu;
	return 0;
}

/* Counts the runtimes of @process. Returns whether so many are plausible. */
static bool may_have_more(struct store_reader *reader, uint32_t process)
{
	uint64_t *known = u64map_get(&reader->runtimes, process);

	if (!known)
		return !u64map_put(&reader->runtimes, process, 1);
	return ++*known <= RUNTIMES_MOST;
}

/* Spares everybody a search through all runtimes for those of each process. */
static void note_attached(struct recording *recording, const struct runtime *runtime)
{
	struct process *process = (struct process *)recording_process(recording, runtime->process);

	if (runtime->attached_ns &&
		(!process->attached_ns || runtime->attached_ns < process->attached_ns))
		process->attached_ns = runtime->attached_ns;
}

static int read_runtime(struct store_reader *reader, sqlite3_stmt *row)
{
	struct recording *recording = &reader->recording;
	size_t count = recording->runtimes.count;
	uint64_t id, process, attached_ns, missed;
	struct runtime *runtime;

	if (!reader_unsigned(row, 0, UINT32_MAX, &id) ||
		!reader_unsigned(row, 1, UINT32_MAX, &process) ||
		!reader_unsigned(row, 7, INT64_MAX, &attached_ns) ||
		!reader_unsigned(row, 8, INT64_MAX, &missed) || !id ||
		!recording_process(recording, (uint32_t)process) ||
		(count && recording->runtimes.items[count - 1].id >= id) ||
		!may_have_more(reader, (uint32_t)process))
		return 1;
	runtime = vec_add(&recording->runtimes);
	if (!runtime)
		return -ENOMEM;
	runtime->id = (uint32_t)id;
	runtime->process = (uint32_t)process;
	runtime->attached_ns = attached_ns;
	runtime->missed = missed;
	runtime->idle_calls = reader_known(row, 10, INT64_MAX);
	runtime->disabled_calls = reader_known(row, 11, INT64_MAX);
	note_attached(recording, runtime);
	read_field(row, 2, runtime->kind, sizeof(runtime->kind));
	read_field(row, 3, runtime->version, sizeof(runtime->version));
	read_field(row, 4, runtime->tier, sizeof(runtime->tier));
	read_field(row, 9, runtime->collector, sizeof(runtime->collector));
	return read_text(reader, row, 5, &runtime->path) ||
			       read_text(reader, row, 6, &runtime->detail)
		       ? -ENOMEM
		       : 0;
}

static int read_drop(struct store_reader *reader, sqlite3_stmt *row)
{
	uint64_t count, time_ns;
	struct drop *drop;

	if (!reader_unsigned(row, 2, INT64_MAX, &count) ||
		!reader_unsigned(row, 3, INT64_MAX, &time_ns))
		return 1;
	drop = vec_add(&reader->recording.drops);
	if (!drop)
		return -ENOMEM;
	read_field(row, 0, drop->cause, sizeof(drop->cause));
	read_field(row, 1, drop->remedy, sizeof(drop->remedy));
	drop->count = count;
	drop->time_ns = time_ns;
	return 0;
}

static int read_signal(struct store_reader *reader, sqlite3_stmt *row)
{
	struct recording *recording = &reader->recording;
	size_t count = recording->signals.count;
	uint64_t id, attached_ns, hits, let_go_ns;
	struct signal *signal;

	if (!reader_unsigned(row, 0, UINT32_MAX, &id) ||
		!reader_unsigned(row, 3, INT64_MAX, &attached_ns) ||
		!reader_unsigned(row, 4, INT64_MAX, &hits) || !read_moment(row, 5, &let_go_ns) ||
		!id || (count && recording->signals.items[count - 1].id >= id))
		return 1;
	signal = vec_add(&recording->signals);
	if (!signal)
		return -ENOMEM;
	signal->id = (uint32_t)id;
	signal->attached_ns = attached_ns;
	signal->hits = hits;
	signal->let_go_ns = let_go_ns;
	read_field(row, 1, signal->name, sizeof(signal->name));
	return read_text(reader, row, 2, &signal->probe);
}

static int read_series(struct store_reader *reader, sqlite3_stmt *row)
{
	struct recording *recording = &reader->recording;
	size_t count = recording->series.count;
	uint64_t id, signal, process, tid;
	struct series *series;
	int type = sqlite3_column_type(row, 5);

	if (!reader_unsigned(row, 0, UINT32_MAX, &id) ||
		!reader_unsigned(row, 1, UINT32_MAX, &signal) ||
		!reader_unsigned(row, 2, UINT32_MAX, &process) ||
		!reader_unsigned(row, 3, UINT32_MAX, &tid) ||
		(type != SQLITE_NULL && type != SQLITE_INTEGER) || !id ||
		(count && recording->series.items[count - 1].id >= id))
		return 1;
	if (!recording_signal(recording, (uint32_t)signal) ||
		!recording_process(recording, (uint32_t)process)) {
		reader_damaged(reader, "a step series names a signal or process that is not there");
		return 0;
	}
	series = vec_add(&recording->series);
	if (!series)
		return -ENOMEM;
	series->id = (uint32_t)id;
	series->signal = (uint32_t)signal;
	series->process = (uint32_t)process;
	series->tid = (uint32_t)tid;
	series->number = type == SQLITE_NULL ? UNKNOWN : sqlite3_column_int64(row, 5);
	return read_text(reader, row, 4, &series->label);
}

static int read_thread(struct store_reader *reader, sqlite3_stmt *row)
{
	struct recording *recording = &reader->recording;
	size_t count = recording->threads.count;
	const struct thread *last = count ? &recording->threads.items[count - 1] : NULL;
	uint64_t process, tid;
	struct thread *thread;

	if (!reader_unsigned(row, 0, UINT32_MAX, &process) ||
		!reader_unsigned(row, 1, UINT32_MAX, &tid) ||
		!recording_process(recording, (uint32_t)process) ||
		(last && (last->process > process ||
				 (last->process == process && last->tid >= tid))))
		return 1;
	thread = vec_add(&recording->threads);
	if (!thread)
		return -ENOMEM;
	thread->process = (uint32_t)process;
	thread->tid = (uint32_t)tid;
	read_field(row, 2, thread->name, sizeof(thread->name));
	return 0;
}

#define RUNTIME_SQL 256

/* An older recording lacks what came later. */
static const char *runtime_sql(struct store_reader *reader, char text[RUNTIME_SQL])
{
	static const char *const later[] = {"collector", "idle_calls", "disabled_calls"};
	size_t used = (size_t)snprintf(text, RUNTIME_SQL,
		"SELECT id, process, kind, version, tier, path, detail, attached_ns, missed");

	for (size_t i = 0; i < ARRAY_SIZE(later); i++)
		used += (size_t)snprintf(text + used, RUNTIME_SQL - used, ", %s",
			reader_has(reader, "runtime", later[i]) ? later[i] : "NULL");
	snprintf(text + used, RUNTIME_SQL - used, " FROM runtime ORDER BY id");
	return text;
}

int reader_read_facts(struct store_reader *reader, struct err *err)
{
	char runtimes[RUNTIME_SQL];
	const struct {
		const char *table, *sql;
		int (*row)(struct store_reader *, sqlite3_stmt *);
	} facts[] = {
		{"meta", "SELECT key, value FROM meta", read_meta},
		{"clock",
			"SELECT monotonic_ns, realtime_ns FROM clock ORDER BY monotonic_ns LIMIT 65536",
			read_clock},
		{"process",
			"SELECT id, pid, ns_pid, ppid, comm, cmdline, seen_ns, exit_ns "
			"FROM process ORDER BY id",
			read_process},
		{"process_cpu", "SELECT process, from_ns, until_ns, used_ns FROM process_cpu",
			read_cpu},
		{"runtime", runtime_sql(reader, runtimes), read_runtime},
		{"drops", "SELECT cause, remedy, count, time_ns FROM drops ORDER BY time_ns, cause",
			read_drop},
		{"step_signal",
			"SELECT id, name, probe, attached_ns, hits, let_go_ns FROM step_signal "
			"ORDER BY id",
			read_signal},
		{"step_series",
			"SELECT id, signal, process, tid, label, number FROM step_series "
			"ORDER BY id",
			read_series},
		{"thread", "SELECT process, tid, name FROM thread ORDER BY process, tid",
			read_thread},
	};
	struct recording *recording = &reader->recording;

	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		if (reader_has(reader, facts[i].table, NULL) &&
			reader_scan(reader, facts[i].table, facts[i].sql, facts[i].row))
			return err_set(err, ENOMEM, "cannot read %s: out of memory", reader->path);
	if (!recording->start_ns)
		reader_damaged(reader, "table meta lacks start_ns");
	if (!recording->start_ns)
		return err_set(err, EBADMSG,
			"%s is damaged beyond reading (%s): take another copy of it", reader->path,
			recording->damage);
	if (recording->end_ns < recording->start_ns)
		recording->end_ns = 0;
	recording->cut_off = !recording->end_ns;
	recording->complete = recording->complete && !recording->cut_off && !*recording->damage &&
			      !recording->drops.count;
	return 0;
}
