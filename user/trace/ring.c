/* A BPF ring buffer → its records, a portion at a time. */
#include <errno.h>

#include "clock.h"
#include "ring.h"

#define PORTION_NS  20000000ull /* then signals and the clock are looked at */
#define ASK_RECORDS 64		/* between two looks at the clock */

/* libbpf goes on behind a record for which this is returned, at the next call. */
#define PORTION_DONE (-EINTR)

static int on_record(void *arg, void *bytes, size_t size)
{
	struct ring *ring = arg;

	ring->record(ring->arg, bytes, size);
	ring->drained_bytes += size;
	if (++ring->drained % ASK_RECORDS || now_ns() < ring->portion_ends_ns)
		return 0;
	ring->more = true;
	return PORTION_DONE;
}

int ring_open(struct ring *ring, const struct bpf_map *map,
	void (*record)(void *arg, void *bytes, size_t size), void *arg)
{
	*ring = (struct ring){.record = record, .arg = arg, .size = bpf_map__max_entries(map)};
	ring->buffer = ring_buffer__new(bpf_map__fd(map), on_record, ring, NULL);
	return ring->buffer ? 0 : -errno;
}

void ring_close(struct ring *ring)
{
	ring_buffer__free(ring->buffer);
	ring->buffer = NULL;
}

int ring_consume(struct ring *ring)
{
	int r;

	ring->more = false;
	ring->portion_ends_ns = now_ns() + PORTION_NS;
	r = ring_buffer__consume(ring->buffer);
	return r == PORTION_DONE ? 0 : r;
}

int ring_consume_all(struct ring *ring)
{
	uint64_t before = ring->drained_bytes;
	int r;

	do
		r = ring_consume(ring);
	while (r >= 0 && ring->more && ring->drained_bytes - before < ring->size);
	return r;
}
