/*
 * hsperf: the counters that HotSpot keeps in one block of memory (and shares through
 * /tmp/hsperfdata_USER/PID). In: the bytes of the block, or a file. Out: where each counter lies.
 * Layout: jdk.internal.perf / HotSpot perfMemory.hpp, version 2.0; unchanged from 8 to 27.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct perfdata;

struct perfdata_entry {
	const char *name; /* "sun.rt.safepoints"; owned by the perfdata */
	char type;	  /* 'J': a 64-bit integer, 'B': a string */
	uint32_t offset;  /* of the value in the block */
	uint32_t bytes;	  /* 8, or of the string with its NUL at most */
};

/*
 * Parses @size bytes. -EBADMSG with a sentence for what is no such block; an entry that leaves it
 * ends the list. -EAGAIN: not accessible yet (the JVM is starting). The bytes may go afterwards.
 */
int perfdata_parse(const void *bytes, size_t size, struct perfdata **ret, struct err *err);
void perfdata_free(struct perfdata *perf);

/* NULL: no such counter. */
const struct perfdata_entry *perfdata_find(const struct perfdata *perf, const char *name);
