/* Shared by the files of this room. Not for other rooms. */
#pragma once

#include "gpu_charge.h"

/* The pauses of one process, by start, and its devices. */
struct gpu_subject {
	const struct gpu_timeline *timeline;
	const struct gpu_pause *pauses; /* of all processes */
	uint32_t process;
	VEC(size_t) own;     /* indices in pauses */
	VEC(size_t) devices; /* indices in timeline->devices */
};

/* From when to when the records of @device are there. False: never. */
bool gpu_seen(const struct gpu_device *device, uint64_t *ret_from, uint64_t *ret_to);
/* The first busy interval that starts at @time_ns or later: its index, or the count. */
size_t gpu_busy_from(const struct gpu_device *device, uint64_t time_ns);
/* Whether @device had run dry at @dry_ns when what follows was launched. */
static inline bool gpu_starved(const struct gpu_busy *next, uint64_t dry_ns)
{
	return next->launch_ns && next->launch_ns >= dry_ns;
}

/* For qsort(): struct gpu_span by start, then by end. */
int gpu_span_order(const void *a, const void *b);

/* Adds the idle intervals of the device at @index and sets its figures, all but the causes. 0 or -ENOMEM. */
int gpu_idle_find(const struct gpu_timeline *timeline, uint32_t index, struct gpu_charges *charges);
/* The first idle interval of the device at @index or of one behind it. */
size_t gpu_idles_of(const struct gpu_charges *charges, uint32_t index);
/* Whether no record of @device is missing in [@from_ns, @to_ns). */
bool gpu_all_known(const struct gpu_device *device, uint64_t from_ns, uint64_t to_ns);

/* What each pause of the process lost on each of its devices: items[device * own.count + pause]. */
struct gpu_lost {
	uint64_t *ns, *low_ns, *high_ns;
	bool *unknown; /* records of the device are missing before the pause was over for it */
};

/* Fills in what those of @pauses cost that stopped @driver's process. 0 or -ENOMEM. */
int gpu_infer(const struct gpu_driver *driver, const struct gpu_pause *pauses, size_t count,
	struct gpu_charges *charges);

/* 0 or -ENOMEM. The caller releases *ret in either case. */
int gpu_lost_find(const struct gpu_subject *subject, struct gpu_lost *ret);
void gpu_lost_release(struct gpu_lost *lost);

/* What happened to one process and its devices, by time. */
enum gpu_event_kind { EVENT_WAIT, EVENT_PAUSE, EVENT_GAP, EVENT_UNKNOWN };

struct gpu_event {
	uint64_t time_ns;
	enum gpu_event_kind kind; /* in this order where the time is the same */
	uint32_t owner;		  /* lane, or index of the launcher */
	size_t index;		  /* of the pause, the wait, or the busy interval after the gap */
};

struct gpu_events {
	VEC(struct gpu_event) all;
};

/* 0 or -ENOMEM; the caller frees ret->all in either case. */
int gpu_events_make(const struct gpu_subject *subject, struct gpu_events *ret);
/* Since when @device had had no work when the busy interval @index began, or since when it was seen. */
uint64_t gpu_dry_from(const struct gpu_device *device, size_t index);
/* Whether a launch of the process was seen to wait for room in its queue. */
bool gpu_queue_fills(const struct gpu_subject *subject);
