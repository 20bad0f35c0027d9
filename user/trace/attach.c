/* A plan → probes in place: uprobe sessions, perf uprobes, hardware watchpoints. */
#include <dirent.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cleanup.h"
#include "log.h"
#include "mem.h"
#include "trace_priv.h"

#define BPF_TRACE_UPROBE_SESSION 57

/* union bpf_attr of BPF_LINK_CREATE with uprobe_multi, linux/bpf.h of 6.6: newer than libbpf 1.1. */
struct link_create_uprobe_multi {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t count, multi_flags, pid, pad;
};

static int keep_fd(struct image *image, int fd)
{
	int *slot = vec_add(&image->fds);

	if (!slot) {
		close(fd);
		return -ENOMEM;
	}
	*slot = fd;
	return 0;
}

int trace_keep_link(struct image *image, struct bpf_link *link)
{
	struct bpf_link **slot;

	if (!link)
		return -errno;
	slot = vec_add(&image->links);
	if (!slot) {
		bpf_link__destroy(link);
		return -ENOMEM;
	}
	*slot = link;
	return 0;
}

static uint32_t wire_kind(enum site_kind kind)
{
	return kind == SITE_BEGIN ? GC_SITE_BEGIN : kind == SITE_END ? GC_SITE_END : GC_SITE_FUNCTION;
}

/* In every process that maps the file, present and future: BPF picks the targets (docs/overhead.md). */
int trace_attach_session(struct image *image, const struct bpf_program *program,
	const struct probe_site *site, uint64_t cookie)
{
	struct link_create_uprobe_multi attr = {
		.prog_fd = (uint32_t)bpf_program__fd(program),
		.attach_type = BPF_TRACE_UPROBE_SESSION,
		.path = (uintptr_t)image->plan.path,
		.offsets = (uintptr_t)&site->offset,
		.ref_ctr_offsets = site->semaphore ? (uintptr_t)&site->semaphore : 0,
		.cookies = (uintptr_t)&cookie,
		.count = 1,
	};
	int fd = (int)syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : keep_fd(image, fd);
}

static int attach_perf(struct image *image, struct bpf_program *program,
	const struct probe_site *site, uint64_t cookie, bool at_return)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = cookie, .retprobe = at_return,
		.ref_ctr_offset = site->semaphore);

	return trace_keep_link(image, bpf_program__attach_uprobe_opts(program, -1, image->plan.path,
					site->offset, &options));
}

/* The end first: a begin never waits for an end that nothing watches. */
static int attach_perf_site(struct trace *trace, struct image *image, const struct probe_site *site,
	uint64_t cookie)
{
	int r = 0;

	if (site->kind != SITE_BEGIN)
		r = attach_perf(image, trace->bpf->progs.on_collect_end, site, cookie,
			site->kind == SITE_FUNCTION);
	if (!r && site->kind != SITE_END)
		r = attach_perf(image, trace->bpf->progs.on_collect_begin, site, cookie, false);
	return r;
}

static int watch_thread(struct trace *trace, struct image *image, pid_t tid, uint64_t address,
	uint64_t cookie)
{
	LIBBPF_OPTS(bpf_perf_event_opts, options, .bpf_cookie = cookie);
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = address,
		.bp_len = HW_BREAKPOINT_LEN_4,
		.sample_period = 1,
		.inherit = 1, /* threads and children to come */
		.remove_on_exec = 1, /* then the address means something else */
		.exclude_kernel = 1,
	};
	int fd = (int)syscall(__NR_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	struct bpf_link *link;

	if (fd < 0)
		return errno == ESRCH ? 0 : -errno; /* the thread has just ended */
	link = bpf_program__attach_perf_event_opts(trace->watch->progs.on_collecting_write, fd,
		&options);
	if (!link) {
		int r = -errno;

		close(fd);
		return r;
	}
	return trace_keep_link(image, link); /* which owns the descriptor */
}

/* One event for each thread that exists: only the later ones are inherited. */
static int watch_process(struct trace *trace, struct image *image, const struct probe_site *site,
	uint64_t cookie, struct err *err)
{
	struct dirent *entry;
	char path[64];
	DIR *tasks;
	int r = trace_load_part(trace, PART_WATCH, err);

	if (r)
		return r;
	snprintf(path, sizeof(path), "/proc/%d/task", image->pid);
	tasks = opendir(path);
	if (!tasks)
		return err_set(err, ESRCH, "process %d is gone", image->pid);
	while (!r && (entry = readdir(tasks)))
		if (atoi(entry->d_name))
			r = watch_thread(trace, image, atoi(entry->d_name), site->address, cookie);
	closedir(tasks);
	if (r)
		return err_set(err, -r,
			"no hardware watchpoint can be set in process %d: %s (are all four debug "
			"registers in use?)", image->pid, strerror(-r));
	return 0;
}

static int attach_site(struct trace *trace, struct image *image, uint32_t index, size_t n,
	struct err *err)
{
	const struct probe_site *site = &image->plan.sites[n];
	uint64_t cookie = GC_COOKIE(index, n, wire_kind(site->kind));
	int r;

	if (site->kind == SITE_WATCH)
		return watch_process(trace, image, site, cookie, err);
	r = trace->sessions ? trace_attach_session(image,
					  trace->bpf->progs.on_collect_session, site, cookie)
			    : attach_perf_site(trace, image, site, cookie);
	if (r == -EINVAL && site->semaphore)
		return err_set(err, EINVAL,
			"another tracer holds the USDT probes of %s without their semaphore",
			image->plan.shown_path);
	if (r)
		return err_set(err, -r, "%s of %s cannot be probed: %s", image->plan.detail,
			image->plan.shown_path, strerror(-r));
	return 0;
}

/* The ends before the begins: see attach_perf_site(). */
static int attach_sites(struct trace *trace, struct image *image, uint32_t index, struct err *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < image->plan.site_count; i++)
		if (image->plan.sites[i].kind == SITE_END)
			r = attach_site(trace, image, index, i, err);
	for (size_t i = 0; !r && i < image->plan.site_count; i++)
		if (image->plan.sites[i].kind != SITE_END)
			r = attach_site(trace, image, index, i, err);
	return r;
}

int trace_attach(struct trace *trace, const struct probe_plan *plan, pid_t pid, struct err *err)
{
	uint32_t index = trace->image_count;
	struct image *image = &trace->images[index];
	int r;

	if (index == GC_MAX_IMAGES)
		return err_set(err, E2BIG, "more than %d runtime files in one session", GC_MAX_IMAGES);
	*image = (struct image){.plan = *plan, .pid = plan->per_process ? pid : 0};
	r = bpf_map__update_elem(trace->bpf->maps.layouts, &index, sizeof(index), &plan->layout,
		sizeof(plan->layout), BPF_ANY);
	if (r)
		return err_set(err, -r, "the layout map cannot be written: %s", strerror(-r));
	r = plan->ops == &probe_hotspot ? trace_attach_jvm(trace, image, index, err)
					: attach_sites(trace, image, index, err);
	if (r) {
		trace_detach(image);
		return r;
	}
	image->attached_ns = now_ns();
	trace->image_count++;
	log_debug("%s: %s by %s: %s", plan->shown_path, plan->version, plan->tier, plan->detail);
	return (int)index;
}

int trace_attach_hook(struct trace *trace, const char *path, uint64_t offset)
{
	struct bpf_link **slot = vec_add(&trace->links);

	if (!slot)
		return -ENOMEM;
	*slot = bpf_program__attach_uprobe(trace->bpf->progs.on_maps_changed, false, -1, path,
		offset);
	return *slot ? 0 : -errno;
}

/* One probe of an image, to be taken away. */
struct parting {
	struct bpf_link *link; /* or, if NULL, */
	int fd;
	pthread_t thread;
	bool threaded;
};

static void *part(void *arg)
{
	struct parting *parting = arg;

	if (parting->link)
		bpf_link__destroy(parting->link);
	else
		close(parting->fd);
	return NULL;
}

#define PARTINGS 32 /* at a time */

static void part_all(struct parting *partings, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		partings[i].threaded = i + 1 < count &&
			!pthread_create(&partings[i].thread, NULL, part, &partings[i]);
		if (!partings[i].threaded)
			part(&partings[i]);
	}
	for (size_t i = 0; i < count; i++)
		if (partings[i].threaded)
			pthread_join(partings[i].thread, NULL);
}

/*
 * For each probe that goes the kernel waits, some 100 ms, until no CPU can still be in it. They wait
 * together.
 */
void trace_detach(struct image *image)
{
	size_t links = image->links.count, count = links + image->fds.count;
	struct parting partings[PARTINGS];

	for (size_t i = 0; i < count; i++) {
		partings[i % PARTINGS] = i < links
			? (struct parting){.link = image->links.items[i]}
			: (struct parting){.fd = image->fds.items[i - links]};
		if (i % PARTINGS == PARTINGS - 1 || i + 1 == count)
			part_all(partings, i % PARTINGS + 1);
	}
	vec_free(&image->links);
	vec_free(&image->fds);
}
