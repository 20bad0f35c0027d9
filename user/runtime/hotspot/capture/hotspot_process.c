/* One JVM: its memory and its libjvm's symbols → what BPF must know. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "hotspot_priv.h"
#include "log.h"
#include "mem.h"

DEFINE_CLEANUP(struct hotspot *, hotspot_free);

static int read_memory(void *arg, uint64_t address, void *ret, size_t len)
{
	const struct hotspot *hotspot = arg;

	return mem_read(hotspot->pid, address, ret, len);
}

static uint64_t find_symbol(void *arg, const char *name)
{
	const struct hotspot *hotspot = arg;
	struct elf_symbol symbol;

	if (!elf_file_symbol(hotspot->file, name, true, &symbol) ||
		(hotspot->debug && !elf_file_symbol(hotspot->debug, name, true, &symbol)))
		return hotspot->bias + symbol.vaddr;
	return 0;
}

void hotspot_free(struct hotspot *hotspot)
{
	if (!hotspot)
		return;
	jvm_free(hotspot->jvm);
	elf_file_free(hotspot->file);
	elf_file_free(hotspot->debug);
	u64map_release(&hotspot->vtables);
	u64map_release(&hotspot->tids);
	vec_free(&hotspot->classes);
	free(hotspot->names);
	free(hotspot);
}

int hotspot_open(pid_t pid, const struct proc_map *map, const struct probe_plan *plan,
	struct hotspot **ret, struct err *err)
{
	_cleanup_(cleanup_hotspot_free) struct hotspot *hotspot = calloc(1, sizeof(*hotspot));
	char path[PATH_MAX];
	struct proc_info info;
	struct err why;
	int fd, r;

	if (!hotspot)
		return err_set(err, ENOMEM, "out of memory");
	hotspot->pid = hotspot->ns_pid = pid;
	if (!proc_info_read(pid, &info)) {
		hotspot->ns_pid = info.ns_pid;
		free(info.cmdline);
	}
	hotspot->clock_unknown = clock_offset_of(pid, &hotspot->clock_offset, &why) != 0;
	if (hotspot->clock_unknown)
		log_info("%s: when its pauses began is told by probes", why.text);
	hotspot->bias = map->start - plan->page_vaddr;
	hotspot->symbols = *hotspot_file(plan);
	fd = proc_map_open(pid, map, path, sizeof(path));
	if (fd < 0)
		return err_set(err, -fd, "%s, mapped by process %d, cannot be opened: %s",
			map->path, pid, strerror(-fd));
	r = elf_file_open(fd, map->path, &hotspot->file, err);
	if (r)
		return r;
	if (!elf_file_has_symtab(hotspot->file))
		probe_open_debug(pid, map, hotspot->file, &hotspot->debug, &why);
	*ret = steal_ptr(hotspot);
	return 0;
}

int hotspot_learn(struct hotspot *hotspot, struct err *err)
{
	const struct jvm_source source = {hotspot, read_memory, find_symbol};
	struct jvm_plan *plan = &hotspot->plan;
	int r = 0;

	if (hotspot->learned)
		return 0;
	if (!hotspot->jvm)
		r = jvm_open(&source, &hotspot->jvm, err);
	if (!r)
		r = jvm_plan(hotspot->jvm, plan, err);
	if (hotspot->symbols.statics) {
		plan->wire.statics = hotspot->bias + hotspot->symbols.statics;
		plan->wire.statics_bytes = hotspot->symbols.statics_bytes;
	}
	plan->wire.arguments = hotspot->symbols.arguments;
	if (!r) {
		hotspot_counters_now(hotspot);
		hotspot_read_names(hotspot);
	}
	hotspot->learned = !r;
	return r;
}

const struct jvm *hotspot_jvm(const struct hotspot *hotspot)
{
	return hotspot->jvm;
}

const struct jvm_plan *hotspot_plan(const struct hotspot *hotspot)
{
	return &hotspot->plan;
}

int hotspot_safepoints(const struct hotspot *hotspot, uint64_t *ret)
{
	if (!hotspot->jvm)
		return -EAGAIN;
	return jvm_counter_now(hotspot->jvm, &hotspot->plan, JVM_SAFEPOINTS, ret);
}

/* The last number of "NSpid:\t4711\t23", of thread @tid; 0 if there is none. */
static uint32_t namespace_tid(pid_t pid, uint32_t tid)
{
	_cleanup_fclose_ FILE *stream = NULL;
	char path[64], line[256];

	snprintf(path, sizeof(path), "/proc/%d/task/%u/status", pid, tid);
	stream = fopen(path, "re");
	while (stream && fgets(line, sizeof(line), stream))
		if (!strncmp(line, "NSpid:", 6))
			return (uint32_t)strtoul(strrchr(line, '\t') + 1, NULL, 10);
	return 0;
}

static void list_tids(struct hotspot *hotspot)
{
	struct dirent *entry;
	char path[64];
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", hotspot->pid);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (tid)
			u64map_put(&hotspot->tids, namespace_tid(hotspot->pid, tid), tid);
	}
	if (tasks)
		closedir(tasks);
}

uint32_t hotspot_host_tid(struct hotspot *hotspot, uint32_t tid)
{
	const uint64_t *host;

	if (hotspot->ns_pid == hotspot->pid)
		return tid;
	host = u64map_get(&hotspot->tids, tid);
	if (!host) {
		list_tids(hotspot);
		host = u64map_get(&hotspot->tids, tid);
	}
	return host ? (uint32_t)*host : 0;
}

int hotspot_counter_addresses(pid_t pid, const struct probe_image *image,
	const struct probe_plan *plan, uint64_t ret[3], struct err *err)
{
	_cleanup_(cleanup_hotspot_free) struct hotspot *hotspot = NULL;
	int r = hotspot_open(pid, &image->map, plan, &hotspot, err);

	if (r)
		return r;
	r = hotspot_learn(hotspot, err);
	if (r && r != -EAGAIN)
		return err_set(err, ENOENT, "%s", err->text);
	if (!hotspot->plan.safepoints_address || !hotspot->plan.sync_time_address ||
		!hotspot->plan.safepoint_time_address)
		return err_set(err, ENOENT, "the JVM keeps no counters%s",
			r == -EAGAIN ? " yet" : " (-XX:-UsePerfData)");
	ret[0] = hotspot->plan.safepoints_address;
	ret[1] = hotspot->plan.sync_time_address;
	ret[2] = hotspot->plan.safepoint_time_address;
	return 0;
}

int hotspot_vmop_registers(const char *args, uint32_t *ret)
{
	/* In the order of DWARF's numbers for x86-64; each 64-bit name and its lower half. */
	static const char *const names[16][2] = {{"rax", "eax"}, {"rdx", "edx"}, {"rcx", "ecx"},
		{"rbx", "ebx"}, {"rsi", "esi"}, {"rdi", "edi"}, {"rbp", "ebp"}, {"rsp", "esp"},
		{"r8", "r8d"}, {"r9", "r9d"}, {"r10", "r10d"}, {"r11", "r11d"}, {"r12", "r12d"},
		{"r13", "r13d"}, {"r14", "r14d"}, {"r15", "r15d"}};
	char texts[3][8];
	uint32_t found[3];

	if (sscanf(args, "8@%%%7[a-z0-9] 8@%%%7[a-z0-9] -4@%%%7[a-z0-9]", texts[0], texts[1],
		    texts[2]) != 3)
		return -EINVAL;
	for (size_t i = 0; i < 3; i++) {
		found[i] = 16;
		for (uint32_t n = 0; n < 16; n++)
			if (!strcmp(texts[i], names[n][0]) || !strcmp(texts[i], names[n][1]))
				found[i] = n;
		if (found[i] == 16)
			return -EINVAL;
	}
	*ret = (uint32_t)GC_VM_REGISTERS(found[0], found[1], found[2]);
	return 0;
}
