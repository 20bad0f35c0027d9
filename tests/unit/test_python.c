/* stack: line tables of every format, Unicode of every kind, code objects that come, go and collide. */
#include <setjmp.h>
#include <stdio.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "python_code.h"

#define LINE(minor, first, lasti, ...)                                                             \
	python_line(minor, first, (const uint8_t[]){__VA_ARGS__},                                  \
		sizeof((const uint8_t[]){__VA_ARGS__}), lasti)

/* What dis.findlinestarts() says of co_lnotab 06 01 08 ff 04 7f 00 05. */
static void lnotab_of_39(void **state)
{
	assert_int_equal(LINE(9, 10, 0, 6, 1, 8, 0xff, 4, 0x7f, 0, 5), 10);
	assert_int_equal(LINE(9, 10, 5, 6, 1, 8, 0xff, 4, 0x7f, 0, 5), 10);
	assert_int_equal(LINE(9, 10, 6, 6, 1, 8, 0xff, 4, 0x7f, 0, 5), 11);
	assert_int_equal(LINE(8, 10, 14, 6, 1, 8, 0xff, 4, 0x7f, 0, 5), 10);
	assert_int_equal(LINE(8, 10, 18, 6, 1, 8, 0xff, 4, 0x7f, 0, 5), 142);
}

static void pairs_of_310(void **state)
{
	assert_int_equal(LINE(10, 10, 0, 4, 1, 6, 2, 2, 0x80, 2, 0xfe), 11);
	assert_int_equal(LINE(10, 10, 4, 4, 1, 6, 2, 2, 0x80, 2, 0xfe), 13);
	assert_int_equal(LINE(10, 10, 10, 4, 1, 6, 2, 2, 0x80, 2, 0xfe), 0);
	assert_int_equal(LINE(10, 10, 12, 4, 1, 6, 2, 2, 0x80, 2, 0xfe), 11);
	assert_int_equal(LINE(10, 10, 14, 4, 1, 6, 2, 2, 0x80, 2, 0xfe), 0);
}

/* Forms: 0-9 short, 10-12 one line, 13 no columns, 14 long, 15 none; the low bits are length - 1. */
static void locations_of_311(void **state)
{
#define TABLE                                                                                      \
	0x80 | 15 << 3 | 0, 0x80 | 14 << 3 | 1, 2, 0, 1, 1, 0x80 | 11 << 3 | 0, 5, 9,              \
		0x80 | 3 << 3 | 2, 0x11, 0x80 | 13 << 3 | 0, 7, 0x80 | 13 << 3 | 0, 0x40 | 8, 2
	assert_int_equal(LINE(11, 100, 0, TABLE), 0);
	assert_int_equal(LINE(12, 100, 2, TABLE), 101);
	assert_int_equal(LINE(13, 100, 4, TABLE), 101);
	assert_int_equal(LINE(14, 100, 6, TABLE), 102);
	assert_int_equal(LINE(15, 100, 8, TABLE), 102);
	assert_int_equal(LINE(11, 100, 14, TABLE), 99);	     /* zigzag 7: -3 */
	assert_int_equal(LINE(11, 100, 16, TABLE), 99 + 68); /* 8 + 2·64 = 136: +68 */
	assert_int_equal(LINE(11, 100, 18, TABLE), 0);
	assert_int_equal(LINE(11, 100, -2, TABLE), 100);
#undef TABLE
}

static void broken_tables_give_no_line(void **state)
{
	assert_int_equal(python_line(11, 7, NULL, 0, 0), 0);
	assert_int_equal(LINE(11, 7, 0, 0x05), 0);
	assert_int_equal(LINE(11, 7, 0, 0x80 | 13 << 3, 0x7f, 0x7f), 0);
	assert_int_equal(LINE(12, 7, 100, 0x80 | 14 << 3, 2), 0);
	assert_int_equal(LINE(10, 7, 0, 4), 0);
}

static void utf8_of_every_kind(void **state)
{
	const uint8_t latin[] = {'a', 0xe9}, two[] = {0x3b, 0x4e, 0x00, 0xd8},
		      four[] = {0x00, 0xf6, 0x01, 0x00, 0xff, 0xff, 0xff, 0xff};
	char text[64];

	assert_int_equal(python_utf8(&(struct event_text){latin, 2, 1, 0}, text), 3);
	assert_memory_equal(text, "a\xc3\xa9", 3);
	assert_int_equal(python_utf8(&(struct event_text){two, 2, 2, 0}, text), 6);
	assert_memory_equal(text, "主\xef\xbf\xbd", 6);
	assert_int_equal(python_utf8(&(struct event_text){four, 2, 4, 0}, text), 7);
	assert_memory_equal(text, "😀\xef\xbf\xbd", 7);
}

static struct cpython_event code_event(uint64_t id, const char *name, uint32_t table_bytes)
{
	struct cpython_event event = {.type = EVENT_CODE};

	event.code.id = id;
	event.code.first_line = 40;
	event.code.table_bytes = table_bytes;
	event.code.has_table = true;
	event.code.name = (struct event_text){(const uint8_t *)name, strlen(name), 1, 0};
	event.code.file = (struct event_text){(const uint8_t *)"t.py", 4, 1, 0};
	return event;
}

static struct cpython_event table_event(uint64_t id, uint32_t offset, const void *bytes,
	uint32_t length)
{
	struct cpython_event event = {.type = EVENT_TABLE};

	event.table.id = id;
	event.table.offset = offset;
	event.table.bytes = bytes;
	event.table.length = length;
	return event;
}

static const struct frame *frame_of(const struct stack_table *stacks, uint32_t node)
{
	return &stacks->frames[stacks->nodes[node].frame];
}

static void stacks_are_named_innermost_first(void **state)
{
	const uint8_t lines[] = {0x80 | 13 << 3 | 7, 2};
	const struct event_frame frames[] = {{.code = 2, .lasti = 4}, {.code = 99}, {.code = 1}};
	struct python_codes *codes = python_codes_new();
	struct cpython_event event, pause = {.type = EVENT_PAUSE};
	struct stack_table stacks;
	uint32_t node, again;

	assert_int_equal(stack_table_init(&stacks), 0);
	/* Two processes send their tables piece by piece at the same time. */
	event = table_event(1, 0, lines, 1);
	assert_int_equal(python_codes_add(codes, &event, 0), 0);
	event = table_event(2, 0, lines, 2);
	assert_int_equal(python_codes_add(codes, &event, 0), 0);
	event = table_event(1, 1, lines + 1, 1);
	assert_int_equal(python_codes_add(codes, &event, 0), 0);
	event = code_event(1, "outer", 2);
	assert_int_equal(python_codes_add(codes, &event, 13), 0);
	event = code_event(2, "inner", 2);
	assert_int_equal(python_codes_add(codes, &event, 13), 0);

	pause.pause.frames = frames;
	pause.pause.frame_count = 3;
	pause.pause.flags = EVENT_TRUNCATED;
	node = python_stack(codes, &pause, &stacks);
	assert_string_equal(strtab_get(stacks.strings, frame_of(&stacks, node)->function), "inner");
	assert_string_equal(strtab_get(stacks.strings, frame_of(&stacks, node)->file), "t.py");
	assert_int_equal(frame_of(&stacks, node)->line, 41);
	again = python_stack(codes, &pause, &stacks);
	assert_int_equal(again, node);
	node = stacks.nodes[node].parent;
	assert_string_equal(strtab_get(stacks.strings, frame_of(&stacks, node)->function),
		"[gone]");
	node = stacks.nodes[node].parent;
	assert_int_equal(frame_of(&stacks, node)->line, 41);
	node = stacks.nodes[node].parent;
	assert_string_equal(strtab_get(stacks.strings, frame_of(&stacks, node)->function),
		"[truncated]");
	assert_int_equal(stacks.nodes[node].parent, STACK_NONE);

	/* Names that come late are used from then on. */
	event = code_event(99, "middle", 0);
	assert_int_equal(python_codes_add(codes, &event, 13), 0);
	node = stacks.nodes[python_stack(codes, &pause, &stacks)].parent;
	assert_string_equal(strtab_get(stacks.strings, frame_of(&stacks, node)->function),
		"middle");
	assert_int_equal(frame_of(&stacks, node)->line, 40); /* an empty table: the first line */
	pause.pause.frame_count = 0;
	assert_int_equal(python_stack(codes, &pause, &stacks), STACK_NONE);
	python_codes_free(codes);
	stack_table_release(&stacks);
}

static void a_table_with_a_hole_gives_no_lines(void **state)
{
	const uint8_t lines[] = {0x80 | 13 << 3 | 7, 2};
	const struct event_frame frame = {.code = 5};
	struct python_codes *codes = python_codes_new();
	struct cpython_event event, pause = {.type = EVENT_PAUSE};
	struct stack_table stacks;

	assert_int_equal(stack_table_init(&stacks), 0);
	event = table_event(5, 1, lines + 1, 1);
	assert_int_equal(python_codes_add(codes, &event, 0), 0);
	for (int i = 0; i < 2; i++) {
		event = table_event(5, 0, lines,
			0); /* nothing: found by the fuzzer, once freed twice */
		assert_int_equal(python_codes_add(codes, &event, 0), 0);
	}
	event = code_event(5, "f", 2);
	assert_int_equal(python_codes_add(codes, &event, 13), 0);
	pause.pause.frames = &frame;
	pause.pause.frame_count = 1;
	assert_int_equal(frame_of(&stacks, python_stack(codes, &pause, &stacks))->line, 0);
	python_codes_free(codes);
	stack_table_release(&stacks);
}

static const char *name_in(struct python_codes *codes, struct stack_table *stacks, uint64_t id)
{
	const struct event_frame frame = {.code = id, .lasti = (int32_t)(id * 2)};
	struct cpython_event pause = {.type = EVENT_PAUSE};

	pause.pause.frames = &frame;
	pause.pause.frame_count = 1;
	return strtab_get(stacks->strings,
		frame_of(stacks, python_stack(codes, &pause, stacks))->function);
}

/* What is met stays known; what is not is forgotten with the second turn: it has no name, not another's. */
static void turns_forget_what_is_not_met(void **state)
{
	struct python_codes *codes = python_codes_new();
	struct stack_table stacks;
	struct cpython_event event;
	char name[16];

	assert_int_equal(stack_table_init(&stacks), 0);
	for (uint64_t id = 1; id <= 97; id++) {
		snprintf(name, sizeof(name), "f%d", (int)id);
		event = code_event(id, name, 0);
		assert_int_equal(python_codes_add(codes, &event, 13), 0);
	}
	for (uint32_t turn = 1; turn <= 3; turn++) {
		python_codes_turn(codes);
		stack_table_release(&stacks); /* and the names that it had */
		assert_int_equal(stack_table_init(&stacks), 0);
		stacks.generation = turn;
		for (uint64_t id = 1; id <= 97; id++) {
			snprintf(name, sizeof(name), "f%d", (int)id);
			if (id % turn == 0 && (turn < 3 || id % 2 == 0))
				assert_string_equal(name_in(codes, &stacks, id), name);
		}
	}
	assert_string_equal(name_in(codes, &stacks, 6), "f6");
	assert_string_equal(name_in(codes, &stacks, 5), "[gone]");
	event = code_event(5, "f5", 0); /* BPF met it, and sent it again */
	assert_int_equal(python_codes_add(codes, &event, 13), 0);
	assert_string_equal(name_in(codes, &stacks, 5), "f5");
	python_codes_free(codes);
	stack_table_release(&stacks);
}

static void code_objects_are_never_many(void **state)
{
	struct python_codes *codes = python_codes_new();
	unsigned int turns = 0;

	for (uint64_t id = 1; id <= 200003; id++) {
		struct cpython_event event = code_event(id, "f", 0);

		assert_int_equal(python_codes_add(codes, &event, 13), 0);
		if (!python_codes_are_many(codes))
			continue;
		python_codes_turn(codes);
		turns++;
	}
	assert_int_equal(turns, 12); /* of 16,384 */
	python_codes_free(codes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lnotab_of_39),
		cmocka_unit_test(pairs_of_310),
		cmocka_unit_test(locations_of_311),
		cmocka_unit_test(broken_tables_give_no_line),
		cmocka_unit_test(utf8_of_every_kind),
		cmocka_unit_test(stacks_are_named_innermost_first),
		cmocka_unit_test(a_table_with_a_hole_gives_no_lines),
		cmocka_unit_test(turns_forget_what_is_not_met),
		cmocka_unit_test(code_objects_are_never_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
