/* Time namespaces: /proc/PID/timens_offsets → how far a process's clock is from the kernel's. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"
#include "mem.h"

#define NS_PER_S   1000000000ll
#define MOST_S	   (INT64_MAX / NS_PER_S - 1)
#define NOT_ASKED  INT64_MAX
#define TEXT_BYTES 256

int clock_parse_offsets(const char *text, int64_t *ret)
{
	for (const char *line = text; line; line = strchr(line, '\n')) {
		long long seconds, ns;

		line += *line == '\n';
		if (sscanf(line, "monotonic %lld %lld", &seconds, &ns) != 2)
			continue;
		if (seconds > MOST_S || seconds < -MOST_S || ns < 0 || ns >= NS_PER_S)
			return -EBADMSG;
		*ret = seconds * NS_PER_S + ns;
		return 0;
	}
	return -EBADMSG;
}

/* False: the kernel has no time namespaces, or the process is gone. */
static bool read_link(pid_t pid, const char *name, char ret[64])
{
	char path[64];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, name);
	len = readlink(path, ret, 63);
	ret[len > 0 ? len : 0] = '\0';
	return len > 0;
}

int clock_offset_of(pid_t pid, int64_t *ret, struct err *err)
{
	char own[64], children[64], path[64], text[TEXT_BYTES];
	_cleanup_fclose_ FILE *stream = NULL;
	size_t len;

	*ret = 0;
	if (!read_link(pid, "time", own) || !read_link(pid, "time_for_children", children))
		return 0;
	/* The file shows the offsets of the latter: after unshare(CLONE_NEWTIME) they may differ. */
	if (strcmp(own, children))
		return err_set(err, ENOTSUP,
			"process %d is in one time namespace and has "
			"unshared another",
			pid);
	snprintf(path, sizeof(path), "/proc/%d/timens_offsets", pid);
	stream = fopen(path, "re");
	if (!stream)
		return 0;
	len = fread(text, 1, sizeof(text) - 1, stream);
	text[len] = '\0';
	if (clock_parse_offsets(text, ret))
		return err_set(err, ENOTSUP, "%s has an unknown format", path);
	return 0;
}

uint64_t now_ns(void)
{
	static _Atomic int64_t known = NOT_ASKED; /* two equal readings in a row are consistent */
	int64_t offset = atomic_load_explicit(&known, memory_order_relaxed);

	if (offset == NOT_ASKED) {
		struct err err;

		clock_offset_of(getpid(), &offset, &err);
		atomic_store_explicit(&known, offset, memory_order_relaxed);
	}
	return clock_ns(CLOCK_MONOTONIC) - (uint64_t)offset;
}
