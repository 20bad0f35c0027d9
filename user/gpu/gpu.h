/*
 * What GPUs did while a program was recorded: when each device was busy, which call launched what ended its idleness,
 * and when the launching threads waited for a device. From CUPTI's records, by whatever way they came: the shim
 * (cupti/), or a file that a profiler wrote (user/kineto/). Definitions: docs/gpu.md. Times are ns on CLOCK_MONOTONIC.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "vec.h"

#define GPU_IDLE_NS	50000 /* gaps shorter than that are no idle intervals */
#define GPU_GAP_NS	1000  /* nor are those in which it starved, but these keep their places */
#define GPU_LAUNCH_NS	20000 /* launched no longer ago, work was held up by nothing but its launch */
#define GPU_DEVICE_NONE UINT32_MAX

struct gpu_span {
	uint64_t start_ns, end_ns; /* [start, end) */
};

/*
 * A time in which a device had work: a kernel, a copy, or several with gaps shorter than GPU_IDLE_NS. What launched the
 * first of them is what the device had waited for.
 */
struct gpu_busy {
	uint64_t start_ns, end_ns;
	uint64_t launch_ns;   /* when the call that launched the first was entered; 0: not known */
	uint64_t previous_ns; /* when its thread had launched something before that; 0: not known */
	uint64_t gaps_ns;     /* sum of the short gaps in it: the device worked for the rest */
	/* Of these, those that ended with something launched after the device had run dry: the thread was late. */
	uint64_t starved_ns;
	/*
	 * For so long it may have starved unseen: one stream, while others worked; or in short gaps, the next work being
	 * launched so shortly before that it may have been late all the same (GPU_LAUNCH_NS).
	 */
	uint64_t unsure_ns;
	uint32_t tid; /* the thread that called; 0: not known */
};

/* A call that waits for a device: a synchronisation, a copy to the host, a launch into a full queue. */
struct gpu_wait {
	uint64_t start_ns, end_ns;
	/*
	 * When what it waited for was done; before start_ns: it did not have to wait. 0: not known; then one that took
	 * GPU_WAITED_NS or longer is taken to have waited until its end.
	 */
	uint64_t done_ns;
	uint32_t device; /* GPU_DEVICE_NONE: not known */
	bool queue;	 /* it was a launch, into a queue that was full */
	bool copy; /* it was a copy, which may have been done so soon without being waited for */
};

#define GPU_WAITED_NS 20000

/* A call that allocates memory of a device, or frees it. */
struct gpu_allocation {
	uint64_t start_ns, end_ns;
	uint32_t device; /* GPU_DEVICE_NONE: not known */
	bool frees;
	bool failed; /* it returned an error: there was no room */
};

/* Memory allocated on a device, from a moment on. */
struct gpu_bytes {
	uint64_t time_ns;
	int64_t bytes; /* more than when its records began, unless gpu_device.memory_total */
};

/* One device as one process used it. */
struct gpu_device {
	uint32_t process;	    /* struct process.id */
	uint32_t device;	    /* as CUDA numbers it in that process */
	char name[64];		    /* "NVIDIA H100", or "" */
	uint64_t seen_ns, until_ns; /* its records are from this time; both 0: none are */
	/* By start, apart by GPU_IDLE_NS, or where it starved by GPU_GAP_NS, or more, once gpu_settle() has run. */
	VEC(struct gpu_busy) busy;
	/* When records were dropped: neither busy nor idle; by start, apart by GPU_IDLE_NS. */
	VEC(struct gpu_span) unknown;
	uint64_t dropped;      /* records */
	uint64_t memory_bytes; /* that it has; 0: not known */
	bool memory_total; /* .memory is all that tensors take, not only what came after the records' begin */
	VEC(struct gpu_bytes) memory; /* allocated, by time once settled */
};

/* A thread that launches work. */
struct gpu_launcher {
	uint32_t process;
	uint32_t tid;
	uint64_t launches;
	uint64_t gap_ns; /* 99th percentile of the time between two launches; 0: not known */
	VEC(struct gpu_wait) waits;		/* by start once settled */
	VEC(struct gpu_allocation) allocations; /* likewise */
};

#define GPU_NOT_COUNTED UINT64_MAX

enum gpu_driver_kind { /* stored: append only */
	GPU_DRIVER_WAIT = 1,
	GPU_DRIVER_ALLOCATE = 2,
	GPU_DRIVER_FREE = 3,
};

/* A call of CUDA's driver that a probe on the function saw, and that succeeded. */
struct gpu_driver_call {
	uint64_t start_ns, end_ns;
	uint64_t launches; /* by its thread until then, or GPU_NOT_COUNTED */
	uint64_t bytes;	   /* allocated or freed; 0: not known how many */
	uint32_t tid;
	enum gpu_driver_kind kind;
	uint32_t function; /* gpu_driver_functions[]; 0: none of them */
};

/* CUDA's name of each; the first is "". */
#define GPU_DRIVER_FUNCTIONS 21
extern const char *const gpu_driver_functions[GPU_DRIVER_FUNCTIONS];
/* The number of the one that is called @name; 0: none is. */
uint32_t gpu_driver_function(const char *name);

/* A process without records of its devices, whose calls of the driver were probed instead. */
struct gpu_driver {
	uint32_t process;
	uint64_t attached_ns;
	uint64_t let_go_ns;		   /* when launches were no longer counted; 0: never */
	uint64_t failed;		   /* calls that returned an error, and are not here */
	VEC(struct gpu_driver_call) calls; /* by start once settled */
	/* What calls of known sizes add up to, once settled; nothing from the first of an unknown size on. */
	VEC(struct gpu_bytes) memory;
	uint64_t memory_until_ns; /* 0: there is none */
};

/* Whether its launches were counted, at least until let_go_ns. */
static inline bool gpu_driver_counts(const struct gpu_driver *driver)
{
	return driver->let_go_ns != driver->attached_ns;
}

struct gpu_timeline {
	VEC(struct gpu_device) devices;
	VEC(struct gpu_launcher) launchers;
	VEC(struct gpu_driver) drivers; /* by process; what is inferred from */
	bool inferred; /* there are drivers, whose processes launched something, and no devices */
	uint64_t clock_error_ns; /* the most by which these times may differ from the pauses' */
	char source
		[128]; /* "the CUPTI shim", "trace.json.gz"; inferred: "calls that wait for a GPU" */
	char note[256]; /* a sentence the reader should know, or "" */
};

/*
 * Adds to @joined what starts no earlier and overlaps it, or follows it by less than GPU_IDLE_NS (where the device starved: by
 * less than GPU_GAP_NS), counting the gap. False: it is apart.
 */
bool gpu_busy_join(struct gpu_busy *joined, const struct gpu_busy *next);

/* Each returns the row, made if it is not there; NULL: memory is out. Rows may move when another is made. */
struct gpu_device *gpu_device(struct gpu_timeline *timeline, uint32_t process, uint32_t device);
struct gpu_launcher *gpu_launcher(struct gpu_timeline *timeline, uint32_t process, uint32_t tid);
struct gpu_driver *gpu_driver(struct gpu_timeline *timeline, uint32_t process);

/*
 * Sorts all lists and joins what overlaps or lies closer than said above, counting the gaps. Anything may be added in
 * any order before: single activities, each with its launch, or what somebody else has joined.
 */
void gpu_settle(struct gpu_timeline *timeline);
void gpu_release(struct gpu_timeline *timeline);
