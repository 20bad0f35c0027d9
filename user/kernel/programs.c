/* The BPF programs → loaded, in parts, as this kernel can probe with them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "gctrace.skel.h"
#include "kernel.h"
#include "load_priv.h"
#include "log.h"
#include "programs.h"

DEFINE_CLEANUP(struct gctrace_bpf *, gctrace_bpf__destroy);

/* Those of no runtime. */
static const char *const general[] = {"on_fork", "on_exec", "on_exit", "on_maps_changed", "on_step",
	"on_wait_call", "on_wait_return", "on_receive", "on_received", "on_received_here",
	"on_send", "on_accepted", "on_encrypted", "on_step_watch", "on_gpu", "on_driver_launch",
	"on_driver_call", "on_driver_return"};

/* Of these what step signals need. */
static const char *const stepping[] = {"on_step", "on_wait_call", "on_wait_return", "on_receive",
	"on_received", "on_received_here", "on_send", "on_accepted", "on_encrypted"};

/* Of these what takes the place of the CUPTI shim. */
static const char *const driving[] = {"on_driver_launch", "on_driver_call", "on_driver_return"};

/* Of these what has to run behind every runtime's at the same tracepoint. */
static const char *const last[] = {"on_exec", "on_exit"};

static const struct capture_program *find_program(const struct capture_program *list,
	const char *name)
{
	for (; list->name; list++)
		if (!strcmp(list->name, name))
			return list;
	return NULL;
}

/* What is to be loaded together. */
struct selection {
	const struct capture_program *list; /* a runtime's; NULL: the first programs */
	unsigned int part;
	const struct gctrace_bpf *with; /* whose maps they work on; NULL: their own */
	bool follows; /* some are of tracepoints: they bring the last ones again */
};

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* Without a list: with the first programs, those of all runtimes and of none. */
static const struct capture_program *choose(const char *name,
	const struct program_settings *settings, const struct selection *selection)
{
	static const struct capture_program own = {.use = USE_ALWAYS};
	const struct capture_program *list = selection->list,
				     *found = list ? find_program(list, name) : NULL;

	if (list ? selection->follows && is_one_of(name, last, ARRAY_SIZE(last))
		 : is_one_of(name, general, ARRAY_SIZE(general)))
		return &own;
	for (size_t i = 0; !list && !found && settings->lists[i]; i++)
		found = find_program(settings->lists[i], name);
	return found && found->part == selection->part ? found : NULL;
}

static bool is_used(const struct capture_program *program, const char *name,
	const struct program_settings *settings, enum uprobe_way way)
{
	if (is_one_of(name, stepping, ARRAY_SIZE(stepping)))
		return settings->steps;
	if (!strcmp(name, "on_step_watch"))
		return settings->step_watches;
	if (!strcmp(name, "on_gpu"))
		return settings->gpu;
	if (is_one_of(name, driving, ARRAY_SIZE(driving)))
		return settings->gpu_driver;
	if (program->use == USE_SESSION)
		return way == UPROBE_SESSION;
	return program->use != USE_PAIR || way != UPROBE_SESSION;
}

static void choose_programs(struct gctrace_bpf *bpf, const struct program_settings *settings,
	const struct selection *selection, enum uprobe_way way)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, bpf->obj) {
		const char *name = bpf_program__name(program);
		const struct capture_program *known = choose(name, settings, selection);
		bool load = known && is_used(known, name, settings, way);

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

/* The inode of our pid namespace, in whose numbers BPF shall speak; 0: the first one. */
static uint32_t pid_namespace(void)
{
	const ino_t first = 0xeffffffc; /* PROC_PID_INIT_INO, include/linux/proc_ns.h */
	struct stat st;

	return stat("/proc/self/ns/pid", &st) || st.st_ino == first ? 0 : (uint32_t)st.st_ino;
}

static void configure(struct gctrace_bpf *bpf, const struct program_settings *settings,
	unsigned int refused)
{
	const uint64_t bytes = power_of_two(settings->buffer_bytes);

	bpf->rodata->min_stack_ns = settings->min_stack_ns;
	bpf->rodata->wakeup_bytes = (uint32_t)(bytes / 4);
	bpf->rodata->follow_children = settings->children;
	bpf->rodata->pid_namespace = pid_namespace();
	bpf->rodata->page_size = (uint32_t)sysconf(_SC_PAGESIZE);
	bpf->rodata->refuse_state = refused & REFUSE_STATES ? REFUSED_LOOKUPS : 0;
	bpf->rodata->refuse_ends = refused & REFUSE_ENDS;
	bpf_map__set_max_entries(bpf->maps.events, (uint32_t)bytes);
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

static int load(const struct programs *programs, const struct selection *selection,
	struct gctrace_bpf **ret)
{
	_cleanup_(cleanup_gctrace_bpf__destroy) struct gctrace_bpf *bpf = gctrace_bpf__open();
	int r = bpf ? 0 : -errno;

	if (r)
		return r;
	choose_programs(bpf, &programs->settings, selection, programs->way);
	configure(bpf, &programs->settings, programs->refused);
	if (selection->with)
		r = share_maps(bpf, selection->with);
	if (!r)
		r = gctrace_bpf__load(bpf);
	if (!r)
		*ret = steal_ptr(bpf);
	return r;
}

/* The best way of which the kernel takes the programs: what it has may still not work. */
static int load_first(struct programs *programs)
{
	const struct selection first = {};
	int r = -ENOTSUP;

	for (programs->way = uprobe_best_way(programs->refused); programs->way <= UPROBE_PERF;
		programs->way++) {
		r = load(programs, &first, &programs->bpf);
		if (!r || r == -EPERM || r == -ENOMEM)
			return r;
		log_debug("no programs for %s: %s", uprobe_way_name(programs->way), strerror(-r));
	}
	return r;
}

int programs_load(struct programs *programs, const struct program_settings *settings,
	struct err *err)
{
	int r = kernel_parse_refusals(&programs->refused, err);

	programs->settings = *settings;
	if (!r)
		r = kernel_allows(err);
	if (!r)
		r = kernel_check_limits(err);
	if (r)
		return r;
	kernel_quiet_libbpf();
	r = load_first(programs);
	return r ? kernel_explain_refusal(r, err) : 0;
}

static int attach_tracepoint(struct programs *programs, struct bpf_program *program)
{
	struct bpf_link **slot = vec_add(&programs->tracepoints);

	if (!slot)
		return -ENOMEM;
	*slot = bpf_program__attach(program);
	if (*slot)
		return 0;
	programs->tracepoints.count--;
	return -errno;
}

static bool is_tracepoints(const struct gctrace_bpf *bpf, const struct capture_program *program,
	unsigned int part)
{
	return program->part == part && bpf_program__type(bpf_object__find_program_by_name(bpf->obj,
						program->name)) == BPF_PROG_TYPE_TRACING;
}

static bool has_tracepoints(const struct gctrace_bpf *bpf, const struct capture_program *list,
	unsigned int part)
{
	for (; list->name; list++)
		if (is_tracepoints(bpf, list, part))
			return true;
	return false;
}

/* Those of one part of a runtime's. */
static int attach_own(struct programs *programs, const struct gctrace_bpf *bpf,
	const struct capture_program *own, unsigned int part)
{
	int r = 0;

	for (; !r && own->name; own++)
		if (is_tracepoints(bpf, own, part))
			r = attach_tracepoint(programs,
				bpf_object__find_program_by_name(bpf->obj, own->name));
	return r;
}

/*
 * Those of @bpf take the place of the ones before, which go only then: no end of a process is missed. What both see
 * is told by the first alone.
 */
static int attach_last(struct programs *programs, const struct gctrace_bpf *bpf)
{
	struct bpf_link *links[ARRAY_SIZE(last)] = {};
	int r = 0;

	for (size_t i = 0; !r && i < ARRAY_SIZE(last); i++) {
		links[i] = bpf_program__attach(bpf_object__find_program_by_name(bpf->obj, last[i]));
		r = links[i] ? 0 : -errno;
	}
	for (size_t i = 0; i < ARRAY_SIZE(last); i++) {
		if (!r) {
			bpf_link__destroy(programs->last[i]);
			programs->last[i] = links[i];
		} else if (links[i]) {
			bpf_link__destroy(links[i]);
		}
	}
	return r;
}

/*
 * The kernel runs the programs of one tracepoint in the order in which they came: a child is a target before its
 * runtime's program sees it, and what ends is one until that has seen it.
 */
int programs_follow(struct programs *programs, struct err *err)
{
	int r = attach_tracepoint(programs, programs->bpf->progs.on_fork);

	for (size_t i = 0; !r && programs->settings.lists[i]; i++)
		r = attach_own(programs, programs->bpf, programs->settings.lists[i], 0);
	if (!r)
		r = attach_last(programs, programs->bpf);
	return r ? err_set(err, -r, "the kernel's scheduler tracepoints cannot be followed: %s",
			   strerror(-r))
		 : 0;
}

/* Those of tracepoints among a part just loaded; none of them if one cannot be. */
static int follow_part(struct programs *programs, const struct selection *part,
	const struct gctrace_bpf *bpf)
{
	const size_t before = programs->tracepoints.count;
	int r = attach_own(programs, bpf, part->list, part->part);

	if (!r)
		r = attach_last(programs, bpf);
	while (r && programs->tracepoints.count > before)
		bpf_link__destroy(programs->tracepoints.items[--programs->tracepoints.count]);
	return r;
}

static struct gctrace_bpf *known_part(const struct programs *programs,
	const struct capture_program *list, unsigned int part)
{
	for (size_t i = 0; i < programs->parts.count; i++)
		if (programs->parts.items[i].list == list && programs->parts.items[i].part == part)
			return programs->parts.items[i].bpf;
	return part ? NULL : programs->bpf;
}

static int load_part(struct programs *programs, const struct capture_program *list,
	unsigned int part, struct gctrace_bpf **ret, struct err *err)
{
	const struct selection selection = {
		list, part, programs->bpf, has_tracepoints(programs->bpf, list, part)};
	_cleanup_(cleanup_gctrace_bpf__destroy) struct gctrace_bpf *bpf = NULL;
	struct program_part *slot;
	int r;

	*ret = known_part(programs, list, part);
	if (*ret)
		return 0;
	r = load(programs, &selection, &bpf);
	if (!r && selection.follows)
		r = follow_part(programs, &selection, bpf);
	if (r)
		return kernel_explain_refusal(r, err);
	slot = vec_add(&programs->parts);
	if (!slot)
		return err_set(err, ENOMEM, "out of memory");
	*slot = (struct program_part){list, part, bpf};
	*ret = steal_ptr(bpf);
	return 0;
}

int programs_load_rest(struct programs *programs, struct err *err)
{
	const struct capture_program *const *lists = programs->settings.lists;
	struct gctrace_bpf *bpf;
	int r = 0;

	for (size_t i = 0; lists[i]; i++)
		for (size_t n = 0; !r && lists[i][n].name; n++)
			r = load_part(programs, lists[i], lists[i][n].part, &bpf, err);
	return r;
}

int programs_find(struct programs *programs, const struct capture_program *list, const char *name,
	struct bpf_program **ret, struct err *err)
{
	const struct capture_program *program = find_program(list, name);
	struct gctrace_bpf *bpf;
	int r = program ? load_part(programs, list, program->part, &bpf, err)
			: err_set(err, ENOENT, "no BPF program is called %s", name);

	if (r)
		return r;
	*ret = bpf_object__find_program_by_name(bpf->obj, name);
	return *ret ? 0 : err_set(err, ENOENT, "no BPF program is called %s", name);
}

void programs_release(struct programs *programs)
{
	for (size_t i = 0; i < programs->tracepoints.count; i++)
		bpf_link__destroy(programs->tracepoints.items[i]);
	vec_free(&programs->tracepoints);
	for (size_t i = 0; i < ARRAY_SIZE(programs->last); i++)
		bpf_link__destroy(programs->last[i]);
	for (size_t i = programs->parts.count; i--;)
		gctrace_bpf__destroy(programs->parts.items[i].bpf);
	vec_free(&programs->parts);
	gctrace_bpf__destroy(programs->bpf);
	programs->bpf = NULL;
}
