/*
 * libFuzzer target: any bytes → the hsperf parser, and the plan of a JVM whose counters they are.
 * What is asserted: every counter lies in the block, every window in it and in the room for its
 * copy.
 */
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "jvm_fixture.h"
#include "jvm_plan.h"
#include "perfdata.h"

DEFINE_CLEANUP(struct perfdata *, perfdata_free);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {"sun.rt.safepoints", "sun.gc.cause", "sun.os.hrt.frequency",
	"java.cls.unloadedClasses", ""};

static void parse(const uint8_t *data, size_t size)
{
	_cleanup_(cleanup_perfdata_free) struct perfdata *perf = NULL;
	struct err err = {""};

	if (perfdata_parse(data, size, &perf, &err)) {
		if (!err.text[0])
			abort();
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct perfdata_entry *entry = perfdata_find(perf, names[i]);

		if (entry && (!entry->bytes || entry->offset > size ||
				     entry->bytes > size - entry->offset ||
				     (entry->type == 'J' && entry->bytes != 8)))
			abort();
	}
}

static void check(struct image *image, const struct jvm_plan *plan)
{
	uint8_t perf[GC_PERF_BYTES];
	char text[128];
	uint64_t value;

	if (plan->wire.window_count > GC_PERF_WINDOWS)
		abort();
	for (size_t i = 0; i < plan->wire.window_count; i++) {
		const struct gc_jvm_window *window = &plan->wire.windows[i];

		if (window->offset > GC_PERF_BYTES ||
			window->bytes > GC_PERF_BYTES - window->offset ||
			image_read(image, window->address, perf + window->offset, window->bytes))
			abort();
	}
	memset(perf, 0x80, sizeof(perf));
	for (enum jvm_counter i = 0; i < JVM_COUNTERS; i++) {
		for (size_t bytes = 0; bytes <= sizeof(perf); bytes += 73)
			(void)jvm_counter(plan, i, perf, bytes, &value);
		if (!jvm_counter_text(plan, i, perf, sizeof(perf), text, sizeof(text)) &&
			(strlen(text) >= sizeof(text) || strspn(text, "?") != strlen(text)))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct image image;
	static struct jvm *jvm;
	struct jvm_plan plan;
	size_t room = 0x2000;

	parse(data, size);
	if (!jvm) {
		struct jvm_source source = image_source(&image);

		image_init(&image, 17, 0);
		if (jvm_open(&source, &jvm, NULL))
			abort();
	}
	memset(image_at(&image, image.perf), 0, room);
	memcpy(image_at(&image, image.perf), data, size < room ? size : room);
	(void)jvm_plan(jvm, &plan, NULL);
	check(&image, &plan);
	return 0;
}
