/* A timeline of GPUs and what is charged of it in; shares, and what a pause or a step had of it, out. */
#include <stdio.h>

#include "describe.h"
#include "devices.h"
#include "stats.h"

static uint64_t time_of(const struct gpu_figures *figures, enum device_time time)
{
	return time == DEVICE_IDLE ? figures->idle_ns : figures->cause_ns[GPU_CAUSE_PAUSE];
}

bool devices_share(const struct attribution *attribution, size_t device, enum device_time time,
	struct device_share *ret)
{
	const struct gpu_figures *figures;
	double all;

	if (!attribution->gpu || device >= attribution->gpu_charges.devices.count)
		return false;
	figures = &attribution->gpu_charges.devices.items[device];
	if (!figures->seen_ns)
		return false;
	*ret = (struct device_share){
		.device = device,
		.ns = time_of(figures, time),
		.seen_ns = figures->seen_ns,
	};
	all = (double)figures->seen_ns + (double)figures->unknown_ns;
	ret->share = (double)ret->ns / (double)ret->seen_ns;
	ret->least = (double)ret->ns / all;
	ret->most = ((double)ret->ns + (double)figures->unknown_ns) / all;
	return true;
}

bool devices_worst(const struct attribution *attribution, enum device_time time,
	struct device_share *ret)
{
	size_t count = attribution->gpu ? attribution->gpu->devices.count : 0;
	double least = 0, most = 0;
	struct device_share one;
	bool found = false;

	for (size_t i = 0; i < count; i++) {
		if (!devices_share(attribution, i, time, &one))
			continue;
		least = one.least > least ? one.least : least;
		most = one.most > most ? one.most : most;
		if (!found || one.share > ret->share)
			*ret = one;
		found = true;
	}
	if (found) {
		ret->least = least;
		ret->most = most;
	}
	return found;
}

struct device_steps devices_steps(const struct attribution *attribution, size_t track)
{
	const struct step_track *of = &attribution->steps->tracks.items[track];
	const struct track_cost *cost = &attribution->tracks.items[track];
	struct device_steps sum = {};

	for (size_t i = 0; i < cost->steps.count; i++) {
		const struct step_cost *step = &cost->steps.items[i];

		if (!step->gpu_known) {
			sum.unknown++;
			continue;
		}
		sum.known++;
		stats_add(&sum.idle_ns, step->gpu_idle_ns);
		stats_add(&sum.pause_ns, step->gpu_pause_ns);
		stats_add(&sum.time_ns, step_duration(&of->steps.items[i]));
	}
	return sum;
}

bool devices_used(const struct attribution *attribution, uint32_t id)
{
	for (size_t i = 0; attribution->gpu && i < attribution->gpu->devices.count; i++)
		if (attribution->gpu->devices.items[i].process == id)
			return true;
	for (size_t i = 0; attribution->gpu && attribution->gpu->inferred &&
			   i < attribution->gpu->drivers.count;
		i++)
		if (attribution->gpu->drivers.items[i].process == id)
			return true;
	return false;
}

const struct gpu_cost *devices_pause(const struct attribution *attribution, uint64_t index)
{
	const struct gpu_cost *cost;

	if (!attribution->gpu || index >= attribution->gpu_charges.pauses.count)
		return NULL;
	cost = &attribution->gpu_charges.pauses.items[index];
	return cost->known ? cost : NULL;
}

int64_t devices_pause_idle(const struct attribution *attribution, uint64_t index)
{
	const struct gpu_cost *cost = devices_pause(attribution, index);

	return cost ? (int64_t)(cost->exposed_ns + cost->recovery_ns) : UNKNOWN;
}

const struct gpu_memory_change *devices_pause_memory(const struct attribution *attribution,
	uint64_t index)
{
	if (index >= attribution->gpu_memory.count || !attribution->gpu_memory.items[index].known)
		return NULL;
	return &attribution->gpu_memory.items[index];
}

static bool several_processes(const struct gpu_timeline *gpu)
{
	for (size_t i = 1; i < gpu->devices.count; i++)
		if (gpu->devices.items[i].process != gpu->devices.items[0].process)
			return true;
	return false;
}

const char *devices_name(const struct attribution *attribution, size_t device, char *text,
	size_t size)
{
	const struct gpu_timeline *gpu = attribution->gpu;
	const struct gpu_device *of =
		gpu && device < gpu->devices.count ? &gpu->devices.items[device] : NULL;

	if (!of)
		*text = '\0';
	else if (several_processes(gpu))
		snprintf(text, size, "GPU %u of %s", of->device,
			DESCRIBE_PROCESS(attribution->recording, of->process));
	else
		snprintf(text, size, "GPU %u", of->device);
	return text;
}

const char *devices_source(const struct gpu_timeline *timeline)
{
	return timeline->inferred ? "inferred" : "measured";
}
