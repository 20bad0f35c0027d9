/* Begins and ends of concurrent phases → which belong together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jvm_phases.h"

int phases_begin(struct open_phases *phases, struct open_phase phase)
{
	struct open_phase *slot = vec_add(&phases->list);

	if (!slot)
		return -ENOMEM;
	*slot = phase;
	return 0;
}

int phases_end(struct open_phases *phases, uint32_t tid, struct open_phase *ret)
{
	struct open_phase *items = phases->list.items;

	for (size_t i = phases->list.count; i--;) {
		if (items[i].tid != tid)
			continue;
		*ret = items[i];
		phases->list.count--;
		memmove(&items[i], &items[i + 1], (phases->list.count - i) * sizeof(*items));
		return 0;
	}
	return -ENOENT;
}

void phases_release(struct open_phases *phases)
{
	vec_free(&phases->list);
}
