/*
 * Python's code objects as BPF sent them. In: names and line tables, once each; frames of pauses.
 * Out: nodes of the stack table, with functions, files and lines.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cpython_event.h"
#include "stack_table.h"

struct python_codes;

struct python_codes *python_codes_new(void); /* NULL when memory is out */
void python_codes_free(struct python_codes *codes);

/* Takes EVENT_TABLE and EVENT_CODE of CPython 3.@minor (the minor matters for EVENT_CODE). 0 or -ENOMEM. */
int python_codes_add(struct python_codes *codes, const struct cpython_event *event, int minor);

/*
 * Whether it is time for a turn, which forgets those code objects that neither came nor were met since the one
 * before: each must be sent again before it is met anew.
 */
bool python_codes_are_many(const struct python_codes *codes);
void python_codes_turn(struct python_codes *codes);

/*
 * Interns the stack of an EVENT_PAUSE. A code object whose names never came is "[gone]"; a stack
 * that was cut ends, outermost, in "[truncated]". Returns the innermost node, STACK_NONE without frames.
 */
uint32_t python_stack(struct python_codes *codes, const struct cpython_event *event,
	struct stack_table *stacks);

/*
 * The line of the instruction at byte @lasti by a code object's line table; 0 if it has none.
 * Formats: 3.8, 3.9 Objects/lnotab_notes.txt; 3.10 PEP 626's co_linetable (same file); 3.11+
 * Objects/locations.md (InternalDocs/code_objects.md from 3.14).
 */
uint32_t python_line(int minor, uint32_t first_line, const uint8_t *table, size_t size,
	int32_t lasti);

/*
 * PEP 393 characters → UTF-8 (a lone surrogate becomes U+FFFD). @ret has room for four bytes a
 * character. Returns the bytes written; no NUL follows them.
 */
size_t python_utf8(const struct event_text *text, char *ret);
