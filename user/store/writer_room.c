/* A recording under way in; its size and the room left on its disk out. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "cleanup.h"
#include "store_file.h"
#include "writer.h"

int store_room(const struct store_writer *writer, struct store_room *ret)
{
	_cleanup_free_ char *wal =
		writer->settled ? store_file_companion(writer->file.target, "-wal") : NULL;
	struct store_room room = {};
	struct statvfs disk;
	struct stat st;

	if (fstat(writer->file.fd, &st) || fstatvfs(writer->file.fd, &disk))
		return -errno;
	room.bytes = (uint64_t)st.st_size;
	room.bytes += wal && !stat(wal, &st) ? (uint64_t)st.st_size : 0;
	room.disk_bytes = (uint64_t)disk.f_blocks * disk.f_frsize;
	room.free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
	*ret = room;
	return 0;
}
