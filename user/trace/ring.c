/* The ring, drained a portion at a time: targets that collect back to back fill it as fast as it is read. */
#include <errno.h>

#include "mem.h"
#include "trace_priv.h"

#define PORTION_NS  20000000ull /* then signals and the clock are looked at */
#define ASK_RECORDS 64		/* between two looks at the clock */

/* libbpf goes on behind a record for which this is returned, at the next call. */
#define PORTION_DONE (-EINTR)

int trace_on_ring(void *arg, void *bytes, size_t size)
{
	struct trace *trace = arg;

	trace_on_record(trace, bytes, size);
	trace->drained_bytes += size;
	if (++trace->drained % ASK_RECORDS || now_ns() < trace->portion_ends_ns)
		return 0;
	trace->more = true;
	return PORTION_DONE;
}

int trace_consume(struct trace *trace)
{
	int r;

	trace->more = false;
	trace->portion_ends_ns = now_ns() + PORTION_NS;
	r = ring_buffer__consume(trace->ring);
	return r == PORTION_DONE ? 0 : r;
}

int trace_consume_all(struct trace *trace)
{
	uint64_t before = trace->drained_bytes,
		 most = bpf_map__max_entries(trace->programs.bpf->maps.events);
	int r;

	do
		r = trace_consume(trace);
	while (r >= 0 && trace->more && trace->drained_bytes - before < most);
	return r;
}

bool trace_has_more(const struct trace *trace)
{
	return trace->more;
}
