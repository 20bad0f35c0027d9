/* Attaches a program of floor.bpf.o to one function, says "ready" and waits for its stdin to end. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BPF_TRACE_UPROBE_SESSION 57 /* linux/bpf.h of 6.13 */
#define DRAIN_MS		 50

/* union bpf_attr of BPF_LINK_CREATE with uprobe_multi, linux/bpf.h of 6.6. */
struct link_create_uprobe_multi {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t count, multi_flags, pid, pad;
};

/* @alone: the entry only. */
static int attach_pair(struct bpf_object *object, const char *path, uint64_t offset, bool alone)
{
	struct bpf_program *program = bpf_object__find_program_by_name(object, "on_nothing");

	if ((!alone && !bpf_program__attach_uprobe(program, true, -1, path, offset)) ||
		!bpf_program__attach_uprobe(program, false, -1, path, offset))
		return -errno;
	return 0;
}

/* @pid: the only process that has the probe, 0 for all. */
static int attach_session(struct bpf_program *program, const char *path, uint64_t offset, pid_t pid)
{
	struct link_create_uprobe_multi attr = {
		.prog_fd = (uint32_t)bpf_program__fd(program),
		.attach_type = BPF_TRACE_UPROBE_SESSION,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)&offset,
		.count = 1,
		.pid = (uint32_t)pid,
	};

	return syscall(__NR_bpf, BPF_LINK_CREATE, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

static int ignore(void *arg, void *bytes, size_t size)
{
	return 0;
}

/* Until our stdin ends, which also ends us when the bench is killed. */
static void wait_and_drain(struct bpf_object *object)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, "events");
	struct ring_buffer *ring = ring_buffer__new(bpf_map__fd(map), ignore, NULL, NULL);
	fd_set in;
	int r = 0;

	while (ring && !r) {
		struct timeval patience = {.tv_usec = DRAIN_MS * 1000};

		FD_ZERO(&in);
		FD_SET(STDIN_FILENO, &in);
		r = select(STDIN_FILENO + 1, &in, NULL, NULL, &patience);
		ring_buffer__consume(ring);
	}
	ring_buffer__free(ring);
}

/* One program per mode; the others are not loaded. */
static int load(struct bpf_object *object, const char *name, bool session)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object) {
		bool wanted = !strcmp(bpf_program__name(program), name);

		bpf_program__set_autoload(program, wanted);
		if (wanted && session)
			bpf_program__set_expected_attach_type(program, BPF_TRACE_UPROBE_SESSION);
	}
	return bpf_object__load(object);
}

static int usage(void)
{
	fprintf(stderr,
		"usage: floor OBJECT entry|pair|session|record|filter|private PATH OFFSET [PID]\n"
		"  entry    an uprobe, empty\n"
		"  pair     uprobe and uretprobe, empty\n"
		"  session  the same as an uprobe session\n"
		"  record   a session that sends a record of 104 bytes\n"
		"  filter   a session whose entry lets everyone but PID skip the return\n"
		"  private  an empty session that only PID has\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct bpf_object *object;
	const char *mode, *name;
	bool alone;
	pid_t pid = argc > 5 ? atoi(argv[5]) : 0;
	uint64_t offset;
	int r;

	if (argc < 5)
		return usage();
	mode = argv[2];
	alone = !strcmp(mode, "entry");
	name = alone || !strcmp(mode, "pair") ? "on_nothing"
	       : !strcmp(mode, "record")      ? "on_session_record"
	       : !strcmp(mode, "filter")      ? "on_session_filter"
					      : "on_session";
	offset = strtoull(argv[4], NULL, 0);
	object = bpf_object__open_file(argv[1], NULL);
	if (!object)
		return 1;
	if (!strcmp(mode, "filter")) {
		struct bpf_map *rodata = bpf_object__find_map_by_name(object, ".rodata");
		uint32_t target = (uint32_t)pid;

		bpf_map__set_initial_value(rodata, &target, sizeof(target));
	}
	r = load(object, name, strcmp(name, "on_nothing"));
	if (!r)
		r = !strcmp(name, "on_nothing")
			    ? attach_pair(object, argv[3], offset, alone)
			    : attach_session(bpf_object__find_program_by_name(object, name),
				      argv[3], offset, !strcmp(mode, "private") ? pid : 0);
	if (r) {
		fprintf(stderr, "floor: %s cannot be attached: %s\n", mode, strerror(-r));
		return 1;
	}
	puts("ready");
	fflush(stdout);
	wait_and_drain(object);
	bpf_object__close(object);
	return 0;
}
