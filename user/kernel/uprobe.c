/* A program and a place in a file → a uprobe, by the best means that the kernel has. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "uprobe.h"

/* enum bpf_attach_type, linux/bpf.h: newer than libbpf 1.1's headers. */
#define BPF_TRACE_UPROBE_MULTI	 48
#define BPF_TRACE_UPROBE_SESSION 57

#define BPF_F_UPROBE_MULTI_RETURN 1

/* union bpf_attr of BPF_LINK_CREATE with uprobe_multi, linux/bpf.h of 6.6. */
struct link_create_uprobe_multi {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t count, multi_flags, pid, pad;
};

static uint32_t attach_type(enum uprobe_way way)
{
	return way == UPROBE_SESSION ? BPF_TRACE_UPROBE_SESSION : BPF_TRACE_UPROBE_MULTI;
}

/* The link's descriptor or -errno. */
static int create_link(int program, uint32_t type, const struct uprobe_place *place)
{
	struct link_create_uprobe_multi attr = {
		.prog_fd = (uint32_t)program,
		.attach_type = type,
		.path = (uintptr_t)place->path,
		.offsets = (uintptr_t)&place->offset,
		.ref_ctr_offsets = place->semaphore ? (uintptr_t)&place->semaphore : 0,
		.cookies = (uintptr_t)&place->cookie,
		.count = 1,
		.multi_flags = place->at_return ? BPF_F_UPROBE_MULTI_RETURN : 0,
		.pid = (uint32_t)place->pid,
	};
	int fd = (int)syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : fd;
}

/*
 * Kernels that know the link get as far as to see that a folder is no file: EBADF. Until 6.9 a link for one process sees only
 * the thread of that number. With the fix of that, kernels refuse a negative pid before they look at the file: EINVAL (as
 * libbpf's features.c finds out, too).
 */
static bool kernel_has(enum uprobe_way way)
{
	static const struct bpf_insn answer_0[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = attach_type(way));
	const struct uprobe_place folder = {.path = "/"}, of_nobody = {.path = "/", .pid = -1};
	int program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "gctrace_asks", "GPL", answer_0, 2,
		    &options),
	    r, filtered;

	if (program < 0)
		return false;
	r = create_link(program, attach_type(way), &folder);
	filtered = create_link(program, attach_type(way), &of_nobody);
	if (r >= 0)
		close(r);
	if (filtered >= 0)
		close(filtered);
	close(program);
	return r == -EBADF && filtered == -EINVAL;
}

enum uprobe_way uprobe_best_way(unsigned int refused)
{
	enum uprobe_way way = UPROBE_SESSION;

	while (way != UPROBE_PERF && (refused & 1u << way || !kernel_has(way)))
		way++;
	return way;
}

const char *uprobe_way_name(enum uprobe_way way)
{
	static const char *const names[] = {
		[UPROBE_SESSION] = "uprobe sessions",
		[UPROBE_MULTI] = "uprobe_multi links",
		[UPROBE_PERF] = "perf uprobes",
	};

	return names[way];
}

void uprobe_prepare(struct bpf_program *program, enum uprobe_way way, bool session)
{
	if (way != UPROBE_PERF && bpf_program__type(program) == BPF_PROG_TYPE_KPROBE)
		bpf_program__set_expected_attach_type(program,
			(enum bpf_attach_type)attach_type(session ? UPROBE_SESSION : UPROBE_MULTI));
}

int uprobe_attach(const struct bpf_program *program, const struct uprobe_place *place,
	struct uprobe *ret)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = place->cookie,
		.retprobe = place->at_return, .ref_ctr_offset = place->semaphore);
	uint32_t type = (uint32_t)bpf_program__expected_attach_type(program);
	int fd;

	if (!type) {
		struct bpf_link *link = bpf_program__attach_uprobe_opts(program,
			place->pid ? place->pid : -1, place->path, place->offset, &options);

		if (!link)
			return -errno;
		*ret = (struct uprobe){.link = link};
		return 0;
	}
	fd = create_link(bpf_program__fd(program), type, place);
	if (fd < 0)
		return fd;
	*ret = (struct uprobe){.fd = fd};
	return 0;
}

void uprobe_detach(struct uprobe *probe)
{
	bpf_link__destroy(probe->link);
	if (probe->fd)
		close(probe->fd);
	*probe = (struct uprobe){};
}
