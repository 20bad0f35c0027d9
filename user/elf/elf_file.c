/* Bytes → headers, sections and segments; everything handed out lies inside the bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "elf_priv.h"

/* The kernel loads no program with more (64 KiB of program headers, fs/binfmt_elf.c). */
#define SEGMENTS_MAX (65536 / sizeof(Elf64_Phdr))

/*
 * No section of interest has a longer name, and a hostile table must not make each section cost its
 * size.
 */
#define SECTION_NAME_MAX 256

#ifndef EM_LOONGARCH
#define EM_LOONGARCH 258
#endif

static const char *machine_name(unsigned int machine)
{
	switch (machine) {
	case EM_386:
		return "i386";
	case EM_AARCH64:
		return "AArch64";
	case EM_ARM:
		return "ARM";
	case EM_LOONGARCH:
		return "LoongArch";
	case EM_PPC64:
		return "POWER";
	case EM_RISCV:
		return "RISC-V";
	case EM_S390:
		return "IBM Z";
	case EM_X86_64:
		return "x86-64";
	}
	return "another architecture";
}

/* What runs here, and so can be probed. */
#ifdef __aarch64__
#define NATIVE EM_AARCH64
#else
#define NATIVE EM_X86_64
#endif

/* Those whose code can be read: elf_machine.c. */
static bool is_known(unsigned int machine)
{
	return machine == EM_X86_64 || machine == EM_AARCH64;
}

static int refuse(const char *name, const char *what, struct err *err)
{
	return err_set(err, ENOEXEC, "%s is %s; gctrace reads 64-bit %s programs and libraries",
		name, what, machine_name(NATIVE));
}

/* Says what the file is instead, from the general to the particular. */
static int check_header(const struct elf_file *file, bool native, struct err *err)
{
	const Elf64_Ehdr *header = &file->header;
	uint64_t table = (uint64_t)header->e_phnum * sizeof(Elf64_Phdr);

	if (file->size < EI_NIDENT || memcmp(header->e_ident, ELFMAG, SELFMAG))
		return refuse(file->name, "not an ELF file", err);
	if (header->e_ident[EI_DATA] != ELFDATA2LSB)
		return refuse(file->name, "built for a big-endian machine", err);
	if (header->e_ident[EI_CLASS] == ELFCLASS32)
		return refuse(file->name, "a 32-bit program", err);
	if (header->e_ident[EI_CLASS] != ELFCLASS64 || file->size < sizeof(*header))
		return refuse(file->name, "a cut-off or corrupt ELF file", err);
	if (native ? header->e_machine != NATIVE : !is_known(header->e_machine))
		return err_set(err, ENOEXEC,
			"%s is built for %s; gctrace reads 64-bit %s programs and libraries",
			file->name, machine_name(header->e_machine), machine_name(NATIVE));
	if (header->e_type == ET_REL || header->e_type == ET_CORE)
		return refuse(file->name,
			header->e_type == ET_REL ? "an object file, not yet linked" : "a core dump",
			err);
	if ((header->e_type != ET_EXEC && header->e_type != ET_DYN) ||
		header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum > SEGMENTS_MAX ||
		header->e_phoff > file->size || table > file->size - header->e_phoff)
		return refuse(file->name, "a cut-off or corrupt ELF file", err);
	return 0;
}

bool elf_program_header(const struct elf_file *file, size_t index, Elf64_Phdr *ret)
{
	if (index >= file->header.e_phnum)
		return false;
	memcpy(ret, file->bytes + file->header.e_phoff + index * sizeof(*ret), sizeof(*ret));
	return true;
}

static int load_segments(struct elf_file *file)
{
	struct elf_segment *segment;
	Elf64_Phdr header;

	file->segments = calloc(file->header.e_phnum + 1u, sizeof(*file->segments));
	if (!file->segments)
		return -ENOMEM;
	for (size_t i = 0; elf_program_header(file, i, &header); i++) {
		if (header.p_type != PT_LOAD || header.p_offset >= file->size)
			continue;
		if (header.p_filesz > file->size - header.p_offset)
			header.p_filesz = file->size - header.p_offset;
		if (header.p_filesz > UINT64_MAX - header.p_vaddr)
			continue;
		segment = &file->segments[file->segment_count++];
		*segment = (struct elf_segment){
			header.p_vaddr, header.p_offset, header.p_filesz, header.p_flags & PF_X};
	}
	return 0;
}

/* Section headers are not needed to run: if anything is wrong with them, there are none. */
static void load_sections(struct elf_file *file)
{
	const Elf64_Ehdr *header = &file->header;
	Elf64_Shdr first;
	uint64_t count = header->e_shnum;

	if (!header->e_shoff || header->e_shentsize != sizeof(first) ||
		header->e_shoff > file->size || file->size - header->e_shoff < sizeof(first))
		return;
	/* A count that does not fit into the header's 16 bits is in the first, unused, section. */
	memcpy(&first, file->bytes + header->e_shoff, sizeof(first));
	if (!count)
		count = first.sh_size;
	if (count > (file->size - header->e_shoff) / sizeof(first))
		return;
	file->section_count = (size_t)count;
	file->section_names = header->e_shstrndx == SHN_XINDEX ? first.sh_link : header->e_shstrndx;
}

static bool read_section(const struct elf_file *file, size_t index, Elf64_Shdr *header,
	struct elf_section *ret)
{
	if (index >= file->section_count)
		return false;
	memcpy(header, file->bytes + file->header.e_shoff + index * sizeof(*header),
		sizeof(*header));
	*ret = (struct elf_section){.name = "",
		.type = header->sh_type,
		.link = header->sh_link,
		.vaddr = header->sh_addr,
		.entry_size = header->sh_entsize,
		.bytes = file->bytes};
	if (header->sh_type == SHT_NOBITS || header->sh_flags & SHF_COMPRESSED ||
		header->sh_offset > file->size || header->sh_size > file->size - header->sh_offset)
		return true;
	ret->bytes += header->sh_offset;
	ret->size = (size_t)header->sh_size;
	return true;
}

bool elf_section_get(const struct elf_file *file, size_t index, struct elf_section *ret)
{
	struct elf_section names;
	Elf64_Shdr header, unused;
	const char *name;

	if (!read_section(file, index, &header, ret))
		return false;
	if (read_section(file, file->section_names, &unused, &names)) {
		if (names.size > (uint64_t)header.sh_name + SECTION_NAME_MAX)
			names.size = (size_t)header.sh_name + SECTION_NAME_MAX;
		name = elf_string(names.bytes, names.size, header.sh_name);
		if (name)
			ret->name = name;
	}
	return true;
}

bool elf_section_find(const struct elf_file *file, const char *name, struct elf_section *ret)
{
	struct elf_section section;

	for (size_t i = 0; elf_section_get(file, i, &section); i++) {
		if (strcmp(section.name, name))
			continue;
		*ret = section;
		return true;
	}
	return false;
}

const char *elf_string(const uint8_t *table, size_t size, uint64_t offset)
{
	if (offset >= size || !memchr(table + offset, 0, size - (size_t)offset))
		return NULL;
	return (const char *)table + offset;
}

/* What is @mapped is a file of this machine's. */
static int open_bytes(const uint8_t *bytes, size_t size, bool mapped, const char *name,
	struct elf_file **ret, struct err *err)
{
	struct elf_file *file = calloc(1, sizeof(*file));
	int result;

	if (!file) {
		if (mapped)
			elf_unmap(bytes, size);
		return err_set(err, ENOMEM, "no memory left to read %s", name);
	}
	file->bytes = bytes;
	file->size = size;
	file->mapped = mapped;
	file->name = strdup(name);
	memcpy(&file->header, bytes, size < sizeof(file->header) ? size : sizeof(file->header));
	if (!file->name)
		result = err_set(err, ENOMEM, "no memory left to read %s", name);
	else
		result = check_header(file, mapped, err);
	if (!result && load_segments(file))
		result = err_set(err, ENOMEM, "no memory left to read %s", name);
	if (result) {
		elf_file_free(file);
		return result;
	}
	load_sections(file);
	*ret = file;
	return 0;
}

int elf_file_open_memory(const void *bytes, size_t size, const char *name, struct elf_file **ret,
	struct err *err)
{
	return open_bytes(bytes, size, false, name, ret, err);
}

int elf_file_open(int fd, const char *name, struct elf_file **ret, struct err *err)
{
	_cleanup_close_ int owned = fd;
	const uint8_t *bytes = NULL;
	struct stat info;
	int result;

	if (fstat(owned, &info))
		return err_set(err, errno, "cannot read %s: %s", name, strerror(errno));
	if (!S_ISREG(info.st_mode) || !info.st_size)
		return refuse(name, "not an ELF file", err);
	result = elf_map(owned, (size_t)info.st_size, &bytes);
	if (result)
		return err_set(err, -result, "cannot map %s: %s", name, strerror(-result));
	return open_bytes(bytes, (size_t)info.st_size, true, name, ret, err);
}

void elf_file_free(struct elf_file *file)
{
	if (!file)
		return;
	if (file->mapped)
		elf_unmap(file->bytes, file->size);
	free(file->segments);
	free(file->name);
	free(file);
}

const char *elf_file_name(const struct elf_file *file)
{
	return file->name;
}

unsigned int elf_file_machine(const struct elf_file *file)
{
	return file->header.e_machine;
}

bool elf_file_has_sections(const struct elf_file *file)
{
	return file->section_count;
}

int elf_file_offset(const struct elf_file *file, uint64_t vaddr, uint64_t *ret)
{
	const struct elf_segment *segment = file->segments;

	for (size_t i = 0; i < file->segment_count; i++, segment++) {
		if (vaddr < segment->vaddr || vaddr - segment->vaddr >= segment->size)
			continue;
		*ret = segment->offset + (vaddr - segment->vaddr);
		return 0;
	}
	return -ENOENT;
}

int elf_file_vaddr(const struct elf_file *file, uint64_t offset, uint64_t *ret)
{
	const struct elf_segment *segment = file->segments;

	for (size_t i = 0; i < file->segment_count; i++, segment++) {
		if (!segment->exec || offset < segment->offset ||
			offset - segment->offset >= segment->size)
			continue;
		*ret = segment->vaddr + (offset - segment->offset);
		return 0;
	}
	return -ENOENT;
}

int elf_file_code(const struct elf_file *file, uint64_t *ret)
{
	for (size_t i = 0; i < file->segment_count; i++)
		if (file->segments[i].exec) {
			*ret = file->segments[i].offset;
			return 0;
		}
	return -ENOENT;
}

const char *elf_file_interpreter(const struct elf_file *file)
{
	Elf64_Phdr header;

	for (size_t i = 0; elf_program_header(file, i, &header); i++)
		if (header.p_type == PT_INTERP && header.p_offset < file->size)
			return elf_string(file->bytes, file->size, header.p_offset);
	return NULL;
}

const uint8_t *elf_bytes_at(const struct elf_file *file, uint64_t vaddr, size_t *ret_len)
{
	const struct elf_segment *segment = file->segments;

	for (size_t i = 0; i < file->segment_count; i++, segment++) {
		if (vaddr < segment->vaddr || vaddr - segment->vaddr >= segment->size)
			continue;
		*ret_len = (size_t)(segment->size - (vaddr - segment->vaddr));
		return file->bytes + segment->offset + (vaddr - segment->vaddr);
	}
	return NULL;
}

int elf_file_read(const struct elf_file *file, uint64_t vaddr, void *ret, size_t len)
{
	const uint8_t *bytes;
	size_t left;

	if (!len)
		return 0;
	bytes = elf_bytes_at(file, vaddr, &left);
	if (!bytes || left < len)
		return -EFAULT;
	memcpy(ret, bytes, len);
	return 0;
}
