/* Safepoints, stalls, who called System.gc(), concurrent phases → JSON for html_jvm.js. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "html.h"
#include "html_pack.h"
#include "stall_sums.h"

#define LISTED	  64 /* of each kind; the rest is counted */
#define NAME_MOST 60

/* A name from another process as a JSON string; "" for NULL. */
static void put_name(struct html_page *page, const char *name, size_t len)
{
	flame_text_clear(&page->text);
	flame_text_clean(&page->text, name ? name : "", name ? len : 0, NAME_MOST);
	html_string(page->out, &page->text);
}

static void put_thread(struct html_page *page, uint32_t runtime, int64_t tid)
{
	const char *name = runtime_thread(page->input->recording, runtime, tid);

	put_name(page, name, name ? strlen(name) : 0);
}

static int put_string(struct html_page *page, uint32_t string)
{
	uint32_t id;
	int r = html_stacks_string(&page->stacks, string, &id);

	fprintf(page->out, "%u", id);
	return r;
}

/*
 * [kind,operation,reason,ttsp,cleanup,core,leave,before,after,young,full,exact,tid,thread,late tid,late thread,
 * late stack]
 */
int html_safepoint_write(struct html_page *page, const struct html_pause *kept)
{
	const struct safepoint *facts = &kept->safepoint;
	const struct pause pause = {.flags = kept->flags, .safepoint = *facts,
		.generation = kept->generation};
	const int64_t numbers[] = {facts->ttsp_ns, facts->cleanup_ns, facts->core_ns, facts->leave_ns,
		facts->heap_before, facts->heap_after, facts->young, facts->full};
	FILE *out = page->out;
	uint32_t late;
	int r;

	fprintf(out, ",[%u,", kept->kind);
	r = put_string(page, facts->operation);
	putc_unlocked(',', out);
	if (!r)
		r = put_string(page, safepoint_reason(&pause));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		fprintf(out, ",%" PRId64, numbers[i] < 0 ? -1 : numbers[i]);
	fprintf(out, ",%d,%u,", !(kept->flags & PAUSE_INEXACT), kept->tid);
	put_thread(page, kept->runtime, kept->tid);
	fprintf(out, ",%" PRId64 ",", facts->late_tid > 0 ? facts->late_tid : -1);
	put_thread(page, kept->runtime, facts->late_tid);
	if (!r)
		r = html_stacks_node(&page->stacks, facts->late_stack, &late);
	fprintf(out, ",%u]", r ? 0 : late);
	return r;
}

/* The names of the four classes of pauses, as far as they are not CPython's alone. */
static void put_kinds(struct html_page *page, bool mixed)
{
	const char *other = page->summary.safepoints.kinds[SAFEPOINT_UNKNOWN].sum.count
		? "not GC, or not known" : "not GC";
	const char *const safepoints[HTML_CLASSES] = {"young", "concurrent step", "full", other};
	static const char *const both[HTML_CLASSES] = {"gen 0, young", "gen 1, concurrent step",
		"gen 2 (full), full", "gen ?, not GC"};

	html_uint(page->out, "jvm", mixed ? 2 : 1);
	html_key(page->out, false, "kinds");
	for (size_t i = 0; i < HTML_CLASSES; i++)
		fprintf(page->out, "%c\"%s\"", i ? ',' : '[', mixed ? both[i] : safepoints[i]);
	putc_unlocked(']', page->out);
}

static int put_operations(struct html_page *page, const struct safepoints *safepoints)
{
	FILE *out = page->out;
	int r = 0;

	html_key(out, false, "operations");
	putc_unlocked('[', out);
	for (size_t i = 0; !r && i < safepoints->operations.count && i < LISTED; i++) {
		const struct safepoint_operation *operation = &safepoints->operations.items[i];
		const struct summary_class *class = &operation->class;

		fputs(i ? ",[" : "[", out);
		r = put_string(page, operation->name);
		fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, class->count, class->total_ns,
			summary_quantile(class, 0.5));
		fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
			summary_quantile(class, 0.99), class->max_ns, operation->reach_ns,
			operation->reach_of_ns);
	}
	putc_unlocked(']', out);
	return r;
}

static void put_parts(FILE *out, const struct safepoints *safepoints)
{
	html_key(out, false, "parts");
	for (int i = 0; i < PARTS; i++)
		fprintf(out, "%c[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", i ? ',' : '[',
			safepoints->parts[i].count, safepoints->parts[i].total_ns,
			safepoints->parts[i].max_ns);
	putc_unlocked(']', out);
	html_key(out, false, "by_kind");
	for (int i = 0; i < SAFEPOINT_KINDS; i++) {
		const struct safepoint_class *class = &safepoints->kinds[i];
		bool any = class->sum.count;

		fprintf(out, "%c[%" PRIu64 ",%" PRIu64 ",%" PRIu64, i ? ',' : '[', class->sum.count,
			class->sum.total_ns, class->sum.max_ns);
		fprintf(out, ",%" PRId64 ",%" PRId64 ",%" PRId64 "]", any ? class->young : UNKNOWN,
			any ? class->full : UNKNOWN, any ? class->freed : UNKNOWN);
	}
	putc_unlocked(']', out);
}

static int put_causes(struct html_page *page, const struct safepoints *safepoints)
{
	FILE *out = page->out;
	int r = 0;

	html_key(out, false, "causes");
	putc_unlocked('[', out);
	for (size_t i = 0; !r && i < safepoints->causes.count && i < LISTED; i++) {
		const struct safepoint_cause *cause = &safepoints->causes.items[i];

		fputs(i ? ",[" : "[", out);
		r = put_string(page, cause->name);
		fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", cause->sum.count,
			cause->sum.total_ns, cause->sum.max_ns);
	}
	putc_unlocked(']', out);
	return r;
}

static int pid_of(const struct html_page *page, uint32_t runtime)
{
	const struct runtime *found = recording_runtime(page->input->recording, runtime);
	const struct process *process =
		found ? recording_process(page->input->recording, found->process) : NULL;

	return process ? (int)process->pid : 0;
}

static void put_heaps(struct html_page *page, const struct safepoints *safepoints)
{
	html_key(page->out, false, "heaps");
	putc_unlocked('[', page->out);
	for (size_t i = 0; i < safepoints->heaps.count && i < LISTED; i++) {
		const struct safepoint_heap *heap = &safepoints->heaps.items[i];

		fprintf(page->out, "%s[%d,%u,%" PRIu64 ",%" PRIu64, i ? "," : "",
			pid_of(page, heap->runtime), heap->kind, heap->bytes.count, heap->first);
		fprintf(page->out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
			summary_quantile(&heap->bytes, 0.5), heap->last, heap->bytes.max_ns);
	}
	putc_unlocked(']', page->out);
}

static int put_late(struct html_page *page, const struct safepoints *safepoints)
{
	FILE *out = page->out;
	int r = 0;

	html_key(out, false, "late");
	putc_unlocked('[', out);
	for (size_t i = 0; !r && i < safepoints->late.count && i < LISTED; i++) {
		const struct safepoint_late *late = &safepoints->late.items[i];
		uint32_t node;

		fputs(i ? ",[" : "[", out);
		put_thread(page, late->runtime, late->tid);
		r = html_stacks_node(&page->stacks, late->stack, &node);
		fprintf(out, ",%u,%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%u]", late->tid,
			pid_of(page, late->runtime), late->sum.count, late->sum.total_ns,
			late->sum.max_ns, r ? 0 : node);
	}
	putc_unlocked(']', out);
	return r;
}

static int put_caller(struct html_page *page, const struct explicit_caller *caller)
{
	const struct process *process = recording_process(page->input->recording, caller->process);
	uint32_t asked, who;
	FILE *out = page->out;
	int r = html_stacks_frame(&page->stacks, caller->caller, &asked);

	if (!r)
		r = html_stacks_frame(&page->stacks, caller->who, &who);
	if (r)
		return r;
	fprintf(out, "[%d,", process ? (int)process->pid : 0);
	put_name(page, caller->thread, strnlen(caller->thread, sizeof(caller->thread)));
	fprintf(out, ",%u,%u,%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, asked, who,
		caller->training, caller->calls, caller->collected, caller->idle, caller->unknown);
	fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, caller->blocked_ns,
		caller->blocked_max_ns, caller->pauses, caller->pause_ns);
	fprintf(out, ",%" PRIu64 ",%d]", caller->period_ns, caller->regular);
	return 0;
}

static int put_explicit(struct html_page *page)
{
	const struct attribution *attribution = page->input->attribution;
	size_t count = attribution ? attribution->explicit_calls.callers.count : 0;
	int r = 0;

	html_key(page->out, false, "explicit");
	putc_unlocked('[', page->out);
	for (size_t i = 0; !r && i < count && i < LISTED; i++) {
		if (i)
			putc_unlocked(',', page->out);
		r = put_caller(page, &attribution->explicit_calls.callers.items[i]);
	}
	putc_unlocked(']', page->out);
	return r;
}

static int put_stalls(struct html_page *page)
{
	struct stall_sums sums;
	bool first = true;
	int r = stall_sums_make(&sums, page->input->recording);

	html_key(page->out, false, "stalls");
	putc_unlocked('[', page->out);
	for (uint32_t i = 0; !r && i < STALL_KINDS; i++) {
		const struct summary_class *class = &sums.kinds[i];

		if (!class->count)
			continue;
		fprintf(page->out, "%s[\"%s\",%" PRIu64 ",%" PRIu64, first ? "" : ",",
			stall_kind_name(i), class->count, class->total_ns);
		fprintf(page->out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
			summary_quantile(class, 0.5), summary_quantile(class, 0.99), class->max_ns);
		first = false;
	}
	putc_unlocked(']', page->out);
	stall_sums_release(&sums);
	return r;
}

static int put_phases(struct html_page *page)
{
	struct phase_sums sums;
	int r = phase_sums_make(&sums, page->input->recording);

	html_key(page->out, false, "phases");
	putc_unlocked('[', page->out);
	for (size_t i = 0; !r && i < sums.items.count && i < LISTED; i++) {
		const struct phase_sum *phase = &sums.items.items[i];

		fputs(i ? ",[" : "[", page->out);
		r = put_string(page, phase->name);
		fprintf(page->out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", phase->sum.count,
			phase->sum.total_ns, phase->sum.max_ns);
	}
	putc_unlocked(']', page->out);
	phase_sums_release(&sums);
	return r;
}

int html_jvm_write(struct html_page *page)
{
	enum runtime_kinds kinds = recording_kinds(page->input->recording);
	struct safepoints *safepoints = &page->summary.safepoints;
	int r;

	if (!(kinds & RUNTIMES_JVM) && !safepoints->count)
		return 0;
	safepoints_sort(safepoints);
	put_kinds(page, kinds != RUNTIMES_JVM);
	if (page->input->left_out)
		html_uint(page->out, "gc_only", *page->input->left_out);
	html_key(page->out, false, "safepoints");
	fprintf(page->out, "{\"count\":%" PRIu64, safepoints->count);
	html_uint(page->out, "total_ns", safepoints->total_ns);
	html_uint(page->out, "inexact", safepoints->inexact);
	put_parts(page->out, safepoints);
	put_heaps(page, safepoints);
	r = put_operations(page, safepoints);
	if (!r)
		r = put_causes(page, safepoints);
	if (!r)
		r = put_late(page, safepoints);
	putc_unlocked('}', page->out);
	if (!r)
		r = put_explicit(page);
	if (!r)
		r = put_stalls(page);
	return r ? r : put_phases(page);
}
