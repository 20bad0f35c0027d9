#include "layout.h"

uint32_t layout_call(const struct call *calls, size_t count, uint32_t id)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (calls[middle].id == id)
			return calls[middle].does;
		if (calls[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}
