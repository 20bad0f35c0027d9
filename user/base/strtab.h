/* Interned strings: each distinct byte string once, named by a dense 32-bit id. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define STRTAB_NONE UINT32_MAX

struct strtab;

struct strtab *strtab_new(void); /* NULL when memory is out; id 0 is the empty string */
void strtab_free(struct strtab *tab);

/* Returns the id of @len bytes at @text (a copy is kept), or STRTAB_NONE when memory is out. */
uint32_t strtab_add(struct strtab *tab, const char *text, size_t len);

/* NUL-terminated, valid until strtab_free(); "" for an unknown id. */
const char *strtab_get(const struct strtab *tab, uint32_t id);
size_t strtab_len(const struct strtab *tab, uint32_t id);
size_t strtab_bytes(const struct strtab *tab); /* of all of them */
uint32_t strtab_count(const struct strtab *tab);
