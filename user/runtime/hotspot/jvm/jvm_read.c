/* Addresses in the target in; bytes, numbers and texts from its memory out. Nothing there is trusted. */
#include <errno.h>
#include <string.h>

#include "jvm_priv.h"

#define PAGE 4096

int jvm_read(const struct jvm *jvm, uint64_t address, void *ret, size_t len)
{
	if (!address || address + len < address)
		return -EFAULT;
	return jvm->source.read(jvm->source.arg, address, ret, len);
}

uint64_t jvm_read_u64(const struct jvm *jvm, uint64_t address, bool *ret_failed)
{
	uint64_t value;

	if (!jvm_read(jvm, address, &value, sizeof(value)))
		return value;
	if (ret_failed)
		*ret_failed = true;
	return 0;
}

uint32_t jvm_read_u32(const struct jvm *jvm, uint64_t address, bool *ret_failed)
{
	uint32_t value;

	if (!jvm_read(jvm, address, &value, sizeof(value)))
		return value;
	if (ret_failed)
		*ret_failed = true;
	return 0;
}

int jvm_read_text(const struct jvm *jvm, uint64_t address, char *ret, size_t size)
{
	char piece[128];
	size_t have = 0;

	if (!size)
		return -EINVAL;
	while (have < size - 1) {
		size_t len = PAGE - (address + have) % PAGE; /* the next page need not be there */
		int r;

		if (len > sizeof(piece))
			len = sizeof(piece);
		if (len > size - 1 - have)
			len = size - 1 - have;
		r = jvm_read(jvm, address + have, piece, len);
		if (r) {
			ret[0] = '\0';
			return r;
		}
		memcpy(ret + have, piece, len);
		have += strnlen(piece, len);
		if (memchr(piece, '\0', len))
			break;
	}
	ret[have] = '\0';
	return 0;
}

int jvm_text(struct jvm *jvm, uint64_t address, uint32_t *ret)
{
	const uint64_t *known = u64map_get(&jvm->text_at, address);
	char text[JVM_TEXT_BYTES];
	uint32_t id;

	if (known) {
		*ret = (uint32_t)*known;
		return 0;
	}
	if (jvm_read_text(jvm, address, text, sizeof(text)))
		return address < JVM_UNRELOCATED ? -EAGAIN : -EBADMSG;
	if (strlen(text) == sizeof(text) - 1)
		return -EBADMSG;
	id = strtab_add(jvm->texts, text, strlen(text));
	if (id == STRTAB_NONE || u64map_put(&jvm->text_at, address, id))
		return -ENOMEM;
	*ret = id;
	return 0;
}
