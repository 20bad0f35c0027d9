/*
 * GPU idle intervals and who caused them. In: a settled timeline, the pauses of its processes. Out: what each pause
 * cost each device, and every idle interval by its cause, so that the part of garbage collection in all idleness is
 * known. Definitions: docs/gpu.md.
 */
#pragma once

#include "gpu.h"

/* A pause as the GPU's side sees it. */
struct gpu_pause {
	uint64_t start_ns, end_ns;
	uint32_t process, tid;
	bool stops_all; /* no thread of the process launches in it: the world stands still, or it holds the GIL */
	bool elsewhere; /* it is of another process, for which this one waits: memory that it frees is not this one's */
};

/* What a pause cost: of the device that lost most, of those that the process uses. */
struct gpu_cost {
	uint64_t hidden_ns;   /* the device still had work */
	uint64_t exposed_ns;  /* it stood idle while the pause lasted */
	uint64_t recovery_ns; /* it stood idle after it, for what the pause had delayed */
	/*
	 * By how much later the device's work is done than without the pause; at most its length. Of pauses that are not
	 * over for the device when the next begins, each has its own part. Between low and high: exact where these are equal.
	 */
	uint64_t lost_ns, lost_low_ns, lost_high_ns;
	uint32_t
		device; /* index in timeline.devices; GPU_DEVICE_NONE: inferred, of no device in particular */
	bool known; /* false: records are missing around it, or no device was in use; all else is 0 */
};

enum gpu_cause {
	GPU_CAUSE_PAUSE, /* charged to a pause: .pause */
	GPU_CAUSE_HOST, /* the next work was launched when the device had run dry, or there was none */
	GPU_CAUSE_OTHER, /* launched before: events, other devices, peers; or it is not known when */
};

#define GPU_NO_PAUSE SIZE_MAX

/* A maximal time of GPU_IDLE_NS or more in which a device had no work, nor are its records missing. */
struct gpu_idle {
	uint64_t start_ns, end_ns;
	uint64_t pause_ns; /* the part of it that is charged to pauses, each moment once */
	uint32_t device;   /* index in timeline.devices */
	enum gpu_cause cause;
	size_t pause; /* index of the first pause that it is charged to, or GPU_NO_PAUSE */
};

struct gpu_figures {
	uint64_t seen_ns; /* from the first to the last record, less unknown_ns */
	uint64_t unknown_ns;
	uint64_t busy_ns, idle_ns; /* their sum is seen_ns */
	/* Of busy_ns: gaps too short for an idle interval, and of these, those in which it waited for the host. */
	uint64_t gaps_ns, starved_ns;
	/* Of idle_ns; what of a charged interval is charged to no pause counts as HOST. */
	uint64_t cause_ns[GPU_CAUSE_OTHER + 1];
};

/* Of an inferred timeline: all pauses that held up a thread that launches, together. */
struct gpu_inferred {
	uint64_t pauses, known;
	uint64_t pause_ns, lost_ns, lost_low_ns, lost_high_ns; /* of the known ones */
};

struct gpu_charges {
	VEC(struct gpu_cost) pauses;	 /* as @pauses were given */
	VEC(struct gpu_idle) idles;	 /* by device, then by time */
	VEC(struct gpu_figures) devices; /* as timeline.devices */
	struct gpu_inferred inferred;
};

/*
 * @pauses by start. What they point to is not kept. 0 or -ENOMEM; the caller releases *ret in either case.
 */
int gpu_charge(const struct gpu_timeline *timeline, const struct gpu_pause *pauses, size_t count,
	struct gpu_charges *ret);
void gpu_charges_release(struct gpu_charges *charges);

/* How long @device stood idle in [start, end), and how much of that is charged to pauses; both 0 where it is not known. */
struct gpu_share {
	uint64_t idle_ns, pause_ns;
	bool known;
};
struct gpu_share gpu_idle_within(const struct gpu_timeline *timeline,
	const struct gpu_charges *charges, uint32_t device, uint64_t start_ns, uint64_t end_ns);
