/* What a session observed of GPUs, row by row, as it is stored: the facts that a timeline is made of. */
#pragma once

#include "gpu.h"

enum gpu_fact_kind {
	GPU_FACT_DEVICE, /* new, or changed: .described */
	GPU_FACT_BUSY,
	GPU_FACT_CALL,
	GPU_FACT_LAUNCHER, /* new, or changed */
	GPU_FACT_MEMORY,
	GPU_FACT_UNKNOWN, /* of all devices of the process if it names none */
	GPU_FACT_DRIVER,  /* new, or changed */
	GPU_FACT_DRIVER_CALL,
};

enum gpu_unknown {		 /* stored: append only */
	GPU_UNKNOWN_LOST = 1,	 /* records did not fit into the ring, or could not be read */
	GPU_UNKNOWN_DROPPED = 2, /* CUPTI dropped records */
	GPU_UNKNOWN_OFF = 3,	 /* nothing was recorded */
	GPU_UNKNOWN_ASIDE = 4,	 /* likewise: another user of CUPTI was active from then on */
	/* Nothing can be recorded: */
	GPU_UNKNOWN_NO_CUPTI = 5,   /* no libcupti was found */
	GPU_UNKNOWN_NO_VERSION = 6, /* its version is none that the shim knows */
	GPU_UNKNOWN_NO_DRIVER = 7,  /* it found no driver or no device */
	GPU_UNKNOWN_NO_ENABLE = 8,  /* it refused to record */
	GPU_UNKNOWN_NO_ANSWER = 9,  /* a call of it did not return */
};

/* In words: "no libcupti was found"; NULL: @why is none of those for which nothing can be recorded. */
const char *gpu_refusal(uint64_t why);

enum gpu_call_kind { /* stored: append only */
	GPU_CALL_WAIT = 1,
	GPU_CALL_ALLOCATE = 2, /* or free */
};

enum gpu_call_flag { /* stored: append only */
	GPU_CALL_COPY = 1,
	GPU_CALL_QUEUE = 2,
	GPU_CALL_FREES = 4,
	GPU_CALL_FAILED = 8,
};

struct gpu_fact {
	enum gpu_fact_kind kind;
	uint32_t process; /* struct process.id */
	uint32_t device;  /* GPU_DEVICE_NONE where a fact has none */
	union {
		struct {
			const char *name;
			uint64_t memory_bytes;	    /* 0: not known */
			uint64_t seen_ns, until_ns; /* 0: nothing of it is known yet */
			uint64_t clock_error_ns;
		} described;
		struct gpu_busy busy;
		struct {
			enum gpu_call_kind kind;
			uint32_t tid;
			struct gpu_wait wait;
			bool frees, failed; /* see struct gpu_allocation */
		} call;
		struct {
			uint32_t tid;
			uint64_t launches, gap_ns;
		} launcher;
		struct gpu_bytes memory;
		struct {
			struct gpu_span span; /* both 0: not known when */
			uint64_t records;     /* how many are missing; 0: not known, or none */
			enum gpu_unknown why;
		} unknown;
		struct {
			uint64_t attached_ns;
			uint64_t let_go_ns; /* 0: not yet */
			uint64_t failed;
		} driver;
		struct gpu_driver_call driver_call;
	};
};
