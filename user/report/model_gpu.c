/* What GPUs did, and what their idleness is charged to, in; a table of them out. None without a timeline. */
#include <string.h>

#include "cleanup.h"
#include "devices.h"
#include "meaning.h"
#include "model_tables.h"
#include "parse.h"
#include "runtime_words.h"
#include "verdict.h"

#define SHOWN 120 /* characters of a name or a note */

static const struct model_column gpu_columns[] = {
	{"gpu", "GPU", UNIT_TEXT, .width = -6},
	{"process", "Process", UNIT_TEXT, .width = -20},
	{"pid", "Process", UNIT_ID},
	{"device", NULL, UNIT_ID},
	{"name", "Name", UNIT_TEXT, .width = -20, .spare = true, .if_known = true},
	{"source", "Known by", UNIT_TEXT, .heading = "KNOWN BY", .width = -9,
		.help = "measured: its own records; inferred: from launches and waits"},
	{"seen_ns", "Seen", UNIT_NS,
		.help = "From its first record to its last, where none are missing"},
	{"busy_ns", "Busy", UNIT_NS, .spare = true},
	{"idle_ns", "Idle", UNIT_NS, .help = "Without work for 50 µs or longer"},
	{"share", "of the time seen", UNIT_SHARE, .heading = "SHARE"},
	{"idle_pause_ns", "By pauses", UNIT_NS, .heading = "BY PAUSES",
		.help = "Of its idle time, what pauses caused"},
	{"pause_share", "of its idle time", UNIT_SHARE, .heading = "OF IDLE", .width = 10},
	{"idle_host_ns", "By the host", UNIT_NS, .heading = "BY HOST",
		.help = "It waited for a launch, but no pause had held that up"},
	{"idle_other_ns", "Otherwise", UNIT_NS, .heading = "OTHER", .spare = true,
		.help = "The next work had been launched, and waited for an event or another device; or it "
			"is not known when it was"},
	{"gaps_ns", "Short gaps", UNIT_NS, .heading = "GAPS", .if_known = true,
		.help = "Of its busy time: gaps shorter than 50 µs, in which it did not work either"},
	{"starved_ns", "Of which starved", UNIT_NS, .spare = true, .if_known = true,
		.help = "Gaps that ended with something launched late"},
	{"memory_most_bytes", "Memory", UNIT_BYTES, .heading = "MEMORY", .if_known = true,
		.help = "The most that was allocated on it"},
	{"unknown_ns", "Not known", UNIT_NS, .heading = "NOT KNOWN", .if_known = true,
		.help = "Records of it are missing: it may have been busy or idle"},
	{"dropped", "Records lost", UNIT_COUNT, .heading = "LOST", .if_known = true},
	{"records", NULL, UNIT_TEXT},
	{"clock_error_ns", NULL, UNIT_NS},
};

static const struct model_layout gpu_layout = {
	.key = "gpu",
	.title = "GPUs (IDLE: without work for 50 µs or longer; BY: what caused that)",
	.caption = "GPUs",
	.columns = gpu_columns,
	.column_count = ARRAY_SIZE(gpu_columns),
	.text = "gpu process seen_ns idle_ns share idle_pause_ns pause_share idle_host_ns "
		"idle_other_ns gaps_ns memory_most_bytes unknown_ns dropped source",
	.json = "pid device name source records seen_ns busy_ns idle_ns idle_pause_ns idle_host_ns "
		"idle_other_ns gaps_ns starved_ns unknown_ns dropped clock_error_ns",
	.page = "gpu process name source seen_ns idle_ns share idle_pause_ns pause_share idle_host_ns "
		"idle_other_ns busy_ns gaps_ns starved_ns memory_most_bytes unknown_ns dropped",
	.sort = "idle_ns",
};

/* JSON has a 0, the others nothing. */
static struct model_cell unless_none(uint64_t value)
{
	struct model_cell cell = model_number(value);

	return value ? cell : model_not_in(IN_TEXT | IN_PAGE, cell);
}

/* Of a device without records nothing is known, which is not to look like no idleness. */
static struct model_cell if_seen(const struct gpu_figures *figures, struct model_cell cell)
{
	return figures->seen_ns ? cell : model_known(UNKNOWN);
}

static struct model_cell memory_of(const struct gpu_device *device)
{
	int64_t most;

	return model_known(gpu_memory_most(device, &most) ? most : UNKNOWN);
}

static void add_device(struct model_table *table, const struct attribution *attribution,
	size_t index)
{
	static const struct gpu_figures none = {0};
	struct model *model = table->model;
	const struct gpu_timeline *gpu = attribution->gpu;
	const struct gpu_device *device = &gpu->devices.items[index];
	const struct gpu_figures *f = index < attribution->gpu_charges.devices.count
					      ? &attribution->gpu_charges.devices.items[index]
					      : &none;
	const struct process *process = recording_process(attribution->recording, device->process);
	uint64_t caused_ns = f->cause_ns[GPU_CAUSE_PAUSE];

	MODEL_ROW(table, model_text(model_format(model, "GPU %u", device->device)),
		model_text(model_format(model, "%s", VERDICT_NAME(process))),
		model_known(process ? process->pid : UNKNOWN), model_number(device->device),
		model_bytes(device->name, strnlen(device->name, sizeof(device->name))),
		model_text(devices_source(gpu)), if_seen(f, model_number(f->seen_ns)),
		if_seen(f, model_number(f->busy_ns)), if_seen(f, model_number(f->idle_ns)),
		if_seen(f, model_share(f->idle_ns, f->seen_ns)),
		if_seen(f, model_number(caused_ns)), if_seen(f, model_share(caused_ns, f->idle_ns)),
		if_seen(f, model_number(f->cause_ns[GPU_CAUSE_HOST])),
		if_seen(f, model_number(f->cause_ns[GPU_CAUSE_OTHER])),
		if_seen(f, unless_none(f->gaps_ns)), if_seen(f, unless_none(f->starved_ns)),
		memory_of(device), unless_none(f->unknown_ns), unless_none(device->dropped),
		model_bytes(gpu->source, strnlen(gpu->source, sizeof(gpu->source))),
		model_number(gpu->clock_error_ns));
}

void model_gpu(struct model *model, const struct report_input *input)
{
	const struct attribution *attribution = input->attribution;
	const struct gpu_timeline *gpu = attribution ? attribution->gpu : NULL;
	struct model_table *table;

	if (!gpu || (gpu->inferred && !gpu->devices.count))
		return;
	table = model_add(model, &gpu_layout);
	for (size_t i = 0; i < gpu->devices.count; i++)
		add_device(table, attribution, i);
	if (*gpu->source)
		model_note(table, IN_TEXT | IN_PAGE, "From %s.",
			model_shown(model, gpu->source, sizeof(gpu->source), SHOWN));
	if (gpu->clock_error_ns)
		model_note(table, IN_TEXT | IN_PAGE,
			"Its times may differ from those of the pauses by %s.",
			FORMAT_DURATION(gpu->clock_error_ns));
	if (*gpu->note)
		model_note(table, IN_TEXT | IN_PAGE | NOTE_WARNS, "%s",
			model_shown(model, gpu->note, sizeof(gpu->note), 2 * SHOWN));
}
