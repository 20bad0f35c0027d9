/* Processes that keep their JIT's objects as Julia 1.12 and later do: children, which do as they are told. */
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
#include "jit_registry_fixture.h"

#define CODE_BYTES 65536u
#define SECOND	   1000000000ull

/* A Julia, and how it keeps its objects. */
struct subject {
	const char *fixture; /* environment variable of the object */
	enum packing packing;
	bool loaded;   /* the object has the addresses: RuntimeDyld's; else JITLink's */
	bool leftover; /* what it was packed from is still there */
	int wrong;     /* what is added to the number of the section */
	pid_t pid;
	int commands, answers;
	uint64_t code; /* where it is */
};

/* What the child has of it. */
static struct {
	struct lazy lazy;
	char *packed, *whole;
	size_t packed_size, whole_size;
	struct node *last;
	uint8_t *code;
} kept;

/* pack(), in a process of its own: zlib and libzstd leave what they packed in the memory that they have let go. */
static void pack_apart(enum packing packing, const char *bytes)
{
	int ends[2];
	pid_t pid;

	kept.packed = malloc(kept.whole_size);
	if (pipe(ends))
		_exit(1);
	pid = fork();
	if (!pid) {
		size_t size;
		char *packed = pack(packing, bytes, kept.whole_size, &size);

		_exit(write(ends[1], packed, size) != (ssize_t)size);
	}
	close(ends[1]);
	for (ssize_t got; (got = read(ends[0], kept.packed + kept.packed_size,
				   kept.whole_size - kept.packed_size)) > 0;)
		kept.packed_size += (size_t)got;
	close(ends[0]);
	waitpid(pid, NULL, 0);
}

static void add_nodes(const struct subject *subject, const char *placed)
{
	for (size_t i = 1; (i = code_from(placed, i)); i++) {
		const Elf64_Shdr *section = section_of(placed, i);
		struct node *node = malloc(sizeof(*node));

		*node = (struct node){.start = section->sh_addr,
			.copy = (uintptr_t)&kept.lazy,
			.size = section->sh_size,
			.slide = subject->loaded ? 0 : -section->sh_addr,
			.index = i + (size_t)subject->wrong};
		node->parent = (uintptr_t)kept.last;
		kept.last = node;
	}
}

static void keep(const struct subject *subject)
{
	char *placed;

	kept.code =
		mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(kept.code, 0x90, CODE_BYTES);
	kept.whole = read_fixture(subject->fixture, &kept.whole_size);
	placed = malloc(kept.whole_size);
	memcpy(placed, kept.whole, kept.whole_size);
	place_fixture(placed, (uintptr_t)kept.code);
	link_fixture(placed);
	if (mprotect(kept.code, CODE_BYTES, PROT_READ | PROT_EXEC))
		_exit(1);
	if (subject->packing == STORED)
		kept.packed = kept.whole, kept.packed_size = kept.whole_size;
	else
		pack_apart(subject->packing, subject->loaded ? placed : kept.whole);
	kept.lazy = (struct lazy){.data = (uintptr_t)kept.packed,
		.size = kept.packed_size,
		.capacity = kept.packed_size,
		.unpacked = subject->packing == STORED ? 0 : kept.whole_size};
	add_nodes(subject, placed);
	if (!subject->leftover)
		memset(placed, 0, kept.whole_size); /* no other copy tells of the addresses */
}

static void write_code(void)
{
	if (mprotect(kept.code, CODE_BYTES, PROT_READ | PROT_WRITE))
		_exit(1);
	kept.code[0] ^= 0xff;
	if (mprotect(kept.code, CODE_BYTES, PROT_READ | PROT_EXEC))
		_exit(1);
}

static void obey(char command)
{
	static char *half;
	size_t at = kept.packed_size / 2;

	switch (command) {
	case 'h': /* half of it is not written yet */
		half = memcpy(malloc(at), kept.packed + kept.packed_size - at, at);
		memset(kept.packed + kept.packed_size - at, 0, at);
		break;
	case 'w':
		memcpy(kept.packed + kept.packed_size - at, half, at);
		break;
	case 's': /* says that there is more of it */
		kept.lazy.unpacked += 16;
		break;
	case 't':
		kept.lazy.unpacked -= 16;
		break;
	case 'c': /* other code, and back */
		write_code();
		break;
	case 'b': /* a backtrace: Julia unpacks it */
		kept.lazy.data = (uintptr_t)kept.whole;
		kept.lazy.size = kept.lazy.capacity = kept.whole_size;
		kept.lazy.unpacked = 0;
		break;
	}
}

static void run_subject(const struct subject *subject, int commands, int answers)
{
	uint64_t code;
	char command;

	keep(subject);
	code = (uintptr_t)kept.code;
	if (write(answers, &code, sizeof(code)) != sizeof(code))
		_exit(1);
	while (read(commands, &command, 1) == 1) {
		obey(command);
		if (write(answers, &command, 1) != 1)
			break;
	}
	_exit(0);
}

static void tell(const struct subject *subject, char command)
{
	assert_int_equal(write(subject->commands, &command, 1), 1);
	assert_int_equal(read(subject->answers, &command, 1), 1);
}

static int start_subject(struct subject *subject)
{
	int commands[2], answers[2];

	if (pipe(commands) || pipe(answers))
		return -1;
	subject->pid = fork();
	if (!subject->pid) {
		close(commands[1]);
		run_subject(subject, commands[0], answers[1]);
	}
	close(commands[0]);
	close(answers[1]);
	subject->commands = commands[1];
	subject->answers = answers[0];
	return read(subject->answers, &subject->code, 8) == 8 ? 0 : -1;
}

/* RuntimeDyld's, JITLink's; one that has had backtraces; one whose object has several sections; one with a copy
 * that Julia has let go of; a damaged registry. */
static struct subject subjects[] = {
	{"GCTRACE_JIT_FIXTURE", ZLIB, .loaded = true},
	{"GCTRACE_JIT_FIXTURE", ZSTD, .loaded = true},
	{"GCTRACE_JIT_FIXTURE", ZLIB},
	{"GCTRACE_JIT_FIXTURE", ZSTD},
	{"GCTRACE_JIT_FIXTURE", STORED},
	{"GCTRACE_JIT_SECTIONS", ZLIB, .loaded = true},
	{"GCTRACE_JIT_SECTIONS", ZSTD},
	{"GCTRACE_JIT_FIXTURE", ZLIB, .loaded = true, .leftover = true},
	{"GCTRACE_JIT_FIXTURE", ZLIB, .wrong = 1},
};

enum { DAMAGED = ARRAY_SIZE(subjects) - 1, LEFTOVER = DAMAGED - 1, SOUND = LEFTOVER };

/* Before any memory is searched: what a search leaves behind in this process's is not to be found in a child's. */
static int start_subjects(void **state)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++)
		r = r ? r : start_subject(&subjects[i]);
	return r;
}

static int end_subjects(void **state)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++) {
		close(subjects[i].commands);
		close(subjects[i].answers);
	}
	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++)
		r |= waitpid(subjects[i].pid, NULL, 0) != subjects[i].pid;
	return r;
}

static struct jit_code *search(const struct subject *subject)
{
	struct jit_code *code = jit_code_new(subject->pid);

	assert_true(jit_code_look(code, SECOND));
	return code;
}

static uint64_t address_of(const struct subject *subject, struct jit_code *code, const char *symbol)
{
	struct wanted function = {.symbol = symbol};

	jit_code_functions(code, want, &function);
	assert_int_equal(function.all, 3); /* each once, whatever the sections */
	assert_int_equal(function.count, 1);
	assert_true(function.address >= subject->code &&
		    function.address < subject->code + CODE_BYTES);
	return function.address;
}

static void assert_named(struct jit_code *code, uint64_t address)
{
	struct elf_place places[4];
	struct elf_rule rule;

	assert_int_equal(jit_code_find(code, address, places, 4), 1);
	assert_string_equal(places[0].symbol, "japi1_train_step!_52");
	assert_non_null(strstr(places[0].file, "jit_fixture.c"));
	assert_int_equal(jit_code_rule(code, address, &rule), 0);
	assert_int_equal(rule.frame_offset, 8);
}

static void assert_unnamed(struct jit_code *code, uint64_t address)
{
	struct elf_place places[4];
	struct elf_rule rule;

	assert_int_equal(jit_code_find(code, address, places, 4), 0);
	assert_int_equal(jit_code_rule(code, address, &rule), -ENOENT);
}

static void test_process(void **state)
{
	for (size_t i = 0; i <= LEFTOVER; i++) {
		const struct subject *subject = &subjects[i];
		struct jit_code *code = search(subject);
		uint64_t address = address_of(subject, code, "japi1_train_step!_52");
		struct wanted again = {.symbol = ""};

		assert_named(code, address);
		assert_unnamed(code, subject->code + CODE_BYTES / 2);
		jit_code_functions(code, want, &again); /* they were told of */
		assert_int_equal(again.all, 0);
		assert_true(jit_code_look(code, 3 * SECOND));
		jit_code_functions(code, want, &again); /* nothing is new */
		assert_int_equal(again.all, 0);
		jit_code_free(code);
	}
}

static void test_half_written(void **state)
{
	for (size_t i = 0; i < SOUND; i++) {
		struct jit_code *code = search(&subjects[i]);
		uint64_t address = address_of(&subjects[i], code, "japi1_train_step!_52");

		tell(&subjects[i], 'h');
		assert_unnamed(code, address);
		tell(&subjects[i], 'w');
		assert_named(code, address);
		if (subjects[i].packing != STORED) {
			tell(&subjects[i], 's');
			assert_unnamed(code, address);
			tell(&subjects[i], 't');
			assert_named(code, address);
		}
		jit_code_free(code);
	}
}

/* Then that copy has the names, as it is of the code that is there. */
static void test_leftover(void **state)
{
	struct jit_code *code = search(&subjects[LEFTOVER]);
	uint64_t address = address_of(&subjects[LEFTOVER], code, "japi1_train_step!_52");

	tell(&subjects[LEFTOVER], 'h');
	assert_named(code, address);
	tell(&subjects[LEFTOVER], 'c');
	assert_unnamed(code, address);
	jit_code_free(code);
}

/* Code that is not the object's: not written yet, or no longer. It is told of once it is. */
static void test_other_code(void **state)
{
	struct jit_code *code = search(&subjects[3]);
	struct wanted function = {.symbol = "julia_train_step!_40"};

	tell(&subjects[3], 'c');
	jit_code_functions(code, want, &function);
	assert_int_equal(function.all, 0);
	assert_unnamed(code, subjects[3].code);
	tell(&subjects[3], 'c');
	assert_named(code, address_of(&subjects[3], code, "japi1_train_step!_52"));
	jit_code_free(code);
}

/* What Julia unpacks for a backtrace of its own stays so. */
static void test_backtrace(void **state)
{
	struct jit_code *code = search(&subjects[3]);
	uint64_t address = address_of(&subjects[3], code, "japi1_train_step!_52");

	tell(&subjects[3], 'b');
	assert_named(code, address);
	jit_code_free(code);
	code = search(&subjects[3]);
	assert_named(code, address);
	jit_code_free(code);
}

/* The number of another section: the object is not this code's, and no name is better than a wrong one. */
static void test_wrong_section(void **state)
{
	struct jit_code *code = search(&subjects[DAMAGED]);
	struct wanted function = {.symbol = "julia_train_step!_40"};

	jit_code_functions(code, want, &function);
	assert_int_equal(function.all, 0);
	assert_unnamed(code, subjects[DAMAGED].code);
	jit_code_free(code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_process),
		cmocka_unit_test(test_half_written),
		cmocka_unit_test(test_leftover),
		cmocka_unit_test(test_other_code),
		cmocka_unit_test(test_backtrace),
		cmocka_unit_test(test_wrong_section),
	};

	return cmocka_run_group_tests(tests, start_subjects, end_subjects);
}
