/* CPython's collector → where its begin and its end are probed, and what doctor says of it. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cpython_collector.h"
#include "cpython_plan.h"
#include "cpython_world.h"
#include "elf_code.h"
#include "elf_ends.h"
#include "elf_returns.h"
#include "log.h"

#define ENDS_MAX  8
#define ENDS_TOLD 4 /* in the detail */

struct places {
	uint64_t vaddrs[ENDS_MAX];
	int count;
};

bool cpython_enters_idle(int minor)
{
	return minor >= 13;
}

__attribute__((format(printf, 2, 3))) static void tell(struct probe_plan *plan, const char *format,
	...)
{
	size_t used = strlen(plan->detail);
	va_list args;

	va_start(args, format);
	vsnprintf(plan->detail + used, sizeof(plan->detail) - used, format, args);
	va_end(args);
}

static int add_site(const struct elf_file *file, uint64_t vaddr, enum cpython_site kind,
	struct probe_plan *plan, struct err *err)
{
	struct probe_site site = {.kind = kind};

	if (plan->site_count == GC_MAX_SITES)
		return err_set(err, E2BIG, "more than %d places to probe", GC_MAX_SITES);
	if (elf_file_offset(file, vaddr, &site.offset))
		return err_set(err, ENOENT, "%#" PRIx64 " lies outside the file's code", vaddr);
	cpython_plan(plan)->layout.site_address[plan->site_count] = vaddr;
	plan->sites[plan->site_count++] = site;
	return 0;
}

/*
 * 3.14.0 – 3.14.4 collect in increments: functions that theirs calls move the counters, so that its
 * own code does not show where that is done.
 */
static bool counts_elsewhere(const struct probe_plan *plan)
{
	return !cpython_plan(plan)->layout.free_threaded && !strncmp(plan->version, "3.14.", 5) &&
	       plan->version[5] >= '0' && plan->version[5] <= '4' &&
	       (plan->version[6] < '0' || plan->version[6] > '9');
}

static void tell_places(const struct elf_file *file, uint64_t vaddr, const uint64_t *places,
	int count, struct probe_plan *plan)
{
	char mnemonic[16];

	for (int i = 0; i < count && i < ENDS_TOLD; i++) {
		const char *sign = places[i] < vaddr ? "-" : "+";
		uint64_t distance = places[i] < vaddr ? vaddr - places[i] : places[i] - vaddr;

		elf_code_mnemonic(file, places[i], mnemonic, sizeof(mnemonic));
		tell(plan, "%s%s%#" PRIx64 " (%s)", i ? ", " : "; ends at ", sign, distance,
			mnemonic);
	}
	if (count > ENDS_TOLD)
		tell(plan, " and %d more", count - ENDS_TOLD);
}

static int find_places(const struct elf_file *file, uint64_t vaddr, const struct probe_plan *plan,
	const struct cpython_world *world, struct places *ret, struct err *err)
{
	ret->count = counts_elsewhere(plan)
			     ? err_set(err, ENOTSUP, "its counters are moved by other functions")
			     : elf_ends_find_of(file, vaddr, world->work, world->work_count,
				       ret->vaddrs, ENDS_MAX, err);
	return ret->count < 0 ? ret->count : 0;
}

/* Whether only the exit of an interpreter makes the call: its fifth argument is nofail. */
static bool is_last_call(const struct elf_file *file, const struct elf_call *call)
{
	const struct elf_argument *nofail = &call->arguments[4];
	struct elf_symbol symbol;
	uint64_t start, end;

	if (nofail->kind == ELF_VALUE_CONSTANT && nofail->value == 1)
		return true;
	return !elf_file_symbol(file, "_PyGC_CollectNoFail", true, &symbol) &&
	       !elf_code_bounds(file, call->vaddr, &start, &end) && start == symbol.vaddr;
}

/* A single-stepped place costs too much, except where a process passes it only as it exits. */
static int find_returns(const struct elf_file *file, uint64_t vaddr, struct places *ret,
	struct err *err)
{
	struct elf_return returns[ENDS_MAX];
	int count = elf_returns_find(file, vaddr, returns, ENDS_MAX, err);

	for (int i = 0; i < count; i++) {
		if (!returns[i].emulated && !is_last_call(file, &returns[i].call))
			return err_set(err, ENOTSUP,
				"its caller at %#" PRIx64 " continues where no probe is cheap",
				returns[i].call.vaddr);
		ret->vaddrs[i] = returns[i].vaddr;
	}
	if (count < 0)
		return count;
	ret->count = count;
	return 0;
}

/* The places that serve, named in the plan's detail; none: it takes a return probe. */
static int choose_ends(const struct elf_file *file, uint64_t vaddr, const char *name,
	const struct cpython_world *world, struct probe_plan *plan, struct places *ret,
	struct err *err)
{
	struct err within = {}, behind = {};

	if (!find_places(file, vaddr, plan, world, ret, &within)) {
		tell_places(file, vaddr, ret->vaddrs, ret->count, plan);
		return 0;
	}
	ret->count = 0;
	if (cpython_enters_idle(cpython_plan(plan)->minor))
		return err_set(err, ENOENT, "no safe place for a probe where %s ends: %s", name,
			within.text);
	if (!find_returns(file, vaddr, ret, &behind)) {
		tell(plan, "; ends after its %d calls", ret->count);
		return 0;
	}
	log_debug(
		"%s has no place for a probe where it ends (%s), nor where its callers go on (%s)",
		name, within.text, behind.text);
	tell(plan, "; ends at its return");
	return 0;
}

/* How a call that does nothing is known, and the places where it stops others; without those that stays unknown. */
static int add_world(const struct elf_file *file, const struct cpython_world *world,
	struct probe_plan *plan, struct err *err)
{
	struct gc_layout *layout = &cpython_plan(plan)->layout;
	int r = 0;

	if (!layout->free_threaded) {
		layout->idle_source = cpython_enters_idle(cpython_plan(plan)->minor) ? GC_IDLE_STATE
										     : GC_IDLE_NONE;
		return 0;
	}
	for (size_t i = 0; !r && i < world->count; i++)
		r = add_site(file, world->sites[i].vaddr, world->sites[i].kind, plan, err);
	/* What goes for one copy of the collector has to go for all. */
	if (!world->count)
		layout->idle_source = GC_IDLE_STATE;
	else if (layout->idle_source == GC_IDLE_NONE)
		layout->idle_source = GC_IDLE_WORLD;
	tell(plan, world->count ? "; stops others twice" : "; when it stops others is not known");
	return r;
}

int cpython_add_collector(const struct elf_file *symbols, const struct elf_file *file,
	uint64_t vaddr, const char *name, struct probe_plan *plan, struct err *err)
{
	struct cpython_world world = {};
	struct places places;
	enum elf_step step;
	char mnemonic[16];
	uint64_t place;
	int r;

	if (elf_code_probe_site(file, vaddr, &place, &step))
		return err_set(err, ENOENT, "%s lies outside the file's code", name);
	if (cpython_plan(plan)->layout.free_threaded)
		cpython_find_world(symbols, file, vaddr, &world);
	plan->single_stepped |= step == ELF_STEP_SINGLE;
	tell(plan, "%s%s+%" PRIu64 " (%s, %s)", plan->detail[0] ? ", " : "", name, place - vaddr,
		elf_code_mnemonic(file, place, mnemonic, sizeof(mnemonic)),
		step == ELF_STEP_EMULATED ? "emulated" : "single-stepped");
	r = choose_ends(file, vaddr, name, &world, plan, &places, err);
	if (!r)
		r = add_site(file, place, places.count ? SITE_BEGIN : SITE_FUNCTION, plan, err);
	for (int i = 0; !r && i < places.count; i++)
		r = add_site(file, places.vaddrs[i], SITE_PLACE, plan, err);
	return r ? r : add_world(file, &world, plan, err);
}
