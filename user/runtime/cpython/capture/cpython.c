/* CPython: which version a file holds, and where its collector can be probed. */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "cpython_callers.h"
#include "cpython_collector.h"
#include "cpython_layout.h"
#include "cpython_load.h"
#include "cpython_memory.h"
#include "cpython_plan.h"
#include "cpython_session.h"
#include "cpython_settings.h"
#include "cpython_symbol.h"
#include "cpython_target.h"
#include "elf_code.h"
#include "elf_usdt.h"
#include "strangers.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_free);

static const char *const tiers[] = {
	"symbol", "debugfile", "usdt", "call-target", "watchpoint", NULL};

static const char *const commands[] = {"python3", "python", NULL};

static bool likely(const char *path)
{
	const char *base = strrchr(path, '/');

	return base && strstr(base, "python");
}

static bool match(const struct elf_file *file)
{
	struct elf_symbol symbol;

	return !elf_file_symbol(file, "_PyRuntime", true, &symbol) &&
	       !elf_file_symbol(file, "PyGC_Collect", true, &symbol);
}

/* Py_Version is exported from 3.11 on; before, which names are exported shows it. */
static int find_version(const struct elf_file *file, char *text, size_t size)
{
	struct elf_symbol symbol;
	uint64_t hex = 0;

	if (!elf_file_symbol(file, "Py_Version", true, &symbol) &&
		!elf_file_read(file, symbol.vaddr, &hex, sizeof(hex)) && hex >> 24 == 3) {
		snprintf(text, size, "3.%u.%u", (unsigned int)(hex >> 16 & 0xff),
			(unsigned int)(hex >> 8 & 0xff));
		return (int)(hex >> 16 & 0xff);
	}
	for (size_t i = 0; i < 3; i++) {
		static const struct {
			const char *name;
			int minor;
		} first[] = {{"PyGC_Enable", 10}, {"PyObject_GC_IsTracked", 9},
			{"PyCode_NewWithPosOnlyArgs", 8}};

		if (!elf_file_symbol(file, first[i].name, true, &symbol)) {
			snprintf(text, size, "3.%d", first[i].minor);
			return first[i].minor;
		}
	}
	snprintf(text, size, "3.7 or older");
	return 7;
}

struct collectors {
	const char *base;
	struct {
		uint64_t vaddr;
		enum cpython_abi abi;
		char name[64];
	} found[GC_MAX_SITES];
	size_t count;
};

static int note_collector(const struct elf_symbol *symbol, void *arg)
{
	struct collectors *all = arg;
	enum cpython_abi abi;

	if (!symbol->function)
		return 0;
	abi = cpython_abi(symbol->name, all->base);
	if (abi == ABI_NONE || all->count == ARRAY_SIZE(all->found))
		return 0;
	for (size_t i = 0; i < all->count; i++)
		if (all->found[i].vaddr == symbol->vaddr)
			return 0;
	all->found[all->count].vaddr = symbol->vaddr;
	all->found[all->count].abi = abi;
	snprintf(all->found[all->count++].name, sizeof(all->found->name), "%s", symbol->name);
	return 0;
}

/* tstate without an argument: through the runtime, by the version's own way. */
static void tstate_through_runtime(struct gc_layout *layout, int minor)
{
	layout->tstate_source = layout->free_threaded ? GC_TSTATE_THREADS
				: minor <= 11	      ? GC_TSTATE_CURRENT
						      : GC_TSTATE_INTERP_GIL;
	layout->reason_source = layout->free_threaded ? GC_REASON_NONE : GC_REASON_COUNTS;
}

static void tstate_by_argument(struct gc_layout *layout, int minor)
{
	layout->tstate_source = GC_TSTATE_ARG1;
	layout->reason_source = minor <= 12 ? GC_REASON_NOFAIL : GC_REASON_ARG3;
}

/* Whether PyGC_Collect() alone calls a copy of the collector, which passes _Py_GC_REASON_MANUAL from 3.13 on. */
static bool is_by_hand(const struct elf_file *file, uint64_t vaddr)
{
	uint64_t returns[8], start, end;
	size_t count = elf_code_callers(file, vaddr, returns, ARRAY_SIZE(returns));
	struct elf_symbol symbol;

	if (!count || count == ARRAY_SIZE(returns) ||
		elf_file_symbol(file, "PyGC_Collect", true, &symbol))
		return false;
	for (size_t i = 0; i < count; i++)
		if (elf_code_bounds(file, returns[i] - 1, &start, &end) || start != symbol.vaddr)
			return false;
	return true;
}

/* Sites at every collector whose symbol @symbols has; the code itself is in @file. */
static int plan_symbols(const struct elf_file *symbols, const struct elf_file *file, int minor,
	struct probe_plan *plan, struct err *err)
{
	struct collectors all = {.base = minor <= 9 ? "collect" : "gc_collect_main"};
	uint64_t collectors[GC_MAX_SITES];
	int r = 0;

	elf_file_symbols(symbols, true, note_collector, &all);
	if (!all.count && minor == 14) { /* 3.14.0 – 3.14.4: the incremental collector */
		all.base = "_PyGC_Collect";
		elf_file_symbols(symbols, true, note_collector, &all);
	}
	if (!all.count)
		return err_set(err, ENOENT, "no symbol %s", all.base);
	tstate_by_argument(&cpython_plan(plan)->layout, minor);
	for (size_t i = 0; !r && i < all.count; i++) {
		const bool clone = all.found[i].abi == ABI_CLONE || minor == 8;
		const bool apart = clone && cpython_plan(plan)->layout.free_threaded;
		const size_t begin = plan->site_count;

		if (clone && !apart)
			tstate_through_runtime(&cpython_plan(plan)->layout, minor);
		r = cpython_add_collector(symbols, file, all.found[i].vaddr, all.found[i].name,
			plan, err);
		collectors[i] = all.found[i].vaddr;
		if (!r && apart)
			plan->sites[begin].kind = is_by_hand(file, all.found[i].vaddr)
							  ? SITE_CLONE_MANUAL
							  : SITE_CLONE;
	}
	if (!r && minor <= 12)
		cpython_find_callers(file, collectors, all.count, &cpython_plan(plan)->layout);
	return r;
}

static int plan_debugfile(pid_t pid, const struct probe_image *image, const struct elf_file *file,
	int minor, struct probe_plan *plan, struct err *err)
{
	_cleanup_(cleanup_elf_file_free) struct elf_file *debug = NULL;
	int r = probe_open_debug(pid, &image->map, file, &debug, err);

	return r ? r : plan_symbols(debug, file, minor, plan, err);
}

static int add_usdt(const struct elf_file *file, const char *name, enum cpython_site kind,
	struct probe_plan *plan, struct err *err)
{
	struct elf_usdt sites[GC_MAX_SITES];
	size_t count = elf_usdt_find(file, "python", name, sites, ARRAY_SIZE(sites));

	if (!count)
		return err_set(err, ENOENT, "no USDT probe python:%s", name);
	for (size_t i = 0; i < count && i < ARRAY_SIZE(sites); i++) {
		struct probe_site site = {.kind = kind};

		if (plan->site_count == GC_MAX_SITES)
			return err_set(err, E2BIG, "more than %d USDT sites", GC_MAX_SITES);
		if (elf_file_offset(file, sites[i].vaddr, &site.offset) ||
			(sites[i].semaphore &&
				elf_file_offset(file, sites[i].semaphore, &site.semaphore)))
			return err_set(err, ENOENT, "python:%s lies outside the file", name);
		plan->single_stepped |= !elf_code_is_emulated(file, sites[i].vaddr);
		cpython_plan(plan)->layout.site_address[plan->site_count] = sites[i].vaddr;
		plan->sites[plan->site_count++] = site;
	}
	return 0;
}

static int plan_usdt(const struct elf_file *file, int minor, struct probe_plan *plan,
	struct err *err)
{
	int r = add_usdt(file, "gc__start", SITE_BEGIN, plan, err);

	if (!r)
		r = add_usdt(file, "gc__done", SITE_END, plan, err);
	if (r)
		return r;
	tstate_through_runtime(&cpython_plan(plan)->layout, minor);
	snprintf(plan->detail, sizeof(plan->detail), "python:gc__start, python:gc__done");
	return 0;
}

static int plan_call_target(const struct elf_file *file, int minor, struct probe_plan *plan,
	struct err *err)
{
	uint64_t vaddr;
	int r = cpython_find_target(file, minor, &vaddr, err);

	if (r)
		return r == -ENOTSUP ? -ENOENT : r;
	tstate_by_argument(&cpython_plan(plan)->layout, minor);
	if (minor <= 12)
		cpython_find_callers(file, &vaddr, 1, &cpython_plan(plan)->layout);
	return cpython_add_collector(file, file, vaddr, "the function that PyGC_Collect calls",
		plan, err);
}

/*
 * A watchpoint with a BPF program: arm64 kernels without a fix of 2023 ("hw_breakpoint: fix single-stepping when using
 * bpf_overflow_handler") do not step over the instruction that hits it, and the thread never gets past. None was tried.
 */
static int plan_watchpoint(pid_t pid, const struct probe_image *image, const struct elf_file *file,
	int minor, struct probe_plan *plan, struct err *err)
{
	struct gc_layout *layout = &cpython_plan(plan)->layout;
	uint64_t gc;

	if (elf_file_machine(file) != EM_X86_64)
		return err_set(err, ENOENT,
			"gctrace uses no watchpoint on arm64, where one can stop a thread for good: install "
			"CPython's debug symbols, or use a build with .symtab or USDT probes");
	layout->runtime_address += image->map.start - plan->page_vaddr;
	gc = cpython_main_gc(pid, layout->runtime_address, layout);
	if (!gc)
		return err_set(err, ENOENT,
			"no interpreter runs in process %d yet, or its memory cannot be read", pid);
	layout->site_address[plan->site_count] = gc + layout->gc_collecting;
	plan->sites[plan->site_count++] =
		(struct probe_site){.kind = SITE_WATCH, .address = gc + layout->gc_collecting};
	plan->per_process = true;
	tstate_through_runtime(layout, minor);
	layout->idle_source = cpython_enters_idle(minor) ? GC_IDLE_FLAGS : GC_IDLE_NONE;
	snprintf(plan->detail, sizeof(plan->detail),
		"writes to gc.collecting of the main interpreter, at %#" PRIx64,
		gc + layout->gc_collecting);
	return 0;
}

/* The programs at each site, and what they need to know of it. */
static void name_programs(struct probe_plan *plan)
{
	static const struct {
		const char *program, *end, *session;
		uint32_t wire;
	} kinds[] = {
		[SITE_FUNCTION] = {"on_collect_begin", "on_collect_end", "on_collect_session",
			GC_SITE_FUNCTION},
		[SITE_BEGIN] = {"on_collect_begin", .wire = GC_SITE_BEGIN},
		[SITE_END] = {"on_collect_end", .wire = GC_SITE_END},
		[SITE_PLACE] = {"on_collect_end", .wire = GC_SITE_PLACE},
		[SITE_WATCH] = {"on_collecting_write", .wire = GC_SITE_WATCH},
		[SITE_STOP] = {"on_world", .wire = GC_SITE_STOP},
		[SITE_STOPPED] = {"on_world", .wire = GC_SITE_STOPPED},
		[SITE_START] = {"on_world", .wire = GC_SITE_START},
		[SITE_CLONE] = {"on_collect_begin", .wire = GC_SITE_CLONE},
		[SITE_CLONE_MANUAL] = {"on_collect_begin", .wire = GC_SITE_CLONE_MANUAL},
	};

	for (size_t i = 0; i < plan->site_count; i++) {
		struct probe_site *site = &plan->sites[i];

		site->program = kinds[site->kind].program;
		site->end = kinds[site->kind].end;
		site->session = kinds[site->kind].session;
		site->cookie = GC_COOKIE_OF(kinds[site->kind].wire);
		site->ends = site->kind == SITE_END || site->kind == SITE_PLACE ||
			     (site->kind >= SITE_STOP && site->kind <= SITE_START);
	}
}

static int plan_tier(pid_t pid, const struct probe_image *image, const struct elf_file *file,
	const char *tier, int minor, struct probe_plan *ret, struct err *err)
{
	if (!strcmp(tier, "symbol"))
		return plan_symbols(file, file, minor, ret, err);
	if (!strcmp(tier, "debugfile"))
		return plan_debugfile(pid, image, file, minor, ret, err);
	if (!strcmp(tier, "usdt"))
		return plan_usdt(file, minor, ret, err);
	if (!strcmp(tier, "call-target"))
		return plan_call_target(file, minor, ret, err);
	return plan_watchpoint(pid, image, file, minor, ret, err);
}

static int plan(pid_t pid, const struct probe_image *image, const struct elf_file *file,
	const char *tier, struct probe_plan *ret, struct err *err)
{
	struct elf_symbol runtime;
	bool free_threaded;
	int minor, r;

	minor = find_version(file, ret->version, sizeof(ret->version));
	if (minor < CPYTHON_MINOR_FIRST || minor > CPYTHON_MINOR_LAST)
		return err_set(err, ENOTSUP,
			"%s is CPython %s, but this gctrace knows 3.%d to 3.%d only: %s",
			image->map.path, ret->version, CPYTHON_MINOR_FIRST, CPYTHON_MINOR_LAST,
			minor < CPYTHON_MINOR_FIRST ? "run the workload under a newer Python"
						    : "update gctrace");
	if (elf_file_symbol(file, "_PyRuntime", true, &runtime))
		return err_set(err, ENOENT, "no symbol _PyRuntime");
	if (probe_first_page(file, &image->map, &ret->page_vaddr))
		return err_set(err, ENOENT, "the load address of %s is unclear", image->map.path);
	cpython_layout(file, minor, &runtime, &cpython_plan(ret)->layout, &free_threaded);
	cpython_plan(ret)->minor = minor;
	if (free_threaded)
		strncat(ret->version, "t", sizeof(ret->version) - strlen(ret->version) - 1);
	if (cpython_fits(pid, image->map.start - ret->page_vaddr, ret) == -EPROTO)
		return err_set(err, ENOTSUP,
			"%s says that it is CPython %s, but in process %d its collector's state is not "
			"where that version keeps it: use a build as released, or report this",
			image->map.path, ret->version, pid);
	ret->site_count = 0;
	ret->detail[0] = '\0';
	r = plan_tier(pid, image, file, tier, minor, ret, err);
	name_programs(ret);
	return r;
}

/* Ordered, see runtime_ops.strangers. */
static const struct stranger strangers[] = {
	{"libpypy", NULL, "PyPy",
		"PYPYLOG=gc:FILE makes PyPy log its collections; under CPython the job can be traced"},
	{NULL, "pypy_main_startup", "PyPy",
		"PYPYLOG=gc:FILE makes PyPy log its collections; under CPython the job can be traced"},
	{NULL, "Py_InitModule4_64", "Python 2",
		"gc.set_debug(gc.DEBUG_STATS) prints its collections; under Python 3.8 or later the job "
		"can be traced"},
	{NULL, "PyGC_Collect", "a CPython older than 3.8",
		"gc.callbacks tells of its collections; under 3.8 or later the job can be traced"},
	NO_STRANGER,
};

const struct runtime_ops probe_cpython = {
	.kind = "cpython",
	.label = "CPython 3.8 to 3.15",
	.debug_package = "pythonX.Y-dbg",
	.commands = commands,
	.tiers = tiers,
	.likely = likely,
	.match = match,
	.plan = plan,
	.counters = cpython_counters,
	.books = cpython_books,
	.fits = cpython_fits,
	.strangers = strangers,
	.capture = &cpython_capture,
	.settings = &cpython_settings,
	.load = &cpython_load,
};
