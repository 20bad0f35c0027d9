/* What a recording holds beside its pauses: lookups by id and totals over struct recording. */
#include <stdlib.h>

#include "cleanup.h"
#include "pause.h"

void recording_release(struct recording *recording)
{
	if (!recording)
		return;
	for (size_t i = 0; i < recording->processes.count; i++)
		free(recording->processes.items[i].cmdline);
	for (size_t i = 0; i < recording->runtimes.count; i++) {
		free(recording->runtimes.items[i].path);
		free(recording->runtimes.items[i].detail);
	}
	for (size_t i = 0; i < recording->signals.count; i++)
		free(recording->signals.items[i].probe);
	for (size_t i = 0; i < recording->series.count; i++)
		free(recording->series.items[i].label);
	vec_free(&recording->processes);
	vec_free(&recording->runtimes);
	vec_free(&recording->drops);
	vec_free(&recording->signals);
	vec_free(&recording->series);
	vec_free(&recording->threads);
	vec_free(&recording->stalls);
	vec_free(&recording->phases);
	vec_free(&recording->shifts);
}

bool pause_passes(const struct pause *pause, const struct pause_filter *filter)
{
	return pause_duration(pause) >= filter->min_duration_ns &&
	       (pause_collects(pause) || !filter->gc_only) &&
	       (pause->generation < 0 || pause->generation >= filter->min_generation);
}

/* Bisects @count elements of @size bytes that begin with their ascending 32-bit id. */
static const void *find_id(const void *items, size_t count, size_t size, uint32_t id)
{
	size_t low = 0, high = count;

	if (id && id <= count) { /* ids are dense unless the file is unusual */
		const char *guess = (const char *)items + (id - 1) * size;

		if (*(const uint32_t *)guess == id)
			return guess;
	}
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const char *item = (const char *)items + middle * size;
		uint32_t found = *(const uint32_t *)item;

		if (found == id)
			return item;
		if (found < id)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

_Static_assert(!offsetof(struct process, id) && !offsetof(struct runtime, id) &&
		       !offsetof(struct signal, id) && !offsetof(struct series, id),
	"find_id() reads it");

uint64_t recording_traced_from(const struct recording *recording, const struct process *process)
{
	uint64_t attached_ns = process->attached_ns;

	for (size_t i = 0; !process->attached_ns && i < recording->runtimes.count; i++) {
		const struct runtime *runtime = &recording->runtimes.items[i];

		if (runtime->process == process->id && runtime->attached_ns &&
			(!attached_ns || runtime->attached_ns < attached_ns))
			attached_ns = runtime->attached_ns;
	}
	if (attached_ns)
		return attached_ns;
	return process->seen_ns > recording->start_ns ? process->seen_ns : recording->start_ns;
}

const struct process *recording_process(const struct recording *recording, uint32_t id)
{
	return find_id(recording->processes.items, recording->processes.count,
		sizeof(struct process), id);
}

const struct runtime *recording_runtime(const struct recording *recording, uint32_t id)
{
	return find_id(recording->runtimes.items, recording->runtimes.count, sizeof(struct runtime),
		id);
}

const struct signal *recording_signal(const struct recording *recording, uint32_t id)
{
	return find_id(recording->signals.items, recording->signals.count, sizeof(struct signal),
		id);
}

const struct series *recording_series(const struct recording *recording, uint32_t id)
{
	return find_id(recording->series.items, recording->series.count, sizeof(struct series), id);
}

const struct thread *recording_thread(const struct recording *recording, uint32_t process,
	uint32_t tid)
{
	size_t low = 0, high = recording->threads.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct thread *thread = &recording->threads.items[middle];

		if (thread->process == process && thread->tid == tid)
			return thread;
		if (thread->process < process || (thread->process == process && thread->tid < tid))
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

int64_t recording_offset(const struct recording *recording, uint64_t time_ns)
{
	size_t low = 0, high = recording->shifts.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (recording->shifts.items[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? recording->shifts.items[low - 1].offset_ns : recording->realtime_offset_ns;
}

int64_t recording_wall_ns(const struct recording *recording, uint64_t time_ns)
{
	int64_t wall_ns;

	if (time_ns > INT64_MAX ||
		__builtin_add_overflow((int64_t)time_ns, recording_offset(recording, time_ns),
			&wall_ns) ||
		wall_ns < 0)
		return UNKNOWN;
	return wall_ns;
}

#define SHIFT_NS    1000000 /* a smaller change does not matter */
#define SHIFTS_MOST 65536

void recording_note_offset(struct recording *recording, uint64_t time_ns, int64_t offset_ns)
{
	struct clock_shift *shift;
	int64_t change;

	if (!__builtin_sub_overflow(offset_ns, recording_offset(recording, time_ns), &change) &&
		change <= SHIFT_NS && change >= -SHIFT_NS)
		return;
	if (recording->shifts.count >= SHIFTS_MOST)
		return;
	shift = vec_add(&recording->shifts);
	if (shift)
		*shift = (struct clock_shift){time_ns, offset_ns};
}

/* A hostile file may hold any counts: the sum sticks at the top. */
static uint64_t add_saturated(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

uint64_t recording_drop_total(const struct recording *recording)
{
	uint64_t total = 0;

	for (size_t i = 0; i < recording->drops.count; i++)
		total = add_saturated(total, recording->drops.items[i].count);
	return total;
}

uint64_t recording_missed_total(const struct recording *recording)
{
	uint64_t total = 0;

	for (size_t i = 0; i < recording->runtimes.count; i++)
		total = add_saturated(total, recording->runtimes.items[i].missed);
	return total;
}

const char *pause_cause_name(uint32_t cause)
{
	static const char *const names[] = {
		[CAUSE_UNKNOWN] = "unknown",
		[CAUSE_AUTOMATIC] = "automatic",
		[CAUSE_MANUAL] = "manual",
		[CAUSE_SHUTDOWN] = "shutdown",
		[CAUSE_RUNTIME] = "runtime", /* if its own words are not known */
	};

	return cause < ARRAY_SIZE(names) ? names[cause] : "unknown";
}
