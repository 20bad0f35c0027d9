/* stack: physical Java frames → nodes: order, marks, what is remembered, what may have been
 * unloaded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "java_fixture.h"
#include "java_stack.h"

struct scene {
	struct jvm *jvm;
	struct nest nest;
	struct fake_method main;
	struct java_stacks *stacks;
	struct stack_table table;
	uint64_t unloaded;   /* now */
	uint64_t unloads_at; /* at this question one more class has gone; 0: never */
	unsigned asked;
	struct event_java_frame frames[2]; /* of the nest, called by main */
};

static uint64_t unloaded_now(void *arg)
{
	struct scene *scene = arg;

	if (++scene->asked == scene->unloads_at)
		scene->unloaded++;
	return scene->unloaded;
}

static struct scene *set_up(void)
{
	struct scene *s = calloc(1, sizeof(*s));

	s->jvm = jvm_of(25);
	make_nest(s->jvm, &s->nest);
	s->main = a_method(s->jvm, "org/example/Main", "main");
	s->stacks = java_stacks_new();
	assert_int_equal(stack_table_init(&s->table), 0);
	s->unloaded = 5;
	s->frames[0] = (struct event_java_frame){.kind = EVENT_COMPILED,
		.code = s->nest.code.nmethod,
		.check = s->nest.outer.method,
		.compile_id = 41,
		.at = CODE_BEGIN + 100};
	s->frames[1] = (struct event_java_frame){.kind = EVENT_INTERPRETED,
		.code = s->main.method,
		.check = s->main.const_method,
		.at = 15};
	return s;
}

static void tear_down(struct scene *s)
{
	java_stacks_free(s->stacks);
	stack_table_release(&s->table);
	free(s->jvm);
	free(s);
}

static uint32_t name(struct scene *s, size_t count, uint32_t flags, uint64_t unloaded)
{
	struct event_java_stack stack = {s->frames, count, flags};

	return java_stack(s->stacks, s->jvm, &stack, unloaded, unloaded_now, s, &s->table);
}

/* "function:line;…", innermost first; marks without a line. */
static const char *shown(const struct scene *s, uint32_t node)
{
	static char text[2048];
	size_t used = 0;

	text[0] = '\0';
	for (; node; node = s->table.nodes[node].parent) {
		const struct frame *frame = &s->table.frames[s->table.nodes[node].frame];

		used += (size_t)snprintf(text + used, sizeof(text) - used,
			frame->lang == LANG_MARK ? "%s;" : "%s:%u;",
			strtab_get(s->table.strings, frame->function), frame->line);
		assert_true(frame->lang == LANG_MARK || frame->lang == LANG_JAVA);
		assert_string_equal(strtab_get(s->table.strings, frame->file),
			frame->lang == LANG_MARK ? "" : "Some.java");
	}
	return text;
}

#define NEST "Inner.leaf:105;org.example.Middle.go:100;org.example.Outer.run:102;"
#define MAIN "org.example.Main.main:102;"

static void frames_are_in_order(void **state)
{
	struct scene *s = set_up();
	uint32_t node = name(s, 2, 0, 5);

	assert_string_equal(shown(s, node), NEST MAIN);
	assert_int_equal(name(s, 2, 0, 5), node);
	assert_int_equal(name(s, 0, 0, 5), STACK_NONE);
	assert_int_equal(name(s, 0, EVENT_STACK_STALE, 5), STACK_NONE);
	tear_down(s);
}

static void ends_are_marked(void **state)
{
	struct scene *s = set_up();

	assert_string_equal(shown(s, name(s, 1, EVENT_STACK_TRUNCATED, 5)), NEST "[truncated];");
	assert_string_equal(shown(s, name(s, 1, EVENT_STACK_BROKEN, 5)), NEST "[unreadable];");
	assert_string_equal(shown(s, name(s, 1, EVENT_STACK_VIRTUAL, 5)), NEST "[virtual thread];");
	tear_down(s);
}

static void known_frames_are_not_read_again(void **state)
{
	struct scene *s = set_up();
	unsigned reads;

	name(s, 2, 0, 5);
	reads = s->jvm->reads;
	memset(s->jvm->memory, 0, MEMORY_BYTES);
	for (int i = 0; i < 23; i++)
		assert_string_equal(shown(s, name(s, 2, 0, 5)), NEST MAIN);
	assert_int_equal(s->jvm->reads, reads);
	s->frames[0].at += 100; /* another pc, another bci: not known */
	s->frames[1].at += 1;
	assert_string_equal(shown(s, name(s, 2, 0, 5)), "[unloaded];[unloaded];");
	tear_down(s);
}

static void gone_and_unreadable_frames(void **state)
{
	struct scene *s = set_up();

	s->frames[0].compile_id = 42;
	assert_string_equal(shown(s, name(s, 2, 0, 5)), "[unloaded];" MAIN);
	s->frames[0].code = BASE + MEMORY_BYTES;
	assert_string_equal(shown(s, name(s, 2, 0, 5)), "[unreadable];" MAIN);
	s->frames[0].kind = 7;
	assert_string_equal(shown(s, name(s, 2, 0, 5)), "[unreadable];" MAIN);
	tear_down(s);
}

/* Between the capture and the end of the reading. */
static void classes_that_are_unloaded_meanwhile(void **state)
{
	struct scene *s = set_up();

	s->unloads_at = 1;
	assert_string_equal(shown(s, name(s, 2, 0, 5)), "[unloaded];[unloaded];");
	assert_string_equal(shown(s, name(s, 2, 0, 6)),
		NEST MAIN);	  /* nothing wrong was remembered */
	s->unloaded = UINT64_MAX; /* the counter can no longer be read */
	s->frames[1].at = 3;
	assert_string_equal(shown(s, name(s, 2, 0, 6)), NEST "[unloaded];");
	tear_down(s);
}

static void interpreted_frames_are_forgotten_when_classes_go(void **state)
{
	struct scene *s = set_up();

	name(s, 2, 0, 5);
	s->unloaded = 6;
	/* The same addresses are another method now; the nmethod's id is its own for ever. */
	memset(s->jvm->memory + (s->nest.code.nmethod - BASE), 0, CODE_BEGIN);
	memcpy(s->jvm->memory + (s->main.method - BASE),
		s->jvm->memory + (s->nest.inner.method - BASE), 88);
	assert_string_equal(shown(s, name(s, 2, 0, 6)), NEST "[unloaded];");
	s->frames[1].check = s->nest.inner.const_method;
	assert_string_equal(shown(s, name(s, 2, 0, 6)), NEST "Inner.leaf:102;");
	tear_down(s);
}

static void without_a_counter_interpreted_frames_are_read_each_time(void **state)
{
	struct scene *s = set_up();
	struct event_java_stack stack = {s->frames, 2, 0};
	unsigned reads;

	s->unloaded = UINT64_MAX;
	assert_string_equal(shown(s, name(s, 2, 0, UINT64_MAX)), NEST MAIN);
	reads = s->jvm->reads;
	assert_string_equal(shown(s, name(s, 1, 0, UINT64_MAX)), NEST);
	assert_int_equal(s->jvm->reads, reads);
	assert_string_equal(shown(s, name(s, 2, 0, UINT64_MAX)), NEST MAIN);
	assert_true(s->jvm->reads > reads);
	assert_string_equal(shown(s, java_stack(s->stacks, s->jvm, &stack, UINT64_MAX, NULL, NULL,
					     &s->table)),
		NEST MAIN);
	tear_down(s);
}

static void a_jvm_that_starts_and_one_that_lacks_layouts(void **state)
{
	struct scene *s = set_up();
	struct jvm *other = jvm_of(25);

	s->jvm->release = 0; /* its version is not known yet */
	assert_string_equal(shown(s, name(s, 2, 0, 5)), "[unreadable];[unreadable];");
	s->jvm->release = 25;
	assert_string_equal(shown(s, name(s, 2, 0, 5)), NEST MAIN);
	other->lacks = "_constMethod";
	free(s->jvm);
	s->jvm = other; /* the cache starts afresh */
	assert_string_equal(shown(s, name(s, 2, 0, 5)), "[unreadable];[unreadable];");
	java_stacks_free(NULL);
	tear_down(s);
}

/* Ids of one table mean nothing in another. */
static void another_table(void **state)
{
	struct scene *s = set_up();
	struct event_java_stack stack = {s->frames, 2, 0};
	struct stack_table second, first;
	uint32_t node;

	assert_int_equal(stack_table_init(&second), 0);
	strtab_add(second.strings, "so that ids differ", 18);
	name(s, 2, 0, 5);
	node = java_stack(s->stacks, s->jvm, &stack, 5, unloaded_now, s, &second);
	first = s->table;
	s->table = second;
	assert_string_equal(shown(s, node), NEST MAIN);
	stack_table_release(&first);
	tear_down(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_in_order),
		cmocka_unit_test(ends_are_marked),
		cmocka_unit_test(known_frames_are_not_read_again),
		cmocka_unit_test(gone_and_unreadable_frames),
		cmocka_unit_test(classes_that_are_unloaded_meanwhile),
		cmocka_unit_test(interpreted_frames_are_forgotten_when_classes_go),
		cmocka_unit_test(without_a_counter_interpreted_frames_are_read_each_time),
		cmocka_unit_test(a_jvm_that_starts_and_one_that_lacks_layouts),
		cmocka_unit_test(another_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
