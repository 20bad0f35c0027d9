/* Growable arrays: a pointer, a count and a capacity kept by their owner. */
#pragma once

#include <stddef.h>

/* Makes room for @need elements of @size bytes, doubling. Returns 0 or -ENOMEM (*data intact). */
int vec_reserve(void **data, size_t *capacity, size_t need, size_t size);

/* Declares a vector member: VEC(struct pause) pauses; → .items, .count, .capacity. */
#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *items;                                                                       \
		size_t count, capacity;                                                            \
	}

/* Appends a zeroed element and evaluates to its address, or NULL when memory is out. */
#define vec_add(vec)                                                                               \
	({                                                                                         \
		__typeof__((vec)->items) slot_ = NULL;                                             \
		if (!vec_reserve((void **)&(vec)->items, &(vec)->capacity, (vec)->count + 1,       \
			    sizeof(*(vec)->items))) {                                              \
			slot_ = &(vec)->items[(vec)->count++];                                     \
			*slot_ = (__typeof__(*slot_)){0};                                          \
		}                                                                                  \
		slot_;                                                                             \
	})

/* The index of the first element whose @field is @least or more, where they are sorted by it; the count: none is. */
#define vec_first(vec, field, least)                                                               \
	({                                                                                         \
		const __auto_type least_ = (least);                                                \
		size_t low_ = 0, high_ = (vec)->count;                                             \
		while (low_ < high_) {                                                             \
			size_t middle_ = low_ + (high_ - low_) / 2;                                \
			if ((vec)->items[middle_].field < least_)                                  \
				low_ = middle_ + 1;                                                \
			else                                                                       \
				high_ = middle_;                                                   \
		}                                                                                  \
		low_;                                                                              \
	})

#define vec_free(vec)                                                                              \
	do {                                                                                       \
		free((vec)->items);                                                                \
		(vec)->items = NULL;                                                               \
		(vec)->count = (vec)->capacity = 0;                                                \
	} while (0)
