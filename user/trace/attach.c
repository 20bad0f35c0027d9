/* A plan → probes in place: uprobes, hardware watchpoints. */
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

int trace_keep_probe(struct image *image, const struct uprobe *probe)
{
	struct uprobe *slot = vec_add(&image->probes), lost = *probe;

	if (!slot) {
		uprobe_detach(&lost);
		return -ENOMEM;
	}
	*slot = *probe;
	return 0;
}

int trace_keep_link(struct image *image, struct bpf_link *link)
{
	return link ? trace_keep_probe(image, &(struct uprobe){.link = link}) : -errno;
}

/* In every process that maps the file, present and future: BPF picks the targets (docs/overhead.md). */
int trace_probe_site(struct image *image, const struct bpf_program *program,
	const struct probe_site *site, uint64_t cookie, bool at_return)
{
	const struct uprobe_place place = {image->plan.path, site->offset, site->semaphore, cookie,
		at_return};
	struct uprobe probe;
	int r = uprobe_attach(program, &place, &probe);

	return r ? r : trace_keep_probe(image, &probe);
}

static uint32_t wire_kind(enum site_kind kind)
{
	switch (kind) {
	case SITE_BEGIN:
		return GC_SITE_BEGIN;
	case SITE_END:
		return GC_SITE_END;
	case SITE_WATCH:
		return GC_SITE_WATCH;
	case SITE_PLACE:
		return GC_SITE_PLACE;
	default:
		return GC_SITE_FUNCTION;
	}
}

static bool is_end(const struct probe_site *site)
{
	return site->kind == SITE_END || site->kind == SITE_PLACE;
}

/* The end first: a begin never waits for an end that nothing watches. */
static int attach_pair(struct trace *trace, struct image *image, const struct probe_site *site,
	uint64_t cookie)
{
	int r = 0;

	if (site->kind != SITE_BEGIN)
		r = trace_probe_site(image, trace->bpf->progs.on_collect_end, site, cookie,
			site->kind == SITE_FUNCTION);
	if (!r && !is_end(site))
		r = trace_probe_site(image, trace->bpf->progs.on_collect_begin, site, cookie, false);
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
	/* A session costs more than a uprobe where nothing is to return. */
	r = trace->way == UPROBE_SESSION && site->kind == SITE_FUNCTION
		? trace_probe_site(image, trace->bpf->progs.on_collect_session, site, cookie, false)
		: attach_pair(trace, image, site, cookie);
	if (r == -EINVAL && site->semaphore)
		return err_set(err, EINVAL,
			"another tracer holds the USDT probes of %s without their semaphore",
			image->plan.shown_path);
	if (r)
		return err_set(err, -r, "%s of %s cannot be probed: %s", image->plan.detail,
			image->plan.shown_path, strerror(-r));
	return 0;
}

/* The ends before the begins: see attach_pair(). */
static int attach_sites(struct trace *trace, struct image *image, uint32_t index, struct err *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < image->plan.site_count; i++)
		if (is_end(&image->plan.sites[i]))
			r = attach_site(trace, image, index, i, err);
	for (size_t i = 0; !r && i < image->plan.site_count; i++)
		if (!is_end(&image->plan.sites[i]))
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
	trace->image_count++;
	log_debug("%s: %s by %s: %s", plan->shown_path, plan->version, plan->tier, plan->detail);
	return (int)index;
}

int trace_attach_hook(struct trace *trace, const char *path, uint64_t offset)
{
	const struct uprobe_place place = {.path = path, .offset = offset};
	struct uprobe *slot = vec_add(&trace->hook_probes);

	return slot ? uprobe_attach(trace->bpf->progs.on_maps_changed, &place, slot) : -ENOMEM;
}

/* One probe of an image, to be taken away. */
struct parting {
	struct uprobe probe;
	pthread_t thread;
	bool threaded;
};

static void *part(void *arg)
{
	struct parting *parting = arg;

	uprobe_detach(&parting->probe);
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
	struct parting partings[PARTINGS];
	size_t count = image->probes.count;

	for (size_t i = 0; i < count; i++) {
		partings[i % PARTINGS] = (struct parting){.probe = image->probes.items[i]};
		if (i % PARTINGS == PARTINGS - 1 || i + 1 == count)
			part_all(partings, i % PARTINGS + 1);
	}
	vec_free(&image->probes);
}
