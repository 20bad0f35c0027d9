/* The runtimes of this build: what each has must be its own, and in the BPF object. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gc_wire.h"
#include "gctrace.skel.h"
#include "trace_runtime.h"

static void records_of_runtimes_do_not_meet(void **state)
{
	for (size_t i = 0; probe_runtimes[i]; i++) {
		const struct capture_ops *own = probe_runtimes[i]->capture;

		assert_true(own->first_record > 0 && own->first_record <= own->last_record);
		assert_true(own->last_record < GC_EVENT_FORK || own->first_record > GC_EVENT_LABEL);
		for (size_t j = 0; j < i; j++) {
			const struct capture_ops *other = probe_runtimes[j]->capture;

			assert_string_not_equal(probe_runtimes[i]->kind, probe_runtimes[j]->kind);
			assert_true(own->first_record > other->last_record ||
				    own->last_record < other->first_record);
		}
	}
}

/* How many runtimes list the program. */
static int count_owners(const char *name)
{
	int count = 0;

	for (size_t i = 0; probe_runtimes[i]; i++)
		for (const struct capture_program *own = probe_runtimes[i]->capture->programs;
			own->name; own++)
			count += !strcmp(own->name, name);
	return count;
}

static void each_program_has_one_owner(void **state)
{
	static const char *const general[] = {"on_fork", "on_exec", "on_exit", "on_maps_changed",
		"on_step", "on_step_watch", "on_wait_call", "on_wait_return", "on_gpu",
		"on_driver_launch", "on_driver_call", "on_driver_return", "on_receive",
		"on_received", "on_received_here", "on_send", "on_accepted", "on_encrypted"};
	struct gctrace_bpf *bpf = gctrace_bpf__open();
	struct bpf_program *program;
	int owned = 0, listed = 0;

	assert_non_null(bpf);
	bpf_object__for_each_program(program, bpf->obj) {
		const char *name = bpf_program__name(program);
		int owners = count_owners(name);

		for (size_t i = 0; i < sizeof(general) / sizeof(*general); i++)
			owners += !strcmp(general[i], name);
		if (owners != 1)
			fail_msg("%s is listed %d times", name, owners);
		owned++;
	}
	for (size_t i = 0; probe_runtimes[i]; i++)
		for (const struct capture_program *own = probe_runtimes[i]->capture->programs;
			own->name; own++)
			listed++;
	assert_int_equal(owned, listed + (int)(sizeof(general) / sizeof(*general)));
	gctrace_bpf__destroy(bpf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_of_runtimes_do_not_meet),
		cmocka_unit_test(each_program_has_one_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
