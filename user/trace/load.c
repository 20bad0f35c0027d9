/* The BPF programs → loaded, in parts, as this kernel can probe with them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cleanup.h"
#include "kernel.h"
#include "log.h"
#include "trace_priv.h"

DEFINE_CLEANUP(struct gctrace_bpf *, gctrace_bpf__destroy);

/* With sessions one program serves both ends of a function, else each has its own. */
enum program_use { USE_ALWAYS, USE_SESSION, USE_PAIR, USE_STEPS };

static const struct program {
	const char *name;
	enum trace_part part;
	enum program_use use;
} programs[] = {
	{"on_fork", PART_FIRST, USE_ALWAYS},
	{"on_exec", PART_FIRST, USE_ALWAYS},
	{"on_exit", PART_FIRST, USE_ALWAYS},
	{"on_maps_changed", PART_FIRST, USE_ALWAYS},
	{"on_step", PART_FIRST, USE_STEPS},
	{"on_collect_session", PART_FIRST, USE_SESSION},
	{"on_collect_begin", PART_FIRST, USE_ALWAYS},
	{"on_collect_end", PART_FIRST, USE_ALWAYS},
	{"on_collecting_write", PART_WATCH, USE_ALWAYS},
	{"on_perf_write", PART_JVM_WATCH, USE_ALWAYS},
	{"on_wait_session", PART_JVM, USE_SESSION},
	{"on_wait_begin", PART_JVM, USE_PAIR},
	{"on_wait_end", PART_JVM, USE_PAIR},
	{"on_safepoint_begin", PART_JVM, USE_ALWAYS},
	{"on_safepoint_sync", PART_JVM, USE_ALWAYS},
	{"on_safepoint_end", PART_JVM, USE_ALWAYS},
	{"on_safepoint_block", PART_JVM, USE_ALWAYS},
	{"on_heap_summary", PART_JVM, USE_ALWAYS},
	{"on_vm_request", PART_JVM, USE_ALWAYS},
	{"on_vm_begin", PART_JVM, USE_ALWAYS},
	{"on_phase_begin", PART_JVM, USE_ALWAYS},
	{"on_phase_end", PART_JVM, USE_ALWAYS},
};

static const struct program *find_program(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		if (!strcmp(programs[i].name, name))
			return &programs[i];
	return NULL;
}

static bool is_used(const struct program *program, const struct trace_options *options,
	enum uprobe_way way)
{
	switch (program->use) {
	case USE_SESSION:
		return way == UPROBE_SESSION;
	case USE_PAIR:
		return way != UPROBE_SESSION;
	case USE_STEPS:
		return options->steps || options->step_probe;
	default:
		return true;
	}
}

static void choose_programs(struct gctrace_bpf *bpf, const struct trace_options *options,
	enum trace_part part, enum uprobe_way way)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, bpf->obj) {
		const struct program *known = find_program(bpf_program__name(program));
		bool load = known && known->part == part && is_used(known, options, way);

		bpf_program__set_autoload(program, load);
		if (load)
			uprobe_prepare(program, way, known->use == USE_SESSION);
	}
}

static uint64_t power_of_two(uint64_t bytes)
{
	uint64_t power = 4096;

	while (power < bytes && power < 1ull << 30)
		power *= 2;
	return power;
}

#define REFUSED_LOOKUPS 97 /* of so many one fails, with REFUSE_STATES */

static void configure(struct gctrace_bpf *bpf, const struct trace_options *options,
	unsigned int refused)
{
	bpf->rodata->min_stack_ns = options->min_stack_ns;
	bpf->rodata->wakeup_bytes = (uint32_t)(power_of_two(options->buffer_bytes) / 4);
	bpf->rodata->follow_children = options->children;
	bpf->rodata->pid_namespace = trace_pid_namespace();
	bpf->rodata->refuse_state = refused & REFUSE_STATES ? REFUSED_LOOKUPS : 0;
	bpf_map__set_max_entries(bpf->maps.events, (uint32_t)power_of_two(options->buffer_bytes));
}

/* Makes every map of @bpf, but for its constants, the session's own. */
static int share_maps(struct gctrace_bpf *bpf, const struct gctrace_bpf *with)
{
	struct bpf_map *map;
	int r = 0;

	bpf_object__for_each_map(map, bpf->obj) {
		const struct bpf_map *other;

		if (r || bpf_map__is_internal(map))
			continue;
		other = bpf_object__find_map_by_name(with->obj, bpf_map__name(map));
		r = other ? bpf_map__reuse_fd(map, bpf_map__fd(other)) : -ENOENT;
	}
	return r;
}

/* @with: whose maps it works on; NULL: its own. */
static int load(const struct trace_options *options, enum trace_part part, enum uprobe_way way,
	unsigned int refused, const struct gctrace_bpf *with, struct gctrace_bpf **ret)
{
	_cleanup_(cleanup_gctrace_bpf__destroy) struct gctrace_bpf *bpf = gctrace_bpf__open();
	int r = bpf ? 0 : -errno;

	if (r)
		return r;
	choose_programs(bpf, options, part, way);
	configure(bpf, options, refused);
	if (with)
		r = share_maps(bpf, with);
	if (!r)
		r = gctrace_bpf__load(bpf);
	if (!r)
		*ret = steal_ptr(bpf);
	return r;
}

/* The best way of which the kernel takes the programs: what it has it may yet not do. */
static int load_first(struct trace *trace)
{
	int r = -ENOTSUP;

	for (trace->way = uprobe_best_way(trace->refused); trace->way <= UPROBE_PERF; trace->way++) {
		r = load(&trace->options, PART_FIRST, trace->way, trace->refused, NULL, &trace->bpf);
		if (!r || r == -EPERM || r == -ENOMEM)
			return r;
		log_debug("no programs for %s: %s", uprobe_way_name(trace->way), strerror(-r));
	}
	return r;
}

int trace_load_programs(struct trace *trace, struct err *err)
{
	int r = trace_parse_refusals(&trace->refused, err);

	if (!r)
		r = kernel_allows(err);
	if (!r)
		r = trace_check_limits(err);
	if (r)
		return r;
	trace_quiet_libbpf();
	r = load_first(trace);
	return r ? trace_explain_refusal(r, err) : 0;
}

int trace_load(struct trace *trace, struct err *err)
{
	int r = trace_load_programs(trace, err);
	void *shared;

	if (r)
		return r;
	r = gctrace_bpf__attach(trace->bpf);
	if (r)
		return err_set(err, -r, "the kernel's scheduler tracepoints cannot be followed: %s",
			strerror(-r));
	shared = mmap(NULL, sizeof(struct shared_page), PROT_READ | PROT_WRITE, MAP_SHARED,
		bpf_map__fd(trace->bpf->maps.shared_map), 0);
	if (shared == MAP_FAILED)
		return err_set(err, errno, "the shared BPF map cannot be mapped: %s", strerror(errno));
	trace->shared = shared;
	r = trace_steps_open(trace, err);
	if (r)
		return r;
	trace->ring = ring_buffer__new(bpf_map__fd(trace->bpf->maps.events), trace_on_ring, trace,
		NULL);
	if (!trace->ring)
		return err_set(err, errno,
			"the ring buffer of %llu bytes cannot be mapped: %s; choose a smaller --buffer",
			(unsigned long long)trace->options.buffer_bytes, strerror(errno));
	return trace_wake_open(trace, err);
}

int trace_load_part(struct trace *trace, enum trace_part part, struct err *err)
{
	struct gctrace_bpf **slot = part == PART_WATCH ? &trace->watch
		: part == PART_JVM ? &trace->jvm : &trace->jvm_watch;
	int r = *slot ? 0 : load(&trace->options, part, trace->way, trace->refused, trace->bpf, slot);

	return r ? trace_explain_refusal(r, err) : 0;
}
