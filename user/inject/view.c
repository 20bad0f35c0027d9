/* A path → the same bytes, as another process would read them. A child looks, in that one's root and as its user. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "view.h"

#define SECONDS	    10 /* for a file system that does not answer */
#define GROUPS_MOST 64

struct viewer {
	uid_t uid;
	gid_t gid;
	size_t group_count;
	gid_t groups[GROUPS_MOST];
};

enum sight { SAME, NOT_ENTERED, UNSAFE, NOT_OPENED, DIFFERENT, NOT_RUN };

struct seen {
	enum sight sight;
	int error;
};

static void take_groups(const char *text, struct viewer *viewer)
{
	int used;

	while (viewer->group_count < GROUPS_MOST &&
		sscanf(text, "%u%n", &viewer->groups[viewer->group_count], &used) == 1) {
		viewer->group_count++;
		text += used;
	}
}

/* By which rights the kernel judges the process's access to files. 0 or -errno. */
static int read_viewer(pid_t pid, struct viewer *ret)
{
	_cleanup_fclose_ FILE *status = NULL;
	struct viewer viewer = {};
	char line[1024], path[32];
	int found = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	status = fopen(path, "re");
	if (!status)
		return -errno;
	while (fgets(line, sizeof(line), status)) {
		found += sscanf(line, "Uid: %*u %*u %*u %u", &viewer.uid) == 1;
		found += sscanf(line, "Gid: %*u %*u %*u %u", &viewer.gid) == 1;
		if (!strncmp(line, "Groups:", 7))
			take_groups(line + 7, &viewer);
	}
	*ret = viewer;
	return found == 2 ? 0 : -ESRCH;
}

/* Nobody but root and @uid may put another file in its place: neither into it nor into a folder above. */
static bool is_safe(const char *path, uid_t uid)
{
	char part[PATH_MAX];
	struct stat stat;

	snprintf(part, sizeof(part), "%s", path);
	for (bool file = true;; file = false) {
		char *slash = strrchr(part, '/');

		if (lstat(*part ? part : "/", &stat) || (stat.st_uid && stat.st_uid != uid) ||
			(stat.st_mode & (S_IWGRP | S_IWOTH) && (file || !(stat.st_mode & S_ISVTX))))
			return false;
		if (!*part || !slash)
			return true;
		*slash = '\0';
	}
}

static bool is_same(int fd, const void *bytes, size_t size)
{
	char part[4096];
	size_t at = 0;
	ssize_t got;

	while ((got = read(fd, part, sizeof(part))) > 0) {
		if ((size_t)got > size - at || memcmp((const char *)bytes + at, part, (size_t)got))
			return false;
		at += (size_t)got;
	}
	return !got && at == size;
}

static struct seen look(const char *root, const struct viewer *viewer, const char *path,
	const void *bytes, size_t size, bool runs)
{
	struct statvfs system;
	int fd;

	if (chroot(root) || chdir("/"))
		return (struct seen){NOT_ENTERED, errno};
	if (access(path, F_OK))
		return (struct seen){NOT_OPENED, errno};
	if (!is_safe(path, viewer->uid))
		return (struct seen){UNSAFE, 0};
	if (setgroups(viewer->group_count, viewer->groups) ||
		setresgid(viewer->gid, viewer->gid, viewer->gid) ||
		setresuid(viewer->uid, viewer->uid, viewer->uid))
		return (struct seen){NOT_ENTERED, errno};
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return (struct seen){NOT_OPENED, errno};
	if (runs && !fstatvfs(fd, &system) && system.f_flag & ST_NOEXEC)
		return (struct seen){NOT_RUN, 0};
	return (struct seen){is_same(fd, bytes, size) ? SAME : DIFFERENT, 0};
}

static int judge(pid_t pid, const struct viewer *viewer, const char *path, struct seen seen,
	struct err *err)
{
	switch (seen.sight) {
	case SAME:
		return 0;
	case NOT_OPENED:
		if (seen.error == ENOENT || seen.error == ENOTDIR)
			return err_set(err, ENOENT,
				"process %d has no %s: it does not share gctrace's files; put a copy there, or mount "
				"the folder",
				pid, path);
		return err_set(err, EACCES, "process %d, of user %u, cannot read %s: %s", pid,
			viewer->uid, path, strerror(seen.error));
	case UNSAFE:
		return err_set(err, EACCES,
			"others than root and user %u can write to %s or a folder above it: it is not safe to load",
			viewer->uid, path);
	case DIFFERENT:
		return err_set(err, EACCES, "process %d finds another file at %s than gctrace does",
			pid, path);
	case NOT_RUN:
		return err_set(err, EACCES,
			"%s is where process %d may run nothing: it is mounted noexec", path, pid);
	case NOT_ENTERED:
		break;
	}
	return err_set(err, EACCES, "the files of process %d cannot be looked at: %s", pid,
		strerror(seen.error));
}

int view_check(pid_t pid, const char *path, const void *bytes, size_t size, bool runs,
	struct err *err)
{
	struct seen seen = {NOT_ENTERED, ETIMEDOUT};
	struct viewer viewer;
	int ends[2], r = read_viewer(pid, &viewer);
	char root[32];
	pid_t child;

	if (r)
		return err_set(err, -r, "process %d cannot be looked at: %s", pid, strerror(-r));
	if (pipe2(ends, O_CLOEXEC))
		return err_set(err, errno, "a pipe cannot be made: %s", strerror(errno));
	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	child = fork();
	if (!child) {
		alarm(SECONDS);
		seen = look(root, &viewer, path, bytes, size, runs);
		_exit(write(ends[1], &seen, sizeof(seen)) != sizeof(seen));
	}
	close(ends[1]);
	if (child < 0 || read(ends[0], &seen, sizeof(seen)) < 0)
		seen.error = errno;
	close(ends[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return judge(pid, &viewer, path, seen, err);
}
