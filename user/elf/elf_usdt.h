/* USDT: the probe sites that SystemTap's <sys/sdt.h> leaves in .note.stapsdt. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "elf_file.h"

struct elf_usdt {
	uint64_t vaddr;			    /* of the site, corrected by .stapsdt.base (prelink) */
	uint64_t semaphore;		    /* virtual address, 0 when there is none */
	const char *provider, *name, *args; /* valid while the file is open */
};

/*
 * Fills at most @max sites of @provider:@name, in file order; a site or semaphore outside the
 * file's segments, or a note that runs out of its section, is skipped. Returns how many were
 * found (may exceed @max), 0 for none. Layout: SystemTap wiki, "UserSpaceProbeImplementation".
 */
size_t elf_usdt_find(const struct elf_file *file, const char *provider, const char *name,
	struct elf_usdt *ret, size_t max);

/*
 * The register that an argument of @size bytes, 4 or 8, calls @name ("%edi", "x0"): where it is in what the kernel hands to
 * BPF (struct pt_regs; AArch64: struct user_pt_regs). -ENOENT: the file's machine has none of that name and size.
 */
int elf_usdt_register(const struct elf_file *file, const char *name, int size);
