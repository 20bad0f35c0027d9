/* Takes an hsperf block apart: bytes in, the places of its counters out. Nothing of it is trusted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "perfdata.h"
#include "vec.h"

/* perfMemory.hpp, PerfDataPrologue: 2.0 */
#define PROLOGUE_BYTES	    32
#define PROLOGUE_ORDER	    4 /* byte: 1 little endian */
#define PROLOGUE_MAJOR	    5
#define PROLOGUE_ACCESSIBLE 7
#define PROLOGUE_USED	    8
#define PROLOGUE_ENTRIES    24 /* offset of the first */
#define PROLOGUE_COUNT	    28

/* PerfDataEntry */
#define ENTRY_BYTES  20
#define ENTRY_NAME   4
#define ENTRY_VECTOR 8
#define ENTRY_TYPE   12 /* byte */
#define ENTRY_DATA   16

struct perfdata {
	char *bytes; /* a copy: names point into it */
	VEC(struct perfdata_entry) entries;
};

DEFINE_CLEANUP(struct perfdata *, perfdata_free);

static uint32_t u32_at(const char *bytes, size_t offset)
{
	uint32_t value;

	memcpy(&value, bytes + offset, sizeof(value));
	return value;
}

static int check_prologue(const uint8_t *bytes, size_t size, struct err *err)
{
	static const uint8_t magic[] = {0xca, 0xfe, 0xc0, 0xc0};

	if (size < PROLOGUE_BYTES || memcmp(bytes, magic, sizeof(magic)))
		return err_set(err, EBADMSG, "this is no block of hsperf counters");
	if (bytes[PROLOGUE_ORDER] != 1 || bytes[PROLOGUE_MAJOR] != 2)
		return err_set(err, EBADMSG,
			"hsperf counters of version %u and byte order %u, not 2 and 1",
			bytes[PROLOGUE_MAJOR], bytes[PROLOGUE_ORDER]);
	if (!bytes[PROLOGUE_ACCESSIBLE])
		return err_set(err, EAGAIN, "the JVM has not finished its hsperf counters yet");
	return 0;
}

/* An entry of @length bytes at @at, all in the block. Of a type that nobody asks for: not added. */
static int add_entry(struct perfdata *perf, size_t at, size_t length)
{
	const char *bytes = perf->bytes + at;
	uint32_t name = u32_at(bytes, ENTRY_NAME), vector = u32_at(bytes, ENTRY_VECTOR);
	uint32_t data = u32_at(bytes, ENTRY_DATA);
	struct perfdata_entry entry = {.type = bytes[ENTRY_TYPE], .offset = (uint32_t)(at + data)};
	struct perfdata_entry *slot;

	if (name >= length || !memchr(bytes + name, '\0', length - name) || data >= length)
		return -EBADMSG;
	entry.name = bytes + name;
	entry.bytes = vector;
	if (entry.type == 'J' && !vector)
		entry.bytes = 8;
	else if (entry.type != 'B' || !vector)
		return 0;
	if (entry.bytes > length - data)
		return -EBADMSG;
	slot = vec_add(&perf->entries);
	if (!slot)
		return -ENOMEM;
	*slot = entry;
	return 0;
}

int perfdata_parse(const void *bytes, size_t size, struct perfdata **ret, struct err *err)
{
	_cleanup_(cleanup_perfdata_free) struct perfdata *perf = NULL;
	size_t at, count, used;
	int r = check_prologue(bytes, size, err);

	if (r)
		return r;
	perf = calloc(1, sizeof(*perf));
	if (perf)
		perf->bytes = malloc(size);
	if (!perf || !perf->bytes)
		return err_set(err, ENOMEM, "out of memory");
	memcpy(perf->bytes, bytes, size);
	used = u32_at(perf->bytes, PROLOGUE_USED);
	if (used > size)
		used = size;
	at = u32_at(perf->bytes, PROLOGUE_ENTRIES);
	count = u32_at(perf->bytes, PROLOGUE_COUNT);
	if (at < PROLOGUE_BYTES)
		return err_set(err, EBADMSG, "hsperf counters that begin inside their own header");
	for (; count && at <= used && used - at >= ENTRY_BYTES; count--) {
		size_t length = u32_at(perf->bytes, at);

		if (length < ENTRY_BYTES || length > used - at)
			break;
		r = add_entry(perf, at, length);
		if (r == -ENOMEM)
			return err_set(err, ENOMEM, "out of memory");
		if (r)
			break;
		at += length;
	}
	*ret = steal_ptr(perf);
	return 0;
}

void perfdata_free(struct perfdata *perf)
{
	if (!perf)
		return;
	vec_free(&perf->entries);
	free(perf->bytes);
	free(perf);
}

const struct perfdata_entry *perfdata_find(const struct perfdata *perf, const char *name)
{
	for (size_t i = 0; i < perf->entries.count; i++)
		if (!strcmp(perf->entries.items[i].name, name))
			return &perf->entries.items[i];
	return NULL;
}
