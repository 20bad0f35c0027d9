/* The kernel, as it answers when asked and tried → conditions of tracing, with remedies. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "cleanup.h"
#include "kernel_priv.h"
#include "load_priv.h"

/* What this program was built for, as uname(2) and as people call it. */
#ifdef __aarch64__
static const char *const machine[] = {"aarch64", "arm64"};
#else
static const char *const machine[] = {"x86_64", "x86-64"};
#endif

static void look_at_machine(struct kernel_check *check)
{
	struct utsname name = {};

	uname(&name);
	kernel_answer(check, "%s %s", name.release, name.machine);
	if (strcmp(name.machine, machine[0]))
		kernel_refuse(check, ENOTSUP,
			"this gctrace is built for %s: use one that is built for this machine",
			machine[1]);
}

/* Pids are read from /proc and looked for in BPF: both must mean the same numbers. */
static void look_at_proc(struct kernel_check *check)
{
	char self[32] = "";

	kernel_answer(check, "of this pid namespace");
	if (readlink("/proc/self", self, sizeof(self) - 1) > 0 && atoi(self) == getpid())
		return;
	kernel_answer(check, "%sof another pid namespace", self[0] ? "" : "not mounted, or ");
	kernel_refuse(check, ENOTSUP,
		"mount /proc in the namespace that gctrace runs in (unshare --mount-proc does), or "
		"run it in the target's (docker run --pid=container:NAME)");
}

/* Whether programs of uprobes may call @helper. Where that cannot be asked, it counts as yes. */
static bool has_helper(enum bpf_func_id helper)
{
	const struct bpf_insn call[] = {
		{.code = BPF_JMP | BPF_CALL, .imm = (int)helper},
		{.code = BPF_JMP | BPF_EXIT},
	};
	char log[4096] = "";
	LIBBPF_OPTS(bpf_prog_load_opts, options, .log_level = 1, .log_buf = log,
		.log_size = sizeof(log));
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "gctrace_asks", "GPL", call, ARRAY_SIZE(call),
		&options);

	if (fd >= 0)
		close(fd);
	/* No such helper; none for this type of program, until 6.12; the same since. */
	return fd >= 0 || !(strstr(log, "invalid func") || strstr(log, "unknown func") ||
				  strstr(log, "cannot use helper"));
}

/* Where the file is out of sight: a locked kernel lets programs read memory of users only. */
static void look_at_lockdown(struct kernel_check *check)
{
	char line[128] = "";
	bool told = kernel_read_line("/sys/kernel/security/lockdown", "", line, sizeof(line));

	if (!strstr(line, "[confidentiality]") && (told || has_helper(BPF_FUNC_probe_read_kernel) ||
							  !has_helper(BPF_FUNC_probe_read_user))) {
		kernel_answer(check, "no obstacle");
		return;
	}
	kernel_answer(check, "confidentiality");
	kernel_refuse(check, EPERM,
		"it forbids BPF to read memory: boot with lockdown=integrity, or without lockdown");
}

static void look_at_btf(struct kernel_check *check)
{
	static const char file[] = "/sys/kernel/btf/vmlinux";
	struct btf *btf = NULL;

	kernel_answer(check, "%s", file);
	if (!access(file, R_OK))
		return;
	btf = btf__load_vmlinux_btf(); /* libbpf knows other places */
	kernel_answer(check, btf ? "not in /sys, but in a file" : "%s is missing", file);
	if (!btf)
		kernel_refuse(check, ENOTSUP,
			"in a container, let it see the host's /sys; else use a kernel built with "
			"CONFIG_DEBUG_INFO_BTF=y, as every current distribution's is");
	btf__free(btf);
}

static void look_at_features(struct kernel_check *check)
{
	static const struct {
		enum bpf_func_id helper;
		const char *name;
	} needed[] = {
		{BPF_FUNC_ringbuf_reserve, "ring buffers"},
		{BPF_FUNC_task_storage_get, "task storage"},
		{BPF_FUNC_get_current_task_btf, "typed tasks"},
		{BPF_FUNC_get_attach_cookie, "attach cookies"},
	};
	size_t used = 0;

	kernel_answer(check, "all that are needed");
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (!has_helper(needed[i].helper))
			used += (size_t)snprintf(check->answer + used, sizeof(check->answer) - used,
				"%s %s", used ? "," : "missing:", needed[i].name);
	if (used)
		kernel_refuse(check, ENOTSUP,
			"Linux 5.15 has them, and so have older kernels of distributions that took "
			"them over: use such a kernel");
}

static const struct {
	const char *question;
	bool tries; /* by what earlier answers may have shown to be refused */
	void (*look)(struct kernel_check *check);
} questions[] = {
	{"kernel", false, look_at_machine},
	{"/proc", false, look_at_proc},
	{"privileges", false, kernel_look_at_privileges},
	{"bpf(2)", true, kernel_look_at_bpf},
	{"kernel lockdown", false, look_at_lockdown},
	{"BTF", false, look_at_btf},
	{"BPF features", true, look_at_features},
	{"perf events", true, kernel_look_at_perf},
};

_Static_assert(ARRAY_SIZE(questions) == KERNEL_CHECKS, "as kernel.h says");

size_t kernel_checks(struct kernel_check *ret, size_t max)
{
	bool blocked = false;
	size_t count = 0;

	kernel_quiet_libbpf();
	for (size_t i = 0; i < ARRAY_SIZE(questions) && count < max; i++) {
		if (blocked && questions[i].tries)
			continue;
		ret[count] = (struct kernel_check){.question = questions[i].question, .good = true};
		questions[i].look(&ret[count]);
		blocked |= ret[count++].fatal;
	}
	return count;
}

int kernel_allows(struct err *err)
{
	struct kernel_check checks[KERNEL_CHECKS];
	size_t count = kernel_checks(checks, ARRAY_SIZE(checks));

	for (size_t i = 0; i < count; i++)
		if (checks[i].fatal)
			return err_set(err, checks[i].error,
				"nothing can be traced here: %s: %s; %s", checks[i].question,
				checks[i].answer, checks[i].remedy);
	return 0;
}
