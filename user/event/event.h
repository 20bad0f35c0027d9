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
