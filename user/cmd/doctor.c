/* gctrace doctor: what this kernel and this process allow, and for each "no" the remedy. */
#include <errno.h>
#include <getopt.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <json-c/json.h>

#include "analysis.h"
#include "capture.h"
#include "cleanup.h"
#include "log.h"
#include "parse.h"
#include "probe.h"
#include "step_report.h"

#define LISTEN_NS 5000000000ull

/* One question and its answer. */
struct finding {
	const char *question;
	bool good, fatal; /* fatal: nothing can be traced without it */
	char answer[256], remedy[512];
};

struct doctor {
	VEC(struct finding) findings;
	bool json, steps, help;
	uint64_t duration_ns; /* --steps: how long to listen */
	const char *recording; /* --steps: of a recording */
	long pid;
};

static struct finding *ask(struct doctor *doctor, const char *question, bool good, bool fatal)
{
	static struct finding lost;
	struct finding *finding = vec_add(&doctor->findings);

	if (!finding)
		return &lost;
	finding->question = question;
	finding->good = good;
	finding->fatal = fatal && !good;
	return finding;
}

static void answer(struct finding *finding, const char *text, const char *remedy)
{
	snprintf(finding->answer, sizeof(finding->answer), "%s", text);
	if (!finding->good)
		snprintf(finding->remedy, sizeof(finding->remedy), "%s", remedy);
}

static bool read_line(const char *path, char *ret, size_t size)
{
	_cleanup_fclose_ FILE *stream = fopen(path, "re");

	if (!stream || !fgets(ret, (int)size, stream))
		return false;
	ret[strcspn(ret, "\n")] = '\0';
	return true;
}

static bool has_capability(int capability)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {};

	if (syscall(SYS_capget, &header, data))
		return false;
	return data[capability / 32].effective >> (capability % 32) & 1;
}

/* What loading BPF, opening perf events, reading memory and map_files each need. */
static void check_capabilities(struct doctor *doctor)
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
	struct finding *finding = ask(doctor, "privileges", true, false);
	size_t used = 0;

	snprintf(finding->answer, sizeof(finding->answer), "%s",
		geteuid() ? "all capabilities needed" : "root");
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		if (has_capability(needed[i].number) ||
			(needed[i].implied && has_capability(CAP_SYS_ADMIN)))
			continue;
		finding->good = false;
		finding->fatal |= needed[i].vital;
		used += (size_t)snprintf(finding->answer + used, sizeof(finding->answer) - used,
			"%s %s", used ? "," : "missing:", needed[i].name);
	}
	if (finding->fatal)
		snprintf(finding->remedy, sizeof(finding->remedy), "%s",
			geteuid() ? "run with sudo"
				  : "this looks like a container without capabilities: add them "
				    "(docker run --cap-add …, or --privileged), or run on the host");
	else if (!finding->good)
		snprintf(finding->remedy, sizeof(finding->remedy),
			"processes of other users, in containers, or with deleted files may be out of "
			"reach: run with sudo");
}

/* BPF sees the first namespace's pids; another's /proc speaks of other numbers. */
static void check_namespace(struct doctor *doctor)
{
	bool first = trace_in_first_pid_namespace();

	answer(ask(doctor, "pid namespace", first, true), first ? "the host's" : "a container's own",
		"run gctrace on the host, or in a container with the host's pids (docker run --pid=host)");
}

static void check_kernel(struct doctor *doctor)
{
	struct utsname name = {};
	char text[sizeof(name.release) + sizeof(name.machine) + 2];
	struct finding *finding;

	uname(&name);
	finding = ask(doctor, "kernel", !strcmp(name.machine, "x86_64"), true);
	snprintf(text, sizeof(text), "%s %s", name.release, name.machine);
	answer(finding, text, "gctrace reads x86-64 registers and code: use an x86-64 machine");
	finding = ask(doctor, "BTF", !access("/sys/kernel/btf/vmlinux", R_OK), true);
	answer(finding, finding->good ? "/sys/kernel/btf/vmlinux" : "missing",
		"use a kernel built with CONFIG_DEBUG_INFO_BTF=y (every current distribution's is)");
}

static void check_lockdown(struct doctor *doctor)
{
	char line[128] = "none";
	bool locked = read_line("/sys/kernel/security/lockdown", line, sizeof(line)) &&
		strstr(line, "[confidentiality]");

	answer(ask(doctor, "kernel lockdown", !locked, true), locked ? "confidentiality" : "no obstacle",
		"lockdown=confidentiality forbids BPF to read memory: boot with lockdown=integrity");
}

static void check_paranoid(struct doctor *doctor)
{
	char line[32] = "?";
	bool strict;

	read_line("/proc/sys/kernel/perf_event_paranoid", line, sizeof(line));
	strict = atoi(line) >= 3 && !has_capability(CAP_SYS_ADMIN);
	answer(ask(doctor, "perf_event_paranoid", !strict, true), line,
		"3 shuts out even CAP_PERFMON on Debian and Ubuntu: sysctl kernel.perf_event_paranoid=2");
}

static void check_load(struct doctor *doctor)
{
	struct err err = {};
	bool loads = !trace_probe_kernel(&err), sessions;

	answer(ask(doctor, "BPF programs", loads, true), loads ? "load" : "are refused", err.text);
	if (!loads)
		return;
	sessions = trace_has_sessions();
	answer(ask(doctor, "uprobe sessions", sessions, false),
		sessions ? "yes: the cheapest probes" : "no",
		"from kernel 6.13 on; without them processes that are not traced pay for a return probe too");
}

/* Every tier's own word on one image, and which of them would serve. */
static void check_tiers(struct doctor *doctor, pid_t pid, const struct probe_image *image)
{
	struct probe_plan *plan = malloc(sizeof(*plan));
	size_t best = 0;
	bool any;

	if (!plan)
		return;
	any = !probe_plan(pid, image, NULL, &best, plan, NULL);
	for (size_t i = 0; image->ops->tiers[i]; i++) {
		const char *tier = image->ops->tiers[i];
		struct finding *finding;
		struct err err = {};
		size_t from = i;
		int r = probe_plan(pid, image, tier, &from, plan, &err);

		finding = ask(doctor, tier, !r, false);
		snprintf(finding->answer, sizeof(finding->answer), "%s%s", r ? "no" : plan->detail,
			any && i == best ? "   <- this one serves" : "");
		if (r)
			snprintf(finding->remedy, sizeof(finding->remedy), "%s", err.text);
	}
	if (!any)
		answer(ask(doctor, "a way to probe it", false, true), "none",
			"install the runtime's debug symbols (Debian: pythonX.Y-dbg, openjdk-NN-dbg), or use "
			"a build that keeps .symtab");
	free(plan);
}

static void describe_runtime(pid_t pid, const struct probe_image *image, struct finding *finding)
{
	struct probe_plan *plan = malloc(sizeof(*plan));
	char version[96] = "";
	size_t tier = 0;
	bool known = plan && !probe_plan(pid, image, NULL, &tier, plan, NULL);

	if (known && image->ops->describe)
		image->ops->describe(pid, image, plan, version, sizeof(version), finding->remedy,
			sizeof(finding->remedy));
	else if (known)
		snprintf(version, sizeof(version), "%s", plan->version);
	snprintf(finding->answer, sizeof(finding->answer), "%s%s%s: %s", image->ops->kind,
		version[0] ? " " : "", version, image->map.path);
	free(plan);
}

static int check_process(struct doctor *doctor, pid_t pid)
{
	struct probe_image found[PROBE_MAX_IMAGES];
	struct proc_maps maps = {};
	struct err err = {};
	size_t count;
	int r = proc_maps_read(pid, &maps);

	if (r) {
		err_set(&err, -r, "the memory map of process %d cannot be read: %s", pid,
			r == -ESRCH ? "there is no such process" : strerror(-r));
		return cmd_blind(&err);
	}
	count = probe_find(pid, &maps, found, ARRAY_SIZE(found));
	for (size_t i = 0; i < count; i++) {
		struct finding *finding = ask(doctor, "runtime", true, false);

		describe_runtime(pid, &found[i], finding);
		check_tiers(doctor, pid, &found[i]);
	}
	if (!count) {
		struct finding *finding = ask(doctor, "runtime", false, true);

		answer(finding, "none in this process", "");
		snprintf(finding->remedy, sizeof(finding->remedy), "looked for:");
		for (size_t i = 0; probe_runtimes[i]; i++)
			snprintf(finding->remedy + strlen(finding->remedy),
				sizeof(finding->remedy) - strlen(finding->remedy), "%s %s",
				i ? "," : "", probe_runtimes[i]->label);
	}
	proc_maps_release(&maps);
	return EXIT_OK;
}

static void print_text(const struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->findings.count; i++) {
		const struct finding *finding = &doctor->findings.items[i];

		printf("%-4s %-20s %s\n", finding->good ? "ok" : finding->fatal ? "NO" : "-",
			finding->question, finding->answer);
		if (finding->remedy[0])
			printf("     %-20s %s\n", "", finding->remedy);
	}
}

static void print_json(const struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->findings.count; i++) {
		const struct finding *finding = &doctor->findings.items[i];
		struct json_object *object = json_object_new_object();

		json_object_object_add(object, "type", json_object_new_string("finding"));
		json_object_object_add(object, "question",
			json_object_new_string(finding->question));
		json_object_object_add(object, "ok", json_object_new_boolean(finding->good));
		json_object_object_add(object, "fatal", json_object_new_boolean(finding->fatal));
		json_object_object_add(object, "answer", json_object_new_string(finding->answer));
		json_object_object_add(object, "remedy",
			finding->remedy[0] ? json_object_new_string(finding->remedy) : NULL);
		puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
		json_object_put(object);
	}
}

static const struct option long_options[] = {
	{"pid", required_argument, NULL, 'p'},
	{"json", no_argument, NULL, 'j'},
	{"steps", no_argument, NULL, 's'},
	{"duration", required_argument, NULL, 'd'},
	{"verbose", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},
	{},
};

static int take_option(int option, void *arg)
{
	struct doctor *doctor = arg;
	struct err err = {};
	int r = 0;

	switch (option) {
	case 'p':
		r = parse_int(optarg, "a process id", 1, 1 << 22, &doctor->pid, &err);
		break;
	case 'd':
		r = parse_duration(optarg, &doctor->duration_ns, &err);
		break;
	case 'j':
		doctor->json = true;
		break;
	case 's':
		doctor->steps = true;
		break;
	case 'v':
		log_set_level(LOG_DEBUG);
		break;
	case 'h':
		doctor->help = true;
		break;
	}
	return r ? cmd_usage(&cmd_doctor, "%s", err.text) : EXIT_OK;
}

static int parse(int argc, char **argv, struct doctor *ret)
{
	int status = cmd_options(&cmd_doctor, argc, argv, "p:d:vh", long_options, take_option, ret);

	if (status || ret->help)
		return status;
	if (ret->steps && optind + 1 == argc && !ret->pid)
		ret->recording = argv[optind];
	else if (optind < argc)
		return cmd_usage(&cmd_doctor, "\"%s\" is no option", argv[optind]);
	else if (ret->steps && !ret->pid)
		return cmd_usage(&cmd_doctor, "--steps of what? -p PID, or a recording");
	return EXIT_OK;
}

/* Candidates of a recording, or of a process that is listened to for a while. */
static int show_steps(const struct doctor *doctor)
{
	struct capture_options options = {};
	struct analysis analysis;
	struct err err = {};
	pid_t pid = (pid_t)doctor->pid;
	int status;

	if (!doctor->recording) {
		capture_options_init(&options);
		options.pids.items = &pid;
		options.pids.count = 1;
		options.duration_ns = doctor->duration_ns ? doctor->duration_ns : LISTEN_NS;
		options.candidates = true;
		options.json = doctor->json;
		return capture_run(&options, NULL, stdout);
	}
	status = analysis_open(&analysis, doctor->recording, NULL, ANALYSIS_COSTS, &err)
		? cmd_fail(-EBADMSG, &err) : EXIT_OK;
	if (!status)
		(doctor->json ? step_report_json : step_report_text)(
			stdout, store_recording(analysis.reader), &analysis.steps);
	analysis_close(&analysis);
	return status;
}

static int run(int argc, char **argv)
{
	struct doctor doctor = {};
	int status = parse(argc, argv, &doctor);

	if (status)
		return status;
	if (doctor.help) {
		fputs(cmd_doctor.usage, stdout);
		return EXIT_OK;
	}
	if (doctor.steps)
		return show_steps(&doctor);
	check_kernel(&doctor);
	check_capabilities(&doctor);
	check_namespace(&doctor);
	check_lockdown(&doctor);
	check_paranoid(&doctor);
	check_load(&doctor);
	if (doctor.pid)
		status = check_process(&doctor, (pid_t)doctor.pid);
	if (doctor.json)
		print_json(&doctor);
	else
		print_text(&doctor);
	for (size_t i = 0; !status && i < doctor.findings.count; i++)
		if (doctor.findings.items[i].fatal)
			status = EXIT_BLIND;
	vec_free(&doctor.findings);
	return status;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.summary = "say what can be traced here, by which means, and what stands in the way",
	.usage =
		"usage: gctrace doctor [-p PID] [--json]\n"
		"       gctrace doctor --steps -p PID [-d TIME] [--json]\n"
		"       gctrace doctor --steps FILE [--json]\n"
		"\n"
		"Says what this machine lets gctrace do and, with -p, what would be probed in that\n"
		"process and by which tier; for each \"no\" the remedy. Status 3 when nothing could be\n"
		"traced.\n"
		"\n"
		"With --steps: which calls may mark the steps of a training loop, how often each came\n"
		"while gctrace listened (5s), and which one a report would choose, with its period,\n"
		"variation and confidence; of a running process, or of a recording.\n"
		"\n"
		"  -p, --pid PID             a process\n"
		"      --steps               calls that may mark steps, instead\n"
		"  -d, --duration TIME       with --steps: listen for so long: 30s\n"
		"      --json                one JSON object a line instead of text\n"
		"  -v, --verbose             say more on stderr\n"
		"  -h, --help                this text\n",
	.run = run,
};
