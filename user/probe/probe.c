/* Which runtimes a process has, through the registry. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "elf_code.h"
#include "log.h"
#include "probe.h"
#include "strangers.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_free);

/* Whether an earlier executable map is of the same file. */
static bool seen_before(const struct proc_maps *maps, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (maps->maps.items[j].exec &&
			maps->maps.items[j].inode == maps->maps.items[i].inode &&
			maps->maps.items[j].device == maps->maps.items[i].device)
			return true;
	return false;
}

/* The inode of the program that @pid runs, or 0. */
static uint64_t executable_inode(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return stat(path, &st) ? 0 : st.st_ino;
}

static int open_image(pid_t pid, const struct proc_map *map, char *path, size_t size,
	struct elf_file **ret, struct err *err)
{
	int fd = proc_map_open(pid, map, path, size);

	if (fd < 0)
		return err_set(err, -fd, "%s, mapped by process %d, cannot be opened: %s",
			map->path, pid, strerror(-fd));
	return elf_file_open(fd, map->path, ret, err);
}

/*
 * Index into probe_runtimes, -ENOENT: it is none of them; or why the file could not be read. What else it is
 * goes into @known, which may be NULL.
 */
static int identify(struct probe_known *known, pid_t pid, const struct proc_map *map)
{
	_cleanup_(cleanup_elf_file_free) struct elf_file *file = NULL;
	char path[PATH_MAX];
	struct err err = {};
	int r = open_image(pid, map, path, sizeof(path), &file, &err);

	if (r) {
		log_debug("%s", err.text);
		return r == -ENOEXEC ? -ENOENT : r;
	}
	for (int i = 0; probe_runtimes[i]; i++)
		if (probe_runtimes[i]->match(file))
			return i;
	if (known && !known->stranger)
		known->stranger = stranger_of(file, map->path);
	return -ENOENT;
}

#define KNOWN_MOST 65536 /* files, 1.5 MB */

void probe_known_release(struct probe_known *known)
{
	u64map_release(&known->files);
}

/* Inodes are reused and files overwritten, but never without a change of these times. */
static uint64_t identity(const struct stat *st)
{
	const uint64_t parts[] = {st->st_dev, st->st_ino, (uint64_t)st->st_size,
		(uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec,
		(uint64_t)st->st_ctim.tv_sec, (uint64_t)st->st_ctim.tv_nsec};
	uint64_t hash = 0;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		hash = u64_mix(hash + parts[i]);
	return hash;
}

/* @known may be NULL. */
static const struct runtime_ops *recall(struct probe_known *known, pid_t pid,
	const struct proc_map *map)
{
	const uint64_t *value;
	struct stat st;
	uint64_t key;
	int index;

	if (!known || proc_map_stat(pid, map, &st)) {
		index = identify(known, pid, map);
		return index < 0 ? NULL : probe_runtimes[index];
	}
	key = identity(&st);
	value = u64map_get(&known->files, key);
	if (value)
		return *value ? probe_runtimes[*value - 1] : NULL;
	index = identify(known, pid, map);
	if (known->files.count >= KNOWN_MOST)
		probe_known_release(known);
	if (index >= 0 || index == -ENOENT)
		u64map_put(&known->files, key, index < 0 ? 0 : (uint64_t)index + 1);
	return index < 0 ? NULL : probe_runtimes[index];
}

static bool is_likely(const struct proc_map *map, uint64_t executable)
{
	for (size_t i = 0; probe_runtimes[i]; i++)
		if (probe_runtimes[i]->likely(map->path))
			return true;
	return map->inode == executable;
}

/* A file that is mapped executable, by its first such mapping. */
struct candidate {
	const struct proc_map *map;
	bool likely;
};

typedef VEC(struct candidate) candidates;

static void list_candidates(pid_t pid, const struct proc_maps *maps, candidates *ret)
{
	uint64_t executable = executable_inode(pid);
	struct u64map seen = {};

	for (size_t i = 0; i < maps->maps.count; i++) {
		const struct proc_map *map = &maps->maps.items[i];
		uint64_t key = u64_mix(map->device) ^ map->inode;
		struct candidate *slot;

		if (!map->exec || u64map_get(&seen, key) || u64map_put(&seen, key, 1))
			continue;
		slot = vec_add(ret);
		if (slot)
			*slot = (struct candidate){map, is_likely(map, executable)};
	}
	u64map_release(&seen);
}

static size_t find(struct probe_known *known, pid_t pid, const candidates *list, bool likely,
	struct probe_image *ret, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count && count < max; i++) {
		const struct proc_map *map = list->items[i].map;
		const struct runtime_ops *ops =
			list->items[i].likely == likely ? recall(known, pid, map) : NULL;

		if (ops)
			ret[count++] = (struct probe_image){ops, *map};
	}
	return count;
}

size_t probe_find_known(struct probe_known *known, pid_t pid, const struct proc_maps *maps,
	struct probe_image *ret, size_t max)
{
	candidates list = {};
	size_t count;

	list_candidates(pid, maps, &list);
	count = find(known, pid, &list, true, ret, max);
	if (!count)
		count = find(known, pid, &list, false, ret, max);
	vec_free(&list);
	return count;
}

size_t probe_find(pid_t pid, const struct proc_maps *maps, struct probe_image *ret, size_t max)
{
	return probe_find_known(NULL, pid, maps, ret, max);
}

/* Why it is not known whether @map is a runtime: it cannot be read, or has no section headers. */
static int find_obstacle(pid_t pid, const struct proc_map *map, bool program, struct err *err)
{
	_cleanup_(cleanup_elf_file_free) struct elf_file *file = NULL;
	char path[PATH_MAX];
	int r = open_image(pid, map, path, sizeof(path), &file, err);

	if (r == -EMFILE || r == -ENFILE || r == -ENOMEM) {
		err_set(err, -r,
			"%s, mapped by process %d, could not be looked at: %s (see ulimit -v, ulimit -n)",
			map->path, pid, strerror(-r));
		return r;
	}
	if (r)
		return program && r == -ENOEXEC ? r : 0;
	if (elf_file_has_sections(file))
		return 0;
	return err_set(err, program ? ENOEXEC : ENOTSUP,
		"%s, mapped by process %d, has no section headers, so nothing says where its functions are: "
		"use a build that keeps them",
		map->path, pid);
}

int probe_foreign(pid_t pid, const struct proc_maps *maps, struct err *err)
{
	uint64_t executable = executable_inode(pid);

	for (size_t i = 0; i < maps->maps.count; i++) {
		const struct proc_map *map = &maps->maps.items[i];
		int r;

		if (!map->exec || seen_before(maps, i) || !is_likely(map, executable))
			continue;
		r = find_obstacle(pid, map, map->inode == executable, err);
		if (r)
			return r;
	}
	return 0;
}

/* Everything about @image that no tier changes. */
static void begin_plan(const struct probe_image *image, struct probe_plan *plan)
{
	plan->ops = image->ops;
	plan->device = image->map.device;
	plan->inode = image->map.inode;
	snprintf(plan->kind, sizeof(plan->kind), "%s", image->ops->kind);
	snprintf(plan->shown_path, sizeof(plan->shown_path), "%s", image->map.path);
}

/* Why each tier that cannot be used refused. */
struct refusals {
	char text[512];
	size_t used;
	struct err last;
};

static void refuse(struct refusals *refusals, const char *tier, const struct err *why)
{
	size_t room = sizeof(refusals->text) - refusals->used;
	bool again = refusals->used && !strcmp(refusals->last.text, why->text);
	int n = snprintf(refusals->text + refusals->used, room, "%s%s: %s",
		refusals->used ? "; " : "", tier, again ? "the same" : why->text);

	refusals->used += n > 0 && (size_t)n < room ? (size_t)n : room - 1;
	refusals->last = *why;
}

/* Tries the tiers from @from on, cheap probes only if @cheap. Returns a tier's index or -errno. */
static int choose_tier(pid_t pid, const struct probe_image *image, const struct elf_file *file,
	const char *only, size_t from, bool cheap, struct probe_plan *plan, struct err *err)
{
	const char *const *tiers = image->ops->tiers;
	struct refusals refusals = {};

	for (size_t i = from; tiers[i]; i++) {
		struct err why = {};
		int r;

		if ((only && strcmp(only, tiers[i])) || (cheap && !tiers[i + 1]))
			continue;
		plan->single_stepped = false;
		r = image->ops->plan(pid, image, file, tiers[i], plan, &why);
		if (!r && !(cheap && plan->single_stepped)) {
			snprintf(plan->tier, sizeof(plan->tier), "%s", tiers[i]);
			return (int)i;
		}
		if (r == -ENOTSUP) /* of the runtime as a whole, whatever the tier */
			return err_set(err, ENOTSUP, "%s", why.text);
		refuse(&refusals, tiers[i], &why);
	}
	if (only)
		return err_set(err, ENOENT, "%s", refusals.text);
	return err_set(err, ENOENT, "no way to see the collections of %s (%s)", image->map.path,
		refusals.text);
}

int probe_plan(pid_t pid, const struct probe_image *image, const char *only, size_t *tier,
	struct probe_plan *ret, struct err *err)
{
	_cleanup_(cleanup_elf_file_free) struct elf_file *file = NULL;
	int r;

	memset(ret, 0, sizeof(*ret));
	begin_plan(image, ret);
	r = open_image(pid, &image->map, ret->path, sizeof(ret->path), &file, err);
	if (r)
		return r;
	r = choose_tier(pid, image, file, only, *tier, true, ret, err);
	if (r == -ENOENT)
		r = choose_tier(pid, image, file, only, *tier, false, ret, err);
	if (r < 0)
		return r;
	*tier = (size_t)r;
	return 0;
}

/* A plan for one process has that process's addresses already. */
static uint64_t bias_of(const struct proc_map *map, const struct probe_plan *plan)
{
	return plan->per_process ? 0 : map->start - plan->page_vaddr;
}

int probe_books(pid_t pid, const struct proc_map *map, const struct probe_plan *plan,
	struct probe_books *ret)
{
	int r = plan->ops->books ? plan->ops->books(pid, bias_of(map, plan), plan, ret) : -ENOTSUP;

	if (!r)
		ret->names = plan->ops->counters;
	return r;
}

int probe_fits(pid_t pid, const struct proc_map *map, const struct probe_plan *plan)
{
	return plan->ops->fits ? plan->ops->fits(pid, bias_of(map, plan), plan) : 0;
}

int probe_first_page(const struct elf_file *file, const struct proc_map *map, uint64_t *ret)
{
	uint64_t inside = (uint64_t)sysconf(_SC_PAGESIZE) -
			  1; /* the segment may begin within the map's first page, */
	uint64_t vaddr;
	int r = elf_file_vaddr(file, map->offset + inside, &vaddr);

	if (r) {
		inside = 0; /* or end there */
		r = elf_file_vaddr(file, map->offset, &vaddr);
	}
	if (!r)
		*ret = vaddr - inside;
	return r;
}

int probe_open_debug(pid_t pid, const struct proc_map *map, const struct elf_file *file,
	struct elf_file **ret, struct err *err)
{
	char root[32];

	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	if (!elf_file_open_debug(file, root, map->path, ret, err))
		return 0;
	return elf_file_open_debug(file, "", map->path, ret, err);
}

bool probe_is_linker(const char *path)
{
	const char *base = strrchr(path, '/');

	/* musl's is its C library, which Debian calls so; elsewhere it is ld-musl-ARCH.so.1. */
	return base && (!strncmp(base, "/ld-", 4) || !strcmp(base, "/libc.so"));
}

int probe_linker_hook(pid_t pid, const struct proc_maps *maps, char *ret_path, size_t size,
	uint64_t *ret_offset)
{
	int r = -ENOENT;

	for (size_t i = 0; i < maps->maps.count; i++) {
		_cleanup_(cleanup_elf_file_free) struct elf_file *file = NULL;
		const struct proc_map *map = &maps->maps.items[i];
		int opened;
		enum elf_step step;

		if (!map->exec || seen_before(maps, i) || !probe_is_linker(map->path))
			continue;
		opened = open_image(pid, map, ret_path, size, &file, NULL);
		if (opened)
			r = opened;
		if (!opened && !elf_code_function_site(file, "_dl_debug_state", ret_offset, &step))
			return 0;
	}
	return r;
}
