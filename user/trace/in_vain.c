/* Counts of calls in vain → images that are not understood. */
#include "gc_wire.h"
#include "in_vain.h"
#include "log.h"

#define FEW   3	 /* an interpreter's exit makes fewer */
#define SHARE 10 /* of so many calls one: what a race of threads makes of them is far less */

static uint64_t key_of(uint32_t pid, uint32_t image)
{
	return (uint64_t)pid * GC_MAX_IMAGES + image;
}

void in_vain_pause(struct in_vain *in_vain, pid_t pid, uint32_t image)
{
	const uint64_t key = key_of((uint32_t)pid, image);
	uint64_t *count = u64map_get(&in_vain->pauses, key);

	if (count)
		++*count;
	else
		u64map_put(&in_vain->pauses, key, 1);
}

bool in_vain_too_many(uint64_t unmoved, uint64_t pauses)
{
	return unmoved >= FEW && unmoved * SHARE >= unmoved + pauses;
}

static void settle(struct in_vain *in_vain, const struct gc_vain *key)
{
	const uint64_t *seen = u64map_get(&in_vain->pauses, key_of(key->pid, key->image));
	uint64_t pauses = seen ? *seen : 0, unmoved;
	struct image *image;

	if (bpf_map__lookup_elem(in_vain->map, key, sizeof(*key), &unmoved, sizeof(unmoved), 0))
		return;
	bpf_map__delete_elem(in_vain->map, key, sizeof(*key), 0);
	if (key->image >= in_vain->images->count)
		return;
	image = &in_vain->images->items[key->image];
	image->misfit |= in_vain_too_many(unmoved, pauses);
	log_debug("%s: in process %u %llu calls of the collector moved no counter, %llu did",
		image->plan.shown_path, key->pid, (unsigned long long)unmoved,
		(unsigned long long)pauses);
}

/* Its own number may be another's soon. */
static void settle_process(struct in_vain *in_vain, uint32_t pid)
{
	for (uint32_t image = 0; image < in_vain->images->count; image++) {
		settle(in_vain, &(struct gc_vain){pid, image});
		u64map_remove(&in_vain->pauses, key_of(pid, image));
	}
}

void in_vain_settle(struct in_vain *in_vain, pid_t pid)
{
	struct gc_vain key;

	if (pid) {
		settle_process(in_vain, (uint32_t)pid);
		return;
	}
	for (size_t i = 0; i < GC_MAX_TARGETS; i++) {
		if (bpf_map__get_next_key(in_vain->map, NULL, &key, sizeof(key)))
			return;
		settle(in_vain, &key);
	}
}

void in_vain_release(struct in_vain *in_vain)
{
	u64map_release(&in_vain->pauses);
}
