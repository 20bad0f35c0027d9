/* A table that is built once, as text, JSON and the page have it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cleanup.h"
#include "html_table.h"
#include "json_table.h"
#include "stack_table.h"
#include "text_table.h"

/* The example of CONTRIBUTING.md. */
static const struct model_column sweep_columns[] = {
	{"space", "Space", UNIT_TEXT},
	{"sweeps", "Sweeps", UNIT_COUNT},
	{"sweep_ns", "Total", UNIT_NS},
	{"share", "of the time traced", UNIT_SHARE, .heading = "SHARE"},
};

static const struct model_layout sweeps = {
	.key = "sweeps",
	.title = "Sweeps by space",
	.columns = sweep_columns,
	.column_count = ARRAY_SIZE(sweep_columns),
};

static void add_sweeps(struct model *model)
{
	struct model_table *table = model_add(model, &sweeps);

	MODEL_ROW(table, model_text("old"), model_number(13), model_number(1500000),
		model_share(3, 100));
	MODEL_ROW(table, model_text("<b>\x1b[2J"), model_known(UNKNOWN), model_number(0),
		model_share(0, 0));
}

enum renderer { TEXT, JSON, RECORDS, PAGE };

static char *render(const struct model *model, enum renderer renderer)
{
	struct stack_table stacks;
	struct html_page page = {
		.stacks = {.table = &stacks, .nodes_most = 100, .text_most = 1000}};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(stack_table_init(&stacks), 0);
	page.out = out;
	if (renderer == TEXT)
		for (size_t i = 0; i < model->tables.count; i++)
			text_table(out, &stacks, model->tables.items[i]);
	else if (renderer == JSON)
		json_tables(out, &stacks, model);
	else if (renderer == RECORDS)
		json_records(out, &stacks, model);
	else
		assert_int_equal(html_tables_write(&page, "tables", model), 0);
	fclose(out);
	html_stacks_release(&page.stacks);
	flame_text_release(&page.text);
	stack_table_release(&stacks);
	return text;
}

static void check(const struct model *model, enum renderer renderer, const char *want)
{
	_cleanup_free_ char *text = render(model, renderer);

	assert_string_equal(text, want);
}

static void test_a_table_is_in_all_three(void **state)
{
	_cleanup_(model_release) struct model model = {0};

	add_sweeps(&model);
	check(&model, TEXT,
		"\nSweeps by space\n"
		"  SPACE                           SWEEPS      TOTAL   SHARE\n"
		"  old                                 13   1.500 ms   3.0 %\n"
		"  <b>?[2J                              -       0 ns       -\n");
	check(&model, JSON,
		",\"sweeps\":[{\"space\":\"old\",\"sweeps\":13,\"sweep_ns\":1500000},"
		"{\"space\":\"<b>\\u001b[2J\",\"sweeps\":null,\"sweep_ns\":0}]");
	check(&model, PAGE,
		",\"tables\":[{\"key\":\"sweeps\",\"caption\":\"Sweeps by space\",\"known\":\"measured\","
		"\"columns\":["
		"{\"key\":\"space\",\"title\":\"Space\",\"unit\":\"text\"},"
		"{\"key\":\"sweeps\",\"title\":\"Sweeps\",\"unit\":\"count\"},"
		"{\"key\":\"sweep_ns\",\"title\":\"Total\",\"unit\":\"ns\"},"
		"{\"key\":\"share\",\"title\":\"of the time traced\",\"unit\":\"share\"}],\"notes\":[],\"rows\":["
		"{\"space\":\"old\",\"sweeps\":13,\"sweep_ns\":1500000,\"share\":{\"part\":3,\"whole\":100}},"
		"{\"space\":\"\\u003cb\\u003e\\u005cx1b[2J\",\"sweeps\":null,\"sweep_ns\":0,"
		"\"share\":{\"part\":0,\"whole\":0}}]}]");
}

static void test_a_view_chooses_and_orders(void **state)
{
	_cleanup_(model_release) struct model model = {0};
	struct model_layout layout = sweeps;
	struct model_table *table;

	layout.text = "sweep_ns space";
	layout.json = "sweeps space";
	layout.page = "";
	table = model_add(&model, &layout);
	MODEL_ROW(table, model_text("old"), model_not_in(IN_JSON, model_number(13)),
		model_number(1500000), model_share(3, 100));
	check(&model, TEXT, "\nSweeps by space\n        TOTAL  SPACE\n     1.500 ms  old\n");
	check(&model, JSON, ",\"sweeps\":[{\"sweeps\":null,\"space\":\"old\"}]");
	check(&model, PAGE, ",\"tables\":[]");
}

static void test_rows_beyond_the_limit_are_counted(void **state)
{
	static const char *const more[] = {"  … and 1 more space\n", "  … and 2 more spaces\n"};
	struct model_layout layout = sweeps;

	layout.text = "space";
	layout.text_rows = 1;
	layout.more = "space";
	for (size_t extra = 1; extra <= 2; extra++) {
		_cleanup_(model_release) struct model model = {0};
		_cleanup_free_ char *want = NULL;
		struct model_table *table = model_add(&model, &layout);

		for (size_t i = 0; i <= extra; i++)
			MODEL_ROW(table, model_text("old"), model_number(1), model_number(1),
				model_share(1, 2));
		MODEL_TOTAL(table, model_text("all"), model_blank(), model_blank(), model_blank());
		model_note(table, IN_TEXT, "Of %d.", 7);
		assert_true(asprintf(&want, "\nSweeps by space\n  SPACE\n  old\n%s  all\n  Of 7.\n",
				    more[extra - 1]) > 0);
		check(&model, TEXT, want);
	}
}

static void test_what_is_empty(void **state)
{
	_cleanup_(model_release) struct model model = {0};

	model_note(model_add(&model, &sweeps), IN_PAGE, "None.");
	check(&model, TEXT, "");
	check(&model, JSON, ",\"sweeps\":[]");
}

/* A report that is one table: lines from the margin on; records; what serves another column is not shown itself. */
static void test_records_and_reals(void **state)
{
	static const struct model_column columns[] = {
		{"name", "Name", UNIT_TEXT, .width = -5, .code = true, .tip = "path",
			.badge = "best"},
		{"ratio", "Ratio", UNIT_REAL, .digits = 2, .width = 7},
		{"part", "Part", UNIT_PART, .digits = 1, .width = 7},
		{"best", NULL, UNIT_BOOL},
		{"path", NULL, UNIT_TEXT},
	};
	static const struct model_layout layout = {
		.key = "score",
		.columns = columns,
		.column_count = ARRAY_SIZE(columns),
		.text = "name ratio part",
		.json = "name ratio part best",
		.records = true,
		.margin = true,
	};
	_cleanup_(model_release) struct model model = {0};
	struct model_table *table = model_add(&model, &layout);

	MODEL_ROW(table, model_text("a"), model_real(0.125), model_real(0.0625), model_number(1),
		model_text("/a"));
	MODEL_ROW(table, model_text("b"), model_real(NAN), model_real(INFINITY), model_number(0),
		model_text(NULL));
	model_note(table, IN_TEXT, "%s", model_shown(&model, "\x1b[2Jlong", 9, 4));
	check(&model, TEXT,
		"\nNAME   RATIO   PART\n"
		"a       0.12  6.2 %\n"
		"b          -      -\n"
		"?[2…\n");
	check(&model, JSON, "");
	check(&model, RECORDS,
		"{\"type\":\"score\",\"name\":\"a\",\"ratio\":0.125,\"part\":0.0625,\"best\":true}\n"
		"{\"type\":\"score\",\"name\":\"b\",\"ratio\":null,\"part\":null,\"best\":false}\n");
	check(&model, PAGE,
		",\"tables\":[{\"key\":\"score\",\"columns\":["
		"{\"key\":\"name\",\"title\":\"Name\",\"unit\":\"text\",\"tip\":\"path\",\"badge\":\"best\",\"code\":true},"
		"{\"key\":\"ratio\",\"title\":\"Ratio\",\"unit\":\"real\",\"digits\":2},"
		"{\"key\":\"part\",\"title\":\"Part\",\"unit\":\"part\",\"digits\":1},"
		"{\"key\":\"best\",\"unit\":\"bool\"},{\"key\":\"path\",\"unit\":\"text\"}],\"notes\":[],\"rows\":["
		"{\"name\":\"a\",\"ratio\":0.125,\"part\":0.0625,\"best\":1,\"path\":\"/a\"},"
		"{\"name\":\"b\",\"ratio\":null,\"part\":null,\"best\":0,\"path\":null}]}]");
}

/* Tables of one key are one array; those of a group are in its object. */
static void test_json_nests_and_joins(void **state)
{
	static const struct model_column column = {"n", NULL, UNIT_COUNT};
	const struct model_layout object = {
		.key = "stops", .columns = &column, .column_count = 1, .object = true};
	const struct model_layout inside = {
		.key = "kinds", .group = "stops", .columns = &column, .column_count = 1};
	const struct model_layout last = {
		.key = "end", .columns = &column, .column_count = 1, .json_last = true};
	const struct model_layout beside = {.key = "causes", .columns = &column, .column_count = 1};
	const struct model_layout *const layouts[] = {&last, &beside, &object, &inside, &beside};
	_cleanup_(model_release) struct model model = {0};

	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		MODEL_ROW(model_add(&model, layouts[i]), model_number(i));
	check(&model, JSON,
		",\"causes\":[{\"n\":1},{\"n\":4}],\"stops\":{\"n\":2,\"kinds\":[{\"n\":3}]},"
		"\"end\":[{\"n\":0}]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_table_is_in_all_three),
		cmocka_unit_test(test_a_view_chooses_and_orders),
		cmocka_unit_test(test_rows_beyond_the_limit_are_counted),
		cmocka_unit_test(test_what_is_empty),
		cmocka_unit_test(test_records_and_reals),
		cmocka_unit_test(test_json_nests_and_joins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
