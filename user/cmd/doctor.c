/* gctrace doctor: what this kernel and this process allow, and for each "no" what would help. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis.h"
#include "capture.h"
#include "cleanup.h"
#include "gpu_shim.h"
#include "json_line.h"
#include "kernel.h"
#include "log.h"
#include "parse.h"
#include "probe.h"
#include "shim.h"
#include "state.h"
#include "step_report.h"
#include "strangers.h"
#include "terminal.h"
#include "utf8.h"

#define LISTEN_NS 5000000000ull

struct doctor {
	VEC(struct kernel_check) findings; /* of the kernel, and of a process */
	bool json, steps, help;
	uint64_t duration_ns;  /* --steps: how long to watch */
	const char *recording; /* --steps: of a recording */
	long pid;
};

static struct kernel_check *ask(struct doctor *doctor, const char *question, bool good, bool fatal)
{
	static struct kernel_check lost;
	struct kernel_check *finding = vec_add(&doctor->findings);

	if (!finding)
		return &lost;
	finding->question = question;
	finding->good = good;
	finding->fatal = fatal && !good;
	return finding;
}

static void answer(struct kernel_check *finding, const char *text, const char *remedy)
{
	snprintf(finding->answer, sizeof(finding->answer), "%s", text);
	if (!finding->good)
		snprintf(finding->remedy, sizeof(finding->remedy), "%s", remedy);
}

static bool any_fatal(const struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->findings.count; i++)
		if (doctor->findings.items[i].fatal)
			return true;
	return false;
}

static void check_kernel(struct doctor *doctor)
{
	struct kernel_check checks[KERNEL_CHECKS];
	size_t count = kernel_checks(checks, ARRAY_SIZE(checks));

	for (size_t i = 0; i < count; i++) {
		struct kernel_check *finding = vec_add(&doctor->findings);

		if (finding)
			*finding = checks[i];
	}
}

static void check_load(struct doctor *doctor)
{
	const char *way = NULL;
	struct err err = {};
	bool loads = !trace_probe_kernel(&way, &err);

	answer(ask(doctor, "programs and probes", loads, true),
		loads ? "load, and one of them saw a call" : "fail", err.text);
	if (!loads)
		return;
	answer(ask(doctor, "functions probed by", !strcmp(way, "uprobe sessions"), false), way,
		"uprobe sessions, which Linux 6.13 has, spare processes that are not traced the "
		"probe of a return");
}

/* "TIER: why" → "why": the line above names the tier. */
static const char *without_tier(const char *text, const char *tier)
{
	size_t len = strlen(tier);

	return !strncmp(text, tier, len) && !strncmp(text + len, ": ", 2) ? text + len + 2 : text;
}

/* Whether one of the images can be probed: those that cannot do not keep it from being traced. */
static bool any_traced(pid_t pid, const struct probe_image *images, size_t count)
{
	struct probe_plan *plan = malloc(sizeof(*plan));
	bool any = false;

	for (size_t i = 0; plan && !any && i < count; i++) {
		size_t tier = 0;

		any = !probe_plan(pid, &images[i], NULL, &tier, plan, NULL);
	}
	free(plan);
	return any;
}

/* What every tier reports about one image, and which would be used. @fatal: nothing is traced without it. */
static void check_tiers(struct doctor *doctor, pid_t pid, const struct probe_image *image,
	bool fatal)
{
	struct probe_plan *plan = malloc(sizeof(*plan));
	char remedy[128];
	size_t best = 0;
	bool any;

	if (!plan)
		return;
	any = !probe_plan(pid, image, NULL, &best, plan, NULL);
	for (size_t i = 0; image->ops->tiers[i]; i++) {
		const char *tier = image->ops->tiers[i];
		struct kernel_check *finding;
		struct err err = {};
		size_t from = i;
		int r = probe_plan(pid, image, tier, &from, plan, &err);

		finding = ask(doctor, tier, !r, false);
		snprintf(finding->answer, sizeof(finding->answer), "%s%s", r ? "no" : plan->detail,
			any && i == best ? "   <- in use" : "");
		if (r)
			snprintf(finding->remedy, sizeof(finding->remedy), "%s",
				without_tier(err.text, tier));
	}
	if (!any) {
		snprintf(remedy, sizeof(remedy), "the lines above say what each way needs");
		if (image->ops->debug_package)
			snprintf(remedy, sizeof(remedy),
				"install the runtime's debug symbols (Debian: %s), or use a build that keeps .symtab",
				image->ops->debug_package);
		answer(ask(doctor, "a way to probe it", false, fatal),
			fatal ? "none"
			      : "none: its pauses are not known, and recordings are incomplete",
			remedy);
	}
	free(plan);
}

static void describe_runtime(pid_t pid, const struct probe_image *image,
	struct kernel_check *finding)
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

/* None of our runtimes: what it is instead, or what was looked for. */
static void check_stranger(struct doctor *doctor, pid_t pid, const struct proc_maps *maps)
{
	struct kernel_check *finding = ask(doctor, "runtime", false, true);
	const struct stranger *stranger = probe_stranger(pid, maps);

	if (stranger) {
		snprintf(finding->answer, sizeof(finding->answer),
			"%s, which gctrace does not trace", stranger->what);
		snprintf(finding->remedy, sizeof(finding->remedy), "%s", stranger->remedy);
		return;
	}
	answer(finding, "none in this process", "looked for:");
	for (size_t i = 0; probe_runtimes[i]; i++)
		snprintf(finding->remedy + strlen(finding->remedy),
			sizeof(finding->remedy) - strlen(finding->remedy), "%s %s", i ? "," : "",
			probe_runtimes[i]->label);
}

/* A library with a collector of its own, in a process that is traced for another runtime. */
static void check_beside(struct doctor *doctor, pid_t pid, const struct proc_maps *maps)
{
	char text[sizeof(((struct kernel_check *)NULL)->answer)];

	for (size_t i = 0; probe_runtimes[i]; i++)
		if (probe_runtimes[i]->beside_it &&
			probe_runtimes[i]->beside_it(pid, maps, text, sizeof(text)))
			answer(ask(doctor, "library", true, false), text, "");
}

/* A trial changes what is there to be seen, while it runs or because it was killed. */
static void check_trial(struct doctor *doctor, pid_t pid)
{
	struct err err = {};
	int r = state_check(STATE_FOLDER, pid, &err);

	if (r)
		answer(ask(doctor, "settings", false, false),
			r == -EBUSY ? "a trial is in progress"
				    : "a trial that was killed has left them changed",
			err.text);
}

/* Of a process that uses CUDA: whether its GPUs' work can be measured. */
static void check_shim(struct doctor *doctor, pid_t pid, const struct proc_maps *maps)
{
	const struct proc_map *shim = NULL, *driver = NULL;
	char path[PATH_MAX], text[PATH_MAX + 256];
	struct gpu_shim_plan plan;
	struct err err = {};
	int r;

	for (size_t i = 0; i < maps->maps.count; i++) {
		if (gpu_shim_likely(maps->maps.items[i].path))
			shim = &maps->maps.items[i];
		else if (gpu_driver_likely(maps->maps.items[i].path))
			driver = &maps->maps.items[i];
	}
	if (!shim && !driver)
		return;
	if (!shim) {
		snprintf(text, sizeof(text),
			"GPUs are measured in programs that gctrace run starts, or that are started with "
			"CUDA_INJECTION64_PATH=%s; without that, less is inferred from synchronisations, and "
			"with --gpu infer from launches, too",
			shim_find(path) ? path
					: "libgctrace_cupti.so, which is not installed here");
		answer(ask(doctor, "CUPTI shim", false, false), "not loaded", text);
		return;
	}
	r = proc_map_open(pid, shim, path, sizeof(path));
	r = r < 0 ? err_set(&err, -r, "%s cannot be read: %s", shim->path, strerror(-r))
		  : gpu_shim_plan(r, shim->path, &plan, &err);
	answer(ask(doctor, "CUPTI shim", !r, false), r ? "loaded, but of no use" : shim->path,
		err.text);
}

static void check_process(struct doctor *doctor, pid_t pid)
{
	struct probe_image found[PROBE_MAX_IMAGES];
	struct proc_maps maps = {};
	struct err err = {};
	size_t count;
	bool any;
	int r = probe_absent(pid, &err);

	if (!r)
		r = kernel_refuse_thread(pid, &err);
	if (!r) {
		r = proc_maps_read(pid, &maps);
		if (r)
			kernel_explain_maps(pid, r, &err);
	}
	if (r) {
		answer(ask(doctor, "process", false, true), "cannot be examined", err.text);
		return;
	}
	check_trial(doctor, pid);
	count = probe_find(pid, &maps, found, ARRAY_SIZE(found));
	any = any_traced(pid, found, count);
	for (size_t i = 0; i < count; i++) {
		struct kernel_check *finding = ask(doctor, "runtime", true, false);

		describe_runtime(pid, &found[i], finding);
		check_tiers(doctor, pid, &found[i], !any);
	}
	if (!count && !probe_stranger(pid, &maps) && probe_foreign(pid, &maps, &err))
		answer(ask(doctor, "runtime", false, true), "not known", err.text);
	else if (!count)
		check_stranger(doctor, pid, &maps);
	else
		check_beside(doctor, pid, &maps);
	check_shim(doctor, pid, &maps);
	proc_maps_release(&maps);
}

static void print_text(const struct doctor *doctor)
{
	FILE *out = terminal_open(stdout);

	for (size_t i = 0; i < doctor->findings.count; i++) {
		const struct kernel_check *finding = &doctor->findings.items[i];

		fprintf(out, "%-4s %-20s ",
			finding->good	 ? "ok"
			: finding->fatal ? "NO"
					 : "-",
			finding->question);
		utf8_print(out, finding->answer);
		if (finding->remedy[0])
			fprintf(out, "\n     %-20s ", "");
		utf8_print(out, finding->remedy);
		fputc('\n', out);
	}
	terminal_close(out, stdout);
}

static void print_json(const struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->findings.count; i++) {
		const struct kernel_check *finding = &doctor->findings.items[i];

		line_begin(stdout, "finding");
		line_text(stdout, "question", finding->question);
		line_bool(stdout, "ok", finding->good);
		line_bool(stdout, "fatal", finding->fatal);
		line_text(stdout, "answer", finding->answer);
		line_text(stdout, "remedy", finding->remedy);
		line_end(stdout);
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
		return cmd_usage(&cmd_doctor, "unexpected argument \"%s\"", argv[optind]);
	else if (ret->steps && !ret->pid)
		return cmd_usage(&cmd_doctor, "--steps of what? -p PID, or a recording");
	return EXIT_OK;
}

/* Candidates from a recording, or from a process watched for a while. */
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
			 ? cmd_fail(-EBADMSG, &err)
			 : EXIT_OK;
	if (!status)
		(doctor->json ? step_report_json : step_report_text)(stdout,
			store_recording(analysis.reader), &analysis.steps);
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
	if (!any_fatal(&doctor))
		check_load(&doctor);
	if (doctor.pid)
		check_process(&doctor, (pid_t)doctor.pid);
	if (doctor.json)
		print_json(&doctor);
	else
		print_text(&doctor);
	if (any_fatal(&doctor))
		status = EXIT_BLIND;
	vec_free(&doctor.findings);
	return status;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.summary = "say what can be traced here, how, and what stands in the way",
	.usage =
		"usage: gctrace doctor [-p PID] [--json]\n"
		"       gctrace doctor --steps -p PID [-d TIME] [--json]\n"
		"       gctrace doctor --steps FILE [--json]\n"
		"\n"
		"Says what this machine lets gctrace do and, with -p, what would be probed in that\n"
		"process and by which tier; for each \"no\" what helps. Status 3 when nothing could be\n"
		"traced.\n"
		"\n"
		"With --steps: which calls may mark the steps of a training loop, how often each came\n"
		"while gctrace watched (5s), and which one a report would choose, with its period,\n"
		"variation and confidence; of a running process, or of a recording.\n"
		"\n"
		"  -p, --pid PID             a process\n"
		"      --steps               calls that may mark steps, instead\n"
		"  -d, --duration TIME       with --steps: how long to watch (5s)\n"
		"      --json                one JSON object per line instead of text\n"
		"  -v, --verbose             say more on stderr\n"
		"  -h, --help                print this help\n",
	.run = run,
};
