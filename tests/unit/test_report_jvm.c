/*
 * What reports say of the two JVMs of tests/golden/jvm.sql beyond the golden texts: the live view, pictures of
 * stacks, the page, steps, --gc-only; and sums against a plain count.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <json-c/json.h>
#include <cmocka.h>

#include "hotspot_meaning.h"
#include "json.h"
#include "needs.h"
#include "report_fixture.h"
#include "runtime_words.h"
#include "summary.h"
#include "text.h"
#include "utf8.h"
#include "verdict.h"
#include "meaning.h"

#define SAFEPOINTS 101

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

static void test_live(void **state)
{
	struct store_reader *reader = make_recording("jvm");
	const struct recording *recording = store_recording(reader);
	const struct stack_table *stacks = store_stacks(reader, NULL);
	unsigned int shown = 0;
	struct pause pause;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	text_live_header(out, recording, NULL, &shown);
	while (store_next_pause(reader, &pause, NULL) > 0) {
		text_live_header(out, recording, &pause, &shown);
		if (pause.id <= 6 || pause.id == 8 || pause.id == 11)
			text_pause_line(out, recording, stacks, &pause);
	}
	for (size_t i = 0; i < recording->stalls.count; i++)
		if (text_stall_shown(&recording->stalls.items[i]))
			text_stall_line(out, recording, stacks, &recording->stalls.items[i]);
	fclose(out);
	assert_string_equal(text,
		"TIME             PID COMM     GC     DURATION     REACH       "
		"  HEAP  REASON                      FRAME\n"
		"12:00:00.500    4711 java     young  12.35 ms               51"
		"2M→98M  G1 Evacuation Pause         Trainer.fit:97\n"
		"12:00:00.600    4711 java     young  15.00 ms  8.000 ms     51"
		"1M→99M  G1 Evacuation Pause         Trainer.fit:97  late: train-worker-3\n"
		"12:00:01.000    4711 java     -      713.0 µs  650.0 µs       "
		"        ThreadDump                  -\n"
		"12:00:01.500    4711 java     full   61.00 ms               20"
		"0M→90M  System.gc()                 BasicMemoryManager.invokeGc:165\n"
		"12:00:02.000    4711 java     conc   1.300 ms              150"
		"M→150M  G1PauseRemark               -\n"
		"12:00:02.500    4800 java     ?      97.00 µs                 "
		"        -                           -\n"
		"12:00:03.500    4711 java     -      31.10 ms  31.00 ms       "
		"        ICBufferFull                Kernel.loop:11  late: thread 4791\n"
		"12:00:05.000    4711 java     young  13.00 ms              512"
		"M→1.5G  G1 Evacuation Pause         Trainer.fit:97  late: train-worker-3\n"
		"12:00:01.499    4711 java     stall  61.20 ms                 "
		"        System.gc(), 2 collections  BasicMemoryManager.invokeGc:165  in DeallocatorServ\n"
		"12:00:01.999    4711 java     stall  41.00 µs                 "
		"        System.gc(), no collection  BasicMemoryManager.invokeGc:165  in DeallocatorServ\n"
		"12:00:02.499    4711 java     stall  43.00 µs                 "
		"        System.gc(), no collection  BasicMemoryManager.invokeGc:165  in DeallocatorServ\n"
		"12:00:02.000    4800 java     stall   1.100 s                 "
		"        allocation stall            evil?[2J.name;\"<  in evil?[2J;\"<\n"
		"12:00:02.999    4711 java     stall  47.00 µs                 "
		"        System.gc(), no collection  BasicMemoryManager.invokeGc:165  in DeallocatorServ\n"
		"12:00:03.300    4800 java     stall  23.00 ms                 "
		"        allocation stall            evil?[2J.name;\"<  in thread 4811\n"
		"12:00:03.700    4711 java     stall  5.000 ms                 "
		"        GC locker                   Trainer.fit:97  in main\n"
		"12:00:03.800    4711 java     stall  170.0 ms                 "
		"        System.gc()                 Trainer.fit:97  in main\n");
	free(text);
	store_reader_free(reader);
}

/* CPython's header and columns stay; both where both are. */
static void test_live_headers(void **state)
{
	NEEDS("cpython");
	struct store_reader *reader = make_recording("busy");
	struct pause safepoint = {
		.flags = PAUSE_HAS_FACTS, .class = meaning_of("hotspot")->classes};
	struct pause plain = {.class = meaning_of("cpython")->classes};
	unsigned int shown = 0;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	text_live_header(out, store_recording(reader), NULL, &shown);
	text_live_header(out, store_recording(reader), &plain, &shown);
	text_live_header(out, store_recording(reader), &safepoint, &shown);
	text_live_header(out, store_recording(reader), &safepoint, &shown);
	fclose(out);
	assert_string_equal(text,
		"TIME             PID COMM            GEN REASON      DURATION  COLLECTED  FRAME\n"
		"TIME             PID COMM     GC     DURATION     REACH         HEAP  "
		"REASON                      FRAME\n");
	free(text);
	store_reader_free(reader);
}

static void test_folded(void **state)
{
	_cleanup_free_ char *text = make_report("jvm", "folded");
	uint64_t total_us = 0;
	char *save;

	assert_has(text,
		"java (4711);com.example.mlp.Main.main (Main.java:23);com.example.mlp.Trainer.fit "
		"(Trainer.java:97);[young, G1CollectForAllocation] 51346\n");
	assert_has(text, "java (4711);[no stack];[not GC, ThreadDump] 713\n");
	assert_has(text, "java (4711);[no stack];[concurrent step, G1PauseRemark] 1300\n");
	assert_has(text, "java (4800);[no stack];[unknown, unknown operation] 97\n");
	assert_has(text, "evil\\x1b[2J.name:\"<;[concurrent step, XMarkStart]");
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		total_us += strtoull(strrchr(line, ' '), NULL, 10);
	assert_int_equal(total_us, 154609); /* nothing is invisible */
}

static void test_flamegraph(void **state)
{
	_cleanup_free_ char *text = make_report("jvm", "flamegraph");

	assert_true(utf8_valid(text, strlen(text)));
	assert_has(text, "Safepoint time · jvm");
	assert_has(text, "young, G1CollectForAllocation");
	assert_has(text, "not GC, ThreadDump");
	assert_has(text, "full, G1CollectFull");
	assert_has(text, "<g class=\"j");
	assert_has_not(text, "gen 0");
	assert_has_not(text, "generation unknown");
}

static void test_html(void **state)
{
	NEEDS("cpython");
	_cleanup_free_ char *text = make_report("jvm", "html"),
			    *plain = make_report("busy", "html");

	assert_true(utf8_valid(text, strlen(text)));
	assert_has(text,
		"\"by_class\":true,\"reach\":true,\"classes\":[\"young\",\"concurrent step\",\"full\",\"not GC, or not known\"]");
	assert_has(text, "{\"key\":\"explicit_gc\",\"caption\":\"Who called System.gc()\"");
	assert_has(text, "\"whose\":\"DeallocatorServ\",\"calls\":4,\"collected\":1,");
	assert_has(text, "{\"kind\":\"System.gc\",\"count\":5,\"stall_ns\":231331000,");
	assert_has(text, "Concurrent Mark From Roots");
	assert_has(text, "\\u005cx1b[2J;\\u0022\\u003c");
	assert_has(text, "\"title\":\"Collections\",\"unit\":\"text\",\"folded\":true}");
	assert_has(text, ":\"1 young, 1 full\",");
	assert_has(text, "\"heap\":{\"before\":209715200,\"after\":94371840}");
	assert_has(text, "\"times\":\"of probes, not of HotSpot");
	assert_has(plain, "\"by_class\":false,\"reach\":false,"
			  "\"classes\":[\"gen 0\",\"gen 1\",\"gen 2 (full)\",\"gen ?\"]");
	assert_has_not(plain, "\"folded\":true");
	assert_has_not(plain, "{\"key\":\"operations\"");
}

static void test_steps(void **state)
{
	_cleanup_free_ char *text = make_report_of("jvm", "text", "window:100ms", false);
	_cleanup_free_ char *json = make_report_of("jvm", "json", "window:100ms", false);

	assert_has(text,
		"Safepoints stopped java (4711), the most stopped of 2 processes that train, for ");
	assert_has(text,
		" of its time), an unknown part of it lost.\n  cause  Full collections: 1 of 9 ");
	assert_has(text, "\n  sure   100 steps of ");
	assert_has(text,
		" nothing dropped. What was lost cannot be told: the steps are windows of time, ");
	assert_has(text, "Of the time at safepoints at least 73.5 % was to collect.");
	assert_has(text, "Not in these figures: 8 stalls");
	assert_has(text, "   GC  TRIGGERED IN\n");
	assert_has(text, "Paused by the line that asked for the safepoints");
	assert_has_not(text, "Python");
	assert_has_not(text, "generation");
	assert_has(json, "\"stall_alone_ns\":");
}

static void test_gc_only(void **state)
{
	_cleanup_free_ char *text = make_report_of("jvm", "text", NULL, true);
	_cleanup_free_ char *json = make_report_of("jvm", "json", NULL, true);
	_cleanup_free_ char *html = make_report_of("jvm", "html", NULL, true);

	assert_has(text, ": 8 safepoints, longest");
	assert_has(text,
		"Left out everywhere (--gc-only): 3 safepoints in which nothing was collected.\n");
	assert_has_not(text, "ThreadDump");
	assert_has(json, "\"left_out\":3}");
	assert_has(html,
		"\"notes\":[\"Left out everywhere (--gc-only): 3 safepoints in which nothing was collected.\"]");
}

/* Stalls keep the verdict from looking elsewhere. */
static void test_stalls_are_no_clean_verdict(void **state)
{
	struct recording recording = {.start_ns = 1000, .end_ns = 10000001000, .complete = true};
	struct process *process = vec_add(&recording.processes);
	struct runtime *runtime = vec_add(&recording.runtimes);
	struct stall *stall;
	struct summary summary = {0};
	char text[VERDICT_PARAGRAPH_BYTES];

	*process = (struct process){.id = 1, .pid = 4711, .comm = "java", .seen_ns = 1000};
	*runtime = (struct runtime){.id = 1, .process = 1, .kind = "hotspot"};
	assert_string_equal(verdict_sentence(&recording, NULL, NULL, &summary, text, sizeof(text)),
		"No safepoint stopped java (4711) in 10.00 s: look elsewhere.");
	stall = vec_add(&recording.stalls);
	*stall = (struct stall){.id = 1,
		.start_ns = 2000,
		.end_ns = 2002000,
		.runtime = 1,
		.kind = STALL_ALLOCATION};
	assert_has(verdict_sentence(&recording, NULL, NULL, &summary, text, sizeof(text)),
		"look elsewhere");
	stall->end_ns = 3200002000;
	stall->kind = STALL_EXPLICIT;
	assert_string_equal(verdict_sentence(&recording, NULL, NULL, &summary, text, sizeof(text)),
		"No safepoint stopped java (4711) in 10.00 s. Not in these figures: 1 stall in which a thread "
		"waited for the collector, 3.200 s in all, longest 3.200 s (System.gc).");
	recording_release(&recording);
}

static struct pause make_safepoint(const struct strtab *strings, uint64_t i)
{
	struct pause pause = {
		.id = i + 1,
		.start_ns = 1000 * i,
		.end_ns = 1000 * i + 1 + i * i % 997,
		.runtime = 1 + i % 2,
		.generation = UNKNOWN,
		.collected = UNKNOWN,
		.uncollectable = UNKNOWN,
		.flags = PAUSE_HAS_FACTS | (i % 7 ? 0 : PAUSE_NO_COLLECTION) |
			 (i % 5 ? 0 : PAUSE_INEXACT),
		.facts = {[HOTSPOT_OPERATION] = i % 3,
			[HOTSPOT_CAUSE] = i % 7 ? 40 + i % 4 : 0,
			[HOTSPOT_TTSP_NS] = i % 11 ? 1 : UNKNOWN,
			[HOTSPOT_CLEANUP_NS] = UNKNOWN,
			[HOTSPOT_CORE_NS] = UNKNOWN,
			[HOTSPOT_LEAVE_NS] = UNKNOWN,
			[HOTSPOT_HEAP_BEFORE] = i % 2 ? 1000 : UNKNOWN,
			[HOTSPOT_HEAP_AFTER] = i % 4 == 1 ? 400 : 2000,
			[HOTSPOT_YOUNG_COLLECTIONS] = i % 7 ? 1 : 0,
			[HOTSPOT_FULL_COLLECTIONS] = i % 13 ? 0 : 1,
			[HOTSPOT_LATE_TID] = i % 17 ? UNKNOWN : 90},
	};

	meaning_of("hotspot")->judge(strings, &pause);
	return pause;
}

static void test_sums(void **state)
{
	struct strtab *strings = strtab_new();
	struct summary summary = {0};
	struct summary_kind *kind;
	uint64_t total = 0, by_operation[3] = {0}, inexact = 0, reached = 0, collecting = 0,
		 late = 0;
	int64_t freed = 0;

	for (uint64_t i = 0; i < SAFEPOINTS; i++) {
		struct pause pause = make_safepoint(strings, i);
		uint64_t ns = pause_duration(&pause);

		assert_int_equal(summary_add(&summary, &pause), 0);
		total += ns;
		by_operation[i % 3] += ns;
		inexact += i % 5 == 0;
		reached += i % 11 != 0;
		collecting += i % 7 != 0;
		late += i % 17 == 0;
		if (i % 7 && i % 4 == 1)
			freed += 600;
	}
	assert_int_equal(summary.kinds.items.count, 1);
	kind = summary.kinds.items.items;
	assert_int_equal(kind->sum.count, SAFEPOINTS);
	assert_int_equal(kind->sum.total_ns, total);
	assert_int_equal(summary.total_ns, total);
	assert_int_equal(summary_of_generations(&summary).count, 0);
	assert_int_equal(kind->inexact, inexact);
	assert_int_equal(kind->collecting, collecting);
	assert_int_equal(kind->facts.sums[HOTSPOT_TTSP_NS].total_ns, reached);
	assert_int_equal(kind->facts.unsplit_ns, total - reached);
	assert_int_equal(kind->operations.count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(kind->operations.items[i].class.total_ns,
			by_operation[kind->operations.items[i].name]);
	assert_int_equal(kind->late.count, 2); /* one number, two processes */
	assert_int_equal(kind->late.items[0].sum.count + kind->late.items[1].sum.count, late);
	/* The heap had grown in some: what those freed is not known, and not 0. */
	assert_int_equal(kind->counts[HOTSPOT_YOUNG].freed + kind->counts[HOTSPOT_FULL].freed,
		freed);
	assert_int_equal(summary_quantile_all(&summary, 1), summary_quantile_kind(kind, 1));
	assert_int_equal(summary_quantile_generations(&summary, 1), 0);
	summary_kind_sort(kind);
	for (size_t i = 1; i < 3; i++)
		assert_true(kind->operations.items[i - 1].class.total_ns >=
			    kind->operations.items[i].class.total_ns);
	strtab_free(strings);
	summary_release(&summary);
}

static void test_words(void **state)
{
	const struct runtime_meaning *meaning = meaning_of("hotspot");
	static const struct {
		int64_t bytes;
		const char *text;
	} sizes[] = {{UNKNOWN, "-"}, {0, "0K"}, {1023, "1K"}, {98ll << 20, "98M"},
		{3ll << 29, "1.5G"}, {1023ll << 20, "1023M"}, {1ll << 30, "1.0G"},
		{INT64_MAX, "8388608T"}};
	struct pause pause = {.flags = PAUSE_HAS_FACTS,
		.generation = UNKNOWN,
		.end_ns = 100000,
		.facts = {[HOTSPOT_YOUNG_COLLECTIONS] = UNKNOWN,
			[HOTSPOT_FULL_COLLECTIONS] = UNKNOWN,
			[HOTSPOT_TTSP_NS] = 9999,
			[HOTSPOT_HEAP_BEFORE] = UNKNOWN,
			[HOTSPOT_HEAP_AFTER] = UNKNOWN}};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		assert_string_equal(WORDS_BYTES(sizes[i].bytes), sizes[i].text);
	meaning->judge(NULL, &pause);
	assert_int_equal(pause.class->order, HOTSPOT_UNKNOWN);
	assert_int_equal(pause.collects, UNKNOWN);
	assert_false(words_reach_matters(&pause, pause.facts[HOTSPOT_TTSP_NS]));
	pause.facts[HOTSPOT_TTSP_NS] = 10000;
	assert_true(words_reach_matters(&pause, pause.facts[HOTSPOT_TTSP_NS]));
	pause.facts[HOTSPOT_CAUSE] = 7;
	meaning->judge(NULL, &pause);
	assert_int_equal(pause.collects, 1);
	pause.facts[HOTSPOT_YOUNG_COLLECTIONS] = 2;
	meaning->judge(NULL, &pause);
	assert_int_equal(pause.class->order, HOTSPOT_YOUNG);
	pause.facts[HOTSPOT_FULL_COLLECTIONS] = 1; /* young and full in one safepoint: full */
	meaning->judge(NULL, &pause);
	assert_int_equal(pause.class->order, HOTSPOT_FULL);
	pause.flags |= PAUSE_NO_COLLECTION;
	meaning->judge(NULL, &pause);
	assert_int_equal(pause.class->order, HOTSPOT_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_live),
		cmocka_unit_test(test_live_headers),
		cmocka_unit_test(test_folded),
		cmocka_unit_test(test_flamegraph),
		cmocka_unit_test(test_html),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_gc_only),
		cmocka_unit_test(test_stalls_are_no_clean_verdict),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
