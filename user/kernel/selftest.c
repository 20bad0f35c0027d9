/* What this kernel grants, found by doing it: the programs loaded, a uprobe put on ourselves and hit. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "gc_wire.h"
#include "gctrace.skel.h"
#include "proc.h"
#include "programs.h"

uint64_t programs_own_offset(const void *code)
{
	uint64_t address = (uintptr_t)code, offset = 0;
	struct proc_maps maps = {};

	if (proc_maps_read(getpid(), &maps))
		return 0;
	for (size_t i = 0; i < maps.maps.count; i++) {
		const struct proc_map *map = &maps.maps.items[i];

		if (address >= map->start && address < map->end)
			offset = address - map->start + map->offset;
	}
	proc_maps_release(&maps);
	return offset;
}

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

/* Probes probed() by the program for linkers, which reports each call; calls it; checks. */
int programs_hit_ourselves(struct programs *programs, struct err *err)
{
	const struct uprobe_place place = {
		.path = "/proc/self/exe", .offset = programs_own_offset(probed)};
	const struct gc_target target = {};
	uint32_t pid = (uint32_t)getpid();
	struct ring_buffer *ring;
	struct uprobe probe = {};
	bool hit = false;
	int r = uprobe_attach(programs->bpf->progs.on_maps_changed, &place, &probe);

	if (r)
		return err_set(err, -r,
			"the kernel loads the BPF programs, but no uprobe can be attached "
			"(%s): %s",
			uprobe_way_name(programs->way), strerror(-r));
	ring = ring_buffer__new(bpf_map__fd(programs->bpf->maps.events), on_record, &hit, NULL);
	if (ring && !bpf_map__update_elem(programs->bpf->maps.targets, &pid, sizeof(pid), &target,
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
			     uprobe_way_name(programs->way));
}
