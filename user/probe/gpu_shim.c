/* The shim's ELF file → its probe. The file is the target's: it may be anything. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

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

/* "8@%rdi 4@%esi", "8@x0 4@x1", as <sys/sdt.h> writes it; a size is negative if the argument has a sign. */
static bool parse_arguments(const struct elf_file *file, const char *text, uint64_t *ret_cookie)
{
	char records[8], count[8];
	int size, from, of;

	if (sscanf(text, "8@%7[%a-z0-9] %d@%7[%a-z0-9]", records, &size, count) != 3)
		return false;
	from = elf_usdt_register(file, records, 8);
	of = elf_usdt_register(file, count, size < 0 ? -size : size);
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
	if (!parse_arguments(file, probe.args, &plan.cookie))
		return err_set(err, ENOEXEC,
			"%s has its probe's arguments (%.64s) elsewhere than in registers: it was built without "
			"optimisation",
			name, probe.args);
	*ret = plan;
	return 0;
}
