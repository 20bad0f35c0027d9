/* Reads of another process's memory: process_vm_readv, which neither stops nor changes it. */
#include <errno.h>
#include <sys/uio.h>

#include "mem.h"

int mem_read(pid_t pid, uint64_t address, void *ret, size_t len)
{
	struct iovec local = {ret, len};
	struct iovec remote = {(void *)(uintptr_t)address, len};
	ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	if (got < 0)
		return -errno;
	return (size_t)got == len ? 0 : -EFAULT;
}
