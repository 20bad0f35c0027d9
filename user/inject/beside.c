/*
 * A text → a file that stays. It says the same each time, so there is nothing to clean up; and a request that outlives
 * gctrace finds it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beside.h"
#include "caller.h"
#include "cleanup.h"

#define TEXT_MOST 8192

static bool is_there(const char *path, const char *text, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char found[TEXT_MOST];

	return fd >= 0 && size < sizeof(found) && read(fd, found, sizeof(found)) == (ssize_t)size &&
	       !memcmp(found, text, size);
}

/* Under another name first: whoever reads it finds all or nothing. 0 or -errno. */
static int write_new(const char *path, const char *text, size_t size)
{
	_cleanup_close_ int fd = -1;
	char draft[PATH_MAX + 16];
	int r = 0;

	snprintf(draft, sizeof(draft), "%s.%d", path, getpid());
	fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	if (fchmod(fd, 0644) || write(fd, text, size) != (ssize_t)size || rename(draft, path))
		r = errno ? -errno : -ENOSPC;
	if (r)
		unlink(draft);
	return r;
}

int beside_write(const char *path, const char *text, size_t size, struct err *err)
{
	char note[64];
	int r;

	if (is_there(path, text, size))
		return 0;
	r = caller_act(err);
	if (r)
		return r;
	r = write_new(path, text, size);
	caller_rest();
	return r ? err_set(err, -r, "%s cannot be written%s: %s", path,
			   caller_note(note, sizeof(note)), strerror(-r))
		 : 0;
}
