/*
 * Code that a Julia process compiled while it ran: where it lies, and the objects that tell of it. In: the memory
 * of a process. Out: functions and places of addresses; functions by name. Nothing is asked of the process: it
 * keeps a copy of each object among its own data, which is searched for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "jit_object.h"

struct jit_code;

/* NULL when memory is out. Reads nothing yet. */
struct jit_code *jit_code_new(pid_t pid);
void jit_code_free(struct jit_code *code);

/*
 * Searches, if there is code that was not there at the last search, and if @now_ns is late enough that all
 * searches together take a small part of the time. Returns whether it did.
 */
bool jit_code_look(struct jit_code *code, uint64_t now_ns);

/* Whether @address lies in memory that was made for such code: as of the last look. */
bool jit_code_holds(const struct jit_code *code, uint64_t address);

/*
 * As jit_object_find(). 0: no object tells of @address, or it has gone; one found by a later look may. Texts are
 * valid until the next call.
 */
size_t jit_code_find(struct jit_code *code, uint64_t address, struct elf_place *ret, size_t max);

/* As jit_object_rule(). -ENOENT: likewise. */
int jit_code_rule(struct jit_code *code, uint64_t address, struct elf_rule *ret);

/* Calls @visit for all functions of objects found since the last such call. */
void jit_code_functions(struct jit_code *code, jit_visit_fn visit, void *arg);
