/* What programs asked of GPUs whose own records are not there, in; a table of the threads that launch, out. */
#include "cleanup.h"
#include "devices.h"
#include "model_tables.h"
#include "parse.h"
#include "verdict.h"

static const struct model_column columns[] = {
	{"process", "Process", UNIT_TEXT, .width = -20},
	{"pid", "Process", UNIT_ID},
	{"tid", "Thread", UNIT_ID, .heading = "THREAD", .width = 9},
	{"launches", "Launches", UNIT_COUNT, .width = 12, .help = "Of kernels and graphs"},
	{"waits", "Waits", UNIT_COUNT, .width = 9,
		.help = "Calls that wait for a GPU: synchronisations, copies to the host"},
	{"waited_ns", "Waited", UNIT_NS},
	{"source", "Known by", UNIT_TEXT, .heading = "KNOWN BY", .width = -9},
};

static const struct model_layout layout = {
	.key = "gpu_launches",
	.title = "Threads that launch GPU work",
	.caption = "Threads that launch GPU work",
	.columns = columns,
	.column_count = ARRAY_SIZE(columns),
	.text = "process tid launches waits waited_ns source",
	.json = "pid tid source launches waits waited_ns",
	.page = "process tid launches waits waited_ns source",
	.sort = "launches",
};

static void add_thread(struct model_table *table, const struct attribution *attribution,
	const struct gpu_driver *driver, const struct gpu_launcher *launcher)
{
	const struct process *process = recording_process(attribution->recording, driver->process);
	uint64_t waits = 0, waited_ns = 0;

	for (size_t i = 0; i < driver->calls.count; i++) {
		const struct gpu_driver_call *call = &driver->calls.items[i];

		if (call->kind != GPU_DRIVER_WAIT || call->tid != launcher->tid)
			continue;
		waits++;
		stats_add(&waited_ns, call->end_ns - call->start_ns);
	}
	MODEL_ROW(table, model_text(model_format(table->model, "%s", VERDICT_NAME(process))),
		model_known(process ? process->pid : UNKNOWN), model_number(launcher->tid),
		model_known(gpu_driver_counts(driver) ? (int64_t)launcher->launches : UNKNOWN),
		model_number(waits), model_number(waited_ns),
		model_text(devices_source(attribution->gpu)));
}

static void add_driver(struct model_table *table, const struct attribution *attribution,
	const struct gpu_driver *driver)
{
	const struct gpu_timeline *gpu = attribution->gpu;

	for (size_t i = 0; i < gpu->launchers.count; i++)
		if (gpu->launchers.items[i].process == driver->process)
			add_thread(table, attribution, driver, &gpu->launchers.items[i]);
	if (!gpu_driver_counts(driver))
		model_note(table, IN_TEXT | IN_PAGE,
			"Its launches were not counted: --gpu infer does that, and knows more.");
	else if (driver->let_go_ns)
		model_note(table, IN_TEXT | IN_PAGE | NOTE_WARNS,
			"Its launches came so often that they were no longer counted after %s.",
			FORMAT_DURATION(driver->let_go_ns - driver->attached_ns));
	if (driver->failed)
		model_note(table, IN_TEXT | IN_PAGE, "%llu calls of CUDA failed, and are left out.",
			(unsigned long long)driver->failed);
}

void model_launches(struct model *model, const struct report_input *input)
{
	const struct attribution *attribution = input->attribution;
	const struct gpu_timeline *gpu = attribution ? attribution->gpu : NULL;
	struct model_table *table;

	if (!gpu || !gpu->inferred || gpu->devices.count)
		return;
	table = model_add(model, &layout);
	for (size_t i = 0; i < gpu->drivers.count; i++)
		add_driver(table, attribution, &gpu->drivers.items[i]);
	model_note(table, IN_TEXT | IN_PAGE,
		"Inferred from %s, as CUDA's driver was asked for them: what a GPU did is not recorded.",
		gpu->source);
}
