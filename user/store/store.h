/*
 * The .gct file: a SQLite database (docs/gct-schema.md). The writer appends facts as they are
 * observed; the reader returns them, bounds-checked, and refuses what it cannot understand with one
 * clear sentence.
 */
#pragma once

#include <stdio.h>

#include "err.h"
#include "gpu_fact.h"
#include "pause.h"
#include "stack_table.h"

#define STORE_SCHEMA_VERSION 1 /* PRAGMA user_version; a reader refuses anything newer */

struct store_writer;
struct store_reader;

/*
 * Begins a recording that will be at @path, readable by its owner alone. Until store_settle() gives
 * it that name, whatever is there stays; that may only be a recording or an empty file. -errno with
 * a sentence.
 */
int store_begin(const char *path, const struct recording *head, struct store_writer **ret,
	struct err *err);

/*
 * Gives the recording its name and a WAL: from here on what is committed survives SIGKILL. -errno
 * with a sentence.
 */
int store_settle(struct store_writer *writer, struct err *err);

/*
 * A recording in @folder that has no name and disappears with this process; store_close_to_read()
 * reads it.
 */
int store_begin_nameless(const char *folder, const struct recording *head,
	struct store_writer **ret, struct err *err);

/* Whether the regular file open as @fd begins as a recording does, whole or not. */
bool store_is_recording(int fd);

/*
 * Each may be called again for the same id: later facts (exit, missed, count, name) replace earlier
 * ones.
 */
int store_put_process(struct store_writer *writer, const struct process *process);
int store_put_runtime(struct store_writer *writer, const struct runtime *runtime);
int store_put_drop(struct store_writer *writer, const struct drop *drop);
int store_put_signal(struct store_writer *writer, const struct signal *signal);
int store_put_series(struct store_writer *writer, const struct series *series);
int store_put_clock(struct store_writer *writer, const struct clock_shift *shift);
int store_put_thread(struct store_writer *writer, const struct thread *thread);

/* Writes the strings, frames and nodes that @stacks gained since the last call. */
int store_put_stacks(struct store_writer *writer, const struct stack_table *stacks);
/*
 * A pause with PAUSE_HAS_FACTS is written with them, if its runtime has been put. Stacks and strings that a pause, stall or
 * phase names must have been put before it. One whose end is before its start is refused with -EINVAL.
 */
int store_put_pause(struct store_writer *writer, const struct pause *pause);
int store_put_stall(struct store_writer *writer, const struct stall *stall);
int store_put_phase(struct store_writer *writer, const struct phase *phase);
int store_put_mark(struct store_writer *writer, const struct mark *mark);
/* Of a process that has been put. One that ends before it starts is refused with -EINVAL. */
int store_put_gpu(struct store_writer *writer, const struct gpu_fact *fact);

/* Ends the transaction: what was put so far survives SIGKILL. Every put opens one if needed. */
int store_commit(struct store_writer *writer);

/* The size of the file with its WAL, and of its disk. 0 or -errno. */
struct store_room {
	uint64_t bytes, disk_bytes, free_bytes;
};
int store_room(const struct store_writer *writer, struct store_room *ret);

/* The sentence for the last failed put or commit ("disk full: …", …). Never NULL. */
const char *store_writer_error(const struct store_writer *writer);

/*
 * Writes end and completeness of @recording, checkpoints the WAL and closes; frees @writer in every
 * case. It is read once more: -EBADMSG if something truncated it or its WAL meanwhile. A writer
 * freed by store_abandon() instead leaves a recording that reads as cut off, or none if it has no
 * name yet.
 */
int store_close(struct store_writer *writer, const struct recording *recording, struct err *err);

/* The same, and hands what was recorded to a reader, without relying on its name. */
int store_close_to_read(struct store_writer *writer, const struct recording *recording,
	struct store_reader **ret, struct err *err);
void store_abandon(struct store_writer *writer);

/*
 * Opens for reading only, without leaving files behind where it can. A truncated, corrupt, foreign or newer
 * file is -EBADMSG with a sentence; a missing one -ENOENT, an unreadable one -EACCES.
 */
int store_open(const char *path, struct store_reader **ret, struct err *err);
void store_reader_free(struct store_reader *reader);

/*
 * Facts and stacks, owned by the reader. The first call of store_stacks() loads the stacks and the
 * recording's stalls and phases, which are empty lists before: call it first where these matter.
 * NULL with a sentence when memory is out. Whatever the facts, stalls and phases refer to exists:
 * processes, runtimes, signals, stacks, strings (a pause's runtime may not). Of stalls and of
 * phases, the first 2,097,152 each are read, and more than that is noted as damage.
 */
const struct recording *store_recording(const struct store_reader *reader);
const struct stack_table *store_stacks(struct store_reader *reader, struct err *err);

/*
 * What GPUs did, settled, owned by the reader; without devices where nothing was recorded of any. The first call loads
 * it, 8,388,608 times busy and as many waits at most: where there are more, what came later is not known. NULL with a
 * sentence when memory is out.
 */
const struct gpu_timeline *store_gpu(struct store_reader *reader, struct err *err);

/*
 * Iterates over pauses by id (start again with store_rewind). 1: one was read, 0: the end, -errno:
 * damaged. Facts that are parts of a pause are together no longer than the pause.
 */
int store_next_pause(struct store_reader *reader, struct pause *ret, struct err *err);
int store_rewind(struct store_reader *reader);

/* The same for marks, by id, once; recordings made before gctrace had steps have none. */
int store_next_mark(struct store_reader *reader, struct mark *ret, struct err *err);

/* The SQL text of the schema with its comments, for `gctrace schema`. */
extern const char store_schema_sql[];
