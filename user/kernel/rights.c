/* What this process may do: capabilities, and the two system calls that tracing takes. */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cleanup.h"
#include "kernel_priv.h"
#include "proc.h"

static bool has_capability(int capability)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {};

	if (syscall(SYS_capget, &header, data))
		return false;
	return data[capability / 32].effective >> (capability % 32) & 1;
}

/* bpf(2) and perf_event_open(2) ask for capabilities of the first user namespace. */
static bool in_first_user_namespace(void)
{
	const ino_t first = 0xeffffffd; /* PROC_USER_INIT_INO, include/linux/proc_ns.h */
	struct stat st;

	return stat("/proc/self/ns/user", &st) || st.st_ino == first;
}

/* What is missing of what loading BPF, opening events, reading memory and map_files each need. */
static void list_missing(struct kernel_check *check, bool *ret_vital)
{
	static const struct {
		int number;
		const char *name;
		bool implied, vital; /* by CAP_SYS_ADMIN; nothing works without it */
	} needed[] = {
		{CAP_BPF, "CAP_BPF", true, true},
		{CAP_PERFMON, "CAP_PERFMON", true, true},
		{CAP_SYS_PTRACE, "CAP_SYS_PTRACE", false, false},
		{CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", false, false},
		{CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE", true, false},
	};
	size_t used = 0;

	*ret_vital = false;
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		if (has_capability(needed[i].number) ||
			(needed[i].implied && has_capability(CAP_SYS_ADMIN)))
			continue;
		check->good = false;
		*ret_vital |= needed[i].vital;
		used += (size_t)snprintf(check->answer + used, sizeof(check->answer) - used,
			"%s %s", used ? "," : "missing:", needed[i].name);
	}
}

bool kernel_lacks(char *ret, size_t size)
{
	struct kernel_check check = {.good = true};
	bool vital;

	list_missing(&check, &vital);
	if (!check.good)
		snprintf(ret, size, "%s", check.answer + strlen("missing: "));
	return !check.good;
}

void kernel_look_at_privileges(struct kernel_check *check)
{
	bool vital;

	kernel_answer(check, "%s", geteuid() ? "all capabilities needed" : "root");
	if (!in_first_user_namespace()) {
		kernel_answer(check, "only those of a user namespace");
		kernel_refuse(check, EPERM,
			"this looks like a rootless container, which has no others to give: run "
			"gctrace on the host with sudo");
		return;
	}
	list_missing(check, &vital);
	if (vital && geteuid())
		kernel_refuse(check, EPERM, "run with sudo");
	else if (vital)
		kernel_refuse(check, EPERM,
			"this looks like a container: add them (docker run --cap-add BPF --cap-add "
			"PERFMON --cap-add SYS_PTRACE, or --privileged), or run gctrace on the "
			"host");
	else if (!check->good)
		kernel_refuse(check, 0,
			"processes of other users, in containers, or with deleted files may be out "
			"of reach: %s",
			geteuid() ? "run with sudo" : "add them, or run on the host");
}

static bool behind_seccomp(void)
{
	char mode[8];

	return kernel_read_line("/proc/self/status", "Seccomp:\t", mode, sizeof(mode)) &&
	       atoi(mode) == 2;
}

static bool refused(int error)
{
	return error == EPERM || error == EACCES || error == ENOSYS;
}

/* System call @name fails with @error though we have the capabilities for it. */
static void explain_call(struct kernel_check *check, const char *name, int error, bool fatal)
{
	int code = fatal ? EPERM : 0;

	kernel_answer(check, "%s is refused: %s", name, strerror(error));
	if (behind_seccomp())
		kernel_refuse(check, code,
			"a seccomp filter forbids it: docker run --security-opt "
			"seccomp=unconfined, or a profile that allows %s",
			name);
	else if (error == ENOSYS)
		kernel_refuse(check, code,
			"this kernel is built without it, or a sandbox (gVisor) stands in its "
			"place: run gctrace on the host");
	else
		kernel_refuse(check, code,
			"a security module forbids it: allow it in the policy (SELinux, AppArmor)");
}

/* Asks to load nothing at all: no kernel does, but one that would not for us says EPERM. */
void kernel_look_at_bpf(struct kernel_check *check)
{
	union bpf_attr nothing = {};

	kernel_answer(check, "allowed");
	if (syscall(__NR_bpf, BPF_PROG_LOAD, &nothing, sizeof(nothing)) < 0 && refused(errno))
		explain_call(check, "bpf(2)", errno, true);
}

/* 0, or the error of opening an event of @attr on @pid and @cpu. */
static int try_event(struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags)
{
	int fd = (int)syscall(__NR_perf_event_open, attr, pid, cpu, -1, flags);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* A uprobe at no file, everywhere: whoever may have one gets the answer that there is no such file. */
static int try_uprobe(void)
{
	struct perf_event_attr attr = {.size = sizeof(attr), .config1 = (uintptr_t) ""};
	char type[16];

	if (!kernel_read_line("/sys/bus/event_source/devices/uprobe/type", "", type, sizeof(type)))
		return 0; /* cannot be asked like this */
	attr.type = (uint32_t)atoi(type);
	return try_event(&attr, -1, 0, PERF_FLAG_FD_CLOEXEC);
}

/* A hardware watchpoint that is never switched on. */
static int try_watchpoint(void)
{
	static int watched;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = (uintptr_t)&watched,
		.bp_len = HW_BREAKPOINT_LEN_4,
		.sample_period = 1,
		.exclude_kernel = 1,
		.disabled = 1,
	};

	return try_event(&attr, 0, -1, PERF_FLAG_FD_CLOEXEC);
}

/*
 * Kernels with uprobe_multi need perf events for watchpoints only. A perf uprobe asks for
 * CAP_SYS_ADMIN whatever kernel.perf_event_paranoid is; a watchpoint does where Debian's kernel has
 * it at 3, Ubuntu's at 4.
 */
void kernel_look_at_perf(struct kernel_check *check)
{
	bool multi = kernel_has_uprobe_multi();
	int call = try_event(NULL, 0, -1, ~0ul); /* of unknown flags, which are looked at first */
	int error = multi ? try_watchpoint() : try_uprobe();
	char paranoid[16] = "?";

	kernel_read_line("/proc/sys/kernel/perf_event_paranoid", "", paranoid, sizeof(paranoid));
	kernel_answer(check, "allowed (kernel.perf_event_paranoid is %s)", paranoid);
	if (!refused(error))
		return;
	if (refused(call) || has_capability(CAP_SYS_ADMIN)) {
		explain_call(check, "perf_event_open(2)", error, !multi);
		return;
	}
	kernel_answer(check, "refused without CAP_SYS_ADMIN (kernel.perf_event_paranoid is %s)",
		paranoid);
	if (multi)
		kernel_refuse(check, 0,
			"only a watchpoint needs them, for a runtime that shows no function to "
			"probe: run with CAP_SYS_ADMIN (sudo), or sysctl "
			"kernel.perf_event_paranoid=2");
	else
		kernel_refuse(check, EPERM,
			"this kernel has no other uprobes, and CAP_PERFMON does not suffice for "
			"these: run with CAP_SYS_ADMIN (sudo, or docker run --cap-add SYS_ADMIN)");
}

int kernel_refuse_thread(pid_t pid, struct err *err)
{
	pid_t process = proc_of_thread(pid);

	if (!process || process == pid)
		return 0;
	return err_set(err, EINVAL, "%d is a thread of process %d: -p %d", pid, process, process);
}

int kernel_explain_maps(pid_t pid, int error, struct err *err)
{
	const char *why =
		error == -ESRCH ? "there is no such process"
		: refused(-error) && has_capability(CAP_SYS_PTRACE)
			? "a security module or a user namespace forbids it, even with CAP_SYS_PTRACE"
		: refused(-error)
			? "it is another user's or a container's: run with sudo, or with CAP_SYS_PTRACE too"
			: strerror(-error);

	return err_set(err, -error, "the memory map of process %d cannot be read: %s", pid, why);
}
