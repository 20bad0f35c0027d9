/* The table of functions that wait, and an open file → its places. */
#include <string.h>

#include "cleanup.h"
#include "elf_code.h"
#include "wait_call.h"

#define SINGLE_STEPPED 10 /* so many times what a call costs whose probe the kernel emulates */

struct wait_entry {
	const char *libraries[3]; /* how their files' names begin */
	const char *functions[WAIT_MAX_SITES];
};

static const struct wait_entry table[] = {
	/*
	 * CUDA's driver, to which the runtime's calls and those of PyTorch, JAX and CuPy come down. It spins unless the
	 * context was made with CU_CTX_SCHED_BLOCKING_SYNC. A copy to memory that is not pinned waits within the call, also
	 * where its name says otherwise. cuEventQuery() and cuStreamQuery() return at once.
	 */
	{{"libcuda.so"}, {"cuStreamSynchronize", "cuStreamSynchronize_ptsz", "cuCtxSynchronize",
				 "cuCtxSynchronize_v2", "cuEventSynchronize", "cuMemcpyDtoH_v2",
				 "cuMemcpyDtoH_v2_ptds", "cuMemcpyDtoHAsync_v2",
				 "cuMemcpyDtoHAsync_v2_ptsz"}},
	/* Open MPI and MPICH poll the network while they wait. What PMPI_ calls has the same addresses. */
	{{"libmpi.so", "libmpich.so"},
		{"MPI_Wait", "MPI_Waitall", "MPI_Waitany", "MPI_Waitsome", "MPI_Recv",
			"MPI_Sendrecv", "MPI_Barrier", "MPI_Bcast", "MPI_Reduce", "MPI_Allreduce",
			"MPI_Reduce_scatter", "MPI_Reduce_scatter_block", "MPI_Gather",
			"MPI_Gatherv", "MPI_Scatter", "MPI_Scatterv", "MPI_Allgather",
			"MPI_Allgatherv", "MPI_Alltoall", "MPI_Alltoallv"}},
};

static const struct wait_entry *entry_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		for (size_t j = 0; j < ARRAY_SIZE(table->libraries) && table[i].libraries[j]; j++)
			if (!strncmp(base, table[i].libraries[j], strlen(table[i].libraries[j])))
				return &table[i];
	return NULL;
}

bool wait_likely(const char *path)
{
	return entry_of(path);
}

static bool has_site(const struct wait_plan *plan, uint64_t offset)
{
	for (size_t i = 0; i < plan->count; i++)
		if (plan->sites[i].offset == offset)
			return true;
	return false;
}

bool wait_plan_file(const struct elf_file *file, const char *path, struct wait_plan *ret)
{
	const struct wait_entry *entry = entry_of(path);
	bool all = true;

	ret->count = 0;
	for (size_t i = 0; entry && i < WAIT_MAX_SITES && entry->functions[i]; i++) {
		struct wait_site *site = &ret->sites[ret->count];
		struct elf_symbol symbol;
		enum elf_step step;
		uint64_t place;

		if (elf_file_symbol(file, entry->functions[i], false, &symbol))
			continue;
		if (elf_code_probe_site(file, symbol.vaddr, &place, &step) ||
			elf_file_offset(file, place, &site->offset)) {
			all = false;
			continue;
		}
		if (has_site(ret, site->offset))
			continue; /* two names of one function */
		site->cookie = step == ELF_STEP_EMULATED ? 1 : SINGLE_STEPPED;
		site->name = entry->functions[i];
		ret->count++;
	}
	return all;
}
