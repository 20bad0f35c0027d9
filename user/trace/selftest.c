/* What this kernel grants, found by doing it: the programs loaded, a uprobe put on ourselves and hit. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "mem.h"
#include "trace_priv.h"

/* Where the probe goes. The argument keeps the compiler from knowing what a call gives. */
static __attribute__((noinline)) int probed(int number)
{
	__asm__ volatile("" : "+r"(number));
	return number;
}

static int on_record(void *arg, void *bytes, size_t size)
{
	const struct gc_header *header = bytes;

	if (size >= sizeof(*header) && header->type == GC_EVENT_MAPS &&
		header->pid == (uint32_t)getpid())
		*(bool *)arg = true;
	return 0;
}

/* Probes probed() by the program for linkers, which tells of each call; calls it; looks. */
static int hit_ourselves(struct trace *trace, struct err *err)
{
	const struct uprobe_place place = {
		.path = "/proc/self/exe", .offset = trace_own_offset(probed)};
	const struct gc_target target = {};
	uint32_t pid = (uint32_t)getpid();
	struct ring_buffer *ring;
	struct uprobe probe = {};
	bool hit = false;
	int r = uprobe_attach(trace->bpf->progs.on_maps_changed, &place, &probe);

	if (r)
		return err_set(err, -r,
			"the kernel loads the BPF programs, but no uprobe can be attached "
			"(%s): %s",
			uprobe_way_name(trace->way), strerror(-r));
	ring = ring_buffer__new(bpf_map__fd(trace->bpf->maps.events), on_record, &hit, NULL);
	if (ring && !bpf_map__update_elem(trace->bpf->maps.targets, &pid, sizeof(pid), &target,
			    sizeof(target), BPF_ANY)) {
		probed(1);
		ring_buffer__consume(ring);
	}
	ring_buffer__free(ring);
	uprobe_detach(&probe);
	return hit ? 0
		   : err_set(err, EIO,
			     "a uprobe was attached to gctrace itself (%s), and calls of the "
			     "function were not seen",
			     uprobe_way_name(trace->way));
}

int trace_probe_kernel(const char **ret_way, struct err *err)
{
	struct trace trace = {.options = {.buffer_bytes = 4096, .steps = true}};
	int r = trace_load_programs(&trace, err);

	if (!r)
		r = hit_ourselves(&trace, err);
	if (!r)
		*ret_way = uprobe_way_name(trace.way);
	gctrace_bpf__destroy(trace.bpf);
	return r;
}

bool trace_has_uprobe_multi(void)
{
	unsigned int refused;
	struct err err;

	return !trace_parse_refusals(&refused, &err) && uprobe_best_way(refused) != UPROBE_PERF;
}
