/* Opens, configures and loads the BPF programs, and follows processes. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cleanup.h"
#include "log.h"
#include "trace_priv.h"

#define BPF_TRACE_UPROBE_SESSION 57 /* enum bpf_attach_type, linux/bpf.h of 6.13 */

DEFINE_CLEANUP(struct gctrace_bpf *, gctrace_bpf__destroy);

static int __attribute__((format(printf, 2, 0)))
print_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	char line[1024];

	if (!log_enabled(LOG_DEBUG))
		return 0;
	vsnprintf(line, sizeof(line), format, args);
	line[strcspn(line, "\n")] = '\0';
	log_debug("libbpf: %s", line);
	return 0;
}

void trace_quiet_libbpf(void)
{
	libbpf_set_print(print_libbpf);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
}

/* The lifecycle's and CPython's; the others come when they are needed. */
static void choose_programs(struct gctrace_bpf *bpf, const struct trace_options *options,
	bool sessions)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, bpf->obj)
		bpf_program__set_autoload(program, false);
	bpf_program__set_autoload(bpf->progs.on_fork, true);
	bpf_program__set_autoload(bpf->progs.on_exec, true);
	bpf_program__set_autoload(bpf->progs.on_exit, true);
	bpf_program__set_autoload(bpf->progs.on_maps_changed, true);
	bpf_program__set_autoload(bpf->progs.on_step, options->steps || options->step_probe);
	bpf_program__set_autoload(bpf->progs.on_collect_session, sessions);
	bpf_program__set_autoload(bpf->progs.on_collect_begin, !sessions);
	bpf_program__set_autoload(bpf->progs.on_collect_end, !sessions);
	if (sessions)
		bpf_program__set_expected_attach_type(bpf->progs.on_collect_session,
			BPF_TRACE_UPROBE_SESSION);
}

static uint64_t power_of_two(uint64_t bytes)
{
	uint64_t power = 4096;

	while (power < bytes && power < 1ull << 30)
		power *= 2;
	return power;
}

static void configure(struct gctrace_bpf *bpf, const struct trace_options *options)
{
	bpf->rodata->min_stack_ns = options->min_stack_ns;
	bpf->rodata->wakeup_bytes = (uint32_t)(power_of_two(options->buffer_bytes) / 4);
	bpf->rodata->follow_children = options->children;
	bpf->rodata->stop_at_start = options->stop_at_start;
}

static int load_once(const struct trace_options *options, bool sessions, struct gctrace_bpf **ret)
{
	_cleanup_(cleanup_gctrace_bpf__destroy) struct gctrace_bpf *bpf = gctrace_bpf__open();
	int r;

	if (!bpf)
		return -errno;
	choose_programs(bpf, options, sessions);
	configure(bpf, options);
	bpf_map__set_max_entries(bpf->maps.events, (uint32_t)power_of_two(options->buffer_bytes));
	r = gctrace_bpf__load(bpf);
	if (!r)
		*ret = steal_ptr(bpf);
	return r;
}

static int explain_load(int r, struct err *err)
{
	if (r == -EPERM || r == -EACCES)
		return err_set(err, EPERM,
			"the kernel refuses to load BPF programs: run as root (sudo), or with "
			"CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE; `gctrace doctor` says what is missing");
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return err_set(err, ENOTSUP,
			"this kernel has no BTF (/sys/kernel/btf/vmlinux): gctrace needs a kernel "
			"built with CONFIG_DEBUG_INFO_BTF");
	return err_set(err, -r,
		"the kernel refuses the BPF programs: %s; `gctrace doctor` says what this kernel lacks, "
		"-v shows the verifier's words", strerror(-r));
}

static int load_best(const struct trace_options *options, struct gctrace_bpf **ret, bool *ret_sessions)
{
	int r = options->no_session ? -ENOTSUP : load_once(options, true, ret);

	*ret_sessions = !r;
	return r && r != -EPERM ? load_once(options, false, ret) : r;
}

int trace_load(struct trace *trace, struct err *err)
{
	int r = load_best(&trace->options, &trace->bpf, &trace->sessions);
	void *shared;

	if (r)
		return explain_load(r, err);
	r = gctrace_bpf__attach(trace->bpf);
	if (r)
		return err_set(err, -r, "the kernel's scheduler tracepoints cannot be followed: %s",
			strerror(-r));
	shared = mmap(NULL, sizeof(struct shared_page), PROT_READ, MAP_SHARED,
		bpf_map__fd(trace->bpf->maps.shared_map), 0);
	if (shared == MAP_FAILED)
		return err_set(err, errno, "the shared BPF map cannot be mapped: %s", strerror(errno));
	trace->shared = shared;
	r = trace_steps_open(trace, err);
	if (r)
		return r;
	trace->ring = ring_buffer__new(bpf_map__fd(trace->bpf->maps.events), trace_on_record, trace,
		NULL);
	if (!trace->ring)
		return err_set(err, errno,
			"the ring buffer of %llu bytes cannot be mapped: %s; choose a smaller --buffer",
			(unsigned long long)trace->options.buffer_bytes, strerror(errno));
	return 0;
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

/* Of a part loaded later. */
static bool belongs(const struct gctrace_bpf *bpf, const struct bpf_program *program,
	enum trace_part part, bool sessions)
{
	if (part == PART_WATCH)
		return program == bpf->progs.on_collecting_write;
	if (part == PART_JVM_WATCH)
		return program == bpf->progs.on_perf_write;
	if (program == bpf->progs.on_wait_session)
		return sessions;
	if (program == bpf->progs.on_wait_begin || program == bpf->progs.on_wait_end)
		return !sessions;
	return program == bpf->progs.on_safepoint_begin || program == bpf->progs.on_safepoint_sync ||
		program == bpf->progs.on_safepoint_end ||
		program == bpf->progs.on_safepoint_block ||
		program == bpf->progs.on_heap_summary || program == bpf->progs.on_vm_request ||
		program == bpf->progs.on_vm_begin || program == bpf->progs.on_phase_begin ||
		program == bpf->progs.on_phase_end;
}

int trace_load_part(struct trace *trace, enum trace_part part, struct err *err)
{
	struct gctrace_bpf **slot = part == PART_WATCH ? &trace->watch
		: part == PART_JVM ? &trace->jvm : &trace->jvm_watch;
	_cleanup_(cleanup_gctrace_bpf__destroy) struct gctrace_bpf *bpf = NULL;
	struct bpf_program *program;
	int r;

	if (*slot)
		return 0;
	bpf = gctrace_bpf__open();
	if (!bpf)
		return err_set(err, errno, "out of memory");
	bpf_object__for_each_program(program, bpf->obj)
		bpf_program__set_autoload(program, belongs(bpf, program, part, trace->sessions));
	if (part == PART_JVM && trace->sessions)
		bpf_program__set_expected_attach_type(bpf->progs.on_wait_session,
			BPF_TRACE_UPROBE_SESSION);
	configure(bpf, &trace->options);
	r = share_maps(bpf, trace->bpf);
	if (!r)
		r = gctrace_bpf__load(bpf);
	if (r)
		return explain_load(r, err);
	*slot = steal_ptr(bpf);
	return 0;
}

int trace_probe_kernel(struct err *err)
{
	_cleanup_(cleanup_gctrace_bpf__destroy) struct gctrace_bpf *bpf = NULL;
	struct trace_options options = {.buffer_bytes = 4096, .steps = true};
	bool sessions;
	int r;

	trace_quiet_libbpf();
	r = load_best(&options, &bpf, &sessions);
	return r ? explain_load(r, err) : 0;
}

bool trace_has_sessions(void)
{
	_cleanup_(cleanup_gctrace_bpf__destroy) struct gctrace_bpf *bpf = NULL;
	struct trace_options options = {.buffer_bytes = 4096};

	trace_quiet_libbpf();
	return !load_once(&options, true, &bpf);
}
