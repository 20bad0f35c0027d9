/* The shim's ELF file → its probe. The file is the target's: it may be anything. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <linux/ptrace.h>

#include "cleanup.h"
#include "elf_usdt.h"
#include "gc_wire.h"
#include "gpu_shim.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_free);

#define SHIM   "libgctrace_cupti.so"
#define DRIVER "libcuda.so"

static bool is_called(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return !strncmp(slash ? slash + 1 : path, name, strlen(name));
}

bool gpu_shim_likely(const char *path)
{
	return is_called(path, SHIM);
}

bool gpu_driver_likely(const char *path)
{
	return is_called(path, DRIVER);
}

#define NAMES(wide, narrow, field) {wide, narrow, offsetof(struct pt_regs, field)}

/* What assemblers call the registers, whole and their lower half. */
static const struct {
	const char *wide, *narrow;
	size_t offset;
} registers[] = {
	NAMES("rax", "eax", rax),
	NAMES("rbx", "ebx", rbx),
	NAMES("rcx", "ecx", rcx),
	NAMES("rdx", "edx", rdx),
	NAMES("rsi", "esi", rsi),
	NAMES("rdi", "edi", rdi),
	NAMES("rbp", "ebp", rbp),
	NAMES("r8", "r8d", r8),
	NAMES("r9", "r9d", r9),
	NAMES("r10", "r10d", r10),
	NAMES("r11", "r11d", r11),
	NAMES("r12", "r12d", r12),
	NAMES("r13", "r13d", r13),
	NAMES("r14", "r14d", r14),
	NAMES("r15", "r15d", r15),
};

/* Register @name, in which an argument of @size bytes is. Its place, or -ENOENT. */
static int find_register(const char *name, int size)
{
	for (size_t i = 0; i < ARRAY_SIZE(registers); i++)
		if (!strcmp(name, size == 8 ? registers[i].wide : registers[i].narrow))
			return (int)registers[i].offset;
	return -ENOENT;
}

/* "8@%rdi 4@%esi", as <sys/sdt.h> writes it; a size is negative if the argument has a sign. */
static bool parse_arguments(const char *text, uint64_t *ret_cookie)
{
	char records[8], count[8];
	int size, from, of;

	if (sscanf(text, "8@%%%7[a-z0-9] %d@%%%7[a-z0-9]", records, &size, count) != 3)
		return false;
	from = find_register(records, 8);
	of = find_register(count, size < 0 ? -size : size);
	if (from < 0 || of < 0)
		return false;
	*ret_cookie = GC_GPU_COOKIE((uint64_t)from, (uint64_t)of);
	return true;
}

int gpu_shim_plan(int fd, const char *name, struct gpu_shim_plan *ret, struct err *err)
{
	_cleanup_(cleanup_elf_file_free) struct elf_file *file = NULL;
	struct gpu_shim_plan plan = {};
	struct elf_usdt probe;
	size_t count;
	int r = elf_file_open(fd, name, &file, err);

	if (r)
		return r;
	count = elf_usdt_find(file, "gctrace", "gpu", &probe, 1);
	if (count != 1 || !probe.semaphore || elf_file_offset(file, probe.vaddr, &plan.offset) ||
		elf_file_offset(file, probe.semaphore, &plan.semaphore))
		return err_set(err, ENOEXEC, "%s has %s: it is not this gctrace's", name,
			count > 1 ? "several probes gctrace:gpu"
			: count	  ? "a probe gctrace:gpu without a semaphore"
				  : "no USDT probe gctrace:gpu");
	if (!parse_arguments(probe.args, &plan.cookie))
		return err_set(err, ENOEXEC,
			"%s has its probe's arguments (%.64s) elsewhere than in registers: it was built without "
			"optimisation",
			name, probe.args);
	*ret = plan;
	return 0;
}
