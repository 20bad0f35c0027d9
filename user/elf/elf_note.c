/* Notes: small named records in sections and segments; the build id is one of them. */
#include <string.h>

#include "elf_priv.h"

/* Segments of notes have tens of bytes; a hostile file must not make each segment cost its size. */
#define NOTES_MAX 65536

static bool take(size_t size, size_t *offset, uint64_t len, size_t align, size_t *ret)
{
	if (*offset > size || len > size - *offset)
		return false;
	*ret = *offset;
	*offset += (size_t)len;
	/* The padding of the last note may be cut off. */
	*offset = (*offset + align - 1) & ~(align - 1);
	return true;
}

bool elf_note_next(const uint8_t *bytes, size_t size, size_t align, size_t *offset,
	struct elf_note *ret)
{
	Elf64_Nhdr head;
	size_t name, desc;

	if (*offset > size || size - *offset < sizeof(head))
		return false;
	memcpy(&head, bytes + *offset, sizeof(head));
	*offset += sizeof(head);
	if (!take(size, offset, head.n_namesz, align, &name) ||
		!take(size, offset, head.n_descsz, align, &desc))
		return false;
	*ret = (struct elf_note){.type = head.n_type,
		.name = bytes + name,
		.name_size = head.n_namesz,
		.desc = bytes + desc,
		.desc_size = head.n_descsz};
	return true;
}

static size_t find_build_id(const uint8_t *bytes, size_t size, size_t align, uint8_t *ret,
	size_t room)
{
	struct elf_note note;
	size_t offset = 0;

	while (elf_note_next(bytes, size, align, &offset, &note)) {
		if (note.type != NT_GNU_BUILD_ID || note.name_size != sizeof("GNU") ||
			memcmp(note.name, "GNU", sizeof("GNU")) || !note.desc_size)
			continue;
		if (room > note.desc_size)
			room = note.desc_size;
		memcpy(ret, note.desc, room);
		return room;
	}
	return 0;
}

size_t elf_file_build_id(const struct elf_file *file, uint8_t *ret, size_t size)
{
	struct elf_section section;
	const uint8_t *bytes;
	Elf64_Phdr segment;
	size_t found, len;

	/* Sections first: the segments of a debug file describe the other file's bytes. */
	if (elf_section_find(file, ".note.gnu.build-id", &section))
		return find_build_id(section.bytes, section.size, 4, ret, size);
	for (size_t i = 0; elf_program_header(file, i, &segment); i++) {
		if (segment.p_type != PT_NOTE)
			continue;
		bytes = elf_bytes_at(file, segment.p_vaddr, &len);
		if (!bytes)
			continue;
		if (len > segment.p_filesz)
			len = (size_t)segment.p_filesz;
		if (len > NOTES_MAX)
			len = NOTES_MAX;
		found = find_build_id(bytes, len, segment.p_align == 8 ? 8 : 4, ret, size);
		if (found)
			return found;
	}
	return 0;
}
