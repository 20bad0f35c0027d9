/* A JIT's objects, sound and damaged; and in the memory of a process, a child that has one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cleanup.h"
#include "jit_code.h"
#include "jit_object_fixture.h"
#include "julia_name.h"
#include "julia_stack.h"
#include "julia_unwind.h"
#include "mem.h"

#define CODE_BYTES 65536u
#define SECOND	   1000000000ull

/* What a test looks for among an object's functions. */
struct wanted {
	const char *symbol;
	uint64_t address, size;
	unsigned int count, all;
};

static int want(const char *symbol, uint64_t address, uint64_t size, void *arg)
{
	struct wanted *wanted = arg;

	wanted->all++;
	if (strcmp(symbol, wanted->symbol))
		return 0;
	wanted->count++;
	wanted->address = address;
	wanted->size = size;
	return 0;
}

static struct jit_object *open_fixture(uint64_t address)
{
	struct jit_object *object = NULL;
	uint64_t end;
	size_t size;
	void *bytes = load_fixture(address, &size, &end);

	assert_int_equal(jit_object_open(bytes, size, &object), 0);
	return object;
}

/* An address of the function into which another one is inlined: the first of such. */
static uint64_t find_inlined(struct jit_object *object, const struct wanted *function)
{
	struct elf_place places[4];

	for (uint64_t at = function->address; at < function->address + function->size; at++)
		if (jit_object_find(object, at, places, 4) == 2)
			return at;
	fail_msg("nothing is inlined into %s", function->symbol);
	return 0;
}

static void assert_inlined(const struct elf_place *places)
{
	assert_string_equal(places[0].function, "grow");
	assert_int_equal(places[0].line, LINE_INLINED);
	assert_non_null(strstr(places[0].file, "jit_fixture.c"));
	assert_string_equal(places[1].symbol, "julia_train_step!_40");
	assert_int_equal(places[1].line, LINE_CALL);
}

static void test_object(void **state)
{
	struct jit_object *object = open_fixture(0x7f0000001000);
	struct wanted function = {.symbol = "julia_train_step!_40"};
	struct elf_place places[4];
	uint64_t at;

	assert_int_equal(jit_object_functions(object, want, &function), 0);
	assert_int_equal(function.count, 1);
	assert_int_equal(function.all, 3);
	assert_true(function.address >= 0x7f0000001000);
	at = find_inlined(object, &function);
	/* The line before the call is the caller's, or the inlined one's first. */
	while (jit_object_find(object, at, places, 4) == 2 && places[0].line != LINE_INLINED)
		at++;
	assert_inlined(places);
	assert_int_equal(jit_object_find(object, at, places, 1), 1);
	assert_int_equal(jit_object_find(object, 0x7f0000000fff, places, 4), 0);
	jit_object_free(object);
}

static void test_no_object(void **state)
{
	uint64_t end;
	size_t size;
	char *bytes = load_fixture(4096, &size, &end), *copy;
	struct jit_object *object = NULL;

	assert_int_equal(jit_object_size(bytes), size);
	bytes[16] = ET_DYN;
	assert_int_equal(jit_object_size(bytes), 0);
	bytes[16] = ET_REL;
	copy = malloc(size - 1);
	memcpy(copy, bytes, size - 1);
	assert_int_equal(jit_object_open(copy, size - 1, &object), -EBADMSG);
	memset(bytes + 40, 0xff, 8); /* e_shoff */
	assert_int_equal(jit_object_size(bytes), 0);
	free(bytes);
}

/* Whatever one byte of the headers, symbols or debug information says: no crash, and no name from outside. */
static void test_damaged(void **state)
{
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
	struct wanted function = {.symbol = "julia_train_step!_40"};
	struct elf_place places[4];
	uint64_t end;
	size_t size;
	uint8_t *bytes = load_fixture(0x7f0000001000, &size, &end);

	for (size_t at = 0; at < size; at++) {
		for (size_t i = 0; i < sizeof(values); i += at < size / 2 ? 4 : 1) {
			uint8_t *copy = malloc(size);
			struct jit_object *object = NULL;

			memcpy(copy, bytes, size);
			copy[at] = values[i];
			if (jit_object_open(copy, size, &object))
				continue;
			jit_object_functions(object, want, &function);
			for (uint64_t code = 0x7f0000001000; code < 0x7f0000001080; code += 9)
				assert_true(jit_object_find(object, code, places, 4) <= 4);
			jit_object_free(object);
		}
	}
	free(bytes);
}

/* A process with code and an object that tells of it, which does as it is told. */
static struct subject {
	pid_t pid;
	uint64_t code, code_end; /* what the object tells of */
	int commands, answers;
} subject;

/* Memory as the JIT has for its code: no file behind it, and none that can write. The object that it is of. */
static char *make_code(uint64_t ret_ends[2], size_t *ret_size)
{
	uint8_t *code =
		mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *bytes;

	assert_true(code != MAP_FAILED);
	memset(code, 0x90, CODE_BYTES);
	ret_ends[0] = (uintptr_t)code;
	bytes = load_fixture(ret_ends[0], ret_size, &ret_ends[1]);
	link_fixture(bytes);
	assert_int_equal(mprotect(code, CODE_BYTES, PROT_READ | PROT_EXEC), 0);
	return bytes;
}

static void write_code(uint8_t *code, size_t at, uint8_t byte)
{
	assert_int_equal(mprotect(code, CODE_BYTES, PROT_READ | PROT_WRITE), 0);
	code[at] = byte;
	assert_int_equal(mprotect(code, CODE_BYTES, PROT_READ | PROT_EXEC), 0);
}

static void run_subject(int commands, int answers)
{
	uint64_t ends[2];
	size_t size;
	char *bytes = make_code(ends, &size), command;
	uint8_t *code = (uint8_t *)ends[0], first = *code;

	if (write(answers, ends, sizeof(ends)) != sizeof(ends))
		_exit(1);
	while (read(commands, &command, 1) == 1) {
		if (command == 'c') /* compiles */
			write_code(code, CODE_BYTES - 1, 0xcc);
		else if (command == 'o') /* has other code there */
			write_code(code, 0, (uint8_t)~first);
		else if (command == 'b') /* and back */
			write_code(code, 0, first);
		else /* loses its object */
			memset(bytes, 0, size);
		if (write(answers, &command, 1) != 1)
			break;
	}
	_exit(0);
}

static void tell_subject(char command)
{
	assert_int_equal(write(subject.commands, &command, 1), 1);
	assert_int_equal(read(subject.answers, &command, 1), 1);
}

static int start_subject(void **state)
{
	int commands[2], answers[2];
	uint64_t ends[2];

	if (pipe(commands) || pipe(answers))
		return -1;
	subject.pid = fork();
	if (!subject.pid) {
		close(commands[1]);
		run_subject(commands[0], answers[1]);
	}
	close(commands[0]);
	close(answers[1]);
	subject.commands = commands[1];
	subject.answers = answers[0];
	if (read(subject.answers, ends, sizeof(ends)) != sizeof(ends))
		return -1;
	subject.code = ends[0];
	subject.code_end = ends[1];
	return 0;
}

static int end_subject(void **state)
{
	close(subject.commands);
	close(subject.answers);
	return waitpid(subject.pid, NULL, 0) == subject.pid ? 0 : -1;
}

static void test_process(void **state)
{
	struct jit_code *code = jit_code_new(subject.pid);
	uint64_t now = 100 * SECOND;
	struct wanted function = {.symbol = "julia_train_step!_40"};
	struct elf_place places[4];

	assert_true(jit_code_look(code, now));
	assert_true(jit_code_holds(code, subject.code));
	assert_false(jit_code_holds(code, (uintptr_t)&subject));
	jit_code_functions(code, want, &function);
	assert_int_equal(function.count, 1);
	jit_code_functions(code, want, &function); /* they were told of */
	assert_int_equal(function.count, 1);
	assert_true(function.address >= subject.code &&
		    function.address + function.size <= subject.code_end);
	assert_true(jit_code_find(code, function.address, places, 4) >= 1);
	assert_int_equal(jit_code_find(code, subject.code_end + 16, places, 4), 0);

	assert_false(jit_code_look(code, now)); /* so soon */
	now += 100 * SECOND;
	assert_true(jit_code_look(code, now)); /* an object may have come after its code */
	now += 100 * SECOND;
	assert_false(jit_code_look(code, now)); /* nothing was compiled */
	tell_subject('c');
	now += 100 * SECOND;
	assert_true(jit_code_look(code, now));
	tell_subject('o');
	assert_int_equal(jit_code_find(code, function.address, places, 4), 0);
	tell_subject('b');
	assert_true(jit_code_find(code, function.address, places, 4) >= 1);
	jit_code_free(code);
}

/* The last test: the object is gone. */
static void test_gone(void **state)
{
	struct jit_code *code = jit_code_new(subject.pid);
	struct wanted function = {.symbol = "julia_train_step!_40"};
	struct elf_place places[4];
	struct elf_rule rule;

	assert_true(jit_code_look(code, SECOND));
	jit_code_functions(code, want, &function);
	assert_int_equal(jit_code_rule(code, function.address, &rule), 0);
	tell_subject('l');
	assert_int_equal(jit_code_find(code, function.address, places, 4), 0);
	assert_int_equal(jit_code_rule(code, function.address, &rule), -ENOENT);
	jit_code_free(code);
}

/* push; sub; the call: the frame grows, and the return address stays where it is. */
static void test_rules(void **state)
{
	struct jit_object *object = open_fixture(0x7f0000001000);
	struct wanted function = {.symbol = "japi1_train_step!_52"};
	struct elf_rule rule;

	jit_object_functions(object, want, &function);
	assert_int_equal(jit_object_rule(object, function.address, &rule), 0);
	assert_int_equal(rule.frame_register, ELF_RSP);
	assert_int_equal(rule.frame_offset, 8);
	assert_int_equal(rule.saved, 0);
	assert_int_equal(jit_object_rule(object, 0x7f0000000ff0, &rule), -ENOENT);
	jit_object_free(object);
}

static const char *function_of(const struct stack_table *table, uint32_t node)
{
	return strtab_get(table->strings, table->frames[table->nodes[node].frame].function);
}

/* Innermost: code that no object tells of; code of one; a library; nothing at all. */
static void test_stack(void **state)
{
	struct julia_stacks *stacks = julia_stacks_new(subject.pid, false);
	struct stack_table table;
	struct wanted function = {.symbol = "japi1_train_step!_52"};
	uint64_t addresses[] = {0, 0, (uintptr_t)&getenv + 1, 17};
	char expected[64];
	uint32_t node;

	assert_int_equal(stack_table_init(&table), 0);
	jit_code_look(julia_stacks_jit(stacks), now_ns());
	jit_code_functions(julia_stacks_jit(stacks), want, &function);
	assert_int_equal(function.count, 1);
	addresses[0] = subject.code + CODE_BYTES / 2;
	addresses[1] = function.address + function.size;
	node = julia_stack(stacks, addresses, 4, false, &table);
	snprintf(expected, sizeof(expected), "[julia jit] %#llx", (unsigned long long)addresses[0]);
	assert_string_equal(function_of(&table, node), expected);
	node = table.nodes[node].parent;
	assert_string_equal(function_of(&table, node), "train_step!");
	assert_int_equal(table.frames[table.nodes[node].frame].lang, LANG_JULIA);
	node = table.nodes[node].parent;
	assert_int_equal(table.frames[table.nodes[node].frame].lang, LANG_NATIVE);
	node = table.nodes[node].parent;
	assert_string_equal(function_of(&table, node), "[unreadable]");
	assert_int_equal(table.nodes[node].parent, STACK_NONE);

	node = julia_stack(stacks, &function.address, 1, true, &table);
	assert_string_equal(function_of(&table, table.nodes[node].parent), "[truncated]");
	assert_int_equal(julia_stack(stacks, addresses + 3, 1, false, &table), STACK_NONE);
	stack_table_release(&table);
	julia_stacks_free(stacks);
}

static void test_numbered(void **state)
{
	struct julia_stacks *stacks = julia_stacks_new(subject.pid, true);
	uint64_t address;
	struct stack_table table;
	struct wanted function = {.symbol = "japi1_train_step!_52"};

	assert_int_equal(stack_table_init(&table), 0);
	jit_code_look(julia_stacks_jit(stacks), now_ns());
	jit_code_functions(julia_stacks_jit(stacks), want, &function);
	address = function.address;
	assert_string_equal(function_of(&table, julia_stack(stacks, &address, 1, false, &table)),
		"train_step!#52");
	stack_table_release(&table);
	julia_stacks_free(stacks);
}

/* A stack of the subject's code, made up: two frames by the rules of the JIT's, then nothing. */
static void test_unwind(void **state)
{
	struct julia_stacks *stacks = julia_stacks_new(subject.pid, false);
	struct wanted function = {.symbol = "japi1_train_step!_52"};
	uint64_t stack[4] = {}, addresses[8];
	struct julia_snapshot snapshot = {.stack = (const uint8_t *)stack, .size = sizeof(stack)};
	bool cut;

	jit_code_look(julia_stacks_jit(stacks), now_ns());
	jit_code_functions(julia_stacks_jit(stacks), want, &function);
	snapshot.ip = function.address; /* nothing was pushed yet */
	snapshot.registers[ELF_RSP] = 0x7ffd00001000;
	stack[0] = function.address + 1;
	stack[1] = 99; /* no code */
	assert_int_equal(julia_unwind(stacks, &snapshot, addresses, 8, &cut), 3);
	assert_int_equal(addresses[0], function.address);
	assert_int_equal(addresses[1], function.address + 1);
	assert_int_equal(addresses[2], 99);
	assert_false(cut);
	assert_int_equal(julia_unwind(stacks, &snapshot, addresses, 2, &cut), 2);
	assert_true(cut);
	snapshot.size = 8; /* the second frame is not in the copy */
	assert_int_equal(julia_unwind(stacks, &snapshot, addresses, 8, &cut), 2);
	assert_true(cut);
	julia_stacks_free(stacks);
}

static void test_names(void **state)
{
	static const struct {
		const char *symbol, *name;
		unsigned int number;
	} names[] = {
		{"julia_train_step!_40", "train_step!", 40},
		{"japi1_include_43127", "include", 43127},
		{"japi1_include_19714.clone_1", "include", 19714},
		{"japi1_include_19714.clone_1.clone_2", "include", 19714},
		{"jfptr_alloc_here_10", "alloc_here", 10},
		{"jlsys_print_to_string_77", "print_to_string", 77},
		{"julia_#train#5_1204", "#train#5", 1204},
		{"julia_+_3.12", "+", 3},
		{"julia_a.b_7", "a.b", 7},
		{"japi1_atdocNOT._24538", "atdoc!", 24538},
		{"julia_YY.replaceYY.273_39028", "#replace#273", 39028},
		{"julia_LT.EQ._29979.clone_1", "<=", 29979},
		{"julia_x2", "x2", 0},
		{"julia__7", "_7", 0},
	};
	static const char *const others[] = {"jl_gc_pool_alloc", "julia_", "main", "", "japi1_"};
	unsigned int number;
	char name[64];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		number = 99;
		assert_true(julia_name(names[i].symbol, name, sizeof(name), &number));
		assert_string_equal(name, names[i].name);
		assert_int_equal(number, names[i].number);
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(julia_name(others[i], name, sizeof(name), NULL));
	julia_name_plain("push!;", name, sizeof(name));
	assert_string_equal(name, "push!");
	julia_name_plain(";", name, sizeof(name));
	assert_string_equal(name, ";");
	assert_true(julia_name_is_adapter("jfptr_alloc_here_10"));
	assert_false(julia_name_is_adapter("julia_alloc_here_9"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_object),
		cmocka_unit_test(test_no_object),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_process),
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_numbered),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_unwind),
		cmocka_unit_test(test_gone),
	};

	return cmocka_run_group_tests(tests, start_subject, end_subject);
}
