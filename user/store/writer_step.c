/*
 * Runs statements, each within a transaction; the first failure ends the recording, with a
 * sentence.
 */
#include <errno.h>

#include "store_file.h"
#include "writer.h"

static int fail_text(struct store_writer *writer, int code, struct err *err)
{
	const char *path = writer->path;

	switch (code) {
	case ENOSPC:
	case EDQUOT:
		return err_set(err, code,
			"cannot write %s: the disk is full: free space, or record to another disk "
			"with -o",
			path);
	case EFBIG:
		return err_set(err, code,
			"cannot write %s: it has reached the largest size allowed (ulimit -f, or "
			"the file system)",
			path);
	case ENOMEM:
		return err_set(err, code, "cannot write %s: out of memory", path);
	case EBADMSG:
		return err_set(err, code,
			"%s is damaged: it or its -wal was cut or overwritten while it was recorded",
			path);
	case ESTALE:
		return err_set(err, code, "%s was moved or removed while it was recorded", path);
	}
	return err_set(err, code,
		"cannot write %s: %s (%s): check the disk, or record elsewhere with -o", path,
		sqlite3_errmsg(writer->db), strerror(code));
}

int writer_fail(struct store_writer *writer, int rc)
{
	if (!writer->failed) {
		int code = -store_errno(writer->db, rc);

		fail_text(writer, code, &writer->error);
		writer->failed = -code;
		writer->lost += writer->pending;
		writer->pending = writer->pause_count = writer->mark_count = 0;
		if (writer->open)
			sqlite3_exec(writer->db, "ROLLBACK", NULL, NULL, NULL);
		writer->open = false;
	}
	return writer->failed;
}

int writer_step(struct store_writer *writer, sqlite3_stmt *statement)
{
	int rc, r = 0;

	errno = 0; /* for store_errno() */
	rc = sqlite3_step(statement);
	if (rc != SQLITE_DONE)
		r = writer_fail(writer, rc);
	sqlite3_reset(statement);
	return r;
}

sqlite3_stmt *writer_begin(struct store_writer *writer, enum put put)
{
	if (writer->failed)
		return NULL;
	if (!writer->open) {
		if (writer_step(writer, writer->begin))
			return NULL;
		writer->open = true;
	}
	return writer->put[put];
}
