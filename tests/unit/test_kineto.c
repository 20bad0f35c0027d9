/* kineto: what traces of PyTorch's profiler say of GPUs, in the spellings of all its versions. */
#include "kineto_fixture.h"
#include "cleanup.h"

/* ── work and its launches ── */

static void work_and_its_launches(void **state)
{
	struct scene *scene = *state;
	const struct gpu_device *device;
	const struct gpu_launcher *launcher;

	call(scene, "cudaLaunchKernel", 1000, 5, 11);
	call(scene, "cudaStreamIsCapturing", 1010, 5, 12);
	call(scene, "cudaLaunchKernel", 1200, 5, 13);
	call(scene, "cudaMemcpyAsync", 1700, 30, 17);
	work(scene, "kernel", 0, 1010, 90, 11);
	work(scene, "kernel", 0, 1210, 40, 13);
	work(scene, "gpu_memcpy", 0, 1710, 7, 17);
	event(scene,
		"{\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"name\": \"step\", \"pid\": 0, \"tid\": 7, "
		"\"ts\": %lld, \"dur\": 5000}",
		AT(1000));
	read_it(scene);
	assert_int_equal(scene->timeline.devices.count, 1);
	device = &scene->timeline.devices.items[0];
	assert_int_equal(device->process, 1);
	assert_int_equal(device->device, 0);
	assert_span(device->seen_ns, device->until_ns, NS(1010), NS(1717));
	assert_int_equal(device->busy.count, 3);
	assert_span(device->busy.items[1].start_ns, device->busy.items[1].end_ns, NS(1210),
		NS(1250));
	assert_int_equal(device->busy.items[1].launch_ns, NS(1200));
	assert_int_equal(device->busy.items[1].previous_ns, NS(1000));
	assert_int_equal(device->busy.items[1].tid, PID);
	assert_int_equal(device->busy.items[0].previous_ns, 0);
	assert_int_equal(device->dropped, 0);
	assert_int_equal(device->unknown.count, 0);
	assert_int_equal(scene->timeline.launchers.count, 1);
	launcher = &scene->timeline.launchers.items[0];
	assert_int_equal(launcher->launches, 3);
	assert_int_equal(launcher->gap_ns, 500 * US);
	assert_int_equal(launcher->waits.count, 1);
	assert_span(launcher->waits.items[0].start_ns, launcher->waits.items[0].end_ns, NS(1700),
		NS(1730));
	assert_int_equal(launcher->waits.items[0].done_ns, NS(1717));
	assert_false(scene->timeline.inferred);
	assert_string_equal(scene->timeline.source, strrchr(scene->path, '/') + 1);
}

static void waits_and_allocations(void **state)
{
	struct scene *scene = *state;
	static const char *const names[] = {"cudaDeviceSynchronize", "cudaStreamSynchronize",
		"cudaEventSynchronize", "cuCtxSynchronize", "hipStreamSynchronize"};
	static const char *const memory[] = {
		"cudaMalloc", "hipFree", "cuMemAlloc_v2", "cudaMallocAsync"};
	static const char *const others[] = {"cudaHostAlloc", "cudaFreeHost", "cudaEventRecord",
		"cudaStreamWaitEvent", "cudaEventQuery", "cudaMemcpyAsync"};
	const struct gpu_launcher *launcher;

	work(scene, "kernel", 0, 10, 5000, 0);
	for (size_t i = 0; i < 5; i++)
		call(scene, names[i], 100 + 100 * (long long)i, 50, 100 + (long long)i);
	for (size_t i = 0; i < 4; i++)
		call(scene, memory[i], 3100 + 100 * (long long)i, 50, 400 + (long long)i);
	for (size_t i = 0; i < 6; i++)
		call(scene, others[i], 1100 + 100 * (long long)i, 50, 200 + (long long)i);
	call(scene, "cudaMemcpyAsync", 2000, 50, 300);
	work(scene, "gpu_memcpy", 0, 2010, 41, 300); /* done when the call had returned */
	read_it(scene);
	assert_int_equal(scene->timeline.launchers.count, 1);
	launcher = &scene->timeline.launchers.items[0];
	assert_int_equal(launcher->allocations.count, 4);
	for (size_t i = 0; i < 4; i++)
		assert_span(launcher->allocations.items[i].start_ns,
			launcher->allocations.items[i].end_ns, NS(3100 + 100 * i),
			NS(3150 + 100 * i));
	assert_int_equal(launcher->waits.count, 5);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(launcher->waits.items[i].start_ns, NS(100 + 100 * i));
		assert_int_equal(launcher->waits.items[i].done_ns, 0);
		assert_int_equal(launcher->waits.items[i].device, 0);
	}
}

/* What tensors take, from the first kernel on; not on the CPU, nor on a device that did nothing. */
static void memory_of_tensors(void **state)
{
	static const struct {
		long long at, device, type, total, change;
	} events[] = {
		{1100, 0, 1, 5000, 1000},
		{1300, 0, 1, 4000, -1000},
		{1200, 0, 0, 777, 777},
		{1200, 1, 1, 999, 999},
		{1250, 0, 1, 5512, 512},
	};
	static const int64_t levels[] = {4000, 5000, 5512, 4000};
	struct scene *scene = *state;
	const struct gpu_device *device;

	call(scene, "cudaMalloc", 1000, 5, 11);
	call(scene, "cudaFree", 1010, 5, 12);
	work(scene, "kernel", 0, 1020, 500, 0);
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		event(scene,
			"{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\", "
			"\"pid\": %d, \"tid\": %d, \"ts\": %lld, \"args\": {\"Total Reserved\": 1, "
			"\"Total Allocated\": %lld, \"Bytes\": %lld, \"Addr\": 140, \"Device Id\": %lld, "
			"\"Device Type\": %lld}}",
			PID, PID, AT(events[i].at), events[i].total, events[i].change,
			events[i].device, events[i].type);
	read_it(scene);
	assert_int_equal(scene->timeline.devices.count, 1);
	device = &scene->timeline.devices.items[0];
	assert_true(device->memory_total);
	assert_int_equal(device->memory.count, ARRAY_SIZE(levels));
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		assert_int_equal(device->memory.items[i].bytes, levels[i]);
	assert_int_equal(device->memory.items[0].time_ns, device->seen_ns);
	assert_int_equal(device->memory.items[3].time_ns, NS(1300));
	assert_false(scene->timeline.launchers.items[0].allocations.items[0].frees);
	assert_true(scene->timeline.launchers.items[0].allocations.items[1].frees);
}

/* One launch of a graph starts many kernels; the first of them is what the device waited for. */
static void a_graph_is_one_launch(void **state)
{
	struct scene *scene = *state;
	const struct gpu_device *device;

	call(scene, "cudaGraphLaunch", 1000, 5, 11);
	call(scene, "cudaGraphLaunch", 2000, 5, 12);
	for (long long i = 0; i < 7; i++)
		work(scene, "kernel", 0, 1010 + 70 * i, 10, 11);
	work(scene, "kernel", 0, 2010, 10, 12);
	read_it(scene);
	device = &scene->timeline.devices.items[0];
	assert_int_equal(device->busy.count, 8);
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(device->busy.items[i].launch_ns, NS(1000));
	assert_int_equal(device->busy.items[7].previous_ns, NS(1000));
	assert_int_equal(scene->timeline.launchers.items[0].launches, 2);
}

/* Until PyTorch 1.11; numbers as strings, fractions, lanes by name. */
static void older_spellings(void **state)
{
	struct scene *scene = *state;
	const struct gpu_device *device;

	event(scene,
		"{\"ph\": \"X\", \"cat\": \"Runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": \"%d\", "
		"\"tid\": \"%d\", \"ts\": \"%lld.250\", \"dur\": \"7\", \"args\": {\"correlation\": \"11\"}}",
		PID, PID, AT(1000));
	event(scene,
		"{\"ph\": \"X\", \"cat\": \"Kernel\", \"name\": \"k\", \"pid\": 1, \"tid\": \"stream 7\", "
		"\"ts\": %lld.1234, \"dur\": 90.0005, \"args\": {\"device\": \"1\", \"correlation\": 11}}",
		AT(1010));
	event(scene,
		"{\"ph\": \"X\", \"cat\": \"Memset\", \"name\": \"m\", \"pid\": 1, \"tid\": \"stream 7\", "
		"\"ts\": %lld, \"dur\": 2e1}",
		AT(1300));
	event(scene,
		"{\"cat\": \"Memcpy\", \"name\": \"m\", \"pid\": 1, \"tid\": \"stream 7\", "
		"\"ts\": %lld.5, \"dur\": 3}",
		AT(1400));
	read_it(scene);
	assert_int_equal(scene->timeline.devices.count, 1);
	device = &scene->timeline.devices.items[0];
	assert_int_equal(device->device, 1);
	assert_int_equal(device->busy.count, 3);
	assert_span(device->busy.items[0].start_ns, device->busy.items[0].end_ns, NS(1010) + 123,
		NS(1100) + 124);
	assert_int_equal(device->busy.items[0].launch_ns, NS(1000) + 250);
	assert_span(device->busy.items[1].start_ns, device->busy.items[1].end_ns, NS(1300),
		NS(1320));
	assert_span(device->busy.items[2].start_ns, device->busy.items[2].end_ns, NS(1400) + 500,
		NS(1403) + 500);
	assert_int_equal(device->busy.items[2].launch_ns, 0);
}

/* Beyond 2^53 a double has no ns, and no µs beyond that; as text both are exact. */
static void times_are_exact(void **state)
{
	struct scene *scene = *state;
	const struct gpu_device *device;

	call(scene, "cudaLaunchKernel", 1000, 5, 11);
	for (int i = 0; i < 101; i++)
		event(scene,
			"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, "
			"\"tid\": 7, \"ts\": %lld.%03d, \"dur\": 0.001}",
			AT(1000 + 100 * i), 7 * i + 1);
	read_it(scene);
	device = &scene->timeline.devices.items[0];
	assert_int_equal(device->busy.count, 101);
	for (uint64_t i = 0; i < 101; i++)
		assert_span(device->busy.items[i].start_ns, device->busy.items[i].end_ns,
			NS(1000 + 100 * i) + 7 * i + 1, NS(1000 + 100 * i) + 7 * i + 2);
}

/* Newer versions count from a round time, which comes last in the file. */
static void times_from_a_base(void **state)
{
	struct scene *scene = *state;

	event(scene,
		"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, "
		"\"ts\": 86400000011.5, \"dur\": 90.25}");
	event(scene,
		"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::add\", \"pid\": %d, \"tid\": %d, "
		"\"ts\": 86400000000, \"dur\": 9}",
		PID, PID);
	assert_int_equal(read_with(scene, ", \"displayTimeUnit\": \"ns\", \"baseTimeNanoseconds\": "
					  "1699913600000000000"),
		0);
	assert_span(scene->timeline.devices.items[0].seen_ns,
		scene->timeline.devices.items[0].until_ns, NS(11) + 500, NS(101) + 750);
}

static void devices_have_names(void **state)
{
	struct scene *scene = *state;

	work(scene, "kernel", 1, 1000, 5, 0);
	work(scene, "kernel", 0, 1000, 5, 0);
	call(scene, "cudaDeviceSynchronize", 1000, 5, 1);
	assert_int_equal(
		read_with(scene,
			", \"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA A100\", "
			"\"totalGlobalMem\": 42297524224}, {\"id\": 1, \"name\": \"AMD \\\"MI300\\\"\"}]"),
		0);
	assert_int_equal(scene->timeline.devices.count, 2);
	assert_string_equal(scene->timeline.devices.items[0].name, "AMD \"MI300\"");
	assert_string_equal(scene->timeline.devices.items[1].name, "NVIDIA A100");
	assert_int_equal(scene->timeline.devices.items[1].memory_bytes, 42297524224);
	assert_int_equal(scene->timeline.launchers.items[0].waits.items[0].device, GPU_DEVICE_NONE);
}

/* Two ranks in one file, whose correlations are the same numbers. */
static void several_processes(void **state)
{
	struct scene *scene = *state;

	add_process(scene, 4799, 4799);
	for (long long i = 0; i < 11; i++) {
		call_of(scene, "cudaLaunchKernel", PID, PID, 1000 + 1000 * i, 5, 11 + i);
		work(scene, "kernel", 0, 1010 + 1000 * i, 50, 11 + i);
		call_of(scene, "cudaLaunchKernel", 4799, 4801, 1500 + 1000 * i, 5, 11 + i);
		work(scene, "kernel", 0, 1510 + 1000 * i, 70, 11 + i);
		call_of(scene, "cudaLaunchKernel", 9999, 9999, 1700 + 1000 * i, 5, 911 + i);
		work(scene, "kernel", 0, 1710 + 1000 * i, 70, 911 + i);
	}
	read_it(scene);
	assert_int_equal(scene->timeline.devices.count, 2);
	for (size_t d = 0; d < 2; d++) {
		const struct gpu_device *device = &scene->timeline.devices.items[d];

		assert_int_equal(device->process, d + 1);
		assert_int_equal(device->busy.count, 11);
		for (size_t i = 0; i < 11; i++) {
			assert_int_equal(device->busy.items[i].launch_ns,
				NS(1000 + 500 * d + 1000 * i));
			assert_int_equal(device->busy.items[i].tid, d ? 4801 : PID);
		}
	}
	assert_non_null(strstr(scene->timeline.note, "11 kernels and copies of other processes"));
}

/* A kernel in its host's lane, without a device. */
static void a_lane_is_no_device(void **state)
{
	struct scene *scene = *state;

	event(scene,
		"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": %d, \"tid\": %d, "
		"\"ts\": %lld, \"dur\": 50, \"args\": {\"External id\": 1}}",
		PID, PID, AT(1000));
	call(scene, "cudaDeviceSynchronize", 1000, 70, 1);
	read_it(scene);
	assert_int_equal(scene->timeline.devices.count, 1);
	assert_int_equal(scene->timeline.devices.items[0].device, 0);
}

/* ── what is missing ── */

static void launches_without_a_record(void **state)
{
	struct scene *scene = *state;
	const struct gpu_device *device;

	for (long long i = 0; i < 23; i++) {
		call(scene, "cudaLaunchKernel", 1000 + 1000 * i, 5, 11 + i);
		if (i != 7 && i != 8 && i != 22)
			work(scene, "kernel", 0, 1010 + 1000 * i, 50, 11 + i);
	}
	call(scene, "cudaMemsetAsync", 30000, 5, 99); /* of no bytes */
	read_it(scene);
	device = &scene->timeline.devices.items[0];
	assert_int_equal(device->dropped, 3);
	assert_int_equal(device->unknown.count, 1);
	assert_span(device->unknown.items[0].start_ns, device->unknown.items[0].end_ns, NS(8000),
		NS(10010));
	assert_int_equal(device->busy.count, 20);
}

/* The last of a thread is followed by no other; what it launched is done when a call has waited for the device. */
static void a_wait_ends_what_is_not_known(void **state)
{
	struct scene *scene = *state;
	const struct gpu_device *device;

	call_of(scene, "cudaLaunchKernel", PID, 4713, 1000, 5, 1);
	work(scene, "kernel", 1, 1010, 50, 1);
	call_of(scene, "cudaLaunchKernel", PID, 4713, 2000, 5, 2);
	call_of(scene, "cudaStreamSynchronize", PID, 4713, 2010, 490, 3);
	call(scene, "cudaLaunchKernel", 9000, 5, 4);
	work(scene, "kernel", 0, 9010, 50, 4);
	call_of(scene, "cudaLaunchKernel", PID, 4713, 10000, 5, 5);
	work(scene, "kernel", 1, 10010, 50, 5);
	read_it(scene);
	device = &scene->timeline.devices.items[0];
	assert_int_equal(device->device, 1);
	assert_int_equal(device->dropped, 1);
	assert_int_equal(device->unknown.count, 1);
	assert_span(device->unknown.items[0].start_ns, device->unknown.items[0].end_ns, NS(2000),
		NS(2500));
	assert_int_equal(scene->timeline.devices.items[1].dropped, 0);
}

/* Launches into a graph, by any thread; the runtime's call and the driver's within it. */
static void launches_that_need_no_record(void **state)
{
	struct scene *scene = *state;
	const struct gpu_device *device;

	call(scene, "cudaLaunchKernel", 100, 5, 1);
	call(scene, "cudaStreamEndCapture", 200, 5, 2);
	call(scene, "cudaStreamBeginCapture", 1000, 5, 3);
	call(scene, "cudaLaunchKernel", 1100, 5, 4);
	call_of(scene, "cudaLaunchKernel", PID, 4713, 1200, 5, 5);
	call(scene, "cudaStreamEndCapture", 1300, 5, 6);
	call(scene, "cudaLaunchKernel", 2000, 9, 7);
	call(scene, "cuLaunchKernel", 2002, 5, 8);
	work(scene, "kernel", 0, 2010, 50, 7);
	call(scene, "cudaLaunchKernelExC", 3000, 9, 9);
	call(scene, "cuLaunchKernelEx", 3002, 5, 10);
	work(scene, "kernel", 0, 3010, 50, 10);
	call(scene, "cudaStreamBeginCapture", 4000, 5, 11);
	call(scene, "cudaLaunchKernel", 4100, 5, 12);
	read_it(scene);
	device = &scene->timeline.devices.items[0];
	assert_int_equal(device->dropped, 0);
	assert_int_equal(device->unknown.count, 0);
}

static void between_two_traces_nothing_is_known(void **state)
{
	struct scene *scene = *state;
	const struct gpu_device *device;

	call(scene, "cudaLaunchKernel", 9000, 5, 11);
	work(scene, "kernel", 0, 9010, 50, 11);
	read_it(scene);
	scene->any = false;
	write_text(scene, "");
	call(scene, "cudaLaunchKernel", 1000, 5, 11);
	work(scene, "kernel", 0, 1010, 50, 11);
	read_it(scene);
	device = &scene->timeline.devices.items[0];
	assert_int_equal(scene->timeline.devices.count, 1);
	assert_span(device->seen_ns, device->until_ns, NS(1010), NS(9060));
	assert_int_equal(device->unknown.count, 1);
	assert_span(device->unknown.items[0].start_ns, device->unknown.items[0].end_ns, NS(1060),
		NS(9010));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(work_and_its_launches),
		TEST(waits_and_allocations),
		TEST(memory_of_tensors),
		TEST(a_graph_is_one_launch),
		TEST(older_spellings),
		TEST(times_are_exact),
		TEST(times_from_a_base),
		TEST(devices_have_names),
		TEST(several_processes),
		TEST(a_lane_is_no_device),
		TEST(launches_without_a_record),
		TEST(a_wait_ends_what_is_not_known),
		TEST(launches_that_need_no_record),
		TEST(between_two_traces_nothing_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
