/* What GPUs did, and what is charged of it to pauses, in; shares that can be budgeted, or why they are not known, out. */
#include <stdio.h>
#include <string.h>

#include "budget_gpu.h"
#include "cleanup.h"
#include "describe.h"
#include "devices.h"
#include "parse.h"

#define MISSING(ret, ...) snprintf((ret)->missing, sizeof((ret)->missing), __VA_ARGS__)

/* Whether all devices have records of their own; if not, *ret says why nothing can be judged. */
static bool is_known(const struct attribution *attribution, struct budget_measure *ret)
{
	const struct gpu_timeline *gpu = attribution->gpu;
	struct device_share share;

	if (gpu && gpu->inferred) {
		MISSING(ret,
			"a GPU's own records: what is inferred from calls of CUDA's driver is not judged");
		return false;
	}
	if (!gpu || !gpu->devices.count) {
		MISSING(ret,
			"the records of a GPU: record with --gpu measure, or name a profiler's file "
			"with --gpu FILE");
		return false;
	}
	for (size_t i = 0; i < gpu->devices.count; i++) {
		if (devices_share(attribution, i, DEVICE_IDLE, &share))
			continue;
		MISSING(ret, "the records of %s, and there are none", DEVICES_NAME(attribution, i));
		return false;
	}
	return true;
}

/* "of 12.40 s of GPU 0, measured; 1.200 s more are not known; its clock may differ by 3.000 µs" */
static void say_basis(const struct attribution *attribution, const struct device_share *share,
	enum device_time time, struct budget_measure *ret)
{
	const struct gpu_timeline *gpu = attribution->gpu;
	uint64_t unknown_ns = attribution->gpu_charges.devices.items[share->device].unknown_ns;
	char unknown[64] = "", clock[64] = "";

	if (unknown_ns)
		snprintf(unknown, sizeof(unknown), "; %s more are not known",
			FORMAT_DURATION(unknown_ns));
	if (time == DEVICE_PAUSES && gpu->clock_error_ns)
		snprintf(clock, sizeof(clock), "; its clock may differ from the pauses' by %s",
			FORMAT_DURATION(gpu->clock_error_ns));
	snprintf(ret->basis, sizeof(ret->basis), "%s of %s of %s, %s%s%s",
		FORMAT_DURATION(share->ns), FORMAT_DURATION(share->seen_ns),
		DEVICES_NAME(attribution, share->device), devices_source(gpu), unknown, clock);
}

static int measure(const struct attribution *attribution, enum device_time time,
	struct budget_measure *ret)
{
	struct device_share worst;

	ret->untold = true;
	if (!is_known(attribution, ret) || !devices_worst(attribution, time, &worst))
		return 0;
	ret->value = worst.share;
	ret->bounded = true;
	ret->least = worst.least;
	ret->most = worst.most;
	say_basis(attribution, &worst, time, ret);
	return 0;
}

static int idle_share(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret)
{
	return measure(attribution, DEVICE_IDLE, ret);
}

static int pause_share(const struct attribution *attribution, size_t track,
	const struct budget_metric *metric, struct budget_measure *ret)
{
	return measure(attribution, DEVICE_PAUSES, ret);
}

static const struct budget_metric of_gpus[] = {
	{"gpu.idle.share", "how long the GPU that is idle most has no work, of the time it is seen",
		BUDGET_SHARE, false, 0, idle_share},
	{"gpu.gc.share", "how long the GPU with most of that is idle because of pauses, likewise",
		BUDGET_SHARE, false, 0, pause_share},
};

const struct budget_metric *budget_gpu_at(size_t at)
{
	return at < ARRAY_SIZE(of_gpus) ? &of_gpus[at] : NULL;
}
