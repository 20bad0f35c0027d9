/* Growth of arrays. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "vec.h"

int vec_reserve(void **data, size_t *capacity, size_t need, size_t size)
{
	size_t next = *capacity ? *capacity : 8;
	void *grown;

	if (need <= *capacity)
		return 0;
	while (next < need) {
		if (next > SIZE_MAX / 2)
			return -ENOMEM;
		next *= 2;
	}
	grown = reallocarray(*data, next, size);
	if (!grown)
		return -ENOMEM;
	*data = grown;
	*capacity = next;
	return 0;
}
