/* /proc/PID → struct proc_maps, struct proc_info, and open files behind mappings. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cleanup.h"
#include "proc.h"
#include "secret.h"

static FILE *open_proc(pid_t pid, const char *file)
{
	char path[64];
	FILE *stream;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	stream = fopen(path, "re");
	if (!stream && errno == ENOENT)
		errno = ESRCH;
	return stream;
}

/* Undoes the kernel's octal escapes (\012) in place. */
static void unescape(char *path)
{
	char *to = path;

	for (const char *from = path; *from; to++) {
		unsigned int byte;

		if (from[0] == '\\' && from[1] == '0' && sscanf(from + 1, "%3o", &byte) == 1) {
			*to = (char)byte;
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* "start-end perms offset major:minor inode path" → *ret; false for a mapping without a file. */
static bool parse_map(char *line, struct proc_map *ret)
{
	static const char deleted[] = " (deleted)";
	unsigned int dev_major, dev_minor;
	char perms[5];
	size_t len;
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		    &ret->start, &ret->end, perms, &ret->offset, &dev_major, &dev_minor,
		    &ret->inode, &path) < 7 ||
		!path || !ret->inode || line[path] != '/')
		return false;
	len = strlen(line + path);
	if (len && line[path + len - 1] == '\n')
		line[path + --len] = '\0';
	ret->deleted =
		len > strlen(deleted) && !strcmp(line + path + len - strlen(deleted), deleted);
	if (ret->deleted)
		line[path + len - strlen(deleted)] = '\0';
	unescape(line + path);
	ret->exec = perms[2] == 'x';
	ret->device = makedev(dev_major, dev_minor);
	ret->path = strdup(line + path);
	return ret->path;
}

int proc_maps_read(pid_t pid, struct proc_maps *ret)
{
	_cleanup_fclose_ FILE *stream = open_proc(pid, "maps");
	_cleanup_free_ char *line = NULL;
	struct proc_maps maps = {};
	size_t size = 0;

	if (!stream)
		return -errno;
	while (getline(&line, &size, stream) > 0) {
		struct proc_map map = {}, *slot;

		if (!parse_map(line, &map))
			continue;
		slot = vec_add(&maps.maps);
		if (!slot) {
			free(map.path);
			proc_maps_release(&maps);
			return -ENOMEM;
		}
		*slot = map;
	}
	*ret = maps;
	return 0;
}

void proc_maps_release(struct proc_maps *maps)
{
	for (size_t i = 0; i < maps->maps.count; i++)
		free(maps->maps.items[i].path);
	vec_free(&maps->maps);
}

static int read_status(pid_t pid, struct proc_info *info)
{
	_cleanup_fclose_ FILE *stream = open_proc(pid, "status");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	int value;

	if (!stream)
		return -errno;
	while (getline(&line, &size, stream) > 0) {
		if (sscanf(line, "PPid: %d", &value) == 1)
			info->ppid = value;
		else if (sscanf(line, "Uid: %d", &value) == 1)
			info->uid = (uid_t)value;
		else if (!strncmp(line, "NSpid:", 6))
			info->ns_pid = atoi(strrchr(line, '\t') ? strrchr(line, '\t') + 1 : "0");
	}
	return 0;
}

pid_t proc_of_thread(pid_t pid)
{
	_cleanup_fclose_ FILE *stream = open_proc(pid, "status");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	int value;

	while (stream && getline(&line, &size, stream) > 0)
		if (sscanf(line, "Tgid: %d", &value) == 1)
			return value;
	return 0;
}

/* Fields 22 and 28 of /proc/PID/stat, counted after the comm's closing parenthesis (it may hold any). */
static int read_stat(pid_t pid, struct proc_info *info)
{
	_cleanup_fclose_ FILE *stream = open_proc(pid, "stat");
	char line[1024], *rest, *open;
	size_t len;

	if (!stream)
		return -errno;
	len = fread(line, 1, sizeof(line) - 1, stream);
	line[len] = '\0';
	open = strchr(line, '(');
	rest = strrchr(line, ')');
	if (!open || !rest || rest < open)
		return -ESRCH;
	snprintf(info->comm, sizeof(info->comm), "%.*s", (int)(rest - open - 1), open + 1);
	if (sscanf(rest + 1,
		    " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNu64
		    " %*u %*d %*u %*u %*u %" SCNu64,
		    &info->start_ticks, &info->stack_start) != 2)
		return -ESRCH;
	return 0;
}

static void read_cmdline(pid_t pid, struct proc_info *info)
{
	enum { MOST = 16384 };
	_cleanup_fclose_ FILE *stream = open_proc(pid, "cmdline");
	_cleanup_free_ char *text = malloc(MOST);
	size_t len;

	if (!stream || !text)
		return;
	len = fread(text, 1, MOST, stream);
	if (len && !text[len - 1])
		len--;
	info->cmdline = secret_mask(text, len, &info->cmdline_len);
}

int proc_info_read(pid_t pid, struct proc_info *ret)
{
	struct proc_info info = {.pid = pid, .ns_pid = pid};
	int r = read_stat(pid, &info);

	if (!r)
		r = read_status(pid, &info);
	if (r)
		return r;
	read_cmdline(pid, &info);
	*ret = info;
	return 0;
}

void proc_info_release(struct proc_info *info)
{
	free(info->cmdline);
	info->cmdline = NULL;
}

static int open_if_same(const char *path, const struct proc_map *map)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_ino != map->inode) {
		close(fd);
		return -ESTALE;
	}
	/* Overlay and btrfs show another device in maps than stat() does: the inode must do. */
	return fd;
}

int proc_map_open(pid_t pid, const struct proc_map *map, char *path, size_t size)
{
	int fd;

	snprintf(path, size, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, map->start, map->end);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0) /* the kernel's own link to the mapped file: nothing to compare */
		return fd;
	snprintf(path, size, "/proc/%d/root%s", pid, map->path);
	fd = open_if_same(path, map);
	if (fd >= 0)
		return fd;
	snprintf(path, size, "%s", map->path);
	return open_if_same(path, map);
}

int proc_map_stat(pid_t pid, const struct proc_map *map, struct stat *ret)
{
	_cleanup_free_ char *path = NULL;
	char link[64];

	snprintf(link, sizeof(link), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, map->start,
		map->end);
	if (!stat(link, ret))
		return 0;
	if (asprintf(&path, "/proc/%d/root%s", pid, map->path) < 0)
		return -ENOMEM;
	if (stat(path, ret))
		return -errno;
	return ret->st_ino == map->inode ? 0 : -ESTALE;
}

/* Children of thread @tid of @pid, appended to @list: a child hangs below the thread that forked it. */
static int add_thread_children(pid_t pid, const char *tid, struct proc_pids *list)
{
	_cleanup_fclose_ FILE *stream = NULL;
	char file[64];
	int child;

	snprintf(file, sizeof(file), "task/%.20s/children", tid);
	stream = open_proc(pid, file);
	if (!stream)
		return 0; /* gone, or a kernel without CONFIG_PROC_CHILDREN */
	while (fscanf(stream, "%d", &child) == 1) {
		pid_t *slot = vec_add(&list->pids);

		if (!slot)
			return -ENOMEM;
		*slot = child;
	}
	return 0;
}

static int add_children(pid_t pid, struct proc_pids *list)
{
	struct dirent *entry;
	char path[64];
	DIR *tasks;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return 0;
	while (!r && (entry = readdir(tasks)))
		if (isdigit((unsigned char)entry->d_name[0]))
			r = add_thread_children(pid, entry->d_name, list);
	closedir(tasks);
	return r;
}

int proc_descendants(pid_t pid, struct proc_pids *ret)
{
	struct proc_pids list = {};
	int r = add_children(pid, &list);

	for (size_t i = 0; !r && i < list.pids.count; i++)
		r = add_children(list.pids.items[i], &list);
	if (r) {
		vec_free(&list.pids);
		return r;
	}
	*ret = list;
	return 0;
}

bool proc_has_exited(pid_t pid)
{
	struct pollfd process = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
	bool exited;

	if (process.fd < 0) /* EINVAL, ENOENT: its number is now a thread's */
		return errno == ESRCH || errno == EINVAL || errno == ENOENT;
	exited = poll(&process, 1, 0) == 1;
	close(process.fd);
	return exited;
}

bool proc_has_no_memory(pid_t pid)
{
	struct proc_maps maps = {};
	int r = proc_maps_read(pid, &maps);
	bool none = r ? r == -ESRCH : !maps.maps.count;

	proc_maps_release(&maps);
	return none;
}
