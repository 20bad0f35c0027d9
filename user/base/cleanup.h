/* Scope-bound release, after systemd's: declare `_cleanup_(fn) T *x = NULL;`. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(fn) __attribute__((cleanup(fn)))

/* Defines cleanup_<fn>(T **) for a destructor fn(T *) that accepts NULL. */
#define DEFINE_CLEANUP(type, fn)                                                                   \
	static inline void cleanup_##fn(type *p)                                                   \
	{                                                                                          \
		fn(*p);                                                                            \
	}                                                                                          \
	struct cleanup_##fn##_needs_semicolon

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}

#define _cleanup_free_	 _cleanup_(cleanup_free)
#define _cleanup_close_	 _cleanup_(cleanup_close)
#define _cleanup_fclose_ _cleanup_(cleanup_fclose)

/* Hands ownership out of a scope: returns the pointer and leaves NULL behind. */
#define steal_ptr(ptr)                                                                             \
	({                                                                                         \
		__typeof__(ptr) stolen_ = (ptr);                                                   \
		(ptr) = NULL;                                                                      \
		stolen_;                                                                           \
	})

static inline int steal_fd(int *fd)
{
	int stolen = *fd;

	*fd = -1;
	return stolen;
}

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
