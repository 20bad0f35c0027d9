/*
 * Who calls a function, and where on the stack its caller's own return address is, read from the
 * file.
 */
#include <string.h>

#include "cleanup.h"
#include "elf_code.h"
#include "elf_decode.h"
#include "elf_machine.h"
#include "elf_priv.h"

#define CALL	   0xe8 /* x86-64: call rel32 */
#define CALL_BYTES 5

/* Where instructions have one size, each is looked at. */
static size_t words_in(const struct elf_file *file, const struct elf_segment *segment,
	uint64_t vaddr, uint64_t *ret, size_t count, size_t max)
{
	const uint64_t step = elf_machine_of(file)->insn_bytes;
	uint64_t target;

	for (uint64_t at = -segment->vaddr % step; count < max && at < segment->size;) {
		_cleanup_(decode_release) struct decode decode = {};

		if (decode_init(&decode, file, segment->vaddr + at, segment->size - at))
			break;
		while (count < max && decode_next(&decode))
			if (decode_call_target(&decode, &target) && target == vaddr)
				ret[count++] = decode.vaddr;
		at = decode.vaddr - segment->vaddr + step; /* past what is no instruction */
	}
	return count;
}

static size_t callers_in(const struct elf_segment *segment, const uint8_t *bytes, uint64_t vaddr,
	uint64_t *ret, size_t count, size_t max)
{
	const uint8_t *end = bytes + segment->size, *at = bytes;

	while (count < max && end - at >= CALL_BYTES &&
		(at = memchr(at, CALL, (size_t)(end - at) - CALL_BYTES + 1))) {
		uint64_t next = segment->vaddr + (uint64_t)(at - bytes) + CALL_BYTES;
		int32_t distance;

		memcpy(&distance, at + 1, sizeof(distance));
		if (next + (uint64_t)(int64_t)distance == vaddr)
			ret[count++] = next;
		at++;
	}
	return count;
}

size_t elf_code_callers(const struct elf_file *file, uint64_t vaddr, uint64_t *ret, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < file->segment_count; i++)
		if (file->segments[i].exec)
			count = elf_machine_of(file)->insn_bytes
					? words_in(file, &file->segments[i], vaddr, ret, count, max)
					: callers_in(&file->segments[i],
						  file->bytes + file->segments[i].offset, vaddr,
						  ret, count, max);
	return count;
}

/*
 * Whether @at, when there is room before it, comes @back bytes after a pointer to the string @name.
 */
static bool is_named(const struct elf_file *file, const uint8_t *bytes, uint64_t at, uint64_t back,
	const char *name)
{
	size_t size = strlen(name) + 1, len;
	const uint8_t *text;
	uint64_t vaddr;

	if (at < back)
		return false;
	memcpy(&vaddr, bytes + at - back, sizeof(vaddr));
	text = elf_bytes_at(file, vaddr, &len);
	return text && len >= size && !memcmp(text, name, size);
}

bool elf_code_is_method(const struct elf_file *file, uint64_t vaddr, const char *name)
{
	for (size_t i = 0; i < file->segment_count; i++) {
		const struct elf_segment *segment = &file->segments[i];
		const uint8_t *bytes = file->bytes + segment->offset;
		uint64_t skip = -segment->vaddr & 7, value;

		for (uint64_t at = skip; !segment->exec && at + sizeof(value) <= segment->size;
			at += sizeof(value)) {
			memcpy(&value, bytes + at, sizeof(value));
			/* In the table itself, or in its relocations, which are in its order. */
			if (value == vaddr &&
				(is_named(file, bytes, at, sizeof(value), name) ||
					is_named(file, bytes, at, sizeof(Elf64_Rela), name)))
				return true;
		}
	}
	return false;
}
