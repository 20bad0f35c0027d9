/* /proc/PID/fd and /proc/PID/net → whether one of a process's sockets listens. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cleanup.h"
#include "proc_server.h"
#include "stats.h"

#define MOST_SOCKETS 4096

struct sockets {
	uint64_t inodes[MOST_SOCKETS];
	size_t count;
};

/* Of @pid, in order. */
static void read_sockets(pid_t pid, struct sockets *ret)
{
	struct dirent *entry;
	char path[64], target[64];
	DIR *fds;

	ret->count = 0;
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	fds = opendir(path);
	if (!fds)
		return;
	while (ret->count < MOST_SOCKETS && (entry = readdir(fds))) {
		ssize_t length = readlinkat(dirfd(fds), entry->d_name, target, sizeof(target) - 1);

		target[length > 0 ? length : 0] = '\0';
		ret->count += sscanf(target, "socket:[%" SCNu64, &ret->inodes[ret->count]) == 1;
	}
	closedir(fds);
	if (ret->count)
		qsort(ret->inodes, ret->count, sizeof(*ret->inodes), stats_compare);
}

static bool has(const struct sockets *sockets, uint64_t inode)
{
	return bsearch(&inode, sockets->inodes, sockets->count, sizeof(inode), stats_compare);
}

/* Linux: net/ipv4/tcp_ipv4.c, get_tcp4_sock(): the fourth field is the state, 0A is TCP_LISTEN; the tenth the inode. */
static bool tcp_listens(const char *line, uint64_t *ret_inode)
{
	unsigned int state;

	return sscanf(line, " %*d: %*s %*s %X %*s %*s %*s %*s %*s %" SCNu64, &state, ret_inode) ==
		       2 &&
	       state == 0x0a;
}

/* Linux: net/unix/af_unix.c, unix_seq_show(): the fourth field has the flags, of which __SO_ACCEPTCON; the seventh the inode. */
static bool unix_listens(const char *line, uint64_t *ret_inode)
{
	unsigned int flags, type;

	return sscanf(line, "%*s %*s %*s %X %X %*s %" SCNu64, &flags, &type, ret_inode) == 3 &&
	       flags & 1 << 16 && type == 1;
}

static bool any_listens(pid_t pid, const char *table,
	bool (*listens)(const char *line, uint64_t *ret_inode), const struct sockets *sockets)
{
	_cleanup_fclose_ FILE *stream = NULL;
	char path[64], line[512];
	uint64_t inode;

	snprintf(path, sizeof(path), "/proc/%d/net/%s", pid, table);
	stream = fopen(path, "re");
	while (stream && fgets(line, sizeof(line), stream))
		if (listens(line, &inode) && has(sockets, inode))
			return true;
	return false;
}

bool proc_listens(pid_t pid)
{
	struct sockets *sockets = malloc(sizeof(*sockets));
	bool found = false;

	if (!sockets)
		return false;
	read_sockets(pid, sockets);
	if (sockets->count)
		found = any_listens(pid, "tcp", tcp_listens, sockets) ||
			any_listens(pid, "tcp6", tcp_listens, sockets) ||
			any_listens(pid, "unix", unix_listens, sockets);
	free(sockets);
	return found;
}
