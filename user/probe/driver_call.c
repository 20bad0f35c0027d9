/* The table of the driver's functions, and an open file → its places. */
#include <errno.h>

#include "cleanup.h"
#include "driver_call.h"
#include "elf_code.h"
#include "gc_wire.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_free);

#define LAUNCH 0

/*
 * cuda.h. A suffix _ptsz or _ptds: of programs built for a default stream of each thread's own. Copies and memsets are
 * not counted: that a thread launches, and at what point of its step it is, kernels and graphs say.
 */
static const struct driver_function {
	const char *name;
	uint8_t kind, address, bytes;
} functions[] = {
	{"cuLaunchKernel", LAUNCH, 0, 0},
	{"cuLaunchKernel_ptsz", LAUNCH, 0, 0},
	{"cuLaunchKernelEx", LAUNCH, 0, 0},
	{"cuLaunchKernelEx_ptsz", LAUNCH, 0, 0},
	{"cuLaunchCooperativeKernel", LAUNCH, 0, 0},
	{"cuLaunchCooperativeKernel_ptsz", LAUNCH, 0, 0},
	{"cuGraphLaunch", LAUNCH, 0, 0},
	{"cuGraphLaunch_ptsz", LAUNCH, 0, 0},
	{"cuStreamSynchronize", GC_DRIVER_WAIT, 0, 0},
	{"cuStreamSynchronize_ptsz", GC_DRIVER_WAIT, 0, 0},
	{"cuCtxSynchronize", GC_DRIVER_WAIT, 0, 0},
	{"cuCtxSynchronize_v2", GC_DRIVER_WAIT, 0, 0},
	{"cuEventSynchronize", GC_DRIVER_WAIT, 0, 0},
	{"cuMemcpyDtoH_v2", GC_DRIVER_WAIT, 0, 0},
	{"cuMemcpyDtoH_v2_ptds", GC_DRIVER_WAIT, 0, 0},
	{"cuMemcpyDtoHAsync_v2", GC_DRIVER_WAIT, 0, 0},
	{"cuMemcpyDtoHAsync_v2_ptsz", GC_DRIVER_WAIT, 0, 0},
	{"cuMemAlloc_v2", GC_DRIVER_ALLOCATE, 1, 2},
	{"cuMemAllocManaged", GC_DRIVER_ALLOCATE, 1, 2},
	{"cuMemAllocAsync", GC_DRIVER_ALLOCATE, 1, 2},
	{"cuMemAllocAsync_ptsz", GC_DRIVER_ALLOCATE, 1, 2},
	{"cuMemAllocFromPoolAsync", GC_DRIVER_ALLOCATE, 1, 2},
	{"cuMemAllocFromPoolAsync_ptsz", GC_DRIVER_ALLOCATE, 1, 2},
	{"cuMemCreate", GC_DRIVER_ALLOCATE, 1, 2},
	{"cuMemFree_v2", GC_DRIVER_FREE, 1, 0},
	{"cuMemFreeAsync", GC_DRIVER_FREE, 1, 0},
	{"cuMemFreeAsync_ptsz", GC_DRIVER_FREE, 1, 0},
	{"cuMemRelease", GC_DRIVER_FREE, 1, 0},
};

_Static_assert(ARRAY_SIZE(functions) <= DRIVER_MAX_SITES, "room for all");

static bool has_site(const struct driver_plan *plan, uint64_t offset)
{
	for (size_t i = 0; i < plan->count; i++)
		if (plan->sites[i].offset == offset)
			return true;
	return false;
}

/* Of @function, where @file has it. False: it cannot be probed. */
static bool add(const struct elf_file *file, const struct driver_function *function,
	struct driver_plan *plan)
{
	struct driver_site *site = &plan->sites[plan->count];
	enum elf_step step;
	int r = elf_code_function_site(file, function->name, &site->offset, &step);

	if (r)
		return r == -ENOENT;
	if (has_site(plan, site->offset))
		return true; /* two names of one function */
	site->kind = function->kind;
	site->address = function->address;
	site->bytes = function->bytes;
	site->single_stepped = step != ELF_STEP_EMULATED;
	site->name = function->name;
	plan->count++;
	return true;
}

int driver_plan(int fd, const char *name, struct driver_plan *ret, struct err *err)
{
	_cleanup_(cleanup_elf_file_free) struct elf_file *file = NULL;
	int r = elf_file_open(fd, name, &file, err);

	if (r)
		return r;
	ret->count = 0;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (!add(file, &functions[i], ret))
			return err_set(err, ENOEXEC, "%s of %s cannot be probed", functions[i].name,
				name);
	if (!ret->count || ret->sites[0].kind != LAUNCH)
		return err_set(err, ENOENT, "%s has no cuLaunchKernel: it is no driver of CUDA",
			name);
	return 0;
}
