/* Julia: where a file that holds its collector can be probed. In: the file, or a process that maps it. Out: plans. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "clock.h"
#include "elf_code.h"
#include "elf_usdt.h"
#include "julia_code.h"
#include "julia_plan.h"
#include "julia_session.h"
#include "mem.h"

extern const struct runtime_ops probe_julia;

#define GC_NUM_TOTAL_TIME                                                                          \
	64 /* the offset of the field that jl_gc_total_hrtime() returns, in every version */

static const char *const tiers[] = {"symbol", "usdt", NULL};

static const char *const commands[] = {"julia", NULL};

/* Since 1.6 the collector is in a library of its own, which the launcher loads. */
static const char *const beside[] = {"../lib/julia/libjulia-internal.so.1", NULL};

/* libjulia.so.1 (to 1.5), libjulia-internal.so.1.13: with a prefix of its own where juliac salted it. */
static bool likely(const char *path)
{
	const char *base = strrchr(path, '/');

	return base && strstr(base, "libjulia");
}

/* A libjulia since 1.6 has the same names, of jumps to the library that has them. */
static bool match(const struct elf_file *file)
{
	return julia_code_holds(file);
}

/* Its collector is MMTk's: a library that it is linked with. */
static bool maps_mmtk(pid_t pid)
{
	struct proc_maps maps = {};
	bool found = false;

	if (pid && !proc_maps_read(pid, &maps))
		for (size_t i = 0; !found && i < maps.maps.count; i++)
			found = maps.maps.items[i].path &&
				strstr(maps.maps.items[i].path, "libmmtk_julia");
	proc_maps_release(&maps);
	return found;
}

static void say(struct probe_plan *plan, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void say(struct probe_plan *plan, const char *format, ...)
{
	size_t used = strlen(plan->detail);
	va_list args;

	va_start(args, format);
	vsnprintf(plan->detail + used, sizeof(plan->detail) - used, format, args);
	va_end(args);
}

static int add_site(struct probe_plan *plan, const struct elf_file *file, enum julia_site kind,
	uint64_t vaddr, struct err *err)
{
	static const char *const programs[] = {
		[SITE_OVER] = "on_julia_over",
		[SITE_FINALIZE] = "on_julia_finalize",
		[SITE_COLLECTED] = "on_julia_collected",
		[SITE_MARKED] = "on_julia_marked",
		[SITE_STOPPED] = "on_julia_stopped",
		[SITE_CALL] = "on_julia_call",
	};
	struct probe_site *site = &plan->sites[plan->site_count];

	if (plan->site_count == GC_MAX_SITES)
		return err_set(err, E2BIG, "more than %d probes", GC_MAX_SITES);
	*site = (struct probe_site){
		.kind = kind,
		.program = programs[kind],
		.ends = kind == SITE_OVER,
		.optional = kind == SITE_MARKED || kind == SITE_FINALIZE,
	};
	if (elf_file_offset(file, vaddr, &site->offset))
		return err_set(err, ENOENT, "%#" PRIx64 " lies outside the file's code", vaddr);
	julia_plan(plan)->told.site_address[plan->site_count++] = vaddr;
	return 0;
}

static int add_call(const struct elf_file *file, const struct julia_code *code,
	struct probe_plan *plan, struct err *err)
{
	enum elf_step step;
	char mnemonic[16];
	uint64_t place;

	if (elf_code_probe_site(file, code->entry, &place, &step))
		return err_set(err, ENOENT, "%s lies outside the file's code", code->name);
	plan->single_stepped = step == ELF_STEP_SINGLE;
	say(plan, "%s+%" PRIu64 " (%s)", code->name, place - code->entry,
		elf_code_mnemonic(file, place, mnemonic, sizeof(mnemonic)));
	return add_site(plan, file, SITE_CALL, place, err);
}

/* What comes after @from, where all threads stand still. */
static int add_ends(const struct elf_file *file, uint64_t from, struct julia_code *code,
	struct probe_plan *plan, struct err *err)
{
	int r = julia_code_ends(file, from, code, err);

	for (size_t i = 0; !r && i < code->end_count; i++) {
		r = add_site(plan, file, SITE_OVER, code->ends[i].vaddr, err);
		if (!r)
			plan->sites[plan->site_count - 1].cookie = GC_COOKIE_OF(code->ends[i].when);
	}
	if (!r && code->finalize)
		r = add_site(plan, file, SITE_FINALIZE, code->finalize, err);
	return r;
}

static int add_places(const struct elf_file *file, enum julia_site kind, const uint64_t *places,
	size_t count, struct probe_plan *plan, struct err *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < count; i++)
		r = add_site(plan, file, kind, places[i], err);
	return r;
}

/* The moments around the collection, by where it is called from. */
static int plan_symbol(const struct elf_file *file, struct julia_code *code,
	struct probe_plan *plan, struct err *err)
{
	int r = julia_code_runs(file, code, err);
	uint64_t marked;

	if (!r)
		r = add_ends(file, code->runs[0], code, plan, err);
	if (!r)
		r = add_places(file, SITE_COLLECTED, code->collected, code->run_count, plan, err);
	if (!r &&
		(!julia_plan(plan)->books ||
			!julia_plan(plan)->books->fields[GC_JULIA_TOTAL_MARK]) &&
		!julia_code_marked(file, code->collector, &marked))
		r = add_site(plan, file, SITE_MARKED, marked, err);
	return r ? r : add_places(file, SITE_STOPPED, code->runs, code->run_count, plan, err);
}

static int add_notes(const struct elf_file *file, enum julia_site kind,
	const struct elf_usdt *notes, size_t count, struct probe_plan *plan, struct err *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < count; i++) {
		r = add_site(plan, file, kind, notes[i].vaddr, err);
		if (!r && notes[i].semaphore)
			r = elf_file_offset(file, notes[i].semaphore,
				&plan->sites[plan->site_count - 1].semaphore);
	}
	return r;
}

/* The same by its USDT probes, which only builds WITH_DTRACE have. */
static int plan_usdt(const struct elf_file *file, struct julia_code *code, struct probe_plan *plan,
	struct err *err)
{
	struct elf_usdt stopped[JULIA_RUNS], collected[JULIA_RUNS];
	size_t stops = elf_usdt_find(file, "julia", "gc__stop_the_world", stopped, JULIA_RUNS);
	size_t ends = elf_usdt_find(file, "julia", "gc__end", collected, JULIA_RUNS);
	int r;

	if (!stops || stops > JULIA_RUNS || !ends || ends > JULIA_RUNS)
		return err_set(err, ENOENT,
			"no USDT probes julia:gc__stop_the_world and julia:gc__end: use a Julia "
			"built WITH_DTRACE, or one as from julialang.org");
	r = add_ends(file, stopped[0].vaddr, code, plan, err);
	if (!r)
		r = add_notes(file, SITE_COLLECTED, collected, ends, plan, err);
	return r ? r : add_notes(file, SITE_STOPPED, stopped, stops, plan, err);
}

/* What the code says of the two variables, and by the version what lies where in them. */
static void find_books(const struct elf_file *file, const struct julia_version *version,
	struct probe_plan *plan)
{
	struct julia_plan *own = julia_plan(plan);
	uint64_t total_time, live_bytes, disabled;

	own->books = julia_layout(version);
	if (own->books && !julia_code_variable(file, "jl_gc_total_hrtime", false, &total_time))
		own->told.gc_num = total_time - own->books->fields[GC_JULIA_TOTAL_TIME];
	else
		own->books = NULL;
	if (own->books)
		memcpy(own->told.fields, own->books->fields, sizeof(own->books->fields));
	if (!julia_code_variable(file, "jl_gc_live_bytes", false, &live_bytes))
		own->told.live_bytes = live_bytes;
	if (!julia_code_disabled(file, &disabled))
		own->told.disabled = disabled;
}

int julia_read_books(pid_t pid, uint64_t bias, const struct probe_plan *plan,
	struct julia_books *ret)
{
	const struct julia_plan *own = julia_plan(plan);
	uint8_t bytes[GC_JULIA_NUM];
	int r = own->books ? mem_read(pid, bias + own->told.gc_num, bytes, sizeof(bytes))
			   : -ENOTSUP;

	if (r)
		return r;
	if (!julia_books_fit(own->books, bytes, now_ns()))
		return -EPROTO;
	julia_books_of(own->books, bytes, ret);
	return 0;
}

/* The process may disagree: then the times that the probes see are all there is. */
static void check_books(pid_t pid, const struct probe_image *image, struct probe_plan *plan)
{
	struct julia_plan *own = julia_plan(plan);
	uint64_t bias = image->map.start - plan->page_vaddr;
	struct julia_books books;

	if (own->books && pid && julia_read_books(pid, bias, plan, &books) == -EPROTO) {
		own->books = NULL;
		own->told.gc_num = 0;
	}
	if (!own->books)
		say(plan, "; gc_num is not understood: times only");
}

static int plan(pid_t pid, const struct probe_image *image, const struct elf_file *file,
	const char *tier, struct probe_plan *ret, struct err *err)
{
	struct julia_version version = {};
	struct julia_code code = {};
	int r;

	ret->site_count = 0;
	ret->detail[0] = '\0';
	*julia_plan(ret) = (struct julia_plan){};
	if (probe_first_page(file, &image->map, &ret->page_vaddr))
		return err_set(err, ENOENT, "the load address of %s is unclear", image->map.path);
	if (!julia_code_version(file, &version))
		snprintf(ret->version, sizeof(ret->version), "%d.%d.%d", version.major,
			version.minor, version.patch);
	find_books(file, &version, ret);
	if (julia_code_is_mmtk(file) || maps_mmtk(pid))
		return err_set(err, ENOTSUP,
			"%s is of a Julia whose collector is MMTk, which gctrace does not trace: "
			"under a Julia with its stock collector, as from julialang.org, the job can be "
			"traced",
			image->map.path);
	if (!julia_code_entry(file, &code))
		return err_set(err, ENOENT,
			"nothing says where the collector begins and ends: use a Julia as from "
			"julialang.org, which keeps its .eh_frame");
	r = strcmp(tier, "usdt") ? plan_symbol(file, &code, ret, err)
				 : plan_usdt(file, &code, ret, err);
	if (!r)
		r = add_call(file, &code, ret, err);
	if (!r)
		check_books(pid, image, ret);
	return r;
}

static int books(pid_t pid, uint64_t bias, const struct probe_plan *plan, struct probe_books *ret)
{
	struct julia_books books;
	int r = julia_read_books(pid, bias, plan, &books);

	if (!r)
		*ret = (struct probe_books){.counts = {books.pauses}};
	return r;
}

const struct runtime_ops probe_julia = {
	.kind = "julia",
	.label = "Julia 1.5 – 1.13",
	.commands = commands,
	.beside = beside,
	.tiers = tiers,
	.likely = likely,
	.match = match,
	.plan = plan,
	.counters = julia_counters,
	.books = books,
	.capture = &julia_capture,
	.no_settings =
		"Julia sizes its heap by what it was started with (--heap-size-hint): record a run with and one "
		"without, and compare them with gctrace diff",
};
