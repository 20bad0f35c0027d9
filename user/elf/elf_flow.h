/* A function's machine code as a graph: its instructions, and which may follow which. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "elf_file.h"
#include "err.h"
#include "u64map.h"
#include "vec.h"

struct elf_insn {
	uint64_t vaddr;
	uint32_t next[2]; /* indexes of what may follow */
	uint8_t next_count, size;
	bool emulated; /* by the kernel, where it is probed */
	bool calls;    /* another function, or the kernel, and returns */
	bool returns;
	/*
	 * Writes to memory that may be outside the function's own stack, other than by replacing a
	 * whole word: a plain 64-bit mov, xchg, cmpxchg. Whatever counts something is of this kind.
	 */
	bool adds;
};

struct elf_flow {
	VEC(struct elf_insn) insns; /* the first one is the entry; some may never be reached */
	struct u64map at;	    /* address → index */
};

/*
 * Reads the function that begins at @vaddr, with the part of it that the compiler put elsewhere
 * (.cold): bounds from .eh_frame. 0; -ENOENT if no function begins there; -ENOTSUP for code that is
 * not fully understood: an indirect jump, one into the middle of an instruction or to another
 * function, bytes that are not an instruction; -ENOMEM. On failure @err is set.
 */
int elf_flow_read(const struct elf_file *file, uint64_t vaddr, struct elf_flow *ret,
	struct err *err);
void elf_flow_release(struct elf_flow *flow);
