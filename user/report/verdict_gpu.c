/* What GPUs did in; what that adds to the answer, in a sentence, out. */
#include <stdio.h>
#include <string.h>

#include "describe.h"
#include "devices.h"
#include "meaning.h"
#include "parse.h"
#include "runtime_words.h"
#include "utf8.h"
#include "verdict.h"

#define RETURNED_BYTES (1 << 20) /* less changes nothing */
#define OUTSIDE	       0.1	 /* of its idleness: less of it outside steps changes no answer */

/* "GPU 0": safe for a terminal. */
static void say_device(const struct attribution *attribution, size_t device, char *text,
	size_t size)
{
	const char *name = DEVICES_NAME(attribution, device);

	utf8_show(text, size, name, strlen(name), 80);
}

/* "; 61.0 % of that was caused by GC": what pauses have of its idleness. */
static void say_caused(const struct attribution *attribution, const struct device_share *idle,
	char *text, size_t size)
{
	uint32_t process = attribution->gpu->devices.items[idle->device].process;
	const struct gpu_figures *figures = &attribution->gpu_charges.devices.items[idle->device];
	uint64_t caused_ns = figures->cause_ns[GPU_CAUSE_PAUSE];

	*text = '\0';
	if (idle->ns)
		snprintf(text, size, "; %s of that was caused by %s",
			caused_ns ? VERDICT_SHARE(caused_ns, idle->ns) : "none",
			meaning_of_process(attribution->recording, process)->cause);
}

/*
 * "; within steps 148.3 ms of 4.799 s (3.1 %), 93.0 % of that caused by GC": while a program starts and ends, GPUs have
 * nothing to do. "" without steps on that device, or where its idleness is in them.
 */
static void say_steps(const struct attribution *attribution, const struct device_share *idle,
	char *text, size_t size)
{
	uint32_t process = attribution->gpu->devices.items[idle->device].process;
	struct device_steps steps = {};
	char caused[96] = "";

	*text = '\0';
	for (size_t i = 0; i < attribution->tracks.count && !steps.known; i++)
		if (attribution->tracks.items[i].gpu_device == idle->device)
			steps = devices_steps(attribution, i);
	if (!steps.known || (double)steps.idle_ns > (1 - OUTSIDE) * (double)idle->ns)
		return;
	if (steps.idle_ns)
		snprintf(caused, sizeof(caused), ", %s of that caused by %s",
			steps.pause_ns ? VERDICT_SHARE(steps.pause_ns, steps.idle_ns) : "none",
			meaning_of_process(attribution->recording, process)->cause);
	snprintf(text, size, "; within steps %s of %s (%s)%s", FORMAT_DURATION(steps.idle_ns),
		FORMAT_DURATION(steps.time_ns), VERDICT_SHARE(steps.idle_ns, steps.time_ns),
		caused);
}

/* What is missing is neither busy nor idle. */
static void say_unknown(const struct gpu_figures *figures, char *text, size_t size)
{
	*text = '\0';
	if (figures->unknown_ns)
		snprintf(text, size, "; of another %s its records are missing",
			FORMAT_DURATION(figures->unknown_ns));
}

/* "; generation-2 collections returned a median of 1.2G of GPU memory": where it is enough to matter. */
static void say_returned(const struct attribution *attribution, char *text, size_t size)
{
	const struct memory_returned *returned = &attribution->returned;

	*text = '\0';
	if (returned->median_bytes >= RETURNED_BYTES)
		snprintf(text, size, "; %s returned a median of %s of GPU memory",
			returned->class->collections, WORDS_BYTES((int64_t)returned->median_bytes));
}

/*
 * " Of 61.82 ms of pauses, GPUs were without work for about 38.43 ms (62.2 %); queued work hid the rest (inferred from
 * calls that wait for a GPU)."
 */
static void say_inferred(const struct attribution *attribution, char *text, size_t size)
{
	const struct gpu_inferred *inferred = &attribution->gpu_charges.inferred;
	char unknown[96] = "";

	if (!inferred->pauses)
		return;
	if (!inferred->known) {
		snprintf(text, size,
			" What pauses cost GPUs is not known: no GPU's own records are there, and too few "
			"calls that wait for one to infer it from.");
		return;
	}
	if (inferred->known < inferred->pauses)
		snprintf(unknown, sizeof(unknown), "; of %s others it is not known",
			DESCRIBE_COUNT(inferred->pauses - inferred->known));
	snprintf(text, size,
		" Of %s of pauses, GPUs were without work for about %s (%s); queued work hid the rest "
		"(inferred from %s)%s.",
		FORMAT_DURATION(inferred->pause_ns), FORMAT_DURATION(inferred->lost_ns),
		VERDICT_SHARE(inferred->lost_ns, inferred->pause_ns), attribution->gpu->source,
		unknown);
}

const char *verdict_gpu(const struct attribution *attribution, char *text, size_t size)
{
	const struct gpu_timeline *gpu = attribution ? attribution->gpu : NULL;
	char device[4 * 80 + 1], idle[96], caused[96], within[192], returned[160], unknown[96];
	struct device_share worst;

	*text = '\0';
	if (!gpu)
		return text;
	if (gpu->inferred && !gpu->devices.count) {
		say_inferred(attribution, text, size);
		return text;
	}
	if (!devices_worst(attribution, DEVICE_IDLE, &worst)) {
		utf8_show(device, sizeof(device), gpu->source,
			strnlen(gpu->source, sizeof(gpu->source)), 80);
		snprintf(text, size,
			" What GPUs did is not known: there are no records of one%s%s.",
			*device ? " in " : "", device);
		return text;
	}
	say_device(attribution, worst.device, device, sizeof(device));
	say_caused(attribution, &worst, caused, sizeof(caused));
	say_steps(attribution, &worst, within, sizeof(within));
	say_returned(attribution, returned, sizeof(returned));
	say_unknown(&attribution->gpu_charges.devices.items[worst.device], unknown,
		sizeof(unknown));
	if (worst.ns)
		snprintf(idle, sizeof(idle), "stood idle%s %s of %s (%s, %s)",
			gpu->devices.count > 1 ? " most:" : "", FORMAT_DURATION(worst.ns),
			FORMAT_DURATION(worst.seen_ns), VERDICT_SHARE(worst.ns, worst.seen_ns),
			devices_source(gpu));
	else
		snprintf(idle, sizeof(idle), "was never idle in %s (%s)",
			FORMAT_DURATION(worst.seen_ns), devices_source(gpu));
	snprintf(text, size, " %s %s%s%s%s%s.", device, idle, caused, within, returned, unknown);
	return text;
}
