/* A plan → probes in place: uprobes, hardware watchpoints. */
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "images.h"
#include "log.h"

/* The image owns what is kept, also on failure. */
static int keep_probe(struct image *image, const struct uprobe *probe)
{
	struct uprobe *slot = vec_add(&image->probes), lost = *probe;

	if (!slot) {
		uprobe_detach(&lost);
		return -ENOMEM;
	}
	*slot = *probe;
	return 0;
}

/* One place of an image, on its way to be probed. */
struct placing {
	struct images *images;
	struct image *image;
	const struct probe_site *site;
	uint64_t cookie;
};

/*
 * Puts the program called @name there; *ret is why it was not, 0 otherwise. In every process that maps the file,
 * present and future: BPF picks the targets (docs/overhead.md). Returns -errno where there is no such program.
 */
static int put_program(const struct placing *at, const char *name, bool at_return, int *ret,
	struct err *err)
{
	const struct probe_site *site = at->site;
	const struct uprobe_place place = {
		at->image->plan.path, site->offset, site->semaphore, at->cookie, at_return};
	struct bpf_program *program;
	struct uprobe probe;
	int r = programs_find(at->images->programs, at->image->plan.ops->capture->programs, name,
		&program, err);

	if (r)
		return r;
	*ret = uprobe_attach(program, &place, &probe);
	if (!*ret)
		*ret = keep_probe(at->image, &probe);
	return 0;
}

/* A call by a session, or by a pair of probes, the return's first: no begin waits for an end that nothing watches. */
static int put_probes(const struct placing *at, int *ret, struct err *err)
{
	const struct probe_site *site = at->site;
	int r = 0;

	*ret = 0;
	if (!site->end)
		return put_program(at, site->program, site->at_return, ret, err);
	if (site->session && at->images->programs->way == UPROBE_SESSION)
		return put_program(at, site->session, false, ret, err);
	r = put_program(at, site->end, true, ret, err);
	return r || *ret ? r : put_program(at, site->program, false, ret, err);
}

int images_watch(struct images *images, uint32_t index, const struct probe_site *site, pid_t tid,
	unsigned int bytes, bool inherit, uint64_t cookie, struct err *err)
{
	LIBBPF_OPTS(bpf_perf_event_opts, options, .bpf_cookie = cookie);
	struct image *image = &images->items[index];
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = site->address,
		.bp_len = bytes,
		.sample_period = 1,
		.inherit = inherit,
		.remove_on_exec = 1, /* then the address means something else */
		.exclude_kernel = 1,
	};
	struct bpf_program *program;
	struct bpf_link *link;
	int fd, r = programs_find(images->programs, image->plan.ops->capture->programs,
			site->program, &program, err);

	if (r)
		return r;
	fd = (int)syscall(__NR_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return err_set(err, errno,
			"no hardware watchpoint can be set in process %d: %s (are "
			"all four debug registers in use?)",
			image->pid, strerror(errno));
	link = bpf_program__attach_perf_event_opts(program, fd, &options);
	if (!link) {
		r = -errno;
		close(fd);
		return err_set(err, -r, "the watchpoint program cannot be attached: %s",
			strerror(-r));
	}
	return keep_probe(image, &(struct uprobe){.link = link}); /* which owns the descriptor */
}

/* What cannot be attached, and is not needed, is a drop, unless the file's process has ended: then nothing can be. */
static int attach_site(struct images *images, struct image *image, uint32_t index, size_t n,
	struct err *err)
{
	struct probe_site *site = &image->plan.sites[n];
	const struct placing at = {images, image, site, GC_COOKIE(index, n) | site->cookie};
	int r, why;

	if (site->address) {
		const struct runtime_part *part =
			captures_of(images->captures, image->plan.ops->capture);

		return part->ops->watch(part->state, index, image->pid, site, at.cookie, err);
	}
	r = put_probes(&at, &why, err);
	if (r || !why)
		return r;
	if (site->optional && why != -ESRCH && why != -ENOENT) {
		log_warning(
			"the probe at offset %#llx of %s cannot be attached: %s; the facts that it "
			"gives will be missing",
			(unsigned long long)site->offset, image->plan.shown_path, strerror(-why));
		images->unprobed_facts++;
		site->missing = true;
		return 0;
	}
	if (why == -EINVAL && site->semaphore)
		return err_set(err, EINVAL,
			"another tracer holds the USDT probes of %s without their semaphore",
			image->plan.shown_path);
	return err_set(err, -why, "%s of %s cannot be probed: %s", image->plan.detail,
		image->plan.shown_path, strerror(-why));
}

static int attach_sites(struct images *images, struct image *image, uint32_t index, struct err *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < image->plan.site_count; i++)
		if (image->plan.sites[i].ends)
			r = attach_site(images, image, index, i, err);
	for (size_t i = 0; !r && i < image->plan.site_count; i++)
		if (!image->plan.sites[i].ends)
			r = attach_site(images, image, index, i, err);
	return r;
}

int images_attach(struct images *images, const struct probe_plan *plan, pid_t pid, struct err *err)
{
	uint32_t index = images->count;
	struct image *image = &images->items[index];
	const struct runtime_part *part;
	int r;

	if (index == GC_MAX_IMAGES)
		return err_set(err, E2BIG, "more than %d runtime files in one session",
			GC_MAX_IMAGES);
	*image = (struct image){.plan = *plan, .pid = plan->per_process ? pid : 0};
	part = captures_of(images->captures, plan->ops->capture);
	r = part->ops->image ? part->ops->image(part->state, index, plan, err) : 0;
	if (!r)
		r = attach_sites(images, image, index, err);
	if (r) {
		image_detach(image);
		return r;
	}
	image->attached_ns = now_ns();
	images->count++;
	log_debug("%s: %s by %s: %s", plan->shown_path, plan->version, plan->tier, plan->detail);
	return (int)index;
}

/* One probe of an image that is being removed. */
struct removal {
	struct uprobe probe;
	pthread_t thread;
	bool threaded;
};

static void *remove_probe(void *arg)
{
	struct removal *removal = arg;

	uprobe_detach(&removal->probe);
	return NULL;
}

#define REMOVALS 32 /* at a time */

static void remove_all(struct removal *removals, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		removals[i].threaded = i + 1 < count && !pthread_create(&removals[i].thread, NULL,
								remove_probe, &removals[i]);
		if (!removals[i].threaded)
			remove_probe(&removals[i]);
	}
	for (size_t i = 0; i < count; i++)
		if (removals[i].threaded)
			pthread_join(removals[i].thread, NULL);
}

/*
 * Removing a probe takes about 100 ms, in which the kernel waits until no CPU can still be in it. They are
 * removed in parallel.
 */
void image_detach(struct image *image)
{
	struct removal removals[REMOVALS];
	size_t count = image->probes.count;

	for (size_t i = 0; i < count; i++) {
		removals[i % REMOVALS] = (struct removal){.probe = image->probes.items[i]};
		if (i % REMOVALS == REMOVALS - 1 || i + 1 == count)
			remove_all(removals, i % REMOVALS + 1);
	}
	vec_free(&image->probes);
}
