/*
 * A path in; out comes a recording that has begun: under a temporary name first, then in its place,
 * or nameless.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "writer.h"

/*
 * 4 MiB of WAL, then its pages move into the file. The SELECT makes SQLite create the WAL at once
 * instead of at first use.
 */
static const char wal_sql[] =
	"PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 512; SELECT key FROM meta;";

static void put_head(struct store_writer *writer, const struct recording *head)
{
	writer_put_meta(writer, "version", head->version);
	writer_put_meta(writer, "host", head->host);
	writer_put_meta(writer, "boot_id", head->boot_id);
	if (*head->step_asked)
		writer_put_meta(writer, "step", head->step_asked);
	writer_put_meta_number(writer, "start_ns", head->start_ns);
	store_put_clock(writer, &(struct clock_shift){head->start_ns, head->realtime_offset_ns});
}

/*
 * The schema and the facts of the start go into the file itself, before there is a WAL, so that its
 * first page identifies it as a recording whatever happens later. 0 or -errno, with the failure
 * set.
 */
static int begin_recording(struct store_writer *writer, const struct recording *head)
{
	int rc = sqlite3_exec(writer->db, "BEGIN", NULL, NULL, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_exec(writer->db, store_schema_sql, NULL, NULL, NULL);
	writer->open = true;
	if (rc == SQLITE_OK)
		rc = writer_prepare(writer);
	if (rc != SQLITE_OK)
		return writer_fail(writer, rc);
	put_head(writer, head);
	return store_commit(writer);
}

static struct store_writer *new_writer(const char *path, struct err *err)
{
	struct store_writer *writer = calloc(1, sizeof(*writer));

	if (!writer || !(writer->path = strdup(path))) {
		free(writer);
		err_set(err, ENOMEM, "cannot record to %s: out of memory", path);
		return NULL;
	}
	writer->strings = writer->frames = writer->nodes = 1;
	writer->file.fd = -1;
	return writer;
}

/* Fills the file that was claimed with @r. 0 or -errno with a sentence, and @writer freed. */
static int begin(struct store_writer *writer, int r, const struct recording *head,
	struct store_writer **ret, struct err *err)
{
	if (!r) {
		int rc = writer_open(writer, writer->file.temporary);

		r = rc == SQLITE_OK ? begin_recording(writer, head) : writer_fail(writer, rc);
		if (r && err)
			*err = writer->error;
	}
	if (r)
		store_abandon(writer);
	else
		*ret = writer;
	return r;
}

int store_begin(const char *path, const struct recording *head, struct store_writer **ret,
	struct err *err)
{
	struct store_writer *writer = new_writer(path, err);

	return writer ? begin(writer, store_file_claim(path, &writer->file, err), head, ret, err)
		      : -ENOMEM;
}

int store_begin_nameless(const char *folder, const struct recording *head,
	struct store_writer **ret, struct err *err)
{
	struct store_writer *writer;
	char path[PATH_MAX];
	int r;

	snprintf(path, sizeof(path), "a temporary recording in %s", folder);
	writer = new_writer(path, err);
	if (!writer)
		return -ENOMEM;
	r = begin(writer, store_file_claim_nameless(folder, &writer->file, err), head, ret, err);
	if (!r)
		store_file_hide(&writer->file);
	return r;
}

/* SQLite knows a file by the name under which it opened it: the WAL would have the old one. */
static int open_again(struct store_writer *writer)
{
	int rc = writer_open(writer, writer->file.target);

	if (rc == SQLITE_OK)
		rc = writer_prepare(writer);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(writer->db, wal_sql, NULL, NULL, NULL);
	return rc;
}

int store_settle(struct store_writer *writer, struct err *err)
{
	int rc, r = store_commit(writer);

	if (!r) {
		writer_close(writer);
		r = store_file_take(&writer->file, writer->path, err);
		writer->failed = r;
		if (r)
			return r;
		writer->settled = true;
		rc = open_again(writer);
		r = rc == SQLITE_OK ? 0 : writer_fail(writer, rc);
	}
	if (r && err)
		*err = writer->error;
	return r;
}
