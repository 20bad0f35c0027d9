/* stdin in; out comes a reader of the recording that it carried. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "spool.h"

/* To the end of stdin. 0 or -errno. */
static int copy_stdin(int to)
{
	char bytes[65536];
	ssize_t len;

	while ((len = read(STDIN_FILENO, bytes, sizeof(bytes)))) {
		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return -errno;
		for (ssize_t done = 0, n; done < len; done += n) {
			n = write(to, bytes + done, (size_t)(len - done));
			if (n < 0)
				return -errno;
		}
	}
	return 0;
}

/*
 * The file has no name while stdin is read, which may be interrupted, and one only for as long as
 * SQLite needs to open it. Where the file system has no nameless files it has one all the time. 0
 * or -errno; @path is its name.
 */
static int spool(const char *folder, char path[PATH_MAX])
{
	_cleanup_close_ int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	bool named = fd < 0;
	char self[32];
	int r;

	snprintf(path, PATH_MAX, "%s/gctrace-XXXXXX", folder);
	if (named)
		fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = copy_stdin(fd);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	while (!r && !named) {
		unsigned int number;

		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return -EIO;
		snprintf(path, PATH_MAX, "%s/gctrace-%08x", folder, number);
		named = !linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
		r = named || errno == EEXIST ? 0 : -errno;
	}
	if (r && named)
		unlink(path);
	return r;
}

/* Error sentences should not name the temporary copy. */
static void name_stdin(struct err *err, const char *path)
{
	char *at = err ? strstr(err->text, path) : NULL;
	char rest[sizeof(err->text)];

	if (!at)
		return;
	snprintf(rest, sizeof(rest), "%s", at + strlen(path));
	snprintf(at, sizeof(err->text) - (size_t)(at - err->text), "the recording on stdin%s",
		rest);
}

const char *spool_folder(void)
{
	static const char *const usual[] = {"/var/tmp", "/tmp"};
	const char *asked = getenv("TMPDIR");

	if (asked && *asked)
		return asked;
	for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
		if (!access(usual[i], F_OK))
			return usual[i];
	return ".";
}

int spool_stdin(struct store_reader **ret, struct err *err)
{
	const char *place = spool_folder();
	char path[PATH_MAX];
	int r;

	if (isatty(STDIN_FILENO))
		return err_set(err, EINVAL,
			"stdin is a terminal, not a recording: gctrace report FILE");
	r = spool(place, path);
	if (r == -EBADF)
		return err_set(err, EBADF,
			"stdin is closed: there is no recording to read from it");
	if (r)
		return err_set(err, -r,
			"the recording on stdin cannot be copied into %s: %s; TMPDIR says where to",
			place, strerror(-r));
	r = store_open(path, ret, err);
	if (r)
		name_stdin(err, path);
	unlink(path);
	return r;
}
