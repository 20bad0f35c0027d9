/* .eh_frame → where the function that holds an address begins and ends. */
#include <errno.h>
#include <string.h>

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "elf_code.h"
#include "elf_priv.h"

/* A run of bytes and the virtual address of its first. */
struct window {
	const uint8_t *bytes;
	size_t size;
	uint64_t vaddr;
};

static size_t pointer_size(uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		return 2;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		return 4;
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return 8;
	}
	return 0;
}

bool elf_read_uleb(const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; *at < end && shift < 63; shift += 7) {
		uint8_t byte = *(*at)++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = value;
			return true;
		}
	}
	return false;
}

/* The value at @at, not yet relative to anything. False for an encoding that code never has. */
static bool read_value(const struct window *window, size_t at, uint8_t encoding, uint64_t *ret)
{
	size_t size = pointer_size(encoding);
	uint64_t value = 0;

	if (!size || at > window->size || window->size - at < size)
		return false;
	memcpy(&value, window->bytes + at, size);
	if (encoding & DW_EH_PE_signed && size < 8 && value >> (8 * size - 1))
		value |= UINT64_MAX << (8 * size);
	*ret = value;
	return true;
}

static bool read_pointer(const struct window *window, size_t at, uint8_t encoding, uint64_t base,
	uint64_t *ret)
{
	uint64_t value;

	if (encoding & DW_EH_PE_indirect || !read_value(window, at, encoding, &value))
		return false;
	switch (encoding & 0x70) {
	case DW_EH_PE_absptr:
		break;
	case DW_EH_PE_pcrel:
		value += window->vaddr + at;
		break;
	case DW_EH_PE_datarel:
		value += base;
		break;
	default:
		return false;
	}
	*ret = value;
	return true;
}

/* How the CIE says that its FDEs encode addresses: the byte its 'R' stands for. */
static bool read_encoding(const Dwarf_CIE *cie, uint8_t *ret)
{
	const uint8_t *data = cie->augmentation_data;
	size_t left = cie->augmentation_data_size, skip;

	*ret = DW_EH_PE_absptr;
	if (cie->augmentation[0] != 'z')
		return !cie->augmentation[0];
	for (const char *letter = cie->augmentation + 1; *letter; letter++) {
		if (*letter == 'S' || *letter == 'B')
			continue;
		if (!left)
			return false;
		skip = 1;
		if (*letter == 'R') {
			*ret = *data;
			return true;
		}
		if (*letter == 'P')
			skip += pointer_size(*data);
		else if (*letter != 'L')
			return false;
		if (skip > left)
			return false;
		data += skip;
		left -= skip;
	}
	return true;
}

/* The instructions of an FDE, after its range and, with 'z', its augmentation. */
static bool find_code(const struct window *frames, size_t at, bool augmented, const uint8_t *end,
	struct elf_fde *ret)
{
	const uint8_t *code = frames->bytes + at;
	uint64_t skip = 0;

	if (augmented && !elf_read_uleb(&code, end, &skip))
		return false;
	if (code > end || skip > (uint64_t)(end - code))
		return false;
	ret->code = code + skip;
	ret->code_end = end;
	return true;
}

static int read_fde(const struct elf_file *file, const struct window *frames, uint64_t offset,
	struct elf_fde *ret)
{
	Elf_Data data = {.d_buf = (void *)(uintptr_t)frames->bytes,
		.d_size = frames->size,
		.d_type = ELF_T_BYTE,
		.d_version = EV_CURRENT};
	Dwarf_CFI_Entry fde, cie;
	uint64_t start, len;
	Dwarf_Off next;
	uint8_t encoding;
	size_t at;

	if (offset >= frames->size ||
		dwarf_next_cfi(file->header.e_ident, &data, true, offset, &next, &fde) ||
		dwarf_cfi_cie_p(&fde) || fde.fde.CIE_pointer >= frames->size ||
		dwarf_next_cfi(file->header.e_ident, &data, true, fde.fde.CIE_pointer, &next,
			&cie) ||
		!dwarf_cfi_cie_p(&cie) || !read_encoding(&cie.cie, &encoding))
		return -ENOENT;
	at = (size_t)(fde.fde.start - frames->bytes);
	if (!read_pointer(frames, at, encoding, 0, &start) ||
		!read_value(frames, at + pointer_size(encoding), encoding & 0x07, &len) ||
		len > UINT64_MAX - start ||
		!find_code(frames, at + 2 * pointer_size(encoding), cie.cie.augmentation[0] == 'z',
			fde.fde.end, ret))
		return -ENOENT;
	ret->start = start;
	ret->end = start + len;
	ret->initial = cie.cie.initial_instructions;
	ret->initial_end = cie.cie.initial_instructions_end;
	ret->code_factor = cie.cie.code_alignment_factor;
	ret->data_factor = cie.cie.data_alignment_factor;
	return 0;
}

/* Binary search of .eh_frame_hdr's sorted table for the last entry at or before @vaddr. */
static bool search_table(const struct window *header, size_t at, uint64_t count, uint64_t vaddr,
	uint64_t *ret_fde)
{
	struct {
		int32_t start, fde;
	} entry;
	uint64_t low = 0, high = count, middle;

	if (count > (header->size - at) / sizeof(entry))
		return false;
	while (low < high) {
		middle = low + (high - low) / 2;
		memcpy(&entry, header->bytes + at + middle * sizeof(entry), sizeof(entry));
		if (header->vaddr + (uint64_t)(int64_t)entry.start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	memcpy(&entry, header->bytes + at + (low - 1) * sizeof(entry), sizeof(entry));
	*ret_fde = header->vaddr + (uint64_t)(int64_t)entry.fde;
	return true;
}

static bool find_header(const struct elf_file *file, struct window *ret)
{
	Elf64_Phdr segment;

	for (size_t i = 0; elf_program_header(file, i, &segment); i++) {
		if (segment.p_type != PT_GNU_EH_FRAME)
			continue;
		ret->vaddr = segment.p_vaddr;
		ret->bytes = elf_bytes_at(file, segment.p_vaddr, &ret->size);
		/* version 1, and the only table that linkers write: sorted, 32-bit, relative. */
		return ret->bytes && ret->size >= 4 && ret->bytes[0] == 1 &&
		       ret->bytes[3] == (DW_EH_PE_datarel | DW_EH_PE_sdata4);
	}
	return false;
}

int elf_frame_find(const struct elf_file *file, uint64_t vaddr, struct elf_fde *ret)
{
	struct window header, frames;
	struct elf_fde found;
	uint64_t count, fde;
	size_t at = 4;
	int result;

	if (!find_header(file, &header) ||
		!read_pointer(&header, at, header.bytes[1], header.vaddr, &frames.vaddr))
		return -ENOENT;
	at += pointer_size(header.bytes[1]);
	if (!read_value(&header, at, header.bytes[2], &count))
		return -ENOENT;
	at += pointer_size(header.bytes[2]);
	frames.bytes = elf_bytes_at(file, frames.vaddr, &frames.size);
	if (!frames.bytes || !search_table(&header, at, count, vaddr, &fde) || fde < frames.vaddr)
		return -ENOENT;
	result = read_fde(file, &frames, fde - frames.vaddr, &found);
	if (result)
		return result;
	if (vaddr < found.start || vaddr >= found.end)
		return -ENOENT;
	*ret = found;
	return 0;
}

int elf_code_bounds(const struct elf_file *file, uint64_t vaddr, uint64_t *ret_start,
	uint64_t *ret_end)
{
	struct elf_fde fde;
	int result = elf_frame_find(file, vaddr, &fde);

	if (result)
		return result;
	*ret_start = fde.start;
	*ret_end = fde.end;
	return 0;
}
