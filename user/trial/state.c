/* The settings of a trial → a locked file, and back. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "proc.h"
#include "state.h"

#define MAGIC "gctrace trial, state 1"
#define TRIES 16 /* to open a file that another gctrace is just removing */

struct name {
	char text[32];
};

static struct name name_of(pid_t pid)
{
	struct name name;

	snprintf(name.text, sizeof(name.text), "trial-%d", pid);
	return name;
}

/* Nobody else may put anything there: by what it says, we write to a process. A descriptor or -errno. */
static int open_folder(const char *path)
{
	_cleanup_close_ int fd = open(path, O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat stat;

	if (fd < 0 || fstat(fd, &stat))
		return -errno;
	if (stat.st_uid != geteuid() || stat.st_mode & (S_IWGRP | S_IWOTH))
		return -EPERM;
	return steal_fd(&fd);
}

/* Whether it is a file that we have made, and only we. */
static bool is_ours(int fd, nlink_t *ret_names)
{
	struct stat stat;

	if (fstat(fd, &stat))
		return false;
	*ret_names = stat.st_nlink;
	return S_ISREG(stat.st_mode) && stat.st_uid == geteuid() && !(stat.st_mode & 077);
}

/* The file that is there now, locked: a descriptor, -EBUSY: by another, or -errno. */
static int open_locked(int folder, pid_t pid, int flags)
{
	const struct name name = name_of(pid);

	for (int i = 0; i < TRIES; i++) {
		_cleanup_close_ int fd =
			openat(folder, name.text, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
		nlink_t names;

		if (fd < 0)
			return -errno;
		if (flock(fd, LOCK_EX | LOCK_NB))
			return errno == EWOULDBLOCK ? -EBUSY : -errno;
		if (!is_ours(fd, &names))
			return -EPERM;
		if (names)
			return steal_fd(&fd);
	}
	return -EBUSY;
}

/* Which program of which process it is. 0 or -errno. */
static int identify(pid_t pid, struct state *ret)
{
	struct proc_info info;
	int r = proc_info_read(pid, &info);

	if (r)
		return r;
	ret->pid = pid;
	ret->start_ticks = info.start_ticks;
	ret->stack_start = info.stack_start;
	proc_info_release(&info);
	return 0;
}

/* Whether @state is one, and of the program that @pid runs now. */
static bool is_of(const struct state *state, pid_t pid)
{
	struct state now = {};

	if (strncmp(state->magic, MAGIC, sizeof(state->magic)) || state->pid != pid ||
		state->setting_count > SETTINGS_MAX || state->count > STATE_CHILDREN)
		return false;
	for (uint32_t i = 0; i < state->setting_count; i++)
		if (!memchr(state->settings[i].name, 0, STATE_NAME) ||
			state->settings[i].address % sizeof(int32_t))
			return false;
	return !identify(pid, &now) && now.start_ticks == state->start_ticks &&
	       now.stack_start == state->stack_start;
}

static int in_progress(pid_t pid, struct err *err)
{
	return err_set(err, EBUSY,
		"a gctrace trial of process %d is in progress; it puts the settings back when it ends",
		pid);
}

static int left(const struct state *state, struct err *err)
{
	char what[256] = "";

	for (uint32_t i = 0; i < state->setting_count; i++) {
		size_t len = strlen(what);

		if (state->settings[i].tried != state->settings[i].as_it_is)
			snprintf(what + len, sizeof(what) - len, "%s%s %d instead of %d",
				len ? ", " : "", state->settings[i].name, state->settings[i].tried,
				state->settings[i].as_it_is);
	}
	return err_set(err, EEXIST,
		"process %d may still have what a gctrace trial tried (%s): the trial was killed together with its "
		"watcher; gctrace trial --restore -p %d puts it back",
		state->pid, what, state->pid);
}

/* What the file says, as far as it can be read. 0 or -errno. */
static int read_state(int fd, struct state *ret)
{
	ssize_t got = pread(fd, ret, sizeof(*ret), 0);

	return got == (ssize_t)sizeof(*ret) ? 0 : got < 0 ? -errno : -ENODATA;
}

int state_check(const char *path, pid_t pid, struct err *err)
{
	_cleanup_close_ int folder = open_folder(path), file = -1;
	const struct name name = name_of(pid);
	struct state state;
	nlink_t names;

	if (folder < 0)
		return 0;
	/* First without its lock, which a trial that begins would miss. */
	file = openat(folder, name.text, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (file < 0 || !is_ours(file, &names) || read_state(file, &state) || !is_of(&state, pid))
		return 0;
	if (flock(file, LOCK_EX | LOCK_NB))
		return errno == EWOULDBLOCK ? in_progress(pid, err) : 0;
	return read_state(file, &state) || !state.changed ? 0 : left(&state, err);
}

static int map(int file, struct state **ret)
{
	void *memory = mmap(NULL, sizeof(**ret), PROT_READ | PROT_WRITE,
		file < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, file, 0);

	if (memory == MAP_FAILED)
		return -errno;
	*ret = memory;
	return 0;
}

static int fill(pid_t pid, const struct settings *as_it_is, const struct settings *tried,
	struct state *ret)
{
	*ret = (struct state){.magic = MAGIC, .setting_count = (uint32_t)as_it_is->count};
	for (size_t i = 0; i < as_it_is->count; i++) {
		snprintf(ret->settings[i].name, STATE_NAME, "%s", as_it_is->items[i].name);
		ret->settings[i].address = as_it_is->items[i].address;
		ret->settings[i].as_it_is = as_it_is->items[i].value;
		ret->settings[i].tried = tried->items[i].value;
	}
	return identify(pid, ret);
}

/* The locked file, if a trial has not left something in it. 0 or -errno. */
static int take_file(const char *path, pid_t pid, struct state_file *file, struct err *err)
{
	struct state old;

	if (mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	file->folder = open_folder(path);
	if (file->folder < 0)
		return file->folder;
	file->file = open_locked(file->folder, pid, O_CREAT);
	if (file->file == -EBUSY)
		return in_progress(pid, err);
	if (file->file < 0)
		return file->file;
	if (!read_state(file->file, &old) && is_of(&old, pid) && old.changed)
		return left(&old, err);
	return 0;
}

int state_create(const char *path, pid_t pid, const struct settings *as_it_is,
	const struct settings *tried, struct state_file *ret, struct err *err)
{
	struct state_file file = STATE_NONE;
	struct state state;
	int r = path ? take_file(path, pid, &file, err) : 0;

	if (!r)
		r = fill(pid, as_it_is, tried, &state);
	/* Written, so that the disk has room for it: a mapping would fail by SIGBUS. */
	if (!r && path && pwrite(file.file, &state, sizeof(state), 0) != (ssize_t)sizeof(state))
		r = -(errno ? errno : ENOSPC);
	if (!r)
		r = map(file.file, &file.state);
	if (!r) {
		*file.state = state;
		*ret = file;
		return 0;
	}
	if (r != -EEXIST && r != -EBUSY)
		err_set(err, -r, "%s/%s cannot be written: %s", path ? path : "", name_of(pid).text,
			strerror(-r));
	state_close(&file);
	return r;
}

int state_open(const char *path, pid_t pid, struct state_file *ret, struct err *err)
{
	struct state_file file = STATE_NONE;
	struct state state;
	int r = file.folder = open_folder(path);

	if (r >= 0)
		r = file.file = open_locked(file.folder, pid, 0);
	if (r >= 0)
		r = read_state(file.file, &state);
	if (!r)
		r = is_of(&state, pid) && state.changed ? map(file.file, &file.state) : -ENOENT;
	if (!r) {
		*ret = file;
		return 0;
	}
	state_close(&file);
	if (r == -EBUSY)
		return in_progress(pid, err);
	if (r == -ENOENT || r == -ENODATA)
		return err_set(err, ENOENT,
			"no trial has left anything changed in process %d: there is nothing to put back",
			pid);
	return err_set(err, -r, "%s/%s cannot be read: %s", path, name_of(pid).text, strerror(-r));
}

void state_settings(const struct state *state, struct settings *ret_as_it_is,
	struct settings *ret_tried)
{
	struct settings was = {.count = state->setting_count}, tried = was;

	for (size_t i = 0; i < was.count; i++) {
		was.items[i].name = tried.items[i].name = state->settings[i].name;
		was.items[i].address = tried.items[i].address = state->settings[i].address;
		was.items[i].value = state->settings[i].as_it_is;
		tried.items[i].value = state->settings[i].tried;
	}
	*ret_as_it_is = was;
	*ret_tried = tried;
}

void state_close(struct state_file *file)
{
	nlink_t names;

	/* Only the name of this file: gctrace and its watcher do this one after the other. */
	if (file->state && !file->state->changed && file->file >= 0 &&
		is_ours(file->file, &names) && names)
		unlinkat(file->folder, name_of(file->state->pid).text, 0);
	if (file->state)
		munmap(file->state, sizeof(*file->state));
	if (file->file >= 0)
		close(file->file);
	if (file->folder >= 0)
		close(file->folder);
	*file = (struct state_file)STATE_NONE;
}
