/* The ring buffer, drained a portion at a time: targets that collect back to back fill it as fast as it is read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bpf/libbpf.h>

/* All zero: closed. It must not move while it is open. */
struct ring {
	struct ring_buffer *buffer;
	void (*record)(void *arg, void *bytes, size_t size);
	void *arg;
	uint64_t size; /* in bytes */
	bool more;     /* it was not empty when the last portion of it had been taken */
	uint64_t portion_ends_ns, drained, drained_bytes;
};

/* @record gets what comes in @map. 0 or -errno. */
int ring_open(struct ring *ring, const struct bpf_map *map,
	void (*record)(void *arg, void *bytes, size_t size), void *arg);
void ring_close(struct ring *ring);
/*
 * Takes what the ring holds, for 20 ms at the most: ->more says whether something may be left. All: what it
 * held at the call. 0 or more, or -errno.
 */
int ring_consume(struct ring *ring);
int ring_consume_all(struct ring *ring);
