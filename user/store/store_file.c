/*
 * A path in; out comes whether a recording is there, who is writing it, and a SQLite connection to
 * it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "caller.h"
#include "cleanup.h"
#include "store.h"
#include "store_file.h"

/*
 * Offsets in the first 100 bytes and of the lock bytes: https://www.sqlite.org/fileformat2.html,
 * os.h
 */
enum {
	HEADER_BYTES = 100,
	HEADER_READ_VERSION = 19,
	HEADER_USER_VERSION = 60,
	HEADER_APPLICATION_ID = 68,
	LOCK_SHARED_FIRST = 0x40000002,
	LOCK_SHARED_BYTES = 510,
};

static unsigned big_endian(const unsigned char *bytes)
{
	return (unsigned)bytes[0] << 24 | (unsigned)bytes[1] << 16 | (unsigned)bytes[2] << 8 |
	       bytes[3];
}

/* A recorder holds the whole file locked (locking_mode=EXCLUSIVE) until it ends or dies. */
static pid_t lock_holder(int fd)
{
	struct flock lock = {
		.l_type = F_RDLCK,
		.l_whence = SEEK_SET,
		.l_start = LOCK_SHARED_FIRST,
		.l_len = LOCK_SHARED_BYTES,
	};

	if (fcntl(fd, F_GETLK, &lock) || lock.l_type == F_UNLCK)
		return 0;
	return lock.l_pid > 0 ? lock.l_pid : -1;
}

int store_file_inspect(int fd, struct store_file *ret)
{
	static const char magic[16] = "SQLite format 3";
	struct store_file file = {.kind = STORE_FOREIGN};
	unsigned char header[HEADER_BYTES];
	ssize_t len = pread(fd, header, sizeof(header), 0);

	if (len < 0)
		return -errno;
	if (!len)
		file.kind = STORE_EMPTY;
	else if (len == sizeof(header) && !memcmp(header, magic, sizeof(magic))) {
		file.kind = STORE_OTHER;
		if (big_endian(header + HEADER_APPLICATION_ID) == STORE_APPLICATION_ID)
			file.kind = STORE_GCT;
		file.wal = header[HEADER_READ_VERSION] == 2;
		file.version = big_endian(header + HEADER_USER_VERSION);
		file.writer = lock_holder(fd);
	}
	*ret = file;
	return 0;
}

bool store_is_recording(int fd)
{
	struct store_file file;

	return !store_file_inspect(fd, &file) && file.kind == STORE_GCT;
}

char *store_file_companion(const char *path, const char *suffix)
{
	char *companion;

	return asprintf(&companion, "%s%s", path, suffix) < 0 ? NULL : companion;
}

/* Whether what is open as @fd, at @path, may be replaced by a recording. 0 or -errno with a sentence. */
static int check_old(const char *path, int fd, struct err *err)
{
	struct store_file file;
	struct stat st;
	int r = fstat(fd, &st) ? -errno : 0;

	if (!r && !S_ISREG(st.st_mode))
		return err_set(err, EINVAL,
			"cannot record to %s: it is not a regular file; name another with -o",
			path);
	r = r ? r : store_file_inspect(fd, &file);
	if (r)
		return err_set(err, -r, "cannot read %s, the file to be replaced: %s", path,
			strerror(-r));
	if (file.kind != STORE_EMPTY && file.kind != STORE_GCT)
		return err_set(err, EEXIST,
			"%s exists and is not a gctrace recording, so it is not overwritten: name "
			"another "
			"file with -o, or remove it",
			path);
	if (file.kind == STORE_GCT && file.writer)
		return err_set(err, EBUSY,
			"%s is being recorded right now by process %d: name another file with -o",
			path, (int)file.writer);
	return 0;
}

/* The same for a path where there may be nothing. */
static int check_place(const char *path, struct err *err)
{
	_cleanup_close_ int old = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	char who[48];

	if (old >= 0)
		return check_old(path, old, err);
	if (errno == ENOENT || errno == ENOTDIR)
		return 0; /* creating the file will show */
	if (errno == ELOOP)
		return err_set(err, ELOOP,
			"%s is a symbolic link, which is not followed: name the file itself with -o",
			path);
	return err_set(err, errno, "cannot record to %s%s: %s; name another file with -o", path,
		caller_note(who, sizeof(who)), strerror(errno));
}

/*
 * @path with the links of its folder resolved: SQLite refuses any link in what it opens with
 * NOFOLLOW. The caller frees.
 */
static char *resolve_folder(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	_cleanup_free_ char *given =
		slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	_cleanup_free_ char *folder = given ? realpath(given, NULL) : NULL;
	char *resolved = NULL;

	if (folder && asprintf(&resolved, "%s/%s", folder[1] ? folder : "", name) < 0)
		return NULL;
	return resolved;
}

/* "folder/name" → "folder/.name.1a2b3c4d", created. A descriptor or -errno. */
static int make_temporary(const char *target, char **ret)
{
	const char *name = strrchr(target, '/') + 1;
	char *path;

	for (;;) {
		unsigned int number;
		int fd;

		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return -EIO;
		if (asprintf(&path, "%.*s.%.200s.%08x", (int)(name - target), target, name,
			    number) < 0)
			return -ENOMEM;
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0) {
			*ret = path;
			return fd;
		}
		free(path);
		if (errno != EEXIST)
			return -errno;
	}
}

int store_file_claim(const char *path, struct store_claim *ret, struct err *err)
{
	struct store_claim claim = {.fd = -1};
	char who[48];
	int r = check_place(path, err);

	if (r)
		return r;
	claim.target = resolve_folder(path);
	claim.fd = claim.target ? make_temporary(claim.target, &claim.temporary) : -errno;
	if (claim.fd < 0) {
		r = -claim.fd;
		free(claim.target);
		return err_set(err, r, "cannot create %s%s: %s; name a writable file with -o", path,
			caller_note(who, sizeof(who)), strerror(r));
	}
	*ret = claim;
	return 0;
}

int store_file_claim_nameless(const char *folder, struct store_claim *ret, struct err *err)
{
	_cleanup_free_ char *real = realpath(folder, NULL), *target = NULL;
	struct store_claim claim = {.fd = -1};
	char who[48];

	if (real && asprintf(&target, "%s/gctrace", real[1] ? real : "") < 0)
		target = NULL;
	claim.fd = target ? make_temporary(target, &claim.temporary) : -errno;
	if (claim.fd < 0)
		return err_set(err, -claim.fd,
			"no temporary recording can be made in %s%s: %s; TMPDIR says where", folder,
			caller_note(who, sizeof(who)), strerror(-claim.fd));
	*ret = claim;
	return 0;
}

int store_file_take(struct store_claim *claim, const char *path, struct err *err)
{
	static const char *const companions[] = {"-wal", "-shm", "-journal"};
	int r = check_place(claim->target, err);

	if (r)
		return r;
	if (rename(claim->temporary, claim->target))
		return err_set(err, errno, "cannot replace %s: %s; name another file with -o", path,
			strerror(errno));
	free(steal_ptr(claim->temporary));
	for (size_t i = 0; i < ARRAY_SIZE(companions); i++) {
		_cleanup_free_ char *companion = store_file_companion(claim->target, companions[i]);

		if (companion)
			unlink(companion);
	}
	return 0;
}

void store_file_hide(struct store_claim *claim)
{
	if (claim->temporary)
		unlink(claim->temporary);
	free(steal_ptr(claim->temporary));
}

void store_claim_release(struct store_claim *claim)
{
	store_file_hide(claim);
	free(steal_ptr(claim->target));
	cleanup_close(&claim->fd);
	claim->fd = -1;
}

/* "file:<path>" with every byte escaped that is special in a URI. The caller frees. */
static char *file_uri(const char *path, const char *parameters)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789/-._";
	size_t len = strlen(path);
	char *uri = malloc(sizeof("file:./") + 3 * len + strlen(parameters)), *to;

	if (!uri)
		return NULL;
	/*
	 * "//" after the scheme would begin an authority, so a path begins with one "/" or with
	 * "./"
	 */
	while (path[0] == '/' && path[1] == '/')
		path++;
	to = stpcpy(uri, *path == '/' ? "file:" : "file:./");
	for (; *path; path++)
		if (strchr(plain, *path))
			*to++ = *path;
		else
			to += sprintf(to, "%%%02X", (unsigned char)*path);
	strcpy(to, parameters);
	return uri;
}

int store_file_open(const char *path, const char *parameters, int flags, const char *vfs,
	sqlite3 **ret)
{
	_cleanup_free_ char *uri = file_uri(path, parameters);

	*ret = NULL;
	if (!uri)
		return SQLITE_NOMEM;
	return sqlite3_open_v2(uri, ret,
		flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, vfs);
}

int store_errno(sqlite3 *db, int rc)
{
	int system = errno; /* SQLite's own record of it misses failed writes of the WAL */

	if (db && sqlite3_system_errno(db))
		system = sqlite3_system_errno(db);
	if (rc == SQLITE_READONLY_DBMOVED)
		return -ESTALE;
	switch (rc & 0xff) {
	case SQLITE_OK:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_READONLY:
	case SQLITE_PERM:
		return -EACCES;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_IOERR:
		if (rc == SQLITE_IOERR_SHORT_READ)
			return -EBADMSG;
		return system > 0 ? -system : -EIO;
	case SQLITE_CANTOPEN:
		return system > 0 ? -system : -EIO;
	case SQLITE_CONSTRAINT:
	case SQLITE_MISMATCH:
		return -EINVAL;
	}
	return -EBADMSG;
}
