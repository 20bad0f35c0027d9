/* probe: names of functions as people and compilers write them, and what the user may ask for. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "signal_name.h"
#include "step_signal.h"
#include "wait_call.h"

static void plain(const char *mangled, const char *wanted)
{
	char text[256] = "untouched";

	if (wanted)
		assert_true(signal_name_plain(mangled, text, sizeof(text)));
	else
		assert_false(signal_name_plain(mangled, text, sizeof(text)));
	assert_string_equal(text, wanted ? wanted : "untouched");
}

static void mangled_names_are_read(void **state)
{
	plain("_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EE",
		"torch::autograd::Engine::execute");
	plain("_ZNK3jax7PyArray15BlockUntilReadyEv", "jax::PyArray::BlockUntilReady");
	plain("_Z3fooi", "foo");
	plain("_ZN2at14RecordFunctionC1ENS_11RecordScopeE", "at::RecordFunction::RecordFunction");
	plain("_ZN1a1bIiE1cEv", "a::b");
}

static void what_is_no_plain_name_is_left_alone(void **state)
{
	static const char *const odd[] = {"", "_", "_Z", "_ZN", "_ZNE", "_ZN3foo", "_ZN3fo",
		"_ZN0E", "_ZN99999999999999999999aE", "_ZN4096aE", "main", "_ZN1aD1Ev",
		"_ZNSt6vectorE", "_ZTV3foo", "_ZN1aC", "_ZN3\x01"};

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		plain(odd[i], NULL);
}

static void a_long_name_does_not_overrun(void **state)
{
	char mangled[1200] = "_ZN", text[256];

	for (int i = 0; i < 100; i++)
		strcat(mangled, "9abcdefghi");
	strcat(mangled, "Ev");
	assert_false(signal_name_plain(mangled, text, sizeof(text)));
	assert_true(signal_name_plain("_ZN3abc3defEv", text, 6));
	assert_string_equal(text, "abc::");
}

static void names_become_prefixes(void **state)
{
	char prefixes[6][192];

	assert_int_equal(signal_name_prefixes("a::bc::def", prefixes, 6), 4);
	assert_string_equal(prefixes[0], "_ZN1a2bc3defE");
	assert_string_equal(prefixes[1], "_ZNK1a2bc3defE");
	assert_string_equal(prefixes[2], "_ZN1a2bc3defI");
	assert_int_equal(signal_name_prefixes("foo", prefixes, 6), 1);
	assert_string_equal(prefixes[0], "_Z3foo");
	assert_int_equal(signal_name_prefixes("a::Thing::Thing", prefixes, 6), 5);
	assert_string_equal(prefixes[4], "_ZN1a5ThingC");
	assert_int_equal(signal_name_prefixes("a::bc::def", prefixes, 2), 2);
	assert_int_equal(signal_name_prefixes("", prefixes, 6), 0);
	assert_int_equal(signal_name_prefixes("a::", prefixes, 6), 0);
	assert_int_equal(signal_name_prefixes("::a", prefixes, 6), 0);
	assert_int_equal(signal_name_prefixes("operator+", prefixes, 6), 0);
	assert_int_equal(signal_name_prefixes("a::b::c::d::e::f::g::h::i::j::k::l::m::n::o::p::q",
				 prefixes, 6),
		0);
}

static void the_nearest_names_are_kept(void **state)
{
	static const char *const names[] = {"gc_collect", "step_twice", "step_onc",
		"step_once_more", "stop_onse", "step_onze", "step_onc"};
	struct signal_near near = {};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		signal_near_note(&near, "step_onse", names[i]);
	assert_int_equal(near.count, 3);
	assert_string_equal(near.best[0].name, "stop_onse");
	assert_string_equal(near.best[1].name, "step_onze");
	assert_string_equal(near.best[2].name, "step_onc");
	assert_int_equal(near.best[2].distance, 2);
	signal_near_note(&near, "step_onse", "a::step_onse");
	assert_string_equal(near.best[0].name, "a::step_onse");
	assert_int_equal(near.count, 3);
}

static int wish_of(const char *text, struct signal_wish *ret, struct err *err)
{
	struct step_spec spec;
	int r = step_spec_parse(text, &spec, err);

	return r ? r : step_spec_wish(&spec, ret, err);
}

static void wishes_match_files(void **state)
{
	struct signal_wish wish;
	struct err err;

	assert_int_equal(wish_of("usdt:python:gc__start", &wish, &err), 0);
	assert_true(signal_wish_likely("/anything", &wish));
	assert_int_equal(wish_of("/usr/lib/libfoo.so.1:a::b", &wish, &err), 0);
	assert_true(signal_wish_likely("/usr/lib/libfoo.so.1.2.3", &wish));
	assert_false(signal_wish_likely("/usr/lib/libfoo.so.2", &wish));
}

static void files_are_known_by_their_names(void **state)
{
	assert_true(signal_likely("/usr/lib/libtorch_cpu.so.1.13", NULL));
	assert_true(signal_likely("/x/libscipy_openblas64_-4b78795a.so", NULL));
	assert_true(signal_likely("libjax_common.so", NULL));
	assert_false(signal_likely("/libtorch_cpu/libfoo.so", NULL));
	assert_true(wait_likely("/usr/lib/x86_64-linux-gnu/libcuda.so.535.216.01"));
	assert_true(wait_likely("libmpi.so.40.30.4"));
	assert_false(wait_likely("/opt/cuda/lib64/libcudart.so.12"));
	assert_false(wait_likely("/usr/lib/libmpi_mpifh.so.40"));
	assert_false(signal_likely("/usr/bin/python3.11", NULL));
	assert_false(signal_likely("", NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mangled_names_are_read),
		cmocka_unit_test(what_is_no_plain_name_is_left_alone),
		cmocka_unit_test(a_long_name_does_not_overrun),
		cmocka_unit_test(names_become_prefixes),
		cmocka_unit_test(the_nearest_names_are_kept),
		cmocka_unit_test(wishes_match_files),
		cmocka_unit_test(files_are_known_by_their_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
