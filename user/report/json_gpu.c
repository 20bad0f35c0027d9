/* Idle intervals of GPUs in; a JSON record each, at its place among pauses and steps, out. */
#include <errno.h>
#include <stdlib.h>

#include "devices.h"
#include "json_gpu.h"
#include "json_line.h"

static const char *cause_name(enum gpu_cause cause)
{
	static const char *const names[] = {
		[GPU_CAUSE_PAUSE] = "pause",
		[GPU_CAUSE_HOST] = "host",
		[GPU_CAUSE_OTHER] = "other",
	};

	return names[cause];
}

static void put_idle(FILE *out, const struct attribution *attribution, const struct gpu_idle *idle,
	uint64_t id)
{
	const struct gpu_device *device = &attribution->gpu->devices.items[idle->device];
	const struct process *process = recording_process(attribution->recording, device->process);

	line_begin(out, "gpu_idle");
	line_known(out, "pid", process ? process->pid : UNKNOWN);
	line_unsigned(out, "device", device->device);
	line_unsigned(out, "start_ns", idle->start_ns);
	line_unsigned(out, "end_ns", idle->end_ns);
	line_unsigned(out, "duration_ns", idle->end_ns - idle->start_ns);
	line_text(out, "cause", cause_name(idle->cause));
	line_known(out, "pause", idle->pause == GPU_NO_PAUSE ? UNKNOWN : (int64_t)id);
	line_unsigned(out, "pause_ns", idle->pause_ns);
	line_text(out, "source", devices_source(attribution->gpu));
	line_end(out);
}

int json_gpu_add(struct json_gpu *gpu, const struct report_input *input, uint64_t id)
{
	uint64_t *slot;

	if (!input->attribution || !input->attribution->gpu)
		return 0;
	slot = vec_add(&gpu->ids);
	if (!slot)
		return -ENOMEM;
	*slot = id;
	return 0;
}

/* Finds where the intervals of each device begin. 0 or -ENOMEM. */
static int begin(struct json_gpu *gpu, const struct attribution *attribution)
{
	const struct gpu_charges *charges = &attribution->gpu_charges;

	gpu->begun = true;
	for (size_t i = 0, at = 0; i < attribution->gpu->devices.count; i++) {
		size_t *slot = vec_add(&gpu->next);

		if (!slot)
			return -ENOMEM;
		*slot = at;
		while (at < charges->idles.count && charges->idles.items[at].device <= i)
			at++;
	}
	return 0;
}

/* The next interval of @device; NULL: there is none, or not until @time_ns, or its pause has not come. */
static const struct gpu_idle *next_of(const struct json_gpu *gpu, const struct gpu_charges *charges,
	size_t device, uint64_t time_ns)
{
	size_t at = gpu->next.items[device];
	const struct gpu_idle *idle = at < charges->idles.count ? &charges->idles.items[at] : NULL;

	if (!idle || idle->device != device || idle->end_ns > time_ns)
		return NULL;
	return idle->pause == GPU_NO_PAUSE || idle->pause < gpu->ids.count ? idle : NULL;
}

int json_gpu_until(struct json_gpu *gpu, FILE *out, const struct report_input *input,
	uint64_t time_ns)
{
	const struct attribution *attribution = input->attribution;

	if (!attribution || !attribution->gpu)
		return 0;
	if (!gpu->begun && begin(gpu, attribution))
		return -ENOMEM;
	for (;;) {
		const struct gpu_idle *first = NULL;

		for (size_t i = 0; i < gpu->next.count; i++) {
			const struct gpu_idle *one =
				next_of(gpu, &attribution->gpu_charges, i, time_ns);

			if (one && (!first || one->end_ns < first->end_ns))
				first = one;
		}
		if (!first)
			return 0;
		put_idle(out, attribution, first,
			first->pause == GPU_NO_PAUSE ? 0 : gpu->ids.items[first->pause]);
		gpu->next.items[first->device]++;
	}
}

void json_gpu_release(struct json_gpu *gpu)
{
	vec_free(&gpu->next);
	vec_free(&gpu->ids);
}

/* A size of which -1 is a value. */
static void put_bytes(FILE *out, const char *key, bool known, int64_t bytes)
{
	if (known)
		line_int(out, key, bytes);
	else
		line_null(out, key);
}

void json_gpu_step(FILE *out, const struct attribution *attribution, const struct step_cost *cost)
{
	if (!attribution->gpu)
		return;
	line_known(out, "gpu_idle_pause_ns",
		cost->gpu_known ? (int64_t)cost->gpu_pause_ns : UNKNOWN);
	if (attribution->has_gpu_memory)
		put_bytes(out, "gpu_memory_bytes", cost->gpu_bytes_known, cost->gpu_bytes);
	if (attribution->has_gpu_allocations)
		line_unsigned(out, "gpu_allocator_ns", cost->retry_ns);
}

void json_gpu_pause(FILE *out, const struct attribution *attribution, uint64_t index)
{
	const struct gpu_cost *cost = devices_pause(attribution, index);
	const struct gpu_memory_change *change = devices_pause_memory(attribution, index);

	line_known(out, "gpu_idle_ns", devices_pause_idle(attribution, index));
	line_known(out, "gpu_hidden_ns", cost ? (int64_t)cost->hidden_ns : UNKNOWN);
	line_known(out, "gpu_exposed_ns", cost ? (int64_t)cost->exposed_ns : UNKNOWN);
	line_known(out, "gpu_recovery_ns",
		cost && !attribution->gpu->inferred ? (int64_t)cost->recovery_ns : UNKNOWN);
	line_known(out, "gpu_lost_ns", cost ? (int64_t)cost->lost_ns : UNKNOWN);
	line_known(out, "gpu_lost_low_ns", cost ? (int64_t)cost->lost_low_ns : UNKNOWN);
	line_known(out, "gpu_lost_high_ns", cost ? (int64_t)cost->lost_high_ns : UNKNOWN);
	if (attribution->gpu->inferred)
		line_bool(out, "gpu_inferred", true);
	if (attribution->has_gpu_memory)
		put_bytes(out, "gpu_memory_change_bytes", change != NULL,
			change ? change->bytes : 0);
}
