/*
 * Recordings made from tests/golden/NAME.sql, whose text and JSON reports must equal NAME.txt and
 * NAME.json byte for byte. GCTRACE_GOLDEN=DIR says where those are; GCTRACE_GOLDEN_UPDATE=1 writes
 * them anew, but not where CI is set.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <json-c/json.h>
#include <cmocka.h>

#include "json.h"
#include "json_stack.h"
#include "needs.h"
#include "report_fixture.h"
#include "text.h"
#include "utf8.h"

static int next(void *source, struct pause *ret, struct err *err)
{
	return store_next_pause(source, ret, err);
}

static int rewind_source(void *source)
{
	return store_rewind(source);
}

static void check_golden(const char *name, const char *format, const char *suffix)
{
	_cleanup_free_ char *report = make_report(name, format);

	golden_compare(report, name, suffix);
}

static const char *const names[] = {
	"busy", "quiet", "harmless", "blind", "cutoff", "steps", "served", "jvm", "julia"};

static void test_golden(void **state)
{
	NEEDS("cpython");
	NEEDS("hotspot");
	NEEDS("julia");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		check_golden(names[i], "text", "txt");
		check_golden(names[i], "json", "json");
	}
}

static void test_update_in_ci(void **state)
{
	assert_true(is_refused("1", "true"));
	assert_false(is_refused("1", ""));
	assert_false(is_refused("1", NULL));
	assert_false(is_refused(NULL, "true"));
}

static void test_text_is_safe(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *report = make_report(names[i], "text");

		assert_true(utf8_valid(report, strlen(report)));
		for (const char *c = report; *c; c++)
			assert_true(*c == '\n' || (unsigned char)*c >= 0x20);
	}
}

static void test_registry(void **state)
{
	assert_ptr_equal(report_find("json"), &report_json);
	assert_ptr_equal(report_formats[0], &report_text);
	assert_null(report_find("yaml"));
	for (size_t i = 0; report_formats[i]; i++)
		assert_ptr_equal(report_find(report_formats[i]->name), report_formats[i]);
}

/* Every line parses, in the promised order, and holds no unknown value as 0. */
static void test_json_order(void **state)
{
	_cleanup_free_ char *report = make_report("busy", "json");
	char order[64] = "", *save;
	size_t lines = 0;

	for (char *line = strtok_r(report, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct json_object *object = json_tokener_parse(line), *type;

		assert_non_null(object);
		assert_true(json_object_object_get_ex(object, "type", &type));
		order[lines++] = json_object_get_string(type)[0] == 'p'
					 ? json_object_get_string(type)[1]
					 : json_object_get_string(type)[0];
		json_object_put(object);
	}
	/* recording, pRocess ×3, pAuse ×9 with drops by time, advice, summary */
	assert_string_equal(order, "rrrraaaaadaaaadas");
}

static void test_json_schema(void **state)
{
	NEEDS("cpython");
	NEEDS("hotspot");
	_cleanup_free_ char *records = NULL;
	size_t size;
	FILE *out = open_memstream(&records, &size);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *report = make_report(names[i], "json");

		fputs(report, out);
	}
	fclose(out);
	check_schema(records);
}

static void test_pause_line(void **state)
{
	NEEDS("cpython");
	struct store_reader *reader = make_recording("busy");
	const struct stack_table *stacks = store_stacks(reader, NULL);
	struct pause pause;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	text_pause_header(out);
	while (store_next_pause(reader, &pause, NULL) > 0)
		if (pause.id == 4 || pause.id == 5 || pause.id == 7)
			text_pause_line(out, store_recording(reader), stacks, &pause);
	fclose(out);
	assert_string_equal(text,
		"TIME             PID COMM            GEN REASON      DURATION  COLLECTED  FRAME\n"
		"12:00:02.000    4711 python3           2 manual      713.0 ms      12345  "
		"_PyObject_GC_NewVar  libpython3.11.so.1.0\n"
		"12:00:04.000    4712 loader?[31m       0 automatic   47.00 µs          3  "
		"evil?[2Jname\"\\  /home/ada/train.py\n"
		"12:00:07.000    4711 python3           - unknown      4.400 s          -  -\n");
	free(text);
	store_reader_free(reader);
}

/* What damage cuts off is said at the top, and the rest still reported. */
static void test_damaged(void **state)
{
	char path[256], text[65536] = "";
	struct report_input input = {.next = next, .rewind = rewind_source, .title = "busy"};
	struct err err = {""};
	struct store_reader *reader;
	sqlite3 *db;
	FILE *out;

	store_reader_free(make_recording("busy"));
	snprintf(path, sizeof(path), "%s/busy.gct", folder);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "UPDATE pause SET duration_ns = -1 WHERE id = 3", NULL,
				 NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(store_open(path, &reader, &err), 0);
	input.recording = store_recording(reader);
	input.stacks = store_stacks(reader, NULL);
	input.source = reader;
	out = fmemopen(text, sizeof(text), "w");
	assert_int_equal(report_text.write(&input, out, &err), -EBADMSG);
	fclose(out);
	assert_non_null(strstr(err.text, "8 pauses of it could be read"));
	assert_non_null(strstr(text, "INCOMPLETE: the file is damaged"));
	assert_non_null(strstr(text, ": 8 pauses, longest 4.400 s"));
	store_rewind(reader);
	memset(text, 0, sizeof(text));
	out = fmemopen(text, sizeof(text), "w");
	assert_int_equal(report_json.write(&input, out, &err), -EBADMSG);
	fclose(out);
	assert_non_null(strstr(text, "{\"type\":\"summary\",\"pauses\":8,"));
	store_reader_free(reader);
}

static void test_unwritable(void **state)
{
	struct store_reader *reader = make_recording("busy");
	struct report_input input = {.recording = store_recording(reader),
		.stacks = store_stacks(reader, NULL),
		.next = next,
		.rewind = rewind_source,
		.source = reader,
		.title = "busy"};
	static const char *const formats[] = {"text", "json"};

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		FILE *full = fopen("/dev/full", "w");
		struct err err = {""};

		assert_non_null(full);
		assert_int_equal(report_find(formats[i])->write(&input, full, &err), -ENOSPC);
		assert_non_null(strstr(err.text, "cannot write the report"));
		fclose(full);
		store_rewind(reader);
	}
	store_reader_free(reader);
}

/* A stack's JSON has a length that any real one has; its outermost frames are left out first. */
static void test_json_stack_is_bounded(void **state)
{
	struct frame frame = {.lang = LANG_PYTHON, .line = 7};
	char name[4096], inner[] = "innermost", *text = NULL;
	struct stack_table stacks;
	uint32_t node = STACK_NONE;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(stack_table_init(&stacks), 0);
	for (int i = 0; i < 10007; i++) {
		size_t len = (size_t)snprintf(name, sizeof(name), "f%d\x01\"%.2000d", i, 0);

		frame.function = strtab_add(stacks.strings, name, len);
		node = stack_table_node(&stacks, node, stack_table_frame(&stacks, &frame));
	}
	frame.function = strtab_add(stacks.strings, inner, strlen(inner));
	node = stack_table_node(&stacks, node, stack_table_frame(&stacks, &frame));
	json_stack(out, "stack", &stacks, node, NULL);
	fclose(out);
	assert_in_range(size, 30000, 34000);
	assert_non_null(strstr(text, "[{\"function\":\"innermost\""));
	assert_non_null(strstr(text, ",{\"function\":\"[truncated]\",\"file\":null,"
				     "\"line\":null,\"lang\":\"mark\"}]"));
	free(text);
	stack_table_release(&stacks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_update_in_ci),
		cmocka_unit_test(test_text_is_safe),
		cmocka_unit_test(test_registry),
		cmocka_unit_test(test_json_order),
		cmocka_unit_test(test_json_schema),
		cmocka_unit_test(test_json_stack_is_bounded),
		cmocka_unit_test(test_pause_line),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_unwritable),
	};

	return golden_refused() ? 2 : cmocka_run_group_tests(tests, setup, teardown);
}
