/* Machine code of PyGC_Collect → the address of the collector, by what its calls look like. */
#include <errno.h>
#include <string.h>

#include "cleanup.h"
#include "cpython_target.h"
#include "elf_code.h"

#define CALLS_MAX 128

/* The smallest collector seen is 1.1 KB (debug build); what calls it or stands beside it is less.
 */
#define COLLECTOR_MIN 512

/* Python.h's generation 2, and _Py_GC_REASON_MANUAL of 3.13 and later. */
#define FULL   2
#define MANUAL 2

struct body {
	uint64_t start, end;
	struct elf_call calls[CALLS_MAX];
	int count;
};

static int read_body(const struct elf_file *file, uint64_t vaddr, struct body *ret)
{
	int result = elf_code_bounds(file, vaddr, &ret->start, &ret->end);

	if (result || ret->start != vaddr)
		return -ENOENT;
	ret->count = elf_code_calls(file, ret->start, ret->end, ret->calls, CALLS_MAX);
	/* A list that is full may be cut, and what is cut off may be a second answer. */
	return ret->count < 0 || ret->count == CALLS_MAX ? -ENOENT : 0;
}

/* Debug builds put a bare `call collector` between; one call and nothing else in 32 bytes. */
static uint64_t skip_thunk(const struct elf_file *file, uint64_t vaddr)
{
	struct body body;

	if (read_body(file, vaddr, &body) || body.end - body.start > 32 || body.count != 1)
		return vaddr;
	return body.calls[0].target;
}

static bool looks_like_collector(const struct elf_file *file, uint64_t vaddr)
{
	uint64_t start, end;

	return !elf_code_bounds(file, vaddr, &start, &end) && start == vaddr &&
	       end - start >= COLLECTOR_MIN;
}

/* Remembers one candidate; a second, different one spoils the result. */
struct answer {
	uint64_t vaddr;
	bool ambiguous;
};

static void answer_add(const struct elf_file *file, struct answer *answer, uint64_t vaddr)
{
	if (!looks_like_collector(file, vaddr) || answer->vaddr == vaddr)
		return;
	if (answer->vaddr)
		answer->ambiguous = true;
	answer->vaddr = vaddr;
}

static bool is_constant(const struct elf_argument *argument, uint64_t value)
{
	return argument->kind == ELF_VALUE_CONSTANT && argument->value == value;
}

/* 3.13 and later: collector(tstate, 2, manual), written out in PyGC_Collect. */
static void find_by_reason(const struct elf_file *file, const struct body *outer,
	struct answer *answer)
{
	for (int i = 0; i < outer->count; i++) {
		const struct elf_call *call = &outer->calls[i];

		if (is_constant(&call->arguments[1], FULL) &&
			is_constant(&call->arguments[2], MANUAL))
			answer_add(file, answer, skip_thunk(file, call->target));
	}
}

/* True if some call in @body is given the address of the string @text. */
static bool passes(const struct elf_file *file, const struct body *body, const char *text)
{
	size_t size = strlen(text) + 1;
	char found[8];

	for (int i = 0; i < body->count; i++) {
		for (size_t j = 0; j < ARRAY_SIZE(body->calls[i].arguments); j++) {
			const struct elf_argument *argument = &body->calls[i].arguments[j];

			if (argument->kind == ELF_VALUE_CONSTANT && size <= sizeof(found) &&
				!elf_file_read(file, argument->value, found, size) &&
				!memcmp(found, text, size))
				return true;
		}
	}
	return false;
}

/*
 * 3.9 to 3.12: collector(tstate, generation, &collected, &uncollectable, nofail = 0), in a function
 * that passes the callbacks "start" and "stop", whether by invoke_gc_callback or with that inlined.
 * A clone without the last argument (another compiler's constprop) does not match: it would not
 * see every collection.
 */
static void find_by_signature(const struct elf_file *file, const struct body *body, bool full,
	struct answer *answer)
{
	if (!passes(file, body, "start") || !passes(file, body, "stop"))
		return;
	for (int i = 0; i < body->count; i++) {
		const struct elf_argument *arguments = body->calls[i].arguments;

		if (!body->calls[i].jump && arguments[1].kind != ELF_VALUE_STACK &&
			(!full || is_constant(&arguments[1], FULL)) &&
			arguments[2].kind == ELF_VALUE_STACK &&
			arguments[3].kind == ELF_VALUE_STACK && is_constant(&arguments[4], 0))
			answer_add(file, answer, body->calls[i].target);
	}
}

static void find_with_callbacks(const struct elf_file *file, const struct body *outer,
	struct answer *answer)
{
	struct body inner;

	find_by_signature(file, outer, true, answer);
	/* LTO and debug builds keep it in collect_with_callback(tstate, 2). */
	for (int i = 0; i < outer->count; i++) {
		const struct elf_call *call = &outer->calls[i];

		if (is_constant(&call->arguments[1], FULL) &&
			!read_body(file, call->target, &inner))
			find_by_signature(file, &inner, false, answer);
	}
}

int cpython_find_target(const struct elf_file *file, int minor, uint64_t *ret_vaddr,
	struct err *err)
{
	struct answer answer = {};
	struct elf_symbol symbol;
	struct body outer;

	if (minor < 9)
		return err_set(err, ENOTSUP,
			"CPython 3.%d in %s has no single function that all collections run "
			"through; install its debug symbols or use a build that keeps .symtab",
			minor, elf_file_name(file));
	if (minor > 15)
		return err_set(err, ENOTSUP,
			"the code of CPython 3.%d in %s is newer than this gctrace knows (3.15)",
			minor, elf_file_name(file));
	if (elf_file_symbol(file, "PyGC_Collect", true, &symbol))
		return err_set(err, ENOENT, "%s does not export PyGC_Collect", elf_file_name(file));
	if (read_body(file, symbol.vaddr, &outer))
		return err_set(err, ENOENT, "the code of PyGC_Collect in %s cannot be read",
			elf_file_name(file));
	if (minor >= 13)
		find_by_reason(file, &outer, &answer);
	else
		find_with_callbacks(file, &outer, &answer);
	if (!answer.vaddr || answer.ambiguous)
		return err_set(err, ENOENT,
			"PyGC_Collect in %s does not show which function collects; install "
			"CPython's debug symbols",
			elf_file_name(file));
	*ret_vaddr = answer.vaddr;
	return 0;
}
