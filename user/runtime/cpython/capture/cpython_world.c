/* Calls within a free-threaded CPython's collector → sites where other threads are stopped, have stopped, may go on. */
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "cpython_plan.h"
#include "cpython_symbol.h"
#include "cpython_world.h"
#include "elf_code.h"
#include "elf_returns.h"

#define CALLS_MAX  1024 /* of the collector */
#define COPIES_MAX 4	/* of a function, by the compiler */

/* All copies of a function that is wanted; the compiler may have put the outer one into its callers. */
struct copies {
	const char *names[2];
	uint64_t vaddrs[COPIES_MAX];
	size_t count;
};

struct search {
	struct copies stop, start;
	struct elf_call *calls; /* of the function that is looked at */
	int count;
	uint64_t end; /* of that function */
};

static void note_copy(const struct elf_symbol *symbol, struct copies *copies)
{
	for (size_t i = 0; i < copies->count; i++)
		if (copies->vaddrs[i] == symbol->vaddr)
			return;
	for (size_t i = 0; i < ARRAY_SIZE(copies->names); i++)
		if (cpython_abi(symbol->name, copies->names[i]) != ABI_NONE &&
			copies->count < COPIES_MAX)
			copies->vaddrs[copies->count++] = symbol->vaddr;
}

static int note_symbol(const struct elf_symbol *symbol, void *arg)
{
	struct search *search = arg;

	if (!symbol->function)
		return 0;
	note_copy(symbol, &search->stop);
	note_copy(symbol, &search->start);
	return 0;
}

static bool calls_one_of(const struct elf_call *call, const struct copies *copies)
{
	for (size_t i = 0; i < copies->count; i++)
		if (copies->vaddrs[i] == call->target)
			return true;
	return false;
}

static int count_calls(const struct search *search, const struct copies *copies)
{
	int count = 0;

	for (int i = 0; i < search->count; i++)
		count += calls_one_of(&search->calls[i], copies);
	return count;
}

/* Lists the calls of the function at @vaddr. Whether it stops the world as often as the collector does. */
static bool look_at(const struct elf_file *file, uint64_t vaddr, struct search *search)
{
	uint64_t start;

	search->count = 0;
	if (elf_code_bounds(file, vaddr, &start, &search->end) || start != vaddr)
		return false;
	search->count = elf_code_calls(file, start, search->end, search->calls, CALLS_MAX);
	if (search->count <= 0 || search->count == CALLS_MAX)
		return false;
	return count_calls(search, &search->stop) == GC_MAX_STOPS &&
	       count_calls(search, &search->start) >= GC_MAX_STOPS;
}

static bool note_work(struct cpython_world *world, uint64_t vaddr)
{
	if (world->work_count == ARRAY_SIZE(world->work))
		return false;
	world->work[world->work_count++] = vaddr;
	return true;
}

/* The collector's direct calls, of which one leads to gc_collect_internal(), if the compiler has left that on its own. */
static bool find_inner(const struct elf_file *file, struct search *search,
	struct cpython_world *world)
{
	_cleanup_(cleanup_free) struct elf_call *outer = NULL;
	const int count = search->count;
	uint64_t inner = 0;

	outer = count > 0 && count < CALLS_MAX ? calloc((size_t)count, sizeof(*outer)) : NULL;
	if (!outer)
		return false;
	memcpy(outer, search->calls, (size_t)count * sizeof(*outer));
	for (int i = 0; i < count && !inner; i++)
		if (look_at(file, outer[i].target, search))
			inner = outer[i].target;
	for (int i = 0; inner && i < count; i++)
		if (outer[i].target == inner && !note_work(world, outer[i].vaddr))
			return false;
	return inner;
}

static bool add_site(struct cpython_world *world, enum cpython_site kind, uint64_t vaddr)
{
	if (world->count == ARRAY_SIZE(world->sites))
		return false;
	world->sites[world->count++] = (struct cpython_world_site){kind, vaddr};
	return true;
}

static bool add_calls(const struct elf_file *file, const struct search *search,
	struct cpython_world *world)
{
	const bool inner = world->work_count;

	for (int i = 0; i < search->count; i++) {
		const struct elf_call *call = &search->calls[i];
		struct elf_return behind;

		if (calls_one_of(call, &search->start) && !add_site(world, SITE_START, call->vaddr))
			return false;
		if (!calls_one_of(call, &search->stop))
			continue;
		if (call->jump || elf_returns_behind(file, call, search->end, &behind) ||
			!add_site(world, SITE_STOP, call->vaddr) ||
			!add_site(world, SITE_STOPPED, behind.vaddr) ||
			(!inner && !note_work(world, call->vaddr)))
			return false;
	}
	return true;
}

bool cpython_find_world(const struct elf_file *symbols, const struct elf_file *file, uint64_t vaddr,
	struct cpython_world *ret)
{
	_cleanup_(cleanup_free) struct elf_call *calls = calloc(CALLS_MAX, sizeof(*calls));
	struct search search = {
		.stop.names = {"_PyEval_StopTheWorld", "stop_the_world"},
		.start.names = {"_PyEval_StartTheWorld", "start_the_world"},
		.calls = calls,
	};
	struct cpython_world world = {};

	if (!calls)
		return false;
	elf_file_symbols(symbols, true, note_symbol, &search);
	if (!look_at(file, vaddr, &search) && !find_inner(file, &search, &world))
		return false;
	if (!add_calls(file, &search, &world))
		return false;
	*ret = world;
	return true;
}
