/*
 * What reports say of GPUs: tests/golden/steps.sql with a timeline whose charges are made by hand (the arithmetic has
 * tests of its own), as text and JSON in tests/golden/gpu.txt and gpu.json; pictures of stacks weighted by GPU idle
 * time; the verdict; the page.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "devices.h"
#include "needs.h"
#include "report_fixture.h"
#include "verdict.h"

#define MS     1000000ull
#define US     1000ull
#define START  5000000000ull /* of the recording */
#define AT(us) (START + (us) * US)

/* Pauses of the recording, by index: four of 50 ms, and one of 20 ms between steps. */
enum { FIRST = 4, SECOND = 12, BETWEEN = 14, UNSEEN = 18, LAST = 23, PAUSES = 27 };

struct scene {
	struct gpu_timeline gpu;
	struct analysis analysis;
	struct report_input input;
};

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("there is no \"%s\" in:\n%s", part, text);
}

static void assert_has_not(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("there is \"%s\" in:\n%s", part, text);
}

static struct gpu_idle *add_idle(struct attribution *to, uint64_t from_us, uint64_t until_us,
	enum gpu_cause cause)
{
	struct gpu_idle *idle = vec_add(&to->gpu_charges.idles);

	*idle = (struct gpu_idle){.start_ns = AT(from_us),
		.end_ns = AT(until_us),
		.cause = cause,
		.pause = GPU_NO_PAUSE};
	return idle;
}

static void charge_idle(struct gpu_idle *idle, size_t pause, uint64_t us)
{
	idle->pause = pause;
	idle->pause_ns = us * US;
}

static void set_cost(struct attribution *to, size_t pause, struct gpu_cost cost)
{
	cost.known = true;
	to->gpu_charges.pauses.items[pause] = cost;
}

/* Device 0 runs dry in two pauses, is hidden in two, and its records around the fifth are lost; 1 is never idle. */
static void charge_by_hand(struct attribution *to)
{
	struct gpu_cost short_one = {.hidden_ns = 60 * US};
	struct gpu_figures *figures;

	for (size_t i = 0; i < PAUSES; i++) {
		vec_add(&to->gpu_charges.pauses);
		if (i != 7 && i != 9 && i != UNSEEN) /* those of a worker, which has no GPU */
			set_cost(to, i, short_one);
	}
	set_cost(to, FIRST,
		(struct gpu_cost){12 * MS, 38 * MS, 3 * MS, 41 * MS, 41 * MS, 41 * MS, 0, true});
	set_cost(to, SECOND, (struct gpu_cost){.hidden_ns = 50 * MS});
	set_cost(to, BETWEEN, (struct gpu_cost){.hidden_ns = 20 * MS});
	set_cost(to, LAST,
		(struct gpu_cost){12 * MS, 38 * MS, 2 * MS, 40 * MS, 38 * MS, 45 * MS, 0, true});
	charge_idle(add_idle(to, 236070, 277070, GPU_CAUSE_PAUSE), FIRST, 41000);
	add_idle(to, 300000, 310000, GPU_CAUSE_HOST);
	add_idle(to, 600000, 600100, GPU_CAUSE_OTHER);
	charge_idle(add_idle(to, 1076050, 1120050, GPU_CAUSE_PAUSE), LAST, 40000);
	figures = vec_add(&to->gpu_charges.devices);
	*figures = (struct gpu_figures){.seen_ns = 1100 * MS,
		.unknown_ns = 20 * MS,
		.busy_ns = 1004900 * US,
		.idle_ns = 95100 * US,
		.gaps_ns = 1234 * US,
		.starved_ns = 700 * US,
		.cause_ns = {81 * MS, 14 * MS, 100 * US}};
	figures = vec_add(&to->gpu_charges.devices);
	*figures = (struct gpu_figures){.seen_ns = 1100 * MS, .busy_ns = 1100 * MS};
}

static uint64_t common(const struct step *step, uint64_t from, uint64_t until)
{
	from = from > step->start_ns ? from : step->start_ns;
	until = until < step->end_ns ? until : step->end_ns;
	return until > from ? until - from : 0;
}

/* What the steps of the first track have of device 0. */
static void lay_on_steps(struct attribution *to)
{
	const struct step_track *track = &to->steps->tracks.items[0];
	const struct gpu_span *unknown = &to->gpu->devices.items[0].unknown.items[0];

	to->tracks.items[0].gpu_device = 0;
	for (size_t i = 0; i < track->steps.count; i++) {
		const struct step *step = &track->steps.items[i];
		struct step_cost *cost = &to->tracks.items[0].steps.items[i];

		cost->gpu_known =
			step->end_ns <= unknown->start_ns || step->start_ns >= unknown->end_ns;
		for (size_t j = 0; cost->gpu_known && j < to->gpu_charges.idles.count; j++) {
			const struct gpu_idle *idle = &to->gpu_charges.idles.items[j];

			cost->gpu_idle_ns += common(step, idle->start_ns, idle->end_ns);
			cost->gpu_pause_ns +=
				common(step, idle->start_ns, idle->start_ns + idle->pause_ns);
		}
	}
}

static struct gpu_device *add_device(struct gpu_timeline *gpu, uint32_t number, const char *name)
{
	struct gpu_device *device = gpu_device(gpu, 1, number);

	assert_non_null(device);
	snprintf(device->name, sizeof(device->name), "%s", name);
	device->seen_ns = AT(100000);
	device->until_ns = AT(1220000);
	return device;
}

static void open_scene(struct scene *scene)
{
	struct gpu_device *device;
	struct gpu_span *lost;
	struct err err = {""};
	char path[256];

	*scene = (struct scene){.gpu = {.source = "the CUPTI shim", .clock_error_ns = 3 * US}};
	device = add_device(&scene->gpu, 0, "NVIDIA H100\x1b[31m");
	lost = vec_add(&device->unknown);
	*lost = (struct gpu_span){AT(885000), AT(905000)};
	device->dropped = 23;
	add_device(&scene->gpu, 1, "");
	gpu_settle(&scene->gpu);
	store_reader_free(make_recording("steps"));
	snprintf(path, sizeof(path), "%s/steps.gct", folder);
	if (analysis_open(&scene->analysis, path, NULL, ANALYSIS_ADVICE, &err) ||
		analysis_input(&scene->analysis, NULL, "steps", &scene->input, &err))
		fail_msg("%s", err.text);
	scene->analysis.attribution.gpu = &scene->gpu;
	charge_by_hand(&scene->analysis.attribution);
	lay_on_steps(&scene->analysis.attribution);
}

static void close_scene(struct scene *scene)
{
	analysis_close(&scene->analysis);
	gpu_release(&scene->gpu);
}

/* Caller frees. */
static char *write_scene(struct scene *scene, const char *format)
{
	struct err err = {""};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	scene->input.rewind(scene->input.source);
	if (report_find(format)->write(&scene->input, out, &err))
		fail_msg("%s", err.text);
	fclose(out);
	return text;
}

static void test_golden(void **state)
{
	NEEDS("cpython");
	_cleanup_free_ char *text = NULL, *json = NULL;
	struct scene scene;

	open_scene(&scene);
	text = write_scene(&scene, "text");
	json = write_scene(&scene, "json");
	close_scene(&scene);
	golden_compare(text, "gpu", "txt");
	golden_compare(json, "gpu", "json");
	check_schema(json);
}

/* Where there is no timeline, nothing speaks of GPUs. */
static void test_without(void **state)
{
	NEEDS("cpython");
	static const char *const formats[] = {"text", "json", "folded", "flamegraph"};

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		_cleanup_free_ char *report = make_report("steps", formats[i]);

		assert_has_not(report, "GPU");
		assert_has_not(report, "\"gpu\":");
		assert_has_not(report, "gpu_idle_ns\":0");
		assert_has_not(report, "gpu_hidden_ns");
	}
}

/* Of the four pauses with a stack, two left a GPU idle, and of one that is not known. */
static void test_weighted_stacks(void **state)
{
	NEEDS("cpython");
	_cleanup_free_ char *folded = NULL, *svg = NULL;
	struct scene scene;

	open_scene(&scene);
	scene.input.weight = WEIGHT_GPU_IDLE;
	folded = write_scene(&scene, "folded");
	assert_string_equal(folded,
		"python3 (4711);<module> (train.py:80);Trainer.step (train.py:41);Module.__call__ "
		"(module.py:1511);[gen 2] 81000\n");
	svg = write_scene(&scene, "flamegraph");
	assert_has(svg, ">GPU idle time because of GC (measured) · steps<");
	assert_has(svg, "2 pauses, 81.00 ms of GPU idle time because of them");
	assert_has(svg, "1 pause left out: not known");
	assert_has(svg, "100.00 % of the GPU idle time · 2 pauses");
	assert_has_not(svg, "of the pause time");
	assert_has_not(svg, "Width is pause time");
	close_scene(&scene);
}

static void test_no_weight(void **state)
{
	NEEDS("cpython");
	_cleanup_free_ char *svg = NULL, *folded = NULL;
	struct scene scene;

	open_scene(&scene);
	scene.input.weight = WEIGHT_GPU_IDLE;
	for (size_t i = 0; i < PAUSES; i++)
		scene.analysis.attribution.gpu_charges.pauses.items[i] = (struct gpu_cost){};
	svg = write_scene(&scene, "flamegraph");
	folded = write_scene(&scene, "folded");
	assert_has(svg, "No pause is known to have left a GPU idle: nothing to draw.");
	assert_string_equal(folded, "");
	close_scene(&scene);
}

static const char *sentence(const struct scene *scene)
{
	static char text[VERDICT_GPU_BYTES];

	return verdict_gpu(&scene->analysis.attribution, text, sizeof(text));
}

static void test_verdict(void **state)
{
	NEEDS("cpython");
	struct scene scene;
	struct gpu_figures *figures;

	open_scene(&scene);
	figures = scene.analysis.attribution.gpu_charges.devices.items;
	assert_string_equal(sentence(&scene),
		" GPU 0 stood idle most: 95.10 ms of 1.100 s (8.6 %, measured); 85.2 % of that was "
		"caused by GC; of another 20.00 ms its records are missing.");
	figures[0].idle_ns = 550 * MS;
	assert_string_equal(sentence(&scene),
		" GPU 0 stood idle most: 550.0 ms of 1.100 s (50.0 %, measured); 14.7 % of that was "
		"caused by GC; within steps 95.00 ms of 749.8 ms (12.7 %), 85.3 % of that caused by GC; "
		"of another 20.00 ms its records are missing.");
	figures[0].idle_ns = 95100 * US;
	scene.gpu.inferred = true;
	figures[0].unknown_ns = 0;
	figures[0].cause_ns[GPU_CAUSE_PAUSE] = 0;
	assert_string_equal(sentence(&scene),
		" GPU 0 stood idle most: 95.10 ms of 1.100 s (8.6 %, inferred); none of that was caused "
		"by GC.");
	scene.gpu.inferred = false;
	scene.gpu.devices.items[1].process = 2;
	figures[1].idle_ns = 550 * MS;
	assert_string_equal(sentence(&scene),
		" GPU 1 of pt_data_worker (pid 4712) stood idle most: 550.0 ms of 1.100 s (50.0 %, "
		"measured); none of that was caused by GC.");
	scene.gpu.devices.count = 1;
	figures[0].idle_ns = 0;
	assert_string_equal(sentence(&scene), " GPU 0 was never idle in 1.100 s (measured).");
	figures[0].idle_ns = 1;
	figures[0].seen_ns = 0;
	assert_string_equal(sentence(&scene),
		" What GPUs did is not known: there are no records of one in the CUPTI shim.");
	scene.gpu.devices.count = 0;
	*scene.gpu.source = '\0';
	assert_string_equal(sentence(&scene),
		" What GPUs did is not known: there are no records of one.");
	scene.gpu.devices.count = 2;
	close_scene(&scene);
}

static uint32_t count_of(const char *text, const char *part)
{
	uint32_t count = 0;

	while ((text = strstr(text, part)))
		text += ++count ? strlen(part) : 0;
	return count;
}

/* The page has a lane for each device, and all idle intervals in it. */
static void test_page(void **state)
{
	NEEDS("cpython");
	_cleanup_free_ char *page = NULL, *without = make_report("steps", "html");
	struct scene scene;

	open_scene(&scene);
	page = write_scene(&scene, "html");
	close_scene(&scene);
	assert_has(page,
		",\"gpus\":[{\"source\":\"measured\",\"name\":\"GPU 0\",\"from_us\":100000,"
		"\"unknown\":[[885000,905000]],\"until_us\":1220000,\"left_out\":0,");
	assert_has(page,
		",\"gpu_steps\":{\"source\":\"measured\",\"name\":\"GPU 0\",\"time_ns\":749800000,"
		"\"idle_ns\":95000000,\"pause_ns\":81000000,\"unknown\":1}");
	assert_int_equal(count_of(page, "\"idle\":{\"count\":4,"), 1);
	assert_int_equal(count_of(page, "\"idle\":{\"count\":0,"), 1);
	assert_has(page,
		"hidden 12.00 ms, exposed 38.00 ms, recovery 3.000 ms; 41.00 ms lost (measured)");
	assert_has_not(without, "\"gpus\":");
	assert_has_not(without, "\"gpu_steps\":");
	assert_has_not(without, "\"key\":\"gpu\"");
}

/* Of more intervals than a page has room for it holds the longest, and says what it left out. */
static void test_page_of_many(void **state)
{
	NEEDS("cpython");
	_cleanup_free_ char *page = NULL;
	struct scene scene;
	struct attribution *to;

	open_scene(&scene);
	to = &scene.analysis.attribution;
	to->gpu_charges.idles.count = 0;
	for (uint64_t i = 0; i < 40009; i++) /* one in seven is long, the others are alike */
		add_idle(to, 100000 + 25 * i, 100000 + 25 * i + (i % 7 ? 11 : 17), GPU_CAUSE_HOST);
	page = write_scene(&scene, "html");
	close_scene(&scene);
	assert_has(page, "\"left_out\":34293,\"left_out_ns\":377223000,\"least_ns\":11000,");
	assert_has(page, "\"idle\":{\"count\":5716,");
}

/* The same pauses where no device was recorded, and what they cost is inferred. */
static void open_inferred(struct scene *scene)
{
	struct attribution *to = &scene->analysis.attribution;
	struct gpu_launcher *launcher;
	struct gpu_driver_call *call;
	struct gpu_driver *driver;

	open_scene(scene);
	gpu_release(&scene->gpu);
	scene->gpu = (struct gpu_timeline){.inferred = true, .source = "calls that wait"};
	driver = gpu_driver(&scene->gpu, 1);
	driver->attached_ns = AT(100000);
	driver->let_go_ns = AT(900000);
	driver->failed = 1009;
	call = vec_add(&driver->calls);
	*call = (struct gpu_driver_call){AT(200000), AT(223000), 83, 0, 4711, GPU_DRIVER_WAIT, 5};
	launcher = gpu_launcher(&scene->gpu, 1, 4711);
	launcher->launches = 7919;
	to->tracks.items[0].gpu_device = ATTRIB_NONE;
	for (size_t i = 0; i < to->tracks.items[0].steps.count; i++)
		to->tracks.items[0].steps.items[i].gpu_known = false;
	to->gpu_charges.idles.count = to->gpu_charges.devices.count = 0;
	to->gpu_charges.inferred =
		(struct gpu_inferred){11, 9, 100 * MS, 31 * MS, 29 * MS, 33 * MS};
	for (size_t i = 0; i < PAUSES; i++)
		to->gpu_charges.pauses.items[i].recovery_ns = 0;
	set_cost(to, FIRST,
		(struct gpu_cost){
			12 * MS, 38 * MS, 0, 38 * MS, 35 * MS, 41 * MS, GPU_DEVICE_NONE, true});
}

static void test_inferred(void **state)
{
	NEEDS("cpython");
	_cleanup_free_ char *text = NULL, *json = NULL, *page = NULL;
	struct scene scene;

	open_inferred(&scene);
	text = write_scene(&scene, "text");
	json = write_scene(&scene, "json");
	page = write_scene(&scene, "html");
	check_schema(json);
	assert_has(text,
		"Of 100.0 ms of pauses, GPUs were without work for about 31.00 ms (31.0 %); queued "
		"work hid the rest (inferred from calls that wait); of 2 others it is not known.");
	assert_has(text,
		"GPU: hidden 12.00 ms, exposed 38.00 ms (35.00 ms … 41.00 ms); inferred from "
		"calls that wait\n");
	assert_has(text, "Threads that launch GPU work");
	assert_has(text, "no longer counted after 800.0 ms");
	assert_has_not(text, "IDLE");
	assert_has_not(text, "recovery");
	assert_has(json, "\"gpu_launches\":[{\"pid\":4711,\"tid\":4711,\"source\":\"inferred\","
			 "\"launches\":7919,\"waits\":1,\"waited_ns\":23000000}]");
	assert_has(json,
		"\"gpu_exposed_ns\":38000000,\"gpu_recovery_ns\":null,\"gpu_lost_ns\":38000000,"
		"\"gpu_lost_low_ns\":35000000,\"gpu_lost_high_ns\":41000000,\"gpu_inferred\":true");
	assert_has_not(json, "\"gpu\":");
	assert_has(text, "Inferred from calls that wait, as CUDA's driver was asked for them");
	assert_has(page, "inferred from calls that wait");
	scene.analysis.attribution.gpu_charges.inferred.known = 0;
	assert_has(sentence(&scene), "What pauses cost GPUs is not known");
	scene.analysis.attribution.gpu_charges.inferred.pauses = 0;
	assert_string_equal(sentence(&scene), "");
	close_scene(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_without),
		cmocka_unit_test(test_weighted_stacks),
		cmocka_unit_test(test_no_weight),
		cmocka_unit_test(test_verdict),
		cmocka_unit_test(test_page),
		cmocka_unit_test(test_page_of_many),
		cmocka_unit_test(test_inferred),
	};

	return golden_refused() ? 2 : cmocka_run_group_tests(tests, setup, teardown);
}
