/*
 * What GPUs come to, for sentences, budgets and comparisons. In: an attribution with a timeline. Out: shares of a
 * device's time, what a pause or a step had of its idleness. Definitions: docs/gpu.md.
 */
#pragma once

#include "attrib.h"

enum device_time {
	DEVICE_IDLE,   /* in which it had no work */
	DEVICE_PAUSES, /* of that, what is charged to pauses */
};

/* Of the time for which a device's records are there. */
struct device_share {
	size_t device; /* index in gpu->devices */
	uint64_t ns, seen_ns;
	double share;
	/*
	 * Of all its time, if it was busy wherever records are missing, and if it was not; both the share where none are.
	 * devices_worst(): the largest of these of any device.
	 */
	double least, most;
};

/* False: nothing is known of the device. */
bool devices_share(const struct attribution *attribution, size_t device, enum device_time time,
	struct device_share *ret);
/* The same of the device whose share is largest, the first among equals. False: nothing is known of any. */
bool devices_worst(const struct attribution *attribution, enum device_time time,
	struct device_share *ret);

/* What the GPU of a track did in its steps, as far as that is known. */
struct device_steps {
	uint64_t idle_ns, pause_ns; /* the latter: because of pauses */
	uint64_t time_ns;	    /* of the steps of which it is known */
	uint64_t known, unknown;    /* how many these are, and how many it is not known of */
};
struct device_steps devices_steps(const struct attribution *attribution, size_t track);

/* Whether there is a GPU of process @id (struct process.id) among them, or what it asks of GPUs was seen. */
bool devices_used(const struct attribution *attribution, uint32_t id);

/* What pause @index, in the order of the source, cost the device that lost most. NULL: that is not known. */
const struct gpu_cost *devices_pause(const struct attribution *attribution, uint64_t index);
/* How long it stood idle because of the pause, ns. UNKNOWN. */
int64_t devices_pause_idle(const struct attribution *attribution, uint64_t index);

/* What pause @index, in the order of the source, changed of its GPUs' memory. NULL: that is not known. */
const struct gpu_memory_change *devices_pause_memory(const struct attribution *attribution,
	uint64_t index);

/*
 * "GPU 0", with its process where several have GPUs: "GPU 0 of train (pid 4711)". "" if there is no such device. Not safe
 * for a terminal, as names of processes are not. Returns @text.
 */
const char *devices_name(const struct attribution *attribution, size_t device, char *text,
	size_t size);
#define DEVICES_NAME(attribution, device) devices_name((attribution), (device), (char[80]){0}, 80)

/* "measured", "inferred": how it is known what they did. */
const char *devices_source(const struct gpu_timeline *timeline);
