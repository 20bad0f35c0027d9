/* Growable arrays whose owner must go on when memory is out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* LIST(struct run) runs; → .items, .count, .capacity */
#define LIST(type)                                                                                 \
	struct {                                                                                   \
		type *items;                                                                       \
		size_t count, capacity;                                                            \
	}

static inline bool list_reserve(void **items, size_t *capacity, size_t need, size_t size)
{
	size_t wanted = *capacity ? *capacity * 2 : 64;
	void *grown;

	if (need <= *capacity)
		return true;
	grown = realloc(*items, wanted * size);
	if (!grown)
		return false;
	*items = grown;
	*capacity = wanted;
	return true;
}

/* Appends @value; false: memory is out. */
#define list_add(list, value)                                                                      \
	(list_reserve((void **)&(list)->items, &(list)->capacity, (list)->count + 1,               \
		 sizeof(*(list)->items)) &&                                                        \
		((list)->items[(list)->count++] = (value), true))

#define list_free(list)                                                                            \
	do {                                                                                       \
		free((list)->items);                                                               \
		(list)->items = NULL;                                                              \
		(list)->count = (list)->capacity = 0;                                              \
	} while (0)
