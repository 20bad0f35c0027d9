/* A plan for HotSpot → probes in place. */
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hotspot_process.h"
#include "log.h"
#include "trace_priv.h"

static struct bpf_program *program_of(const struct gctrace_bpf *bpf, enum site_kind kind)
{
	switch (kind) {
	case SITE_SAFEPOINT_BEGIN:
		return bpf->progs.on_safepoint_begin;
	case SITE_SAFEPOINT_SYNC:
		return bpf->progs.on_safepoint_sync;
	case SITE_SAFEPOINT_END:
		return bpf->progs.on_safepoint_end;
	case SITE_SAFEPOINT_BLOCK:
		return bpf->progs.on_safepoint_block;
	case SITE_HEAP_SUMMARY:
		return bpf->progs.on_heap_summary;
	case SITE_VM_REQUEST:
		return bpf->progs.on_vm_request;
	case SITE_VM_BEGIN:
		return bpf->progs.on_vm_begin;
	case SITE_PHASE_BEGIN:
		return bpf->progs.on_phase_begin;
	case SITE_PHASE_END:
		return bpf->progs.on_phase_end;
	default:
		return NULL;
	}
}

/* From a function's entry to its return; the return's probe first. */
static int attach_wait(struct trace *trace, struct image *image, const struct probe_site *site,
	uint64_t cookie)
{
	int r;

	if (trace->way == UPROBE_SESSION)
		return trace_probe_site(image, trace->jvm->progs.on_wait_session, site, cookie,
			false);
	r = trace_probe_site(image, trace->jvm->progs.on_wait_end, site, cookie, true);
	return r ? r
		 : trace_probe_site(image, trace->jvm->progs.on_wait_begin, site, cookie, false);
}

/* Only the VM Thread writes these counters. */
static int attach_watch(struct trace *trace, struct image *image, const struct probe_site *site,
	uint64_t cookie, struct err *err)
{
	LIBBPF_OPTS(bpf_perf_event_opts, options, .bpf_cookie = cookie);
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = site->address,
		.bp_len = HW_BREAKPOINT_LEN_8,
		.sample_period = 1,
		.remove_on_exec = 1,
		.exclude_kernel = 1,
	};
	pid_t tid = hotspot_vm_thread(image->pid);
	struct bpf_link *link;
	int fd, r = trace_load_part(trace, PART_JVM_WATCH, err);

	if (r)
		return r;
	if (!tid)
		return err_set(err, ENOENT, "process %d has no thread \"VM Thread\"", image->pid);
	fd = (int)syscall(__NR_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return err_set(err, errno, "no hardware watchpoint can be set in process %d: %s (are "
			"all four debug registers in use?)", image->pid, strerror(errno));
	link = bpf_program__attach_perf_event_opts(trace->jvm_watch->progs.on_perf_write, fd,
		&options);
	if (!link) {
		r = -errno;
		close(fd);
		return err_set(err, -r, "the watchpoint program cannot be attached: %s",
			strerror(-r));
	}
	return trace_keep_link(image, link); /* which owns the descriptor */
}

static int attach_site(struct trace *trace, struct image *image, uint32_t index, size_t n,
	struct err *err)
{
	const struct probe_site *site = &image->plan.sites[n];
	uint64_t cookie = GC_COOKIE(index, n, site->argument);
	struct err why = {};
	int r;

	if (site->kind == SITE_PERF_WATCH)
		return attach_watch(trace, image, site, cookie, err);
	if (site->kind == SITE_VM_REQUEST || site->kind == SITE_VM_BEGIN)
		cookie = GC_VM_COOKIE(index, n, site->argument);
	r = site->kind == SITE_WAIT ? attach_wait(trace, image, site, cookie)
				    : trace_probe_site(image, program_of(trace->jvm, site->kind),
					      site, cookie, site->at_return);
	if (!r)
		return 0;
	err_set(&why, -r, "the probe at offset %#llx of %s cannot be attached: %s",
		(unsigned long long)site->offset, image->plan.shown_path, strerror(-r));
	if (!site->optional) {
		*err = why;
		return r;
	}
	log_warning("%s; the facts that it gives will be missing", why.text);
	trace->unprobed_facts++;
	image->lacks_sums |= site->kind == SITE_HEAP_SUMMARY;
	return 0;
}

/* In the plan's order, in which ends stand before begins. */
int trace_attach_jvm(struct trace *trace, struct image *image, uint32_t index, struct err *err)
{
	int r = trace_load_part(trace, PART_JVM, err);

	for (size_t i = 0; !r && i < image->plan.site_count; i++)
		r = attach_site(trace, image, index, i, err);
	return r;
}
