/* What was recorded and how: processes with their tiers, signals and candidates, losses → JSON. */
#include <errno.h>
#include <string.h>

#include "cleanup.h"
#include "html.h"
#include "html_pack.h"
#include "html_table.h"
#include "model_signals.h"
#include "verdict.h"

#define LISTED	  200 /* of each kind; the rest is counted */
#define NAME_MOST 240

/* @field may be NULL. */
static void put_field(struct html_page *page, const char *name, const char *field, size_t size)
{
	html_text(page->out, name, field ? field : "", field ? strnlen(field, size) : 0, NAME_MOST,
		&page->text);
}

/* Arguments of the command line are left out: pages are passed on, and arguments hold secrets. */
static void put_process(struct html_page *page, const struct process *process,
	const struct runtime *runtime, bool first)
{
	FILE *out = page->out;
	struct summary_sum sum = {};

	fprintf(out, "%s{\"pid\":%d", first ? "" : ",", (int)process->pid);
	put_field(page, "comm", process->comm, sizeof(process->comm));
	html_known(out, "ppid", process->ppid ? process->ppid : UNKNOWN);
	html_known(out, "ns_pid", process->ns_pid == process->pid ? UNKNOWN : process->ns_pid);
	html_uint(out, "span_ns",
		verdict_process_span_ns(page->input->recording, &page->summary, process));
	if (runtime) {
		sum = summary_of_runtime(&page->summary, runtime->id);
		put_field(page, "kind", runtime->kind, sizeof(runtime->kind));
		put_field(page, "version", runtime->version, sizeof(runtime->version));
		put_field(page, "tier", runtime->tier, sizeof(runtime->tier));
		if (*runtime->collector)
			put_field(page, "collector", runtime->collector,
				sizeof(runtime->collector));
		put_field(page, "path", runtime->path, HTML_WHOLE);
		put_field(page, "detail", runtime->detail, HTML_WHOLE);
		html_uint(out, "missed", runtime->missed);
		html_uint(out, "pauses", sum.count);
		html_uint(out, "pause_ns", sum.total_ns);
		html_uint(out, "max_ns", sum.max_ns);
	}
	putc_unlocked('}', out);
}

static void put_processes(struct html_page *page)
{
	const struct recording *recording = page->input->recording;
	struct u64map traced = {};
	size_t listed = 0;

	html_key(page->out, false, "processes");
	putc_unlocked('[', page->out);
	for (size_t i = 0; i < recording->runtimes.count && listed < LISTED; i++) {
		const struct runtime *runtime = &recording->runtimes.items[i];
		const struct process *process = recording_process(recording, runtime->process);

		if (!process || u64map_put(&traced, runtime->process, 1))
			continue;
		put_process(page, process, runtime, !listed++);
	}
	for (size_t i = 0; i < recording->processes.count && listed < LISTED; i++)
		if (!u64map_get(&traced, recording->processes.items[i].id))
			put_process(page, &recording->processes.items[i], NULL, !listed++);
	putc_unlocked(']', page->out);
	u64map_release(&traced);
}

/* The tables of processes and signals. 0 or -ENOMEM. */
static int put_tables(struct html_page *page)
{
	const struct attribution *attribution = page->input->attribution;
	_cleanup_(model_release) struct model model = {0};

	model_signals(&model, page->input->recording, attribution ? attribution->steps : NULL);
	return model.failed ? -ENOMEM : html_tables_write(page, "recorded", &model);
}

static void put_drops(struct html_page *page)
{
	const struct recording *recording = page->input->recording;

	html_key(page->out, false, "drops");
	putc_unlocked('[', page->out);
	for (size_t i = 0; i < recording->drops.count && i < LISTED; i++) {
		const struct drop *drop = &recording->drops.items[i];

		fprintf(page->out, "%s{\"count\":%llu", i ? "," : "",
			(unsigned long long)drop->count);
		put_field(page, "cause", drop->cause, sizeof(drop->cause));
		put_field(page, "remedy", drop->remedy, sizeof(drop->remedy));
		putc_unlocked('}', page->out);
	}
	putc_unlocked(']', page->out);
}

int html_recorded_write(struct html_page *page)
{
	const struct recording *recording = page->input->recording;

	put_processes(page);
	put_drops(page);
	html_key(page->out, false, "counts");
	fprintf(page->out, "{\"processes\":%zu,\"signals\":%zu,\"series\":%zu}",
		(size_t)recording->processes.count, (size_t)recording->signals.count,
		(size_t)recording->series.count);
	return put_tables(page);
}
