/* How large a recording may get: limited by --max-size, and by what others need of the disk. */
#include <stdio.h>

#include "capture_priv.h"
#include "log.h"
#include "mem.h"

#define SPARED_BYTES                                                                               \
	(64ull << 20) /* kept free for others, or a 20th of the disk if that is less, … */
#define SMALL_DISK                                                                                 \
	(80ull << 20) /* … but nothing on a disk this small, which was made for the recording */

static uint64_t spared(uint64_t disk_bytes)
{
	if (disk_bytes < SMALL_DISK)
		return 0;
	return disk_bytes / 20 < SPARED_BYTES ? disk_bytes / 20 : SPARED_BYTES;
}

/* The limit that is reached, as a drop for the recording. */
static bool find_limit(const struct capture *capture, struct drop *ret)
{
	const struct capture_options *options = capture->options;
	struct drop limit = {.cause = DROP_SIZE_LIMIT, .count = 1, .time_ns = now_ns()};
	struct store_room room;

	if (store_room(capture->store, &room))
		return false;
	if (options->max_bytes && room.bytes >= options->max_bytes)
		snprintf(limit.remedy, sizeof(limit.remedy),
			"it reached --max-size %.16s: give a larger one, or record for a shorter time",
			options->max_size);
	else if (room.free_bytes < spared(room.disk_bytes))
		snprintf(limit.remedy, sizeof(limit.remedy),
			"less than %llu MiB of the disk were free: free space, or record elsewhere",
			(unsigned long long)(spared(room.disk_bytes) >> 20));
	else
		return false;
	*ret = limit;
	return true;
}

int capture_check_quota(struct capture *capture, struct err *err)
{
	struct recording cut = *trace_recording(capture->trace);

	if (!capture->store || capture->limit.count || !find_limit(capture, &capture->limit))
		return 0;
	log_warning("the recording %s ends here: %s%s", capture->path, capture->limit.remedy,
		capture->lines	 ? "; what follows is shown, but not in the report"
		: capture->child ? "; the workload goes on"
				 : "");
	if (capture->lines) {
		cut.end_ns = capture->limit.time_ns;
		return capture_close(capture, cut, err);
	}
	capture->stop = true; /* what the books and the ring still hold is stored */
	return 0;
}
