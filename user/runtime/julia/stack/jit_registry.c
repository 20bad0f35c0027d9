/* Nodes of Julia's map of compiled code → sections and objects. By zlib and libzstd. */
#include <errno.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

#include "jit_object.h"
#include "jit_registry.h"

/* std::pair<const size_t, SectionInfo>. */
struct wire_entry {
	uint64_t start;
	uint64_t copy;
	uint64_t size;
	uint64_t slide; /* from where the code runs to its address in the object */
	uint64_t index;
};

/* LazyObjectInfo, as far as it is read. */
struct wire_copy {
	uint64_t address, size, capacity; /* of the SmallVector */
	uint64_t unpacked;
};

_Static_assert(JIT_ENTRY_BYTES == sizeof(struct wire_entry), "what is read of a node");
_Static_assert(JIT_COPY_BYTES == sizeof(struct wire_copy), "what is read of an object's copy");

bool jit_entry_read(const void *bytes, struct jit_entry *ret)
{
	struct wire_entry wire;

	memcpy(&wire, bytes, sizeof(wire));
	/*
	 * RuntimeDyld writes where a section was loaded into the copy, JITLink leaves the object's own address there: 0,
	 * as in every relocatable one.
	 */
	if ((wire.slide && wire.slide != -wire.start) || !wire.start || !wire.size ||
		wire.size > JIT_OBJECT_MOST || wire.start > UINT64_MAX - wire.size || !wire.index ||
		wire.index >= JIT_SECTIONS_MOST || !wire.copy || wire.copy % 8)
		return false;
	*ret = (struct jit_entry){wire.start, wire.size, wire.copy, (uint32_t)wire.index};
	return true;
}

bool jit_copy_read(const void *bytes, struct jit_copy *ret)
{
	struct wire_copy wire;

	memcpy(&wire, bytes, sizeof(wire));
	if (!wire.address || !wire.size || wire.size > wire.capacity ||
		wire.size > JIT_OBJECT_MOST || wire.unpacked > JIT_OBJECT_MOST)
		return false;
	*ret = (struct jit_copy){wire.address, (size_t)wire.size, (size_t)wire.unpacked};
	return true;
}

int jit_unpack(const void *packed, size_t size, void *ret, size_t unpacked)
{
	static const uint8_t zstd[] = {0x28, 0xb5, 0x2f, 0xfd}; /* RFC 8878, 3.1.1 */
	uLongf inflated = unpacked;
	uLong used = size;

	/* Neither writes more than it has room for, nor keeps more than that in memory. */
	if (size >= sizeof(zstd) && !memcmp(packed, zstd, sizeof(zstd)))
		return ZSTD_decompress(ret, unpacked, packed, size) == unpacked ? 0 : -EBADMSG;
	return uncompress2(ret, &inflated, packed, &used) == Z_OK && inflated == unpacked &&
			       used == size
		       ? 0
		       : -EBADMSG;
}
