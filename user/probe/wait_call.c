/* The table of functions that wait, and an open file → its places. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "elf_code.h"
#include "wait_call.h"

#define SINGLE_STEPPED 10 /* so many times what a call costs whose probe the kernel emulates */

struct wait_entry {
	const char *libraries[3]; /* how their files' names begin */
	const char *functions[WAIT_MAX_SITES];
	const char *
		suffix; /* a second function of that name and this may be there, too; NULL: there is none */
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
	/*
	 * Open MPI and MPICH poll the network while they wait. What PMPI_ calls has the same addresses. MPI 4 has another
	 * function, of larger counts, for each that has a count: mpi4py calls that if there is one. A send waits where the
	 * message is large or is to be received first, and libmpi_abi.so is that of MPI 5.
	 */
	{{"libmpi.so", "libmpich.so", "libmpi_abi.so"},
		{"MPI_Wait", "MPI_Waitall", "MPI_Waitany", "MPI_Waitsome", "MPI_Probe",
			"MPI_Mprobe", "MPI_Recv", "MPI_Mrecv", "MPI_Send", "MPI_Ssend",
			"MPI_Sendrecv", "MPI_Sendrecv_replace", "MPI_Barrier", "MPI_Bcast",
			"MPI_Reduce", "MPI_Allreduce", "MPI_Reduce_scatter",
			"MPI_Reduce_scatter_block", "MPI_Scan", "MPI_Exscan", "MPI_Gather",
			"MPI_Gatherv", "MPI_Scatter", "MPI_Scatterv", "MPI_Allgather",
			"MPI_Allgatherv", "MPI_Alltoall", "MPI_Alltoallv", "MPI_Alltoallw",
			"MPI_Win_fence", "MPI_Win_wait", "MPI_Win_unlock", "MPI_Win_flush"},
		"_c"},
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

/* False if it is there and cannot be probed. */
static bool plan_function(const struct elf_file *file, const char *name, struct wait_plan *ret)
{
	struct wait_site *site = &ret->sites[ret->count];
	enum elf_step step;
	uint64_t offset;
	int r = elf_code_function_site(file, name, &offset, &step);

	if (r)
		return r == -ENOENT;
	if (ret->count == WAIT_MAX_SITES)
		return false;
	site->offset = offset;
	if (has_site(ret, site->offset))
		return true; /* two names of one function */
	site->cookie = step == ELF_STEP_EMULATED ? 1 : SINGLE_STEPPED;
	ret->count++;
	return true;
}

bool wait_plan_file(const struct elf_file *file, const char *path, struct wait_plan *ret)
{
	const struct wait_entry *entry = entry_of(path);
	char second[64];
	bool all = true;

	ret->count = 0;
	for (size_t i = 0; entry && i < WAIT_MAX_SITES && entry->functions[i]; i++) {
		all &= plan_function(file, entry->functions[i], ret);
		if (!entry->suffix)
			continue;
		snprintf(second, sizeof(second), "%s%s", entry->functions[i], entry->suffix);
		all &= plan_function(file, second, ret);
	}
	return all;
}
