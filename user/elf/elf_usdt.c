/* Notes of <sys/sdt.h> → the sites of one probe. Layout: SystemTap, UserSpaceProbeImplementation.
 */
#include <errno.h>
#include <string.h>

#include "elf_machine.h"
#include "elf_priv.h"
#include "elf_usdt.h"

#define NT_STAPSDT 3

/* Three addresses, then three strings. False when a string is not terminated inside the note. */
static bool decode(const struct elf_note *note, struct elf_usdt *ret, uint64_t *ret_base)
{
	struct {
		uint64_t site, base, semaphore;
	} head;
	const char *text[3];
	size_t offset = sizeof(head);

	if (note->type != NT_STAPSDT || note->name_size != sizeof("stapsdt") ||
		memcmp(note->name, "stapsdt", sizeof("stapsdt")) || note->desc_size < sizeof(head))
		return false;
	memcpy(&head, note->desc, sizeof(head));
	for (int i = 0; i < 3; i++) {
		text[i] = elf_string(note->desc, note->desc_size, offset);
		if (!text[i])
			return false;
		offset += strlen(text[i]) + 1;
	}
	*ret = (struct elf_usdt){.vaddr = head.site,
		.semaphore = head.semaphore,
		.provider = text[0],
		.name = text[1],
		.args = text[2]};
	*ret_base = head.base;
	return true;
}

/* The note's addresses are those of link time; prelink moves .stapsdt.base with everything else. */
static bool locate(const struct elf_file *file, uint64_t moved, struct elf_usdt *probe)
{
	uint64_t offset, back;

	probe->vaddr += moved;
	if (probe->semaphore)
		probe->semaphore += moved;
	/* There and back through executable segments: the site is code. */
	if (elf_file_offset(file, probe->vaddr, &offset) || elf_file_vaddr(file, offset, &back) ||
		back != probe->vaddr)
		return false;
	return !probe->semaphore || !elf_file_offset(file, probe->semaphore, &offset);
}

size_t elf_usdt_find(const struct elf_file *file, const char *provider, const char *name,
	struct elf_usdt *ret, size_t max)
{
	struct elf_section notes, anchor;
	size_t count = 0, offset = 0;
	struct elf_usdt probe;
	struct elf_note note;
	bool anchored;
	uint64_t base;

	if (!elf_section_find(file, ".note.stapsdt", &notes))
		return 0;
	anchored = elf_section_find(file, ".stapsdt.base", &anchor);
	while (elf_note_next(notes.bytes, notes.size, 4, &offset, &note)) {
		if (!decode(&note, &probe, &base) || strcmp(probe.provider, provider) ||
			strcmp(probe.name, name) ||
			!locate(file, anchored ? anchor.vaddr - base : 0, &probe))
			continue;
		if (count < max)
			ret[count] = probe;
		count++;
	}
	return count;
}

int elf_usdt_register(const struct elf_file *file, const char *name, int size)
{
	const struct machine_register *at = elf_machine_of(file)->registers;

	for (; at->wide; at++)
		if (!strcmp(name, size == 8 || !at->narrow ? at->wide : at->narrow))
			return at->offset;
	return -ENOENT;
}
