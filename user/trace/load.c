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

/* Those of no runtime. */
static const char *const general[] = {
	"on_fork", "on_exec", "on_exit", "on_maps_changed", "on_step"};

static const struct capture_program *find_program(const struct capture_ops *ops, const char *name)
{
	for (const struct capture_program *program = ops->programs; program->name; program++)
		if (!strcmp(program->name, name))
			return program;
	return NULL;
}

/* @ops NULL: with the first programs, those of all runtimes and of none. */
static const struct capture_program *choose(const char *name, const struct capture_ops *ops,
	unsigned int part)
{
	static const struct capture_program own = {.use = USE_ALWAYS};
	const struct capture_program *found = ops ? find_program(ops, name) : NULL;

	for (size_t i = 0; !ops && i < ARRAY_SIZE(general); i++)
		if (!strcmp(name, general[i]))
			return &own;
	for (size_t i = 0; !ops && !found && probe_runtimes[i]; i++)
		found = find_program(probe_runtimes[i]->capture, name);
	return found && found->part == part ? found : NULL;
}

static bool is_used(const struct capture_program *program, const char *name,
	const struct trace_options *options, enum uprobe_way way)
{
	if (!strcmp(name, "on_step"))
		return options->steps || options->step_wish;
	if (program->use == USE_SESSION)
		return way == UPROBE_SESSION;
	return program->use != USE_PAIR || way != UPROBE_SESSION;
}

/* What is to be loaded together. */
struct selection {
	const struct capture_ops *ops; /* NULL: the first programs */
	unsigned int part;
	const struct gctrace_bpf *with; /* whose maps they work on; NULL: their own */
};

static void choose_programs(struct gctrace_bpf *bpf, const struct trace_options *options,
	const struct selection *selection, enum uprobe_way way)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, bpf->obj) {
		const char *name = bpf_program__name(program);
		const struct capture_program *known = choose(name, selection->ops, selection->part);
		bool load = known && is_used(known, name, options, way);

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

static int load(const struct trace_options *options, const struct selection *selection,
	enum uprobe_way way, unsigned int refused, struct gctrace_bpf **ret)
{
	_cleanup_(cleanup_gctrace_bpf__destroy) struct gctrace_bpf *bpf = gctrace_bpf__open();
	int r = bpf ? 0 : -errno;

	if (r)
		return r;
	choose_programs(bpf, options, selection, way);
	configure(bpf, options, refused);
	if (selection->with)
		r = share_maps(bpf, selection->with);
	if (!r)
		r = gctrace_bpf__load(bpf);
	if (!r)
		*ret = steal_ptr(bpf);
	return r;
}

/* The best way of which the kernel takes the programs: what it has it may yet not do. */
static int load_first(struct trace *trace)
{
	const struct selection first = {};
	int r = -ENOTSUP;

	for (trace->way = uprobe_best_way(trace->refused); trace->way <= UPROBE_PERF;
		trace->way++) {
		r = load(&trace->options, &first, trace->way, trace->refused, &trace->bpf);
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

static int attach_tracepoint(struct trace *trace, struct bpf_program *program)
{
	struct bpf_link **slot = vec_add(&trace->tracepoints);

	if (!slot)
		return -ENOMEM;
	*slot = bpf_program__attach(program);
	if (*slot)
		return 0;
	trace->tracepoints.count--;
	return -errno;
}

/*
 * The kernel runs the programs of one tracepoint in the order in which they came: a child is a target before its
 * runtime's program sees it, and what ends is one until that has seen it.
 */
static int attach_tracepoints(struct trace *trace)
{
	int r = attach_tracepoint(trace, trace->bpf->progs.on_fork);

	for (size_t i = 0; !r && i < trace->captures.count; i++) {
		const struct capture_program *own = trace->captures.items[i].ops->programs;

		for (; !r && own->name; own++) {
			struct bpf_program *program =
				bpf_object__find_program_by_name(trace->bpf->obj, own->name);

			if (!own->part && bpf_program__type(program) == BPF_PROG_TYPE_TRACING)
				r = attach_tracepoint(trace, program);
		}
	}
	if (!r)
		r = attach_tracepoint(trace, trace->bpf->progs.on_exec);
	return r ? r : attach_tracepoint(trace, trace->bpf->progs.on_exit);
}

int trace_load(struct trace *trace, struct err *err)
{
	int r = trace_load_programs(trace, err);
	void *shared;

	if (r)
		return r;
	r = attach_tracepoints(trace);
	if (r)
		return err_set(err, -r, "the kernel's scheduler tracepoints cannot be followed: %s",
			strerror(-r));
	shared = mmap(NULL, sizeof(struct gc_shared), PROT_READ | PROT_WRITE, MAP_SHARED,
		bpf_map__fd(trace->bpf->maps.shared_map), 0);
	if (shared == MAP_FAILED)
		return err_set(err, errno, "the shared BPF map cannot be mapped: %s",
			strerror(errno));
	trace->shared = shared;
	r = trace_steps_open(trace, err);
	if (r)
		return r;
	trace->ring =
		ring_buffer__new(bpf_map__fd(trace->bpf->maps.events), trace_on_ring, trace, NULL);
	if (!trace->ring)
		return err_set(err, errno,
			"the ring buffer of %llu bytes cannot be mapped: %s; choose a smaller --buffer",
			(unsigned long long)trace->options.buffer_bytes, strerror(errno));
	return trace_wake_open(trace, err);
}

static int load_part(struct trace *trace, const struct capture_ops *ops, unsigned int part,
	struct gctrace_bpf **ret, struct err *err)
{
	const struct selection selection = {ops, part, trace->bpf};
	struct program_part *slot;
	int r;

	*ret = trace->bpf;
	if (!part)
		return 0;
	for (size_t i = 0; i < trace->parts.count; i++) {
		*ret = trace->parts.items[i].bpf;
		if (trace->parts.items[i].ops == ops && trace->parts.items[i].part == part)
			return 0;
	}
	r = load(&trace->options, &selection, trace->way, trace->refused, ret);
	if (r)
		return trace_explain_refusal(r, err);
	slot = vec_add(&trace->parts);
	if (slot) {
		*slot = (struct program_part){ops, part, *ret};
		return 0;
	}
	gctrace_bpf__destroy(*ret);
	return err_set(err, ENOMEM, "out of memory");
}

int trace_find_program(struct trace *trace, const struct capture_ops *ops, const char *name,
	struct bpf_program **ret, struct err *err)
{
	const struct capture_program *program = find_program(ops, name);
	struct gctrace_bpf *bpf;
	int r = program ? load_part(trace, ops, program->part, &bpf, err)
			: err_set(err, ENOENT, "no BPF program is called %s", name);

	if (r)
		return r;
	*ret = bpf_object__find_program_by_name(bpf->obj, name);
	return *ret ? 0 : err_set(err, ENOENT, "no BPF program is called %s", name);
}

void trace_unload(struct trace *trace)
{
	for (size_t i = 0; i < trace->tracepoints.count; i++)
		bpf_link__destroy(trace->tracepoints.items[i]);
	vec_free(&trace->tracepoints);
	for (size_t i = trace->parts.count; i--;)
		gctrace_bpf__destroy(trace->parts.items[i].bpf);
	vec_free(&trace->parts);
	gctrace_bpf__destroy(trace->bpf);
}
