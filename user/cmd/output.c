/* A path in; out comes a stream and, once it is written in full, the file of that name. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "caller.h"
#include "cleanup.h"
#include "output.h"
#include "store.h"

/* "folder/name" → the folder, open, and the name. 0 or -errno. */
static int open_folder(struct output *output, const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *folder =
		slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	const char *name = slash ? slash + 1 : path;

	if (!folder)
		return -ENOMEM;
	if (!*name)
		return -EISDIR;
	/* The temporary name begins with it and must fit too. */
	if (snprintf(output->name, sizeof(output->name), "%s", name) >= (int)sizeof(output->name))
		return -ENAMETOOLONG;
	output->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return output->folder < 0 ? -errno : 0;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/*
 * Looks at what is in the place of the file, if anything. 1: it is to be written to as it is; 0; or
 * -errno.
 */
static int look_at_old(struct output *output, struct stat *ret, struct err *err)
{
	_cleanup_close_ int fd = -1;
	struct stat there, out;

	if (!stat(output->path, &there) && !S_ISDIR(there.st_mode) &&
		(!S_ISREG(there.st_mode) ||
			(!fstat(STDOUT_FILENO, &out) && same_file(&there, &out))))
		return 1;
	fd = openat(output->folder, output->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 && errno == ELOOP)
		return err_set(err, ELOOP,
			"%s is a symbolic link, which is not followed: name the file itself",
			output->path);
	if (fd < 0 || fstat(fd, ret))
		return err_set(err, errno,
			"%s exists but cannot be examined: %s; name another file", output->path,
			strerror(errno));
	if (S_ISDIR(ret->st_mode))
		return err_set(err, EISDIR, "%s is a folder: name a file in it", output->path);
	if (store_is_recording(fd))
		return err_set(err, EEXIST,
			"%s is a recording, and is not overwritten: name another file, or remove it",
			output->path);
	return 0;
}

static int open_temporary(struct output *output, mode_t mode)
{
	unsigned int number;
	int fd;

	do {
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return -EIO;
		snprintf(output->temporary, sizeof(output->temporary), ".%.200s.%08x", output->name,
			number);
		fd = openat(output->folder, output->temporary,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	} while (fd < 0 && errno == EEXIST);
	return fd < 0 ? -errno : fd;
}

/* With the rights of the user who called sudo. A descriptor or -errno with a sentence. */
static int open_as_caller(struct output *output, struct err *err)
{
	struct stat old = {};
	char who[48];
	int fd, r = open_folder(output, output->path);
	int place = r ? 0 : look_at_old(output, &old, err);

	if (place < 0)
		return place;
	if (place) {
		close(steal_fd(&output->folder));
		fd = open(output->path, O_WRONLY | O_NOCTTY | O_APPEND | O_CLOEXEC);
	} else {
		fd = r ? r : open_temporary(output, 0666);
		errno = fd < 0 ? -fd : errno;
		/* The new file gets the old one's mode and no more. */
		if (fd >= 0 && old.st_ino)
			fchmod(fd, old.st_mode & 0777);
	}
	if (fd >= 0)
		return fd;
	r = errno;
	return err_set(err, r,
		"%s cannot be written%s: %s; name a file in another folder, or - for stdout",
		output->path, caller_note(who, sizeof(who)), strerror(r));
}

int output_open(struct output *ret, const char *path, struct err *err)
{
	struct output output = {.path = path, .folder = -1};
	int fd, r;

	if (!path || !strcmp(path, "-")) {
		*ret = (struct output){.stream = stdout, .folder = -1};
		return 0;
	}
	r = caller_act(err);
	if (r)
		return r;
	fd = open_as_caller(&output, err);
	caller_rest();
	if (fd >= 0)
		output.stream = fdopen(fd, "w");
	if (!output.stream) {
		cleanup_close(&output.folder);
		return fd < 0 ? fd : err_set(err, ENOMEM, "no memory to write %s", path);
	}
	*ret = output;
	return 0;
}

/* Renames a complete file, or removes an incomplete one. 0 or -errno. */
static int settle(struct output *output, int r)
{
	if (output->folder < 0)
		return 0;
	if (!r && !renameat(output->folder, output->temporary, output->folder, output->name))
		return 0;
	r = r ? r : -errno;
	unlinkat(output->folder, output->temporary, 0);
	return r;
}

int output_close(struct output *output, int r, struct err *err)
{
	int acting, error = 0;

	if (fflush(output->stream))
		error = errno;
	else if (ferror(output->stream))
		error = EIO;
	if (output->path && fclose(output->stream) && !error)
		error = errno;
	if (!output->path)
		error = 0; /* streams_close() reports it, once */
	acting = caller_act(err);
	if (!acting) {
		int settled = settle(output, r ? r : -error);

		caller_rest();
		error = !r && settled ? -settled : error;
	}
	cleanup_close(&output->folder);
	output->folder = -1;
	if (r || !error)
		return r ? r : acting;
	return err_set(err, error, "%s could not be written in full: %s", output->path,
		strerror(error));
}

int output_check(const char *path, struct err *err)
{
	struct output output;
	struct stat there;
	int r;

	if (!strcmp(path, "-") ||
		(!stat(path, &there) && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode)))
		return 0;
	r = output_open(&output, path, err);
	if (!r)
		output_close(&output, -ECANCELED, NULL);
	return r;
}
