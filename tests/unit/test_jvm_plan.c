/* jvm: the plan and the hsperf counters, of JVMs that tell the truth and of some that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jvm_fixture.h"
#include "jvm_plan.h"
#include "perfdata.h"

static struct image image;

static struct jvm *open_image(void)
{
	struct jvm_source source = image_source(&image);
	struct err err = {""};
	struct jvm *jvm = NULL;

	if (jvm_open(&source, &jvm, &err))
		fail_msg("%s", err.text);
	return jvm;
}

/* Opens and plans; the result of the latter. */
static int try_plan(struct jvm_plan *ret)
{
	struct jvm *jvm = open_image();
	struct err err = {""};
	int r = jvm_plan(jvm, ret, &err);

	assert_true(r ? err.text[0] : !err.text[0]);
	jvm_free(jvm);
	return r;
}

static uint64_t symbol(const char *name)
{
	return image_find(&image, name);
}

static void check_plan(const struct jvm_plan *plan)
{
	const struct gc_jvm *wire = &plan->wire;
	bool old = image.release == 8, new = image.release == 25;

	assert_true(plan->walks);
	assert_int_equal(wire->java_vtable, image.vtable);
	assert_int_equal(wire->thread_tls, IMAGE_TLS);
	assert_int_equal(wire->op_thread, 8);
	assert_int_equal(wire->thread_osthread, IMAGE_OSTHREAD);
	assert_int_equal(wire->osthread_tid, 16);
	assert_int_equal(wire->anchor_sp, IMAGE_ANCHOR);
	assert_int_equal(wire->anchor_pc, IMAGE_ANCHOR + 8);
	assert_int_equal(wire->anchor_fp, IMAGE_ANCHOR + 16);
	assert_int_equal(wire->wrapper_sp, 32);
	assert_int_equal(wire->wrapper_fp, 48);
	assert_int_equal(wire->interpreter_start, 0x7f1100001000);
	assert_int_equal(wire->interpreter_end, 0x7f1100018000);
	assert_int_equal(wire->interpreter_bcp, old ? 56 : 64);
	assert_int_equal(wire->call_stub_return, 0x7f1100000cc9);
	assert_int_equal(wire->heaps[0].start, image.heap_memory);
	assert_int_equal(wire->heaps[0].end, image.heap_memory + 8 * 256);
	assert_int_equal(wire->heaps[1].start, 0);
	assert_int_equal(wire->segment_shift, 7);
	assert_int_equal(wire->block_header, new ? 8 : 16);
	assert_int_equal(wire->block_bytes, new ? 216 : 224);
	assert_int_equal(wire->blob_kind, new ? 56 : GC_NO_FIELD);
	assert_int_equal(wire->nmethod_kind, new ? 1 : 0);
	assert_int_equal(wire->nmethod_vtable, new ? 0 : image.nmethod_vtable);
	assert_int_equal(wire->nmethod_method, old ? 64 : new ? 80 : 112);
	assert_int_equal(wire->nmethod_deopt, old ? 148 : new ? 176 : 128);
	assert_int_equal(wire->nmethod_deopt_mh, old ? 152 : new ? 180 : 136);
	assert_int_equal(wire->nmethod_deopt_wide, image.release == 17 ? 8 : 4);
	assert_int_equal(wire->method_const, 8);
	assert_int_equal(wire->const_bytes, 48);
}

static void plans_are_complete(void **state)
{
	static const int releases[] = {8, 17, 25};

	for (size_t i = 0; i < 3; i++) {
		struct jvm_plan plan;

		image_init(&image, releases[i], 0);
		assert_int_equal(try_plan(&plan), 0);
		assert_string_equal(plan.lacks, "");
		check_plan(&plan);
		assert_int_equal(plan.wire.current_op, symbol("_ZN8VMThread17_cur_vm_operationE"));
		assert_int_equal(plan.wire.return_barrier, 0x7f1100000dd1);
	}
}

/* What the symbols say is found without them, but for what nothing else tells. */
static void stripped_plans_are_the_same(void **state)
{
	static const int releases[] = {8, 17, 25};

	for (size_t i = 0; i < 3; i++) {
		struct jvm_plan plan;

		image_init(&image, releases[i], 0);
		image.stripped = true;
		assert_int_equal(try_plan(&plan), 0);
		check_plan(&plan);
		assert_int_equal(plan.wire.current_op, 0);
		assert_int_equal(plan.wire.return_barrier, 0);
		assert_non_null(strstr(plan.lacks, "no symbols"));
	}
}

static void copy_windows(struct jvm *jvm, const struct jvm_plan *plan, uint8_t perf[GC_PERF_BYTES])
{
	size_t total = 0;

	assert_true(plan->wire.window_count <= GC_PERF_WINDOWS);
	for (size_t i = 0; i < plan->wire.window_count; i++) {
		const struct gc_jvm_window *window = &plan->wire.windows[i];

		assert_int_equal(window->offset % 8, 0);
		assert_true(window->offset >= total);
		total = window->offset + window->bytes;
		assert_true(total <= GC_PERF_BYTES);
		assert_int_equal(jvm_read(jvm, window->address, perf + window->offset,
					 window->bytes),
			0);
	}
}

static void counters_are_copied(void **state)
{
	static const struct {
		enum jvm_counter counter;
		uint64_t value;
	} numbers[] = {{JVM_SAFEPOINTS, 23}, {JVM_SAFEPOINT_TIME, 2003}, {JVM_SYNC_TIME, 1009},
		{JVM_COLLECTOR_0, 13}, {JVM_COLLECTOR_1, 11}, {JVM_UNLOADED, 7},
		{JVM_SHARED_UNLOADED, 3}};
	uint8_t perf[GC_PERF_BYTES] = {0};
	uint64_t value = 4711;
	struct jvm_plan plan;
	struct jvm *jvm;
	char text[24];

	image_init(&image, 17, 0);
	jvm = open_image();
	assert_int_equal(jvm_plan(jvm, &plan, NULL), 0);
	copy_windows(jvm, &plan, perf);
	assert_int_equal(jvm_counter(&plan, JVM_COLLECTOR_2, perf, sizeof(perf), &value), -ENOENT);
	assert_int_equal(jvm_counter(&plan, JVM_CAUSE, perf, sizeof(perf), &value), -ENOENT);
	assert_int_equal(value, 4711);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		assert_int_equal(jvm_counter(&plan, numbers[i].counter, perf, sizeof(perf), &value),
			0);
		assert_int_equal(value, numbers[i].value);
		value = 0;
		assert_int_equal(jvm_counter_now(jvm, &plan, numbers[i].counter, &value), 0);
		assert_int_equal(value, numbers[i].value);
	}
	assert_int_equal(jvm_counter_text(&plan, JVM_CAUSE, perf, sizeof(perf), text, sizeof(text)),
		0);
	assert_string_equal(text, "No GC");
	assert_int_equal(jvm_counter_text(&plan, JVM_LAST_CAUSE, perf, sizeof(perf), text, 8), 0);
	assert_string_equal(text, "System.");
	assert_int_equal(plan.ticks_per_second, 1000000000);
	assert_int_equal(jvm_read_u64(jvm, plan.safepoints_address, NULL), 23);
	assert_int_equal(jvm_read_u64(jvm, plan.sync_time_address, NULL), 1009);
	assert_int_equal(jvm_read_u64(jvm, plan.safepoint_time_address, NULL), 2003);
	assert_int_equal(jvm_read_u64(jvm, plan.wire.collections[1], NULL), 11);
	assert_int_equal(jvm_read_u64(jvm, plan.wire.unloaded[0], NULL), 7);
	assert_int_equal(jvm_read_u64(jvm, plan.wire.unloaded[1], NULL), 3);
	assert_int_equal(plan.wire.collections[2], 0);

	/* A record that is shorter than the plan says, or whose text is no text. */
	assert_int_equal(jvm_counter(&plan, JVM_COLLECTOR_1, perf,
				 plan.counters[JVM_COLLECTOR_1].offset + 7u, &value),
		-ENOENT);
	memset(perf, 0x1b, sizeof(perf));
	assert_int_equal(jvm_counter_text(&plan, JVM_CAUSE, perf, sizeof(perf), text, sizeof(text)),
		0);
	assert_string_equal(text, "???????????????????????");
	assert_int_equal(jvm_counter_text(&plan, JVM_CAUSE, perf, 8, text, sizeof(text)), -ENOENT);
	jvm_free(jvm);
}

/* More than eight windows' worth: what matters least is given up. */
static void scattered_counters_keep_the_first(void **state)
{
	uint8_t perf[GC_PERF_BYTES] = {0};
	struct jvm_plan plan;
	uint64_t value;
	struct jvm *jvm;

	image_init(&image, 17, 600);
	jvm = open_image();
	assert_int_equal(jvm_plan(jvm, &plan, NULL), 0);
	copy_windows(jvm, &plan, perf);
	assert_int_equal(plan.wire.window_count, 8);
	assert_int_equal(jvm_counter(&plan, JVM_SAFEPOINTS, perf, sizeof(perf), &value), 0);
	assert_int_equal(value, 23);
	assert_int_equal(jvm_counter(&plan, JVM_UNLOADED, perf, sizeof(perf), &value), 0);
	assert_int_equal(value, 7);
	assert_int_equal(jvm_counter(&plan, JVM_SHARED_UNLOADED, perf, sizeof(perf), &value),
		-ENOENT);
	assert_int_equal(jvm_read_u64(jvm, plan.wire.unloaded[0], NULL), 7);
	jvm_free(jvm);
}

static void a_jvm_that_starts_is_asked_again(void **state)
{
	struct jvm_plan plan;

	image_init(&image, 17, 0);
	image_put(&image, image_static_at(&image, "PerfMemory", "_start"), 0, 8);
	assert_int_equal(try_plan(&plan), -EAGAIN);
	assert_true(plan.walks);
	assert_int_equal(plan.perf_address, 0);
	image_init(&image, 17, 0); /* accessible, but its counters are still being added */
	image_put(&image, image.perf + 28, 5, 4);
	assert_int_equal(try_plan(&plan), -EAGAIN);
	assert_int_equal(plan.counters[JVM_SAFEPOINTS].bytes, 8);
	image_init(&image, 17, 0);
	image_put(&image, image.perf + 7, 0, 1);
	assert_int_equal(try_plan(&plan), -EAGAIN);
	image_init(&image, 17, 0);
	image_put(&image, image.code, 0, 8);
	assert_int_equal(try_plan(&plan), -EAGAIN);
	assert_false(plan.walks);
	assert_int_equal(plan.wire.java_vtable, 0);
	image_init(&image, 17, 0);
	image_put(&image, image.list + 4, 2, 4);
	assert_int_equal(try_plan(&plan), -EAGAIN);
	image_init(&image, 17, 0);
	image_put(&image, image.heap_array, 0, 4);
	assert_int_equal(try_plan(&plan), -EAGAIN);
	assert_false(plan.walks);
	/* Nothing has been compiled yet; under -Xint nothing will be. */
	image_init(&image, 17, 0);
	image.stripped = true;
	image_put(&image, image.nmethods[0] + 8, 0, 8);
	image_put(&image, image.nmethods[1] + 8, 0, 8);
	assert_int_equal(try_plan(&plan), -EAGAIN);
	assert_int_equal(plan.wire.nmethod_vtable, 0);
	image_set_flag(&image, "UseCompiler", 0);
	assert_int_equal(try_plan(&plan), 0);
	assert_int_equal(plan.wire.nmethod_vtable, 0);
}

static void without_counters_the_rest_is_planned(void **state)
{
	struct jvm_plan plan;

	image_init(&image, 17, 0);
	image_set_flag(&image, "UsePerfData", 0);
	assert_int_equal(try_plan(&plan), 0);
	check_plan(&plan);
	assert_int_equal(plan.perf_address, 0);
	assert_int_equal(plan.wire.window_count, 0);
	assert_non_null(strstr(plan.lacks, "-UsePerfData"));
	image_init(&image, 17, 0);
	image_put(&image, image.perf, 0, 4);
	assert_int_equal(try_plan(&plan), 0);
	check_plan(&plan);
	assert_int_equal(plan.wire.window_count, 0);
	assert_true(plan.lacks[0]);
	image_init(&image, 17, 0);
	image_put(&image, image_static_at(&image, "PerfMemory", "_end"), UINT64_MAX, 8);
	assert_int_equal(try_plan(&plan), 0);
	assert_int_equal(plan.perf_address, 0);
}

static void offsets_too_large_are_not_used(void **state)
{
	struct jvm_plan plan;

	image_init(&image, 17, 0);
	image_put(&image, image_entry(&image, "JavaThread", "_anchor") + 32, 65530, 8);
	assert_int_equal(try_plan(&plan), 0);
	assert_int_equal(plan.wire.anchor_fp, GC_NO_FIELD);
	assert_false(plan.walks);
	assert_int_equal(plan.wire.java_vtable, 0);
	image_init(&image, 17, 0);
	image_put(&image, image_entry(&image, "nmethod", "_compile_id") + 32, 5000, 8);
	assert_int_equal(try_plan(&plan), 0);
	assert_int_equal(plan.wire.block_bytes, 0);
	assert_false(plan.walks);
	image_init(&image, 17, 0);
	image_put(&image, image_entry(&image, "Method", "_constMethod") + 32, UINT64_MAX, 8);
	assert_int_equal(try_plan(&plan), 0);
	assert_int_equal(plan.wire.method_const, GC_NO_FIELD);
	assert_false(plan.walks);
}

static void threads_that_lie(void **state)
{
	struct jvm_plan plan;

	image_init(&image, 8, 0); /* a list that bites its own tail */
	image_put(&image, image.threads[0] + IMAGE_NEXT, image.threads[3], 8);
	assert_int_equal(try_plan(&plan), -EAGAIN);
	image_init(&image, 17, 0);
	image_put(&image, image.list + 4, UINT32_MAX, 4);
	assert_int_equal(try_plan(&plan), -EAGAIN);
	image_init(&image, 17, 0);
	image_put(&image, image.list + 16, UINT64_MAX - 3, 8);
	assert_int_equal(try_plan(&plan), -EAGAIN);
	/* The oldest two are of different classes: which is which? */
	image_init(&image, 17, 0);
	image.stripped = true;
	image_put(&image, image.threads[1], image.vtable + 64, 8);
	assert_int_equal(try_plan(&plan), 0);
	assert_int_equal(plan.wire.java_vtable, 0);
	assert_false(plan.walks);
}

/* The place of a thread's own address: where all agree, if it is only one. */
static void own_places(void **state)
{
	struct jvm_plan plan;
	uint64_t own;

	image_init(&image, 17, 0); /* a second key of the same value */
	for (size_t i = 0; i < IMAGE_THREADS; i++) {
		own = image_get(&image, image_get(&image, image.threads[i] + IMAGE_OSTHREAD) + 8);
		image_put(&image, own + 0x58, 5, 8);
		image_put(&image, own + 0x60, image.threads[i], 8);
	}
	assert_int_equal(try_plan(&plan), 0);
	assert_int_equal(plan.wire.thread_tls, 0);
	assert_true(plan.lacks[0]);
	/* One thread has it not: then it is that of the others. */
	image_put(&image, own + 0x60, 0, 8);
	assert_int_equal(try_plan(&plan), 0);
	assert_int_equal(plan.wire.thread_tls, IMAGE_TLS);
	/* Most of them have none at all (musl). */
	for (size_t i = 0; i < 3; i++) {
		own = image_get(&image, image_get(&image, image.threads[i] + IMAGE_OSTHREAD) + 8);
		memset(image_at(&image, own), 0, 0x200);
	}
	assert_int_equal(try_plan(&plan), 0);
	assert_int_equal(plan.wire.thread_tls, 0);
	/* A thread that has just begun is no reason to doubt. */
	image_init(&image, 17, 0);
	image_put(&image, image.threads[4] + IMAGE_OSTHREAD, 0, 8);
	assert_int_equal(try_plan(&plan), 0);
	assert_int_equal(plan.wire.thread_tls, IMAGE_TLS);
}

static void code_heaps_that_lie(void **state)
{
	struct jvm_plan plan;
	uint64_t heap;

	image_init(&image, 17, 0);
	image_put(&image, image.heap_array, 5, 4);
	assert_int_equal(try_plan(&plan), 0);
	assert_false(plan.walks);
	assert_non_null(strstr(plan.lacks, "code cache"));
	image_init(&image, 17, 0); /* blocks of no length, of all lengths */
	image.stripped = true;
	image_put(&image, image.heap_memory, 0, 8);
	assert_int_equal(try_plan(&plan), -EAGAIN);
	image_put(&image, image.heap_memory, UINT64_MAX, 8);
	assert_int_equal(try_plan(&plan), -EAGAIN);
	assert_int_equal(plan.wire.nmethod_vtable, 0);
	image_init(&image, 17, 0); /* two that do not agree */
	image.stripped = true;
	image_put(&image, image.nmethods[1], image.vtable, 8);
	assert_int_equal(try_plan(&plan), -EAGAIN);
	assert_int_equal(plan.wire.nmethod_vtable, 0);
	image_init(&image, 17, 0);
	heap = image_get(&image, image_get(&image, image.heap_array + 8));
	image_put(&image, heap + 248, 63, 4);
	assert_int_equal(try_plan(&plan), 0);
	assert_false(plan.walks);
}

/* How many of the counters that image_init() makes were found. */
static int counters_found(const struct perfdata *perf)
{
	static const char *const names[] = {"sun.rt.safepointSyncTime", "sun.rt.safepoints",
		"sun.rt.safepointTime", "java.cls.unloadedClasses",
		"java.cls.sharedUnloadedClasses", "sun.gc.cause", "sun.gc.lastCause",
		"sun.gc.collector.0.invocations", "sun.gc.collector.1.invocations",
		"sun.os.hrt.frequency"};
	int found = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		found += perfdata_find(perf, names[i]) != NULL;
	return found;
}

static void hsperf_blocks_are_parsed(void **state)
{
	const struct perfdata_entry *entry;
	struct perfdata *perf = NULL;
	uint8_t *block;

	image_init(&image, 17, 0);
	block = malloc(image.perf_used); /* exactly: one byte beyond is caught */
	memcpy(block, image_at(&image, image.perf), image.perf_used);
	assert_int_equal(perfdata_parse(block, image.perf_used, &perf, NULL), 0);
	free(block);
	assert_int_equal(counters_found(perf), 10);
	entry = perfdata_find(perf, "sun.rt.safepoints");
	assert_non_null(entry);
	assert_int_equal(entry->type, 'J');
	assert_int_equal(entry->bytes, 8);
	assert_int_equal(image_get(&image, image.perf + entry->offset), 23);
	entry = perfdata_find(perf, "sun.gc.cause");
	assert_int_equal(entry->type, 'B');
	assert_int_equal(entry->bytes, 81);
	assert_null(perfdata_find(perf, "sun.gc"));
	perfdata_free(perf);
	perfdata_free(NULL);
}

/* Parses the image's block; the number of counters, or -errno. */
static int parse(size_t size)
{
	struct perfdata *perf = NULL;
	struct err err = {""};
	uint8_t *block = malloc(size ? size : 1);
	int r;

	memcpy(block, image_at(&image, image.perf), size);
	r = perfdata_parse(block, size, &perf, &err);
	free(block);
	assert_true(r ? err.text[0] && !perf : !err.text[0]);
	if (!r)
		r = counters_found(perf);
	perfdata_free(perf);
	return r;
}

static void hostile_hsperf_blocks(void **state)
{
	uint64_t third;

	image_init(&image, 17, 0);
	for (size_t size = 0; size < image.perf_used; size++) {
		int count = parse(size);

		assert_true(size < 32 ? count == -EBADMSG : count >= 0 && count < 10);
	}
	image_put(&image, image.perf + 4, 0, 1); /* big endian */
	assert_int_equal(parse(image.perf_used), -EBADMSG);
	image_put(&image, image.perf + 4, 1, 1);
	image_put(&image, image.perf + 5, 1, 1); /* version 1 */
	assert_int_equal(parse(image.perf_used), -EBADMSG);
	image_put(&image, image.perf + 5, 2, 1);
	image_put(&image, image.perf + 7, 0, 1);
	assert_int_equal(parse(image.perf_used), -EAGAIN);
	image_put(&image, image.perf + 7, 1, 1);
	image_put(&image, image.perf + 24, 31, 4);
	assert_int_equal(parse(image.perf_used), -EBADMSG);
	image_put(&image, image.perf + 24, UINT32_MAX, 4);
	assert_int_equal(parse(image.perf_used), 0);
	image_put(&image, image.perf + 24, 32, 4);
	image_put(&image, image.perf + 28, UINT32_MAX, 4); /* more entries than there are */
	assert_int_equal(parse(image.perf_used), 10);

	third = image.perf + 32 + 56 + 48; /* after SyncTime and safepoints */
	assert_int_equal(parse(image.perf_used), 10);
	image_put(&image, third, 0, 4); /* an entry of no length would go on for ever */
	assert_int_equal(parse(image.perf_used), 2);
	image_put(&image, third, UINT32_MAX, 4);
	assert_int_equal(parse(image.perf_used), 2);
	image_put(&image, third, 20, 4); /* its name lies outside it */
	assert_int_equal(parse(image.perf_used), 2);
	image_put(&image, third, 56, 4);
	image_put(&image, third + 16, 52, 4); /* so does its value */
	assert_int_equal(parse(image.perf_used), 2);
	image_put(&image, third + 16, UINT32_MAX - 3, 4);
	assert_int_equal(parse(image.perf_used), 2);
	image_put(&image, third + 16, 48, 4);
	assert_int_equal(parse(image.perf_used), 10);
	memset(image_at(&image, third + 20), 'x', 36); /* a name that runs into the next entry */
	assert_int_equal(parse(image.perf_used), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plans_are_complete),
		cmocka_unit_test(stripped_plans_are_the_same),
		cmocka_unit_test(counters_are_copied),
		cmocka_unit_test(scattered_counters_keep_the_first),
		cmocka_unit_test(a_jvm_that_starts_is_asked_again),
		cmocka_unit_test(without_counters_the_rest_is_planned),
		cmocka_unit_test(offsets_too_large_are_not_used),
		cmocka_unit_test(threads_that_lie),
		cmocka_unit_test(own_places),
		cmocka_unit_test(code_heaps_that_lie),
		cmocka_unit_test(hsperf_blocks_are_parsed),
		cmocka_unit_test(hostile_hsperf_blocks),
	};

	return cmocka_run_group_tests_name("jvm plan", tests, NULL, NULL);
}
