/*
 * One observation from the kernel that belongs to no runtime, decoded and bounds-checked. In:
 * ring-buffer bytes. Out: struct event. A runtime's own records are decoded in
 * user/runtime/NAME/capture/.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum event_type {
	EVENT_FORK,
	EVENT_EXEC,
	EVENT_EXIT,
	EVENT_MAPS,	  /* libraries were loaded or unloaded */
	EVENT_UNFINISHED, /* a thread ended, and the end of its last pause was lost */
	EVENT_MARK,	  /* a call that may mark a step */
	EVENT_LABEL,	  /* the text for the key of later marks */
	EVENT_GPU,	  /* what the CUPTI shim of a process handed over */
	EVENT_DRIVER,	  /* a call of CUDA's driver returned */
};

/* What every record says, a runtime's own, too. */
struct event_head {
	uint32_t pid, tid;
	uint64_t time_ns;
};

struct event {
	enum event_type type;
	struct event_head head;
	union {
		struct {
			uint32_t signal; /* index of the probe */
			bool has_rss, has_work;
			uint64_t key, number, rss_bytes;
			uint64_t work_ns; /* see struct mark */
			uint32_t
				skipped; /* calls just before it that have no record of their own */
		} mark;
		struct {
			uint32_t signal;
			uint64_t key;
			const uint8_t *bytes; /* not terminated, of any encoding */
			size_t length;
			bool cut;
		} label;
		struct {
			uint32_t child;	   /* FORK */
			uint64_t start_ns; /* UNFINISHED */
			char comm[17];	   /* EXEC */
		} process;
		struct {
			const void *records; /* see event_gpu() */
			size_t count;
			uint64_t lost; /* of the same thread's, before these */
			bool dated; /* they are of [lost_start_ns, lost_end_ns), which may be none */
			uint64_t lost_start_ns, lost_end_ns;
		} gpu;
		struct {
			uint32_t kind, function; /* GC_DRIVER_WAIT …; as its cookie says */
			uint64_t start_ns;
			uint64_t launches;	 /* by its thread so far */
			uint64_t address, bytes; /* 0: not known, or none */
			bool failed;
		} driver;
	};
};

/*
 * Whether these bytes begin with one whole record of any type: 0 or -EBADMSG. What it says in its head, and its
 * own size and type.
 */
int event_check(const void *bytes, size_t size);
int event_read_head(const void *bytes, size_t size, struct event_head *ret, size_t *ret_size,
	uint32_t *ret_type);

/*
 * Decodes one record of the ring buffer; pointers in @ret reach into @bytes. 0, or -EBADMSG for
 * bytes that no BPF program of this version writes (@ret untouched).
 */
int event_decode(const void *bytes, size_t size, struct event *ret);

enum event_gpu_kind {
	/* device, start_ns, end_ns; launch_ns, previous_ns, tid; gaps_ns, starved_ns, unsure_ns */
	EVENT_GPU_BUSY,
	EVENT_GPU_WAIT,	    /* device or 0xffffffff, tid, start_ns, end_ns, done_ns, flags */
	EVENT_GPU_LAUNCHER, /* tid, count, gap_ns */
	EVENT_GPU_MEMORY,   /* device, start_ns, more_bytes */
	EVENT_GPU_LOST,	    /* device, count, start_ns, end_ns; both 0: not known when */
	EVENT_GPU_DEVICE,   /* device, name, bytes */
	EVENT_GPU_CLOCK,    /* error_ns */
	EVENT_GPU_ASIDE,    /* start_ns */
	EVENT_GPU_BEGIN,    /* device, start_ns, end_ns or 0 */
	EVENT_GPU_REFUSED,  /* start_ns, why: GC_GPU_NO_… */
	EVENT_GPU_ALLOCATE, /* as WAIT, but for done_ns */
};

/* One record of the shim: bpf/gpu_wire.h says what each means. 0 is "not known" in launch_ns, previous_ns and tid. */
struct event_gpu {
	enum event_gpu_kind kind;
	uint32_t device;
	uint32_t tid; /* in the process's own PID namespace */
	uint64_t start_ns, end_ns, launch_ns, previous_ns;
	uint64_t count, starved_ns, unsure_ns;
	uint16_t flags; /* GC_GPU_COPY, …; of another version's nothing is known */
	union {
		uint64_t gaps_ns, done_ns, gap_ns, bytes, error_ns, why;
		int64_t more_bytes;
	};
	char name[33];
};

/* Record @i of an EVENT_GPU's. 0, or -EBADMSG for one that cannot be true: the program that made it is anyone's. */
int event_gpu(const struct event *event, size_t i, struct event_gpu *ret);
