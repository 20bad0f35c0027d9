/* The toy: which file contains it, where it is probed, what its books say. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "elf_code.h"
#include "mem.h"
#include "toy_probe.h"
#include "toy_wire.h"

extern const struct runtime_ops probe_toy;

static const char *const tiers[] = {"symbol", NULL};
static const char *const commands[] = {"toy", NULL};

/* What is kept of its file. */
struct toy_plan {
	uint64_t heap; /* address in the file */
};

_Static_assert(sizeof(struct toy_plan) <= PROBE_OWN_BYTES, "it has its place in the plan");

static bool likely(const char *path)
{
	const char *base = strrchr(path, '/');

	return base && !strcmp(base, "/toy");
}

static bool match(const struct elf_file *file)
{
	struct elf_symbol symbol;

	return !elf_file_symbol(file, "toy_heap", true, &symbol);
}

static int add_site(const struct elf_file *file, const char *function, const char *program,
	bool ends, struct probe_plan *plan, struct err *err)
{
	struct probe_site *site = &plan->sites[plan->site_count++];
	struct elf_symbol symbol;
	enum elf_step step;
	uint64_t place;

	if (elf_file_symbol(file, function, true, &symbol) ||
		elf_code_probe_site(file, symbol.vaddr, &place, &step) ||
		elf_file_offset(file, place, &site->offset))
		return err_set(err, ENOENT, "no function %s", function);
	site->program = program;
	site->ends = ends;
	return 0;
}

static int plan(pid_t pid, const struct probe_image *image, const struct elf_file *file,
	const char *tier, struct probe_plan *ret, struct err *err)
{
	struct elf_symbol heap;
	int r;

	if (elf_file_symbol(file, "toy_heap", true, &heap) ||
		probe_first_page(file, &image->map, &ret->page_vaddr))
		return err_set(err, ENOENT, "%s does not say where its books are", image->map.path);
	((struct toy_plan *)ret->own)->heap = heap.vaddr;
	ret->site_count = 0;
	snprintf(ret->version, sizeof(ret->version), "1");
	snprintf(ret->detail, sizeof(ret->detail), "toy_stop, toy_go");
	r = add_site(file, "toy_stop", "on_toy_stop", false, ret, err);
	return r ? r : add_site(file, "toy_go", "on_toy_go", true, ret, err);
}

static int books(pid_t pid, uint64_t bias, const struct probe_plan *plan, struct probe_books *ret)
{
	struct gc_toy_heap heap;
	int r = mem_read(pid, bias + ((const struct toy_plan *)plan->own)->heap, &heap,
		sizeof(heap));

	if (r)
		return r;
	*ret = (struct probe_books){
		.counts = {heap.minor, heap.major},
		.collecting = heap.collecting,
	};
	return 0;
}

static const char *const counters[] = {"minor", "major", NULL};

const struct runtime_ops probe_toy = {
	.kind = "toy",
	.label = "the toy of the tests",
	.debug_package = "none",
	.commands = commands,
	.tiers = tiers,
	.likely = likely,
	.match = match,
	.plan = plan,
	.counters = counters,
	.books = books,
	.capture = &toy_capture,
};
