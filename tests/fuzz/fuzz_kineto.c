/*
 * libFuzzer target: any bytes as a trace, beside a recording of process 4711 that has marks → a timeline, settled. What
 * is asserted: what gpu.h says of one, and that a refusal has a sentence.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kineto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MARKS 101
#define BEGIN 5000000000ull

static void make_recording(struct recording *recording, struct step_marks *marks)
{
	struct process *process = vec_add(&recording->processes);
	struct series *series = vec_add(&recording->series);

	recording->start_ns = BEGIN;
	recording->end_ns = BEGIN + 3600000000000;
	recording->realtime_offset_ns = 1700000000000000000 - (int64_t)BEGIN;
	*vec_add(&recording->shifts) =
		(struct clock_shift){BEGIN + 1800000000000, 1700000060000000000 - (int64_t)BEGIN};
	*process = (struct process){.id = 1, .pid = 4711, .ns_pid = 4711, .comm = "python3"};
	*series = (struct series){
		.id = 1, .process = 1, .tid = 4711, .label = strdup("Optimizer.step#Adam.step")};
	for (uint64_t i = 0; i < MARKS; i++)
		if (step_marks_add(marks, &(struct mark){.series = 1,
						  .time_ns = BEGIN + 10000000 * i + i * i * 100}))
			abort();
}

static void check(const struct gpu_timeline *timeline)
{
	for (size_t i = 0; i < timeline->devices.count; i++) {
		const struct gpu_device *device = &timeline->devices.items[i];

		if (device->process != 1 || device->seen_ns > device->until_ns ||
			!memchr(device->name, 0, sizeof(device->name)))
			abort();
		for (size_t j = 0; j < device->busy.count; j++) {
			const struct gpu_busy *busy = &device->busy.items[j];

			if (busy->start_ns >= busy->end_ns || busy->start_ns < device->seen_ns ||
				busy->end_ns > device->until_ns)
				abort();
			/* Missing records keep them apart, however close they are. */
			if (j && busy->start_ns < busy[-1].end_ns)
				abort();
		}
		for (size_t j = 0; j < device->unknown.count; j++)
			if (device->unknown.items[j].start_ns >= device->unknown.items[j].end_ns)
				abort();
	}
	for (size_t i = 0; i < timeline->launchers.count; i++) {
		const struct gpu_launcher *launcher = &timeline->launchers.items[i];

		for (size_t j = 0; j < launcher->waits.count; j++)
			if (launcher->waits.items[j].start_ns > launcher->waits.items[j].end_ns)
				abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct recording recording;
	static struct step_marks marks;
	static char path[32];
	static int fd = -1;
	struct gpu_timeline timeline = {0};
	struct err err = {""};

	if (fd < 0) {
		make_recording(&recording, &marks);
		fd = memfd_create("trace", MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	if (kineto_read(path, &recording, &marks, &timeline, &err)) {
		if (!err.text[0])
			abort();
	} else {
		gpu_settle(&timeline);
		check(&timeline);
	}
	gpu_release(&timeline);
	return 0;
}
