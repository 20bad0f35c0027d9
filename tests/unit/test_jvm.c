/* jvm: vmStructs, release and flags, of JVMs that tell the truth and of some that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jvm_fixture.h"

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

static int try_open(void)
{
	struct jvm_source source = image_source(&image);
	struct err err = {""};
	struct jvm *jvm = NULL;
	int r = jvm_open(&source, &jvm, &err);

	assert_true(r ? !jvm && err.text[0] : jvm && !err.text[0]);
	jvm_free(jvm);
	return r;
}

static uint64_t symbol(const char *name)
{
	return image_find(&image, name);
}

static void tables_are_read(void **state)
{
	uint64_t address, size;
	uint32_t offset = 4711;
	int64_t number;
	struct jvm *jvm;

	image_init(&image, 17, 0);
	jvm = open_image();
	assert_int_equal(jvm_field(jvm, "CompiledMethod", "_deopt_handler_begin", &offset), 0);
	assert_int_equal(offset, 128);
	assert_int_equal(jvm_static(jvm, "StubRoutines", "_call_stub_return_address", &address), 0);
	assert_int_equal(address, image.call_stub);
	assert_int_equal(jvm_type_size(jvm, "ConstMethod", &size), 0);
	assert_int_equal(size, 48);
	assert_int_equal(jvm_constant(jvm, "Deoptimization::Reason_many", &number), 0);
	assert_int_equal(number, -7);

	offset = 4711;
	assert_int_equal(jvm_field(jvm, "StubRoutines", "_call_stub_return_address", &offset),
		-ENOENT);
	assert_int_equal(jvm_field(jvm, "CompiledMethod", "_no_such", &offset), -ENOENT);
	assert_int_equal(offset, 4711);
	assert_int_equal(jvm_static(jvm, "CompiledMethod", "_method", &address), -ENOENT);
	assert_int_equal(jvm_type_size(jvm, "NoSuch", &size), -ENOENT);
	assert_int_equal(jvm_constant(jvm, "ConstMethod", &number), -ENOENT);
	jvm_free(jvm);
	jvm_free(NULL);
}

static void releases_are_told(void **state)
{
	static const struct {
		int release;
		const char *version;
	} cases[] = {{8, "8u504-b08"}, {17, "17.0.99+1-fake"}, {25, "25.0.7+9-LTS"}};

	for (size_t i = 0; i < 3; i++) {
		struct jvm *jvm;

		image_init(&image, cases[i].release, 0);
		jvm = open_image();
		assert_int_equal(jvm_release_number(jvm), cases[i].release);
		assert_string_equal(jvm_version(jvm), cases[i].version);
		jvm_free(jvm);
	}
}

static void texts_stop_where_they_must(void **state)
{
	uint64_t last = IMAGE_BASE + IMAGE_BYTES - 5;
	char text[16] = "before";
	struct jvm *jvm;

	image_init(&image, 17, 0);
	memcpy(image_at(&image, last), "abc", 4);
	jvm = open_image();
	assert_int_equal(jvm_read_text(jvm, last + 5, text, sizeof(text)), -EFAULT);
	assert_string_equal(text, "");
	/* Nothing is read beyond the page in which a text ends. */
	assert_int_equal(jvm_read_text(jvm, last, text, sizeof(text)), 0);
	assert_string_equal(text, "abc");
	assert_int_equal(jvm_read_text(jvm, last, text, 3), 0);
	assert_string_equal(text, "ab");
	image_put(&image, last, 0x4141414141, 5);
	assert_int_equal(jvm_read_text(jvm, last, text, sizeof(text)), -EFAULT);
	assert_int_equal(jvm_read_text(jvm, 0, text, sizeof(text)), -EFAULT);
	jvm_free(jvm);
}

static void flags_have_their_types(void **state)
{
	static const int releases[] = {8, 17};

	for (size_t i = 0; i < 2; i++) {
		bool on = false;
		struct jvm *jvm;

		image_init(&image, releases[i], 0);
		jvm = open_image();
		/* Its neighbours in memory are not looked at. */
		assert_int_equal(jvm_flag(jvm, "UsePerfData", &on), 0);
		assert_true(on);
		image_set_flag(&image, "UsePerfData", 0x0101010101010100);
		assert_int_equal(jvm_flag(jvm, "UsePerfData", &on), 0);
		assert_false(on);
		assert_int_equal(jvm_flag(jvm, "MaxHeapSize", &on), -ENOENT);
		assert_int_equal(jvm_flag(jvm, "UseNoSuch", &on), -ENOENT);
		jvm_free(jvm);
	}
}

static void collectors_are_named(void **state)
{
	static const struct {
		int release;
		const char *flag, *also, *name;
	} cases[] = {
		{8, NULL, NULL, "Serial"},
		{8, "UseConcMarkSweepGC", NULL, "CMS"},
		{17, "UseSerialGC", NULL, "Serial"},
		{17, "UseParallelGC", NULL, "Parallel"},
		{17, "UseG1GC", NULL, "G1"},
		{17, "UseZGC", NULL, "ZGC"},
		{17, "UseZGC", "ZGenerational", "Generational ZGC"},
		{25, "UseZGC", NULL, "Generational ZGC"},
		{17, "UseEpsilonGC", NULL, "Epsilon"},
		{25, "UseShenandoahGC", NULL, "Shenandoah"},
		{25, NULL, NULL, NULL},
	};
	struct jvm *jvm;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *name;

		image_init(&image, cases[i].release, 0);
		image_set_flag(&image, "UseG1GC", 0);
		if (cases[i].flag)
			image_set_flag(&image, cases[i].flag, 1);
		if (cases[i].also)
			image_set_flag(&image, cases[i].also, 1);
		jvm = open_image();
		name = jvm_collector(jvm);
		if (cases[i].name)
			assert_string_equal(name, cases[i].name);
		else
			assert_null(name);
		jvm_free(jvm);
	}
	image_init(&image, 25, 0);
	image_set_flag(&image, "UseG1GC", 0);
	image_set_flag(&image, "UseShenandoahGC", 1);
	image_set_flag(&image, "ShenandoahGCMode", image_text(&image, "generational"));
	jvm = open_image();
	assert_string_equal(jvm_collector(jvm), "Generational Shenandoah");
	/* No heap yet: the flags may still change. */
	image_put(&image, image_static_at(&image, "Universe", "_collectedHeap"), 0, 8);
	assert_null(jvm_collector(jvm));
	jvm_free(jvm);
}

static void a_jvm_being_loaded_is_asked_again(void **state)
{
	uint64_t name;

	image_init(&image, 17, 0); /* nothing is relocated */
	image_put(&image, symbol("gHotSpotVMStructs"), 0, 8);
	assert_int_equal(try_open(), -EAGAIN);
	image_init(&image, 17, 0); /* its address within the file */
	image_put(&image, symbol("gHotSpotVMStructs"), 0x13a8020, 8);
	assert_int_equal(try_open(), -EAGAIN);
	image_init(&image, 17, 0); /* bytes of another part of the file */
	image_put(&image, symbol("gHotSpotVMStructs"), 0x6b636f6c6e552074, 8);
	assert_int_equal(try_open(), -EAGAIN);
	image_init(&image, 8, 0); /* constructors have not run */
	image_put(&image, symbol("gHotSpotVMStructEntryArrayStride"), 0, 8);
	assert_int_equal(try_open(), -EAGAIN);
	image_init(&image, 17, 0); /* a table that is still empty */
	image_put(&image, image.structs, 0, 8);
	assert_int_equal(try_open(), -EAGAIN);
	image_init(&image, 17, 0); /* one entry of many */
	image_put(&image, image.structs + 48 * 11 + 8, 0x1234567, 8);
	assert_int_equal(try_open(), -EAGAIN);
	image_init(&image, 17, 0);
	image_put(&image, image_static_at(&image, "JVMFlag", "flags"), 0, 8);
	assert_int_equal(try_open(), -EAGAIN);
	image_init(&image, 17, 0);
	name = image.flags + 24 * 3 + 8;
	image_put(&image, name, 0x1234567, 8);
	assert_int_equal(try_open(), -EAGAIN);
	image_init(&image, 17, 0);
	image_put(&image, image_static_at(&image, "Abstract_VM_Version", "_s_vm_release"), 0, 8);
	assert_int_equal(try_open(), -EAGAIN);
}

static void lying_tables_are_refused(void **state)
{
	static const char *const columns[] = {"gHotSpotVMStructEntryTypeNameOffset",
		"gHotSpotVMStructEntryAddressOffset", "gHotSpotVMTypeEntrySizeOffset",
		"gHotSpotVMIntConstantEntryValueOffset", "gHotSpotVMStructEntryArrayStride"};
	uint64_t far = IMAGE_BASE + IMAGE_BYTES + 8, text;

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		image_init(&image, 17, 0);
		image_put(&image, symbol(columns[i]), UINT64_MAX - 7, 8);
		assert_int_equal(try_open(), -EBADMSG);
	}
	image_init(&image, 17, 0); /* a name elsewhere */
	image_put(&image, image.structs + 48 * 5, far, 8);
	assert_int_equal(try_open(), -EBADMSG);
	image_init(&image, 17, 0); /* a name without an end */
	text = image_alloc(&image, 300, 1);
	memset(image_at(&image, text), 'x', 300);
	image_put(&image, image_entry(&image, "nmethod", "_orig_pc_offset") + 8, text, 8);
	assert_int_equal(try_open(), -EBADMSG);
	image_init(&image, 17,
		0); /* a table that goes on and on, without and with an end of memory */
	image_put(&image, symbol("gHotSpotVMStructEntryArrayStride"), 1, 8);
	assert_int_not_equal(try_open(), 0);
	image_init(&image, 17, 0);
	image_put(&image, symbol("gHotSpotVMTypes"), IMAGE_BASE + IMAGE_BYTES - 20, 8);
	assert_int_equal(try_open(), -EBADMSG);
	image_init(&image, 17, 0); /* flags without number, of the wrong types */
	image_put(&image, image_static_at(&image, "JVMFlag", "numFlags"), UINT64_MAX, 8);
	assert_int_equal(try_open(), -EBADMSG);
	image_init(&image, 17, 0);
	image_put(&image, image.flags + 20, 1, 4);
	assert_int_equal(try_open(), -EBADMSG);
	image_init(&image, 17, 0);
	image.symbol_count = 0;
	assert_int_equal(try_open(), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_are_read),
		cmocka_unit_test(releases_are_told),
		cmocka_unit_test(texts_stop_where_they_must),
		cmocka_unit_test(flags_have_their_types),
		cmocka_unit_test(collectors_are_named),
		cmocka_unit_test(a_jvm_being_loaded_is_asked_again),
		cmocka_unit_test(lying_tables_are_refused),
	};

	return cmocka_run_group_tests_name("jvm", tests, NULL, NULL);
}
