/*
 * Renders a recording with its steps and costs described on stdin, for the browser tests: render_html TITLE.
 * In: one line per thing, its kind first, then numbers, and strings in hexadecimal ("-": empty), as test_html.py writes
 * them. Out: the HTML page on stdout.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hotspot_facts.h"
#include "cleanup.h"
#include "meaning.h"
#include "report.h"

struct world {
	struct recording recording;
	struct stack_table stacks;
	struct steps steps;
	struct attribution attribution;
	struct gpu_timeline gpu;
	struct advices advices;
	VEC(struct pause) pauses;
	size_t next;
	bool fails; /* reading ends in an error */
};

/* The words of one line, from left to right. */
static char *rest;

static int64_t number(void)
{
	char *word = strtok_r(NULL, " \n", &rest);

	return word ? strtoll(word, NULL, 10) : 0;
}

static uint32_t small(void)
{
	return (uint32_t)number();
}

static double real(void)
{
	char *word = strtok_r(NULL, " \n", &rest);

	return word ? strtod(word, NULL) : 0;
}

/* Decoded in place, terminated; *ret_len: bytes before the terminator. */
static char *string(size_t *ret_len)
{
	static char empty[1];
	char *hex = strtok_r(NULL, " \n", &rest);
	size_t len = hex && strcmp(hex, "-") ? strlen(hex) / 2 : 0;

	for (size_t i = 0; i < len; i++) {
		unsigned int byte = 0;

		sscanf(hex + 2 * i, "%2x", &byte);
		hex[i] = (char)byte; /* before what is still to be read */
	}
	if (hex)
		hex[len] = '\0';
	*ret_len = len;
	return hex ? hex : empty;
}

static void field(char *to, size_t size)
{
	size_t len;
	char *text = string(&len);

	if (len > size - 1)
		len = size - 1;
	memcpy(to, text, len);
	to[len] = '\0';
}
#define FIELD(array) field((array), sizeof(array))

static char *owned(void)
{
	size_t len;

	return strdup(string(&len));
}

static void *checked(void *p)
{
	if (!p)
		exit(3);
	return p;
}
#define ADD(vec) ((__typeof__((vec)->items))checked(vec_add(vec)))

static void take_process(struct world *w)
{
	struct process *process = ADD(&w->recording.processes);
	struct runtime *runtime = ADD(&w->recording.runtimes);

	process->id = runtime->id = runtime->process = (uint32_t)w->recording.processes.count;
	process->pid = process->ns_pid = (pid_t)number();
	FIELD(process->comm);
	runtime->missed = (uint64_t)number();
	strcpy(runtime->kind, "cpython");
	strcpy(runtime->version, "3.11.2");
	strcpy(runtime->tier, "symbol");
	runtime->path = checked(strdup("/usr/bin/python3.11"));
	runtime->detail = checked(strdup("gc_collect_main+4 (push, emulated)"));
}

static void take_frame(struct world *w)
{
	const struct runtime *first = w->recording.runtimes.items;
	bool java = w->recording.runtimes.count && !strcmp(first->kind, "hotspot");
	struct frame frame = {.lang = java ? LANG_JAVA : LANG_PYTHON};
	size_t len;
	char *text = string(&len);

	frame.function = strtab_add(w->stacks.strings, text, len);
	text = string(&len);
	frame.file = strtab_add(w->stacks.strings, text, len);
	frame.line = small();
	stack_table_append_frame(&w->stacks, &frame);
}

static void take_signal(struct world *w)
{
	struct signal *signal = ADD(&w->recording.signals);

	signal->id = (uint32_t)w->recording.signals.count;
	FIELD(signal->name);
	signal->probe = owned();
	signal->hits = (uint64_t)number();
	signal->let_go_ns = (uint64_t)number();
}

static void take_track(struct world *w)
{
	struct step_track *track = ADD(&w->steps.tracks);

	ADD(&w->attribution.tracks);
	track->process = small();
	track->tid = track->process;
	track->per_step = small();
	track->period_ns = (uint64_t)number();
	track->measured = number() != 0;
	track->variation = real();
	track->confidence = real();
	FIELD(track->signal);
	FIELD(track->note);
}

static void take_distribution(struct step_distribution *steps)
{
	steps->p50_ns = (uint64_t)number();
	steps->p95_ns = (uint64_t)number();
	steps->p99_ns = (uint64_t)number();
	steps->max_ns = (uint64_t)number();
	steps->mean_ns = (uint64_t)number();
}

static void take_costs(struct world *w)
{
	struct track_cost *cost = &w->attribution.tracks.items[w->attribution.tracks.count - 1];

	cost->base = small();
	cost->source = small();
	cost->time_ns = (uint64_t)number();
	cost->pauses = (uint64_t)number();
	cost->pause_ns = (uint64_t)number();
	cost->overlap_ns = (uint64_t)number();
	cost->outside = (uint64_t)number();
	cost->outside_ns = (uint64_t)number();
	cost->worker_pauses = (uint64_t)number();
	cost->worker_ns = (uint64_t)number();
	cost->worker_waited_ns = (uint64_t)number();
	cost->cost.ns = (uint64_t)number();
	cost->cost.low_ns = (uint64_t)number();
	cost->cost.high_ns = (uint64_t)number();
	take_distribution(&cost->with);
	take_distribution(&cost->without);
}

static void take_step(struct world *w)
{
	size_t at = w->steps.tracks.count - 1;
	struct step *step = ADD(&w->steps.tracks.items[at].steps);
	struct step_cost *cost = ADD(&w->attribution.tracks.items[at].steps);
	int64_t generation;

	step->start_ns = (uint64_t)number();
	step->end_ns = (uint64_t)number();
	step->rss_bytes = number();
	cost->overlap_ns = (uint64_t)number();
	cost->cost_ns = (uint64_t)number();
	cost->base_ns = (uint64_t)number();
	cost->pauses = small();
	cost->worst = small();
	generation = number();
	if (generation >= 0)
		cost->class = &meaning_of("cpython")->classes[generation];
}

static void take_pause(struct world *w)
{
	struct pause *pause = ADD(&w->pauses);
	struct charge *charge = ADD(&w->attribution.charges);

	pause->id = w->pauses.count;
	pause->start_ns = charge->start_ns = (uint64_t)number();
	pause->end_ns = charge->end_ns = (uint64_t)number();
	pause->runtime = small();
	pause->generation = (int8_t)number();
	pause->cause = small();
	pause->flags = small();
	pause->collected = number();
	pause->uncollectable = UNKNOWN;
	pause->rss_start = number();
	pause->rss_end = number();
	pause->stack = charge->stack = small();
	charge->track = small();
	charge->step = small();
	charge->overlap_ns = (uint64_t)number();
	charge->cost_ns = (uint64_t)number();
	charge->worker = number() != 0;
}

static uint32_t interned(struct world *w)
{
	size_t len;
	char *bytes = string(&len);

	return len ? strtab_add(w->stacks.strings, bytes, len) : 0;
}

/* The last process is a JVM. */
static void take_jvm(struct world *w)
{
	struct runtime *runtime = &w->recording.runtimes.items[w->recording.runtimes.count - 1];

	strcpy(runtime->kind, "hotspot");
	strcpy(runtime->version, "21.0.12");
	FIELD(runtime->collector);
}

/* The last pause is a safepoint: what is known about it. */
static void take_safepoint(struct world *w)
{
	struct pause *pause = &w->pauses.items[w->pauses.count - 1];
	int64_t *facts = pause->facts;

	pause->flags |= PAUSE_HAS_FACTS;
	facts[HOTSPOT_OPERATION] = interned(w);
	facts[HOTSPOT_CAUSE] = interned(w);
	facts[HOTSPOT_TTSP_NS] = number();
	facts[HOTSPOT_CLEANUP_NS] = number();
	facts[HOTSPOT_CORE_NS] = number();
	facts[HOTSPOT_LEAVE_NS] = number();
	facts[HOTSPOT_HEAP_BEFORE] = number();
	facts[HOTSPOT_HEAP_AFTER] = number();
	facts[HOTSPOT_YOUNG_COLLECTIONS] = number();
	facts[HOTSPOT_FULL_COLLECTIONS] = number();
	pause->tid = small();
	facts[HOTSPOT_LATE_TID] = number();
	facts[HOTSPOT_LATE_STACK] = small();
	facts[HOTSPOT_LATE_RAN_NS] = UNKNOWN;
}

static void take_thread(struct world *w)
{
	struct thread *thread = ADD(&w->recording.threads);

	thread->process = small();
	thread->tid = small();
	FIELD(thread->name);
}

static void take_stall(struct world *w)
{
	struct stall *stall = ADD(&w->recording.stalls);

	stall->id = w->recording.stalls.count;
	stall->start_ns = (uint64_t)number();
	stall->end_ns = (uint64_t)number();
	stall->runtime = small();
	stall->kind = small();
	stall->collections = number();
}

static void take_phase(struct world *w)
{
	struct phase *phase = ADD(&w->recording.phases);

	phase->id = w->recording.phases.count;
	phase->start_ns = (uint64_t)number();
	phase->end_ns = (uint64_t)number();
	phase->runtime = small();
	phase->name = interned(w);
}

static void take_caller(struct world *w)
{
	struct explicit_caller *caller = ADD(&w->attribution.explicit_calls.callers);

	caller->process = small();
	FIELD(caller->thread);
	caller->caller = small();
	caller->who = small();
	caller->calls = (uint64_t)number();
	caller->collected = (uint64_t)number();
	caller->blocked_ns = (uint64_t)number();
	caller->pause_ns = (uint64_t)number();
	caller->period_ns = (uint64_t)number();
	caller->regular = number() != 0;
}

static void take_trigger(struct world *w)
{
	struct trigger_cost *trigger = ADD(&w->attribution.triggers);

	trigger->frame = small();
	trigger->pauses = (uint64_t)number();
	trigger->pause_ns = (uint64_t)number();
	trigger->cost_ns = (uint64_t)number();
	trigger->collected = number();
}

static const struct advice_kind some_kind = {"some", 1};

static void take_advice(struct world *w)
{
	struct advice *advice = ADD(&w->advices.items);

	advice->kind = small() ? &some_kind : &advice_nothing;
	advice->process = small();
	advice->saves_ns = (uint64_t)number();
	advice->saves_low_ns = (uint64_t)number();
	advice->saves_high_ns = (uint64_t)number();
	advice->saves_share = real();
	FIELD(advice->title);
	FIELD(advice->line);
	FIELD(advice->estimate);
	FIELD(advice->risk);
}

static void take_candidate(struct world *w)
{
	struct step_candidate *candidate = ADD(&w->steps.candidates);

	candidate->process = small();
	candidate->marks = (uint64_t)number();
	candidate->per_second = real();
	candidate->per_step = small();
	candidate->variation = real();
	candidate->confidence = real();
	candidate->chosen = number() != 0;
	FIELD(candidate->signal);
	FIELD(candidate->why);
}

static void take_drop(struct world *w)
{
	struct drop *drop = ADD(&w->recording.drops);

	drop->count = (uint64_t)number();
	FIELD(drop->cause);
	FIELD(drop->remedy);
}

static void take_recording(struct world *w)
{
	struct recording *recording = &w->recording;

	recording->start_ns = (uint64_t)number();
	recording->end_ns = (uint64_t)number();
	recording->realtime_offset_ns = number();
	recording->complete = number() != 0;
	recording->cut_off = number() != 0;
	FIELD(recording->damage);
	FIELD(recording->host);
	FIELD(w->steps.note);
	strcpy(recording->version, "0.1.0");
}

static void take_node(struct world *w)
{
	uint32_t parent = small();

	stack_table_append_node(&w->stacks, parent, small());
}

static void take_elsewhere(struct world *w)
{
	w->attribution.elsewhere = (uint64_t)number();
	w->attribution.elsewhere_ns = (uint64_t)number();
}

static void take_change(struct world *w)
{
	struct step_change *change = ADD(&w->steps.tracks.items[w->steps.tracks.count - 1].changes);

	change->step = (uint64_t)number();
	change->from = small();
	change->to = small();
}

static void take_gpu(struct world *w)
{
	uint32_t process = small(), number_of = small();
	struct gpu_device *device = checked(gpu_device(&w->gpu, process, number_of));
	struct gpu_figures *figures = ADD(&w->attribution.gpu_charges.devices);

	w->attribution.gpu = &w->gpu;
	device->seen_ns = (uint64_t)number();
	device->until_ns = (uint64_t)number();
	figures->unknown_ns = (uint64_t)number();
	figures->seen_ns = device->until_ns - device->seen_ns - figures->unknown_ns;
	figures->idle_ns = (uint64_t)number();
	figures->busy_ns = figures->seen_ns - figures->idle_ns;
	figures->cause_ns[GPU_CAUSE_PAUSE] = (uint64_t)number();
	figures->cause_ns[GPU_CAUSE_HOST] = figures->idle_ns - figures->cause_ns[GPU_CAUSE_PAUSE];
}

/* Of the last device. */
static void take_idle(struct world *w)
{
	struct gpu_idle *idle = ADD(&w->attribution.gpu_charges.idles);

	idle->device = (uint32_t)w->gpu.devices.count - 1;
	idle->start_ns = (uint64_t)number();
	idle->end_ns = (uint64_t)number();
	idle->pause_ns = (uint64_t)number();
	idle->cause = idle->pause_ns ? GPU_CAUSE_PAUSE : GPU_CAUSE_HOST;
	idle->pause = GPU_NO_PAUSE;
}

static void take_unknown(struct world *w)
{
	struct gpu_span *span = ADD(&w->gpu.devices.items[w->gpu.devices.count - 1].unknown);

	span->start_ns = (uint64_t)number();
	span->end_ns = (uint64_t)number();
}

/* At the end of a step of the first track. */
static void take_memory(struct world *w)
{
	struct step_cost *cost = &w->attribution.tracks.items[0].steps.items[number()];

	w->attribution.gpu = &w->gpu;
	w->attribution.has_gpu_memory = true;
	cost->gpu_bytes_known = true;
	cost->gpu_bytes = number();
}

/* Of the last device: all that it has, not only since its records began. */
static void take_total(struct world *w)
{
	struct gpu_device *device = &w->gpu.devices.items[w->gpu.devices.count - 1];

	*(struct gpu_bytes *)ADD(&device->memory) = (struct gpu_bytes){device->seen_ns, 1};
	device->memory_total = true;
}

static void take_failure(struct world *w)
{
	w->fails = true;
}

static const struct {
	const char *name;
	void (*take)(struct world *w);
} kinds[] = {
	{"step", take_step},
	{"pause", take_pause},
	{"recording", take_recording},
	{"process", take_process},
	{"signal", take_signal},
	{"drop", take_drop},
	{"frame", take_frame},
	{"node", take_node},
	{"track", take_track},
	{"costs", take_costs},
	{"change", take_change},
	{"trigger", take_trigger},
	{"advice", take_advice},
	{"candidate", take_candidate},
	{"elsewhere", take_elsewhere},
	{"failure", take_failure},
	{"jvm", take_jvm},
	{"safepoint", take_safepoint},
	{"thread", take_thread},
	{"stall", take_stall},
	{"phase", take_phase},
	{"caller", take_caller},
	{"gpu", take_gpu},
	{"idle", take_idle},
	{"unknown", take_unknown},
	{"memory", take_memory},
	{"total", take_total},
};

static void take(struct world *w, char *line)
{
	char *kind = strtok_r(line, " \n", &rest);

	for (size_t i = 0; kind && i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i].name, kind)) {
			kinds[i].take(w);
			return;
		}
	fprintf(stderr, "no such thing: %s\n", kind ? kind : "");
	exit(2);
}

/* Gives each charge the class of its pause, as attribution does. */
static void classify(struct world *w)
{
	for (size_t i = 0; i < w->pauses.count; i++) {
		struct pause *pause = &w->pauses.items[i];
		uint16_t at = 0;

		meaning_judge(&w->recording, w->stacks.strings, pause);
		while (at < w->attribution.classes.count &&
			w->attribution.classes.items[at] != pause->class)
			at++;
		if (at == w->attribution.classes.count)
			*(const struct pause_class **)ADD(&w->attribution.classes) = pause->class;
		w->attribution.charges.items[i].class = at;
	}
}

static uint64_t common(const struct step *step, uint64_t from, uint64_t until)
{
	from = from > step->start_ns ? from : step->start_ns;
	until = until < step->end_ns ? until : step->end_ns;
	return until > from ? until - from : 0;
}

static void lay_on_step(const struct world *w, const struct step *step, struct step_cost *cost)
{
	const struct gpu_device *device = w->gpu.devices.items;

	cost->gpu_known = true;
	for (size_t i = 0; i < device->unknown.count; i++)
		if (common(step, device->unknown.items[i].start_ns,
			    device->unknown.items[i].end_ns))
			cost->gpu_known = false;
	for (size_t i = 0; cost->gpu_known && i < w->attribution.gpu_charges.idles.count; i++) {
		const struct gpu_idle *idle = &w->attribution.gpu_charges.idles.items[i];

		if (idle->device)
			continue;
		cost->gpu_idle_ns += common(step, idle->start_ns, idle->end_ns);
		cost->gpu_pause_ns += common(step, idle->start_ns, idle->start_ns + idle->pause_ns);
	}
}

/* What the steps of the first track have of the first GPU. */
static void lay_on_steps(struct world *w)
{
	size_t count = w->gpu.devices.count && w->steps.tracks.count
			       ? w->steps.tracks.items[0].steps.count
			       : 0;

	for (size_t i = 0; i < count; i++)
		lay_on_step(w, &w->steps.tracks.items[0].steps.items[i],
			&w->attribution.tracks.items[0].steps.items[i]);
}

static int next_pause(void *source, struct pause *ret, struct err *err)
{
	struct world *w = source;

	if (w->next == w->pauses.count)
		return w->fails ? err_set(err, 74, "page 23 is <b>malformed</b>") : 0;
	*ret = w->pauses.items[w->next++];
	return 1;
}

static int rewind_pauses(void *source)
{
	((struct world *)source)->next = 0;
	return 0;
}

static void release(struct world *w)
{
	for (size_t i = 0; i < w->steps.tracks.count; i++) {
		vec_free(&w->steps.tracks.items[i].steps);
		vec_free(&w->steps.tracks.items[i].changes);
		vec_free(&w->attribution.tracks.items[i].steps);
	}
	vec_free(&w->steps.tracks);
	vec_free(&w->steps.candidates);
	vec_free(&w->attribution.tracks);
	vec_free(&w->attribution.charges);
	vec_free(&w->attribution.classes);
	vec_free(&w->attribution.triggers);
	vec_free(&w->attribution.explicit_calls.callers);
	vec_free(&w->advices.items);
	vec_free(&w->pauses);
	stack_table_release(&w->stacks);
	recording_release(&w->recording);
}

int main(int argc, char **argv)
{
	static struct world w;
	struct report_input input = {&w.recording, &w.stacks, next_pause, rewind_pauses, &w,
		argc > 1 ? argv[1] : NULL, NULL, &w.attribution, &w.advices};
	_cleanup_free_ char *line = NULL;
	struct err err = {};
	size_t size = 0;
	int r;

	if (argc < 2 || stack_table_init(&w.stacks))
		return 2;
	while (getline(&line, &size, stdin) > 0)
		take(&w, line);
	w.attribution.recording = &w.recording;
	w.attribution.stacks = &w.stacks;
	w.attribution.steps = &w.steps;
	classify(&w);
	lay_on_steps(&w);
	r = report_html.write(&input, stdout, &err);
	if (r)
		fprintf(stderr, "%s\n", err.text);
	release(&w);
	return r != 0;
}
