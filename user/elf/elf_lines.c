/* Debug information → function, file and line of an address, with what was inlined. By libdw. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "elf_lines.h"
#include "elf_priv.h"

#define DEPTH_MOST 64 /* of functions and blocks within each other */

/*
 * libdw unpacks a unit's line table to rows of up to 100 bytes, one byte can make a row, and it keeps them: what
 * a larger table would take is not spent, and what was kept is let go when so much has been unpacked.
 */
#define TABLE_MOST    (2u << 20)
#define UNPACKED_MOST (4u << 20)

struct elf_lines {
	Elf *elf;
	Dwarf *dwarf;
	const Elf_Data *tables; /* .debug_line; NULL: none */
	size_t unpacked;	/* bytes of it */
	Dwarf_Off unit;		/* the one unpacked last */
};

/*
 * Finds the line tables. False if a section is compressed: libdw would unpack any size that its header
 * claims.
 */
static bool look_at_sections(struct elf_lines *lines)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(lines->elf, &names))
		return false;
	while ((section = elf_nextscn(lines->elf, section))) {
		const Elf64_Shdr *header = elf64_getshdr(section);
		const char *name = header ? elf_strptr(lines->elf, names, header->sh_name) : NULL;

		if (!header || header->sh_flags & SHF_COMPRESSED ||
			(name && !strncmp(name, ".zdebug", 7)))
			return false;
		if (name && !strcmp(name, ".debug_line"))
			lines->tables = elf_rawdata(section, NULL);
	}
	return true;
}

int elf_lines_open(const void *bytes, size_t size, struct elf_lines **ret)
{
	struct elf_lines *lines = calloc(1, sizeof(*lines));

	if (!lines)
		return -ENOMEM;
	elf_version(EV_CURRENT);
	lines->elf = elf_memory((char *)bytes, size); /* only read */
	if (lines->elf && look_at_sections(lines))
		lines->dwarf = dwarf_begin_elf(lines->elf, DWARF_C_READ, NULL);
	if (!lines->dwarf) {
		elf_lines_free(lines);
		return -ENODATA;
	}
	*ret = lines;
	return 0;
}

int elf_lines_of_file(const struct elf_file *file, struct elf_lines **ret)
{
	return elf_lines_open(file->bytes, file->size, ret);
}

void elf_lines_free(struct elf_lines *lines)
{
	if (!lines)
		return;
	dwarf_end(lines->dwarf);
	elf_end(lines->elf);
	free(lines);
}

/* The unit whose code holds @vaddr. */
static bool find_unit(Dwarf *dwarf, uint64_t vaddr, Dwarf_Die *ret)
{
	Dwarf_Off at = 0, next;
	size_t header;

	while (!dwarf_nextcu(dwarf, at, &next, &header, NULL, NULL, NULL) && next > at) {
		if (dwarf_offdie(dwarf, at + header, ret) && dwarf_haspc(ret, vaddr) == 1)
			return true;
		at = next;
	}
	return false;
}

/* That child of @parent, of a function or a block, that holds @vaddr. */
static bool find_child(Dwarf_Die *parent, uint64_t vaddr, Dwarf_Die *ret)
{
	int more = dwarf_child(parent, ret);

	while (!more) {
		int tag = dwarf_tag(ret);

		if ((tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
			    tag == DW_TAG_lexical_block) &&
			dwarf_haspc(ret, vaddr) == 1)
			return true;
		more = dwarf_siblingof(ret, ret);
	}
	return false;
}

static const char *text_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	const char *text = dwarf_formstring(dwarf_attr(die, name, &attribute));

	return text ? text : "";
}

/* An inlined function, and one that was declared apart, is named where it is declared. */
static void name_place(Dwarf_Die *die, struct elf_place *ret)
{
	Dwarf_Attribute attribute;
	Dwarf_Die named = *die, origin;

	if (!*text_of(die, DW_AT_name) &&
		(dwarf_attr(die, DW_AT_abstract_origin, &attribute) ||
			dwarf_attr(die, DW_AT_specification, &attribute)) &&
		dwarf_formref_die(&attribute, &origin))
		named = origin;
	ret->function = text_of(&named, DW_AT_name);
	ret->symbol = text_of(&named, DW_AT_linkage_name);
}

static uint32_t number_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) || value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

/* Whether the unit's line table is of a size that is unpacked. */
static bool fits(struct elf_lines *lines, Dwarf_Die *unit)
{
	uint32_t at = number_of(unit, DW_AT_stmt_list), size;

	if (!lines->tables || at > lines->tables->d_size ||
		lines->tables->d_size - at < sizeof(size))
		return false;
	memcpy(&size, (const char *)lines->tables->d_buf + at, sizeof(size));
	if (size > TABLE_MOST)
		return false;
	if (dwarf_dieoffset(unit) != lines->unit)
		lines->unpacked += size;
	lines->unit = dwarf_dieoffset(unit);
	return true;
}

/* The row of @vaddr in the unit's line table. */
static void place_line(Dwarf_Die *unit, uint64_t vaddr, struct elf_place *ret)
{
	Dwarf_Line *row = dwarf_getsrc_die(unit, vaddr);
	const char *file = row ? dwarf_linesrc(row, NULL, NULL) : NULL;
	int line = 0;

	if (row && !dwarf_lineno(row, &line) && line > 0)
		ret->line = (uint32_t)line;
	ret->file = file ? file : "";
}

/* From where the inlined function @die was called. */
static void place_call(Dwarf_Die *unit, Dwarf_Die *die, struct elf_place *ret)
{
	uint32_t number = number_of(die, DW_AT_call_file);
	const char *file = NULL;
	Dwarf_Files *files;
	size_t count;

	if (!dwarf_getsrcfiles(unit, &files, &count) && number < count)
		file = dwarf_filesrc(files, number, NULL, NULL);
	ret->file = file ? file : "";
	ret->line = number_of(die, DW_AT_call_line);
}

/* Lets go of what libdw keeps. */
static int begin_anew(struct elf_lines *lines)
{
	dwarf_end(lines->dwarf);
	lines->dwarf = dwarf_begin_elf(lines->elf, DWARF_C_READ, NULL);
	lines->unpacked = 0;
	return lines->dwarf ? 0 : -ENOMEM;
}

/* The functions at @vaddr, the outermost first. Returns how many. */
static size_t find_chain(Dwarf_Die *unit, uint64_t vaddr, Dwarf_Die *ret)
{
	Dwarf_Die die = *unit, inner;
	size_t count = 0;

	for (size_t depth = 0; depth < DEPTH_MOST && find_child(&die, vaddr, &inner); depth++) {
		die = inner;
		if (dwarf_tag(&die) != DW_TAG_lexical_block)
			ret[count++] = die;
	}
	return count;
}

size_t elf_lines_find(struct elf_lines *lines, uint64_t vaddr, struct elf_place *ret, size_t max)
{
	Dwarf_Die unit, chain[DEPTH_MOST];
	size_t depth, count = 0;
	bool table;

	if (!lines->dwarf || (lines->unpacked > UNPACKED_MOST && begin_anew(lines)) ||
		!find_unit(lines->dwarf, vaddr, &unit))
		return 0;
	table = fits(lines, &unit);
	depth = find_chain(&unit, vaddr, chain);
	for (; depth && count < max; depth--, count++) {
		ret[count] = (struct elf_place){.file = ""};
		name_place(&chain[depth - 1], &ret[count]);
		if (table && !count)
			place_line(&unit, vaddr, &ret[count]);
		else if (table)
			place_call(&unit, &chain[depth], &ret[count]);
	}
	return count;
}
