/* A session is put together, and taken apart again. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cleanup.h"
#include "gctrace.skel.h"
#include "mem.h"
#include "trace_priv.h"

static void read_boot_id(char ret[37])
{
	_cleanup_fclose_ FILE *stream = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!stream || fscanf(stream, "%36s", ret) != 1)
		ret[0] = '\0';
}

static void begin_recording(struct recording *recording)
{
	snprintf(recording->version, sizeof(recording->version), "%s", GCTRACE_VERSION);
	gethostname(recording->host, sizeof(recording->host) - 1);
	read_boot_id(recording->boot_id);
	recording->start_ns = now_ns();
	recording->realtime_offset_ns = (int64_t)(clock_ns(CLOCK_REALTIME) - now_ns());
}

static int load_programs(struct programs *programs, const struct capture_program *const *lists,
	const struct trace_options *options, struct err *err)
{
	const struct program_settings settings = {
		.lists = lists,
		.min_stack_ns = options->min_stack_ns,
		.buffer_bytes = options->buffer_bytes,
		.children = options->children,
		.steps = options->steps || options->step_wish,
		.step_watches = captures_asked(options->step_wish),
		.gpu = trace_gpu_shims(options->gpu),
		.gpu_driver = trace_gpu_driver(options->gpu),
	};

	return programs_load(programs, &settings, err);
}

static int map_shared(struct trace *trace, struct err *err)
{
	void *shared = mmap(NULL, sizeof(struct gc_shared), PROT_READ | PROT_WRITE, MAP_SHARED,
		bpf_map__fd(trace->programs.bpf->maps.shared_map), 0);

	if (shared == MAP_FAILED)
		return err_set(err, errno, "the shared BPF map cannot be mapped: %s",
			strerror(errno));
	trace->shared = shared;
	return 0;
}

static int open_ring(struct trace *trace, struct err *err)
{
	int r = ring_open(&trace->ring, trace->programs.bpf->maps.events, trace_on_record, trace);

	return r ? err_set(err, -r,
			   "the ring buffer of %llu bytes cannot be mapped: %s; choose a smaller --buffer",
			   (unsigned long long)trace->options.buffer_bytes, strerror(-r))
		 : 0;
}

/* Each part learns of those that it needs. */
static void connect_parts(struct trace *trace)
{
	struct feed *feed = &trace->feed;

	trace->images.programs = &trace->programs;
	trace->images.captures = &trace->captures;
	trace->images.only_tier = trace->options.only_tier;
	trace->in_vain.images = &trace->images;
	trace->linkers.programs = &trace->programs;
	trace->processes.feed = feed;
	trace->processes.targets = &trace->targets;
	trace->runtimes.feed = feed;
	trace->runtimes.images = &trace->images;
	trace->ledger.feed = feed;
	trace->ledger.images = &trace->images;
	trace->ledger.captures = &trace->captures;
	trace->ledger.processes = &trace->processes;
	trace->ledger.runtimes = &trace->runtimes;
	trace->steps.feed = feed;
	trace->steps.programs = &trace->programs;
	trace->requests.steps = &trace->steps;
	trace->requests.processes = &trace->processes;
	trace->gpu.feed = feed;
	trace->gpu.programs = &trace->programs;
	trace->gpu.on = trace_gpu_shims(trace->options.gpu);
	trace->driver.feed = feed;
	trace->driver.programs = &trace->programs;
	trace->driver.launches = trace->options.gpu == TRACE_GPU_INFER;
	trace->driver.on = trace_gpu_driver(trace->options.gpu);
}

static int start(struct trace *trace, struct err *err)
{
	const struct runtime_ops *asked = captures_asked(trace->options.step_wish);
	int r = load_programs(&trace->programs, trace->lists, &trace->options, err);

	if (!r)
		r = programs_follow(&trace->programs, err);
	if (!r)
		r = map_shared(trace, err);
	if (!r)
		r = steps_open(&trace->steps, &trace->options, asked ? asked->label : NULL, err);
	if (!r)
		r = open_ring(trace, err);
	if (!r)
		r = wake_open(&trace->wake, ring_buffer__epoll_fd(trace->ring.buffer), err);
	if (r)
		return r;
	trace->ledger.shared = trace->shared;
	trace->targets.map = trace->programs.bpf->maps.targets;
	trace->in_vain.map = trace->programs.bpf->maps.calls_in_vain;
	trace->steps.called = trace->wake.called;
	return 0;
}

int trace_open(const struct trace_options *options, const struct trace_sink *sink,
	struct trace **ret, struct err *err)
{
	struct trace *trace = calloc(1, sizeof(*trace));
	int r;

	if (!trace)
		return err_set(err, ENOMEM, "out of memory");
	trace->options = *options;
	trace->feed.sink = *sink;
	trace->wake = WAKE_NONE;
	connect_parts(trace);
	begin_recording(&trace->feed.recording);
	if (options->step_asked)
		snprintf(trace->feed.recording.step_asked, sizeof(trace->feed.recording.step_asked),
			"%s", options->step_asked);
	trace->lists = captures_programs();
	if (!trace->lists || stack_table_init(&trace->stacks) ||
		captures_open(&trace->captures, trace)) {
		trace_free(trace);
		return err_set(err, ENOMEM, "out of memory");
	}
	r = start(trace, err);
	if (r) {
		trace_free(trace);
		return r;
	}
	*ret = trace;
	return 0;
}

void trace_free(struct trace *trace)
{
	if (!trace)
		return;
	images_close(&trace->images);
	in_vain_release(&trace->in_vain);
	linkers_close(&trace->linkers);
	request_watch_close(&trace->requests);
	steps_close(&trace->steps);
	gpu_watch_close(&trace->gpu);
	driver_watch_close(&trace->driver);
	wake_close(&trace->wake);
	ring_close(&trace->ring);
	if (trace->shared)
		munmap((void *)trace->shared, sizeof(*trace->shared));
	captures_close(&trace->captures);
	programs_release(&trace->programs);
	free(trace->lists);
	stack_table_release(&trace->stacks);
	ledger_release(&trace->ledger);
	runtimes_release(&trace->runtimes);
	processes_release(&trace->processes);
	vec_free(&trace->gaps.ended.pids);
	u64map_release(&trace->looks.next);
	u64map_release(&trace->looks.blind);
	probe_known_release(&trace->looks.known);
	recording_release(&trace->feed.recording);
	free(trace);
}

int trace_probe_kernel(const char **ret_way, struct err *err)
{
	const struct capture_program **lists = captures_programs();
	const struct program_settings settings = {.lists = lists,
		.buffer_bytes = 4096,
		.steps = true,
		.step_watches = true,
		.gpu = true,
		.gpu_driver = true};
	struct programs programs = {};
	int r = lists ? programs_load(&programs, &settings, err)
		      : err_set(err, ENOMEM, "out of memory");

	if (!r)
		r = programs_load_rest(&programs, err);
	if (!r)
		r = programs_hit_ourselves(&programs, err);
	if (!r)
		*ret_way = uprobe_way_name(programs.way);
	programs_release(&programs);
	free(lists);
	return r;
}
