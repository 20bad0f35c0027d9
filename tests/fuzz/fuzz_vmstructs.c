/*
 * libFuzzer target: the memory of a JVM → its tables, flags, collector and plan. The first byte
 * chooses a JVM that is sound; what follows are patches of it: a place (3 bytes), how many bytes
 * (1), the bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "jvm_fixture.h"
#include "jvm_plan.h"

DEFINE_CLEANUP(struct jvm *, jvm_free);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static void patch(struct image *image, const uint8_t *data, size_t size)
{
	while (size > 4) {
		size_t at = (data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16) % image->used;
		size_t len = data[3] + 1u;

		data += 4;
		size -= 4;
		if (len > size)
			len = size;
		if (len > IMAGE_BYTES - at)
			len = IMAGE_BYTES - at;
		memcpy(image->bytes + at, data, len);
		data += len;
		size -= len;
	}
}

static void ask(const struct jvm *jvm)
{
	uint64_t number = 0;
	uint32_t offset = 0;
	int64_t value = 0;
	bool on = false;

	if (jvm_release_number(jvm) < 0 || jvm_release_number(jvm) > 999 ||
		strlen(jvm_version(jvm)) > 127)
		abort();
	if (!jvm_field(jvm, "JavaThread", "_anchor", &offset) && offset > INT32_MAX)
		abort();
	if (!jvm_static(jvm, "PerfMemory", "_start", &number) && !number)
		abort();
	(void)jvm_type_size(jvm, "ConstMethod", &number);
	(void)jvm_constant(jvm, "CodeBlobKind::Nmethod", &value);
	(void)jvm_flag(jvm, "UseG1GC", &on);
	sink += number + offset + (uint64_t)value + on;
	if (jvm_collector(jvm))
		sink += strlen(jvm_collector(jvm));
}

/* What BPF relies on. */
static void check(const struct jvm_plan *plan)
{
	const struct gc_jvm *wire = &plan->wire;

	if (wire->window_count > GC_PERF_WINDOWS || wire->block_bytes > GC_BLOCK_BYTES ||
		strlen(plan->lacks) >= sizeof(plan->lacks) || wire->thread_tls >= 4096 ||
		(plan->walks &&
			(!wire->java_vtable || !wire->block_bytes || !wire->heaps[0].start ||
				wire->segment_shift < 3 || wire->segment_shift > 20)) ||
		(!plan->walks && wire->java_vtable))
		abort();
	for (size_t i = 0; i < wire->window_count; i++)
		if (wire->windows[i].offset > GC_PERF_BYTES ||
			wire->windows[i].bytes > GC_PERF_BYTES - wire->windows[i].offset)
			abort();
	for (size_t i = 0; i < GC_CODE_HEAPS; i++)
		if (wire->heaps[i].start > wire->heaps[i].end)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int releases[] = {8, 17, 25};
	static struct image sound[3], image;
	_cleanup_(cleanup_jvm_free) struct jvm *jvm = NULL;
	struct jvm_source source = image_source(&image);
	struct err err = {""};
	struct jvm_plan plan;
	uint64_t value;

	if (!sound[0].used)
		for (size_t i = 0; i < 3; i++)
			image_init(&sound[i], releases[i], 0);
	if (!size)
		return 0;
	image = sound[data[0] % 3];
	image.stripped = data[0] & 4;
	patch(&image, data + 1, size - 1);
	if (jvm_open(&source, &jvm, &err)) {
		if (!err.text[0] || jvm)
			abort();
		return 0;
	}
	ask(jvm);
	(void)jvm_plan(jvm, &plan, &err);
	check(&plan);
	for (enum jvm_counter i = 0; i < JVM_COUNTERS; i++)
		if (!jvm_counter_now(jvm, &plan, i, &value))
			sink += value;
	return 0;
}
