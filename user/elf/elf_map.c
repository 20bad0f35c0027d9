/* A file mapped into memory, safe to read even if others truncate it meanwhile. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cleanup.h"
#include "elf_priv.h"

/* Mappings that on_sigbus() may repair. A slot is owned while start is not 0; end is set first. */
static struct {
	atomic_uintptr_t start, end;
} guarded[256];

static struct sigaction previous;

static size_t page_round(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size + page - 1) & ~(page - 1);
}

/* A page past the end of a file that has shrunk: replaces it and all after it by zeros. */
static void on_sigbus(int signal, siginfo_t *info, void *context)
{
	uintptr_t address = (uintptr_t)info->si_addr, start, end;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int saved = errno;

	for (size_t i = 0; i < ARRAY_SIZE(guarded); i++) {
		start = atomic_load(&guarded[i].start);
		end = atomic_load(&guarded[i].end);
		if (!start || address < start || address >= end)
			continue;
		address &= ~(uintptr_t)(page - 1);
		if (mmap((void *)address, end - address, PROT_READ,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			break;
		errno = saved;
		return;
	}
	/* Not ours: the access is repeated under the handler that was there before. */
	sigaction(SIGBUS, &previous, NULL);
	errno = saved;
}

static void guard_add(uintptr_t start, size_t size)
{
	struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_NODEFER};
	static atomic_bool installed;
	uintptr_t none;

	sigemptyset(&action.sa_mask);
	if (!atomic_exchange(&installed, true))
		sigaction(SIGBUS, &action, &previous);
	for (size_t i = 0; i < ARRAY_SIZE(guarded); i++) {
		none = 0;
		/* end is 0 in a free slot, so a slot just taken matches no address. */
		if (!atomic_compare_exchange_strong(&guarded[i].start, &none, start))
			continue;
		atomic_store(&guarded[i].end, start + size);
		return;
	}
}

static void guard_remove(uintptr_t start)
{
	for (size_t i = 0; i < ARRAY_SIZE(guarded); i++) {
		if (atomic_load(&guarded[i].start) != start)
			continue;
		atomic_store(&guarded[i].end, 0);
		atomic_store(&guarded[i].start, 0);
		return;
	}
}

int elf_map(int fd, size_t size, const uint8_t **ret)
{
	size_t room = page_round(size), page = page_round(1);
	uint8_t *base;

	if (room < size || room > SIZE_MAX - page)
		return -EFBIG;
	base = mmap(NULL, room + page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		0);
	if (base == MAP_FAILED)
		return -errno;
	/*
	 * Shared: the kernel puts the breakpoints of uprobes into every private mapping that could
	 * become executable, including ours, and the code of a file that another tracer probes
	 * would read as int3 (valid_vma(), kernel/events/uprobes.c).
	 */
	if (mmap(base, size, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
		int code = -errno;

		munmap(base, room + page);
		return code;
	}
	guard_add((uintptr_t)base, room);
	*ret = base;
	return 0;
}

void elf_unmap(const uint8_t *bytes, size_t size)
{
	guard_remove((uintptr_t)bytes);
	munmap((void *)(uintptr_t)bytes, page_round(size) + page_round(1));
}

void elf_pages_drop(const uint8_t *bytes, size_t size)
{
	size_t page = page_round(1), within = (uintptr_t)bytes & (page - 1);
	size_t skipped = within ? page - within : 0;

	if (size > skipped && (size - skipped) / page)
		madvise((void *)((uintptr_t)bytes + skipped), (size - skipped) / page * page,
			MADV_DONTNEED);
}
