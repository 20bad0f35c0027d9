/*
 * Who calls the collector of CPython up to 3.12, which gets no reason: gc.collect() and
 * PyGC_Collect(), or whoever allocates. In: an ELF file, the collector's addresses. Out: the return
 * addresses of each, from which BPF infers a collection's cause.
 */
#include <string.h>

#include "cleanup.h"
#include "cpython_callers.h"
#include "elf_code.h"

#define CALLS_MAX 256

struct callers {
	uint64_t manual[GC_MAX_CALLERS], first, last;
	size_t count;	     /* of manual; more than there is room for: not known */
	bool public, method; /* both ways to collect by hand are among them */
	bool shutdown;
};

static bool is_named(const struct elf_file *file, const char *name, uint64_t vaddr)
{
	struct elf_symbol symbol;

	return !elf_file_symbol(file, name, true, &symbol) && symbol.vaddr == vaddr;
}

/*
 * A call that returns to @back. gc.collect() has no symbol in a stripped file, but its entry in
 * gc's methods.
 */
static void note_call(const struct elf_file *file, uint64_t back, struct callers *all)
{
	bool manual = true;
	uint64_t start, end;

	if (elf_code_bounds(file, back - 1, &start, &end))
		return;
	if (is_named(file, "PyGC_Collect", start)) {
		all->public = true;
	} else if (is_named(file, "_PyGC_CollectNoFail", start)) {
		all->shutdown = true; /* by hand, until the pause's end sees that it exits */
	} else if (elf_code_is_method(file, start, "collect")) {
		all->method = true;
	} else {
		manual = false;
	}
	if (manual && all->count < GC_MAX_CALLERS)
		all->manual[all->count] = back;
	all->count += manual;
	if (!all->first || back < all->first)
		all->first = back;
	if (back > all->last)
		all->last = back;
}

static void list_calls(const struct elf_file *file, uint64_t vaddr, struct callers *all)
{
	uint64_t returns[CALLS_MAX];
	size_t count = elf_code_callers(file, vaddr, returns, ARRAY_SIZE(returns));

	for (size_t i = 0; i < count && count < CALLS_MAX; i++)
		note_call(file, returns[i], all);
}

/* Without both ways by hand nothing is known. */
static bool take(const struct callers *all, uint64_t at, struct gc_layout *layout)
{
	if (!all->public || !all->method || all->count > GC_MAX_CALLERS || at > GC_NO_FIELD ||
		(layout->reason_source == GC_REASON_COUNTS && !all->shutdown))
		return false;
	memcpy(layout->manual_return, all->manual, all->count * sizeof(uint64_t));
	layout->manual_count = (uint16_t)all->count;
	layout->caller_first = all->first;
	layout->caller_last = all->last;
	layout->caller_at = (uint16_t)at;
	return true;
}

/* With link-time optimisation they go through gc_collect_with_callback(): one frame further out. */
static bool take_outer(const struct elf_file *file, uint64_t collector, struct gc_layout *layout)
{
	uint64_t returns[GC_MAX_CALLERS], start, end, frame;
	size_t count = elf_code_callers(file, collector, returns, ARRAY_SIZE(returns));

	for (size_t i = 0; i < count; i++) {
		struct callers all = {};

		if (elf_code_bounds(file, returns[i] - 1, &start, &end) ||
			elf_code_frame(file, returns[i] - 1, &frame))
			continue;
		list_calls(file, start, &all);
		if (take(&all, frame, layout))
			return true;
	}
	return false;
}

void cpython_find_callers(const struct elf_file *file, const uint64_t *collectors, size_t count,
	struct gc_layout *layout)
{
	struct callers all = {};

	for (size_t i = 0; i < count; i++)
		list_calls(file, collectors[i], &all);
	if (!take(&all, elf_code_links(file) ? GC_NO_FIELD : 0, layout) && count == 1)
		take_outer(file, collectors[0], layout);
}
