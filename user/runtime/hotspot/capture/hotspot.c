/* HotSpot: where a libjvm can be probed. In: the file, or a process that maps it. Out: plans. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "elf_code.h"
#include "elf_usdt.h"
#include "hotspot_file.h"
#include "hotspot_kin.h"
#include "hotspot_process.h"
#include "hotspot_session.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_free);
DEFINE_CLEANUP(struct hotspot *, hotspot_free);

static const char *const tiers[] = {"symbol", "debugfile", "usdt", "watchpoint", NULL};

static const char *const commands[] = {"java", NULL};

/* JDK 9 and later; 8, of the jre's own java and of the jdk's. */
static const char *const beside[] = {"../lib/server/libjvm.so", "../lib/amd64/server/libjvm.so",
	"../jre/lib/amd64/server/libjvm.so", NULL};

static bool likely(const char *path)
{
	const char *base = strrchr(path, '/');

	return base && !strncmp(base, "/libjvm", 7);
}

static bool match(const struct elf_file *file)
{
	struct elf_symbol symbol;

	return !elf_file_symbol(file, "JNI_CreateJavaVM", false, &symbol) &&
	       !elf_file_symbol(file, "gHotSpotVMStructs", false, &symbol);
}

/*
 * The functions that are probed, best where several serve the same. Checked on Debian's 11, 17, 21, 25, 26,
 * 27 and Temurin 25. "*": how the name begins.
 */
static const struct function {
	const char *symbol;
	enum hotspot_site kind;
	uint32_t argument;
	bool needed;
} functions[] = {
	{"_ZN14RuntimeService20record_safepoint_endE*", SITE_SAFEPOINT_END, 0, true},
	{"_ZN14RuntimeService29record_safepoint_synchronizedE*", SITE_SAFEPOINT_SYNC, 0, false},
	{"_ZN20SafepointSynchronize5blockEP10JavaThread", SITE_SAFEPOINT_BLOCK, 0, false},
	{"_ZNK8GCTracer22report_gc_heap_summaryEN6GCWhen4TypeERK13GCHeapSummary", SITE_HEAP_SUMMARY,
		0, false},
	{"_ZN14ZPageAllocator16alloc_page_stallEP15ZPageAllocation", SITE_WAIT, GC_STALL_ALLOCATION,
		false},
	{"_ZN14XPageAllocator16alloc_page_stallEP15XPageAllocation", SITE_WAIT, GC_STALL_ALLOCATION,
		false}, /* 21: ZGC without generations */
	{"_ZN14ZPageAllocator19alloc_page_blockingEhm16ZAllocationFlags", SITE_WAIT,
		GC_STALL_ALLOCATION, false}, /* 11 */
	{"_ZN15ShenandoahPacer14pace_for_allocEm", SITE_WAIT, GC_STALL_PACING, false},
	{"_ZN8GCLocker17stall_until_clearEv", SITE_WAIT, GC_STALL_LOCKER, false}, /* 11 to 21 */
	{"_ZN8GCLocker5blockEv", SITE_WAIT, GC_STALL_LOCKER, false}, /* 25: the collector's */
	{"_ZN8GCLocker10enter_slowEP10JavaThread", SITE_WAIT, GC_STALL_LOCKER, false},
	{"_ZN17ConcurrentGCTimer28register_gc_concurrent_startE*", SITE_PHASE_BEGIN, 0, false},
	{"_ZN17ConcurrentGCTimer26register_gc_concurrent_endE*", SITE_PHASE_END, 0, false},
	{"_ZN14RuntimeService22record_safepoint_beginE*", SITE_SAFEPOINT_BEGIN, 0, true},
};

/* Variables of class SafepointTracing (17+), side by side in the file. */
static const char *const statics[HOTSPOT_STATICS] = {
	[HOTSPOT_TYPE] = "_ZN16SafepointTracing13_current_typeE",
	[HOTSPOT_BEGIN] = "_ZN16SafepointTracing29_last_safepoint_begin_time_nsE",
	[HOTSPOT_SYNC] = "_ZN16SafepointTracing28_last_safepoint_sync_time_nsE",
	[HOTSPOT_CLEANUP] = "_ZN16SafepointTracing31_last_safepoint_cleanup_time_nsE",
	[HOTSPOT_LEAVE] = "_ZN16SafepointTracing29_last_safepoint_leave_time_nsE",
	[HOTSPOT_END] = "_ZN16SafepointTracing27_last_safepoint_end_time_nsE",
};

struct findings {
	uint64_t functions[ARRAY_SIZE(functions)], statics[HOTSPOT_STATICS], operation_names;
	bool arguments; /* record_safepoint_end(long) */
};

static bool is_named(const char *name, const char *wanted)
{
	size_t len = strlen(wanted);

	return wanted[len - 1] == '*' ? !strncmp(name, wanted, len - 1) : !strcmp(name, wanted);
}

static int note_symbol(const struct elf_symbol *symbol, void *arg)
{
	struct findings *found = arg;

	if (strncmp(symbol->name, "_ZN", 3))
		return 0;
	for (size_t i = 0; symbol->function && i < ARRAY_SIZE(functions); i++)
		if (!found->functions[i] && is_named(symbol->name, functions[i].symbol)) {
			found->functions[i] = symbol->vaddr;
			if (functions[i].kind == SITE_SAFEPOINT_END)
				found->arguments = is_named(symbol->name,
					"_ZN14RuntimeService20record_safepoint_endEl*");
			return 0;
		}
	for (size_t i = 0; !symbol->function && i < HOTSPOT_STATICS; i++)
		if (!strcmp(symbol->name, statics[i]))
			found->statics[i] = symbol->vaddr;
	if (!strcmp(symbol->name, "_ZN12VM_Operation6_namesE"))
		found->operation_names = symbol->vaddr;
	return 0;
}

/* One window over all of the statics, if they lie as close as they do in every build seen. */
static void find_window(const struct findings *found, struct hotspot_file *ret)
{
	uint64_t first = UINT64_MAX, last = 0;

	memset(ret->at, 0xff, sizeof(ret->at));
	for (size_t i = 0; i < HOTSPOT_STATICS; i++) {
		if (!found->statics[i])
			continue;
		first = found->statics[i] < first ? found->statics[i] : first;
		last = found->statics[i] > last ? found->statics[i] : last;
	}
	if (!found->statics[HOTSPOT_BEGIN] || !found->statics[HOTSPOT_SYNC] ||
		!found->statics[HOTSPOT_END] || last + 8 - first > GC_STATICS_BYTES)
		return;
	ret->statics = first;
	ret->statics_bytes = (uint32_t)(last + 8 - first);
	for (size_t i = 0; i < HOTSPOT_STATICS; i++)
		if (found->statics[i])
			ret->at[i] = (uint8_t)(found->statics[i] - first);
}

static void describe(struct probe_plan *plan, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void describe(struct probe_plan *plan, const char *format, ...)
{
	size_t used = strlen(plan->detail);
	va_list args;

	va_start(args, format);
	vsnprintf(plan->detail + used, sizeof(plan->detail) - used, format, args);
	va_end(args);
}

static struct probe_site *add_site(struct probe_plan *plan, const struct elf_file *file,
	enum hotspot_site kind, uint64_t vaddr)
{
	struct probe_site *site = &plan->sites[plan->site_count];

	if (plan->site_count == GC_MAX_SITES)
		return NULL;
	*site = (struct probe_site){.kind = kind};
	if (elf_file_offset(file, vaddr, &site->offset))
		return NULL;
	hotspot_file(plan)->site_address[plan->site_count++] = vaddr;
	return site;
}

/* A cheap place in the function at @vaddr; at the entry itself where its return is probed. */
static struct probe_site *add_function(struct probe_plan *plan, const struct elf_file *file,
	enum hotspot_site kind, uint64_t vaddr, enum elf_step *ret_step)
{
	uint64_t place;

	if (elf_code_probe_site(file, vaddr, &place, ret_step))
		return NULL;
	return add_site(plan, file, kind, place);
}

/* Every call of System.gc(): exported by every build. */
static void add_explicit(struct probe_plan *plan, const struct elf_file *file)
{
	struct elf_symbol symbol;
	struct probe_site *site;
	enum elf_step step;

	if (elf_file_symbol(file, "JVM_GC", false, &symbol))
		return;
	site = add_function(plan, file, SITE_WAIT, symbol.vaddr, &step);
	if (!site)
		return;
	site->cookie = GC_COOKIE_OF(GC_STALL_EXPLICIT);
	site->optional = true;
}

static int add_functions(const struct elf_file *file, const struct findings *found,
	struct probe_plan *plan, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		const struct function *function = &functions[i];
		struct probe_site *site;
		enum elf_step step;

		if (!found->functions[i])
			continue;
		site = add_function(plan, file, function->kind, found->functions[i], &step);
		if (!site && function->needed)
			return err_set(err, ENOENT, "%s lies outside the file's code",
				function->symbol);
		if (!site)
			continue;
		site->cookie = GC_COOKIE_OF(function->argument);
		site->optional = !function->needed;
		/* Before 17 the times come from the counters, which are moved within. */
		site->at_return = function->kind == SITE_SAFEPOINT_END && !found->arguments;
		/* The others are hit too rarely to matter, or sit on a push in every build. */
		if (function->needed || function->kind == SITE_SAFEPOINT_SYNC)
			plan->single_stepped |= step == ELF_STEP_SINGLE;
	}
	return 0;
}

/* "record_safepoint_begin+0 (nop), _synchronized+10 (je), _end+0 (nop)" */
static void describe_functions(const struct elf_file *file, const struct findings *found,
	struct probe_plan *plan)
{
	static const struct {
		enum hotspot_site kind;
		const char *name;
	} shown[] = {{SITE_SAFEPOINT_BEGIN, "record_safepoint_begin"},
		{SITE_SAFEPOINT_SYNC, ", _synchronized"}, {SITE_SAFEPOINT_END, ", _end"}};
	char mnemonic[16];

	for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
		for (size_t j = 0; j < plan->site_count; j++) {
			uint64_t place = hotspot_file(plan)->site_address[j], entry = place;

			if (plan->sites[j].kind != shown[i].kind)
				continue;
			for (size_t k = 0; k < ARRAY_SIZE(functions); k++)
				if (functions[k].kind == shown[i].kind)
					entry = found->functions[k];
			describe(plan, "%s+%" PRIu64 " (%s)", shown[i].name, place - entry,
				elf_code_mnemonic(file, place, mnemonic, sizeof(mnemonic)));
		}
}

/* @symbols: the file itself or its debug file. */
static int plan_symbols(const struct elf_file *symbols, const struct elf_file *file,
	struct probe_plan *plan, struct err *err)
{
	struct findings found = {};
	int r;

	elf_file_symbols(symbols, true, note_symbol, &found);
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (functions[i].needed && !found.functions[i])
			return err_set(err, ENOENT, "no symbol %.*s",
				(int)strcspn(functions[i].symbol, "*"), functions[i].symbol);
	find_window(&found, hotspot_file(plan));
	hotspot_file(plan)->operation_names = found.operation_names;
	hotspot_file(plan)->arguments = found.arguments;
	add_explicit(plan, file);
	r = add_functions(file, &found, plan, err);
	if (!r)
		describe_functions(file, &found, plan);
	return r;
}

static int plan_debugfile(pid_t pid, const struct probe_image *image, const struct elf_file *file,
	struct probe_plan *plan, struct err *err)
{
	_cleanup_(cleanup_elf_file_free) struct elf_file *debug = NULL;
	int r = probe_open_debug(pid, &image->map, file, &debug, err);

	return r ? r : plan_symbols(debug, file, plan, err);
}

/* Adds each site of a USDT probe. Returns how many. */
static size_t add_usdt(const struct elf_file *file, const char *provider, const char *name,
	enum hotspot_site kind, struct probe_plan *plan)
{
	struct elf_usdt found[4];
	size_t count = elf_usdt_find(file, provider, name, found, ARRAY_SIZE(found)), added = 0;

	for (size_t i = 0; i < count && i < ARRAY_SIZE(found); i++) {
		uint32_t registers = 0;
		struct probe_site *site;

		if ((kind == SITE_VM_REQUEST || kind == SITE_VM_BEGIN) &&
			hotspot_vmop_registers(found[i].args, &registers))
			continue;
		site = add_site(plan, file, kind, found[i].vaddr);
		if (!site)
			continue;
		site->cookie = GC_VM_COOKIE(registers);
		site->optional = kind != SITE_SAFEPOINT_BEGIN && kind != SITE_SAFEPOINT_END;
		added++;
	}
	return added;
}

/*
 * The sites are at the entries of record_safepoint_begin(long) and _end(long), which then hold
 * nanoseconds. A build whose sites are elsewhere (11) is not planned by this tier.
 */
static int plan_usdt(const struct elf_file *file, struct probe_plan *plan, struct err *err)
{
	struct elf_usdt begin;
	uint64_t start, end;

	memset(hotspot_file(plan)->at, 0xff, sizeof(hotspot_file(plan)->at));
	if (!elf_usdt_find(file, "hs_private", "safepoint__begin", &begin, 1))
		return err_set(err, ENOENT, "no USDT probe hs_private:safepoint__begin");
	if (elf_code_bounds(file, begin.vaddr, &start, &end) || begin.vaddr - start > 4)
		return err_set(err, ENOENT,
			"the USDT probes lie inside of their functions (JDK 11)");
	add_explicit(plan, file);
	if (!add_usdt(file, "hs_private", "safepoint__end", SITE_SAFEPOINT_END, plan))
		return err_set(err, ENOENT, "no USDT probe hs_private:safepoint__end");
	add_usdt(file, "hotspot", "vmops__request", SITE_VM_REQUEST, plan);
	add_usdt(file, "hotspot", "vmops__begin", SITE_VM_BEGIN, plan);
	add_usdt(file, "hs_private", "safepoint__begin", SITE_SAFEPOINT_BEGIN, plan);
	hotspot_file(plan)->arguments = true;
	describe(plan, "hs_private:safepoint__begin, _end, hotspot:vmops__request, __begin");
	return 0;
}

/* The VM Thread's writes to three counters. */
static int plan_watchpoint(pid_t pid, const struct probe_image *image, const struct elf_file *file,
	struct probe_plan *plan, struct err *err)
{
	uint64_t addresses[3];
	int r;

	memset(hotspot_file(plan)->at, 0xff, sizeof(hotspot_file(plan)->at));
	r = hotspot_counter_addresses(pid, image, plan, addresses, err);
	if (r)
		return r;
	add_explicit(plan, file);
	for (uint32_t i = 3; i--;) {
		if (plan->site_count == GC_MAX_SITES)
			return err_set(err, E2BIG, "more than %d probes", GC_MAX_SITES);
		plan->sites[plan->site_count++] = (struct probe_site){.kind = SITE_PERF_WATCH,
			.address = addresses[i],
			.cookie = GC_COOKIE_OF(GC_PERF_BEGIN + i)};
	}
	plan->per_process = true;
	describe(plan,
		"writes of the VM Thread to sun.rt.safepoints, .safepointSyncTime, .safepointTime");
	return 0;
}

/* The programs at each site. */
static void name_programs(struct probe_plan *plan)
{
	static const char *const programs[] = {
		[SITE_SAFEPOINT_BEGIN] = "on_safepoint_begin",
		[SITE_SAFEPOINT_SYNC] = "on_safepoint_sync",
		[SITE_SAFEPOINT_END] = "on_safepoint_end",
		[SITE_SAFEPOINT_BLOCK] = "on_safepoint_block",
		[SITE_HEAP_SUMMARY] = "on_heap_summary",
		[SITE_VM_REQUEST] = "on_vm_request",
		[SITE_VM_BEGIN] = "on_vm_begin",
		[SITE_WAIT] = "on_wait_begin",
		[SITE_PHASE_BEGIN] = "on_phase_begin",
		[SITE_PHASE_END] = "on_phase_end",
		[SITE_PERF_WATCH] = "on_perf_write",
	};

	for (size_t i = 0; i < plan->site_count; i++) {
		struct probe_site *site = &plan->sites[i];

		site->program = programs[site->kind];
		if (site->kind == SITE_WAIT) {
			site->end = "on_wait_end";
			site->session = "on_wait_session";
		}
		site->ends = site->kind == SITE_SAFEPOINT_END;
	}
}

static int plan_tier(pid_t pid, const struct probe_image *image, const struct elf_file *file,
	const char *tier, struct probe_plan *ret, struct err *err)
{
	if (!strcmp(tier, "symbol"))
		return plan_symbols(file, file, ret, err);
	if (!strcmp(tier, "debugfile"))
		return plan_debugfile(pid, image, file, ret, err);
	if (!strcmp(tier, "usdt"))
		return plan_usdt(file, ret, err);
	return plan_watchpoint(pid, image, file, ret, err);
}

static int plan(pid_t pid, const struct probe_image *image, const struct elf_file *file,
	const char *tier, struct probe_plan *ret, struct err *err)
{
	int r;

	ret->site_count = 0;
	ret->detail[0] = '\0';
	*hotspot_file(ret) = (struct hotspot_file){};
	if (probe_first_page(file, &image->map, &ret->page_vaddr))
		return err_set(err, ENOENT, "the load address of %s is unclear", image->map.path);
	r = plan_tier(pid, image, file, tier, ret, err);
	name_programs(ret);
	return r;
}

static void describe_process(pid_t pid, const struct probe_image *image,
	const struct probe_plan *plan, char *ret, size_t size, char *ret_lacks, size_t lacks_size)
{
	_cleanup_(cleanup_hotspot_free) struct hotspot *hotspot = NULL;
	const char *collector = NULL;
	struct err err = {};
	int r = hotspot_open(pid, &image->map, plan, &hotspot, &err);

	if (!r)
		r = hotspot_learn(hotspot, &err);
	snprintf(ret_lacks, lacks_size, "%s", r ? err.text : hotspot_plan(hotspot)->lacks);
	if (!hotspot || !hotspot_jvm(hotspot)) {
		snprintf(ret, size, "of an unknown version");
		return;
	}
	collector = jvm_collector(hotspot_jvm(hotspot));
	snprintf(ret, size, "%s%s%s%s", jvm_version(hotspot_jvm(hotspot)), collector ? " (" : "",
		collector ? collector : "", collector ? ")" : "");
}

const struct runtime_ops probe_hotspot = {
	.kind = "hotspot",
	.label = "HotSpot (JDK 8 to 27)",
	.debug_package = "openjdk-NN-dbg",
	.commands = commands,
	.beside = beside,
	.tiers = tiers,
	.likely = likely,
	.match = match,
	.plan = plan,
	.counters = hotspot_counters,
	.describe = describe_process,
	.strangers = hotspot_strangers,
	.beside_it = hotspot_finds_image,
	.capture = &hotspot_capture,
	.no_load = "the JDK's own tool can, by jcmd PID JVMTI.agent_load and the shim's path",
	.no_settings =
		"a JVM takes its collector's options when it starts: record a run with and one without the "
		"other options, and compare them with gctrace diff",
};
