/* What the files of this room share: the tables of a JVM as one list, found by hash. */
#pragma once

#include "jvm.h"
#include "strtab.h"
#include "u64map.h"
#include "vec.h"

#define JVM_TEXT_BYTES 256 /* of a name in a table, with its NUL */
#define JVM_UNRELOCATED                                                                            \
	0x100000000ull /* a pointer below is one that the linker has yet to finish */

enum jvm_kind {
	JVM_FIELD,    /* type, name: offset */
	JVM_STATIC,   /* type, name: address */
	JVM_TYPE,     /* type: size */
	JVM_CONSTANT, /* type (its name): value */
	JVM_FLAG,     /* type (its name): address of the variable */
};

struct jvm_entry {
	uint32_t type, name; /* in texts; name 0: "" */
	uint8_t kind;
	uint8_t bytes;	/* FLAG: of the variable; 0: no integer */
	bool is_signed; /* FLAG */
	bool is_text;	/* FLAG: a char * */
	uint64_t value;
};

struct jvm {
	struct jvm_source source;
	struct strtab *texts;
	struct u64map text_at; /* address in the target → id in texts */
	VEC(struct jvm_entry) entries;
	struct u64map by_key; /* hash of kind, type and name → index; the first of equal ones */
	int release;
	char version[128];
};

/* Adds an entry; one whose kind, type and name are there already is ignored. 0 or -ENOMEM. */
int jvm_entry_add(struct jvm *jvm, const struct jvm_entry *entry);
/* NULL: none. @name may be "". */
const struct jvm_entry *jvm_entry_find(const struct jvm *jvm, enum jvm_kind kind, const char *type,
	const char *name);

/*
 * Interns the text at @address. 0; -EAGAIN: the address is not relocated yet; -EBADMSG: unreadable
 * or not ended within JVM_TEXT_BYTES; -ENOMEM.
 */
int jvm_text(struct jvm *jvm, uint64_t address, uint32_t *ret);

/* Reads the table of flags into entries, if the JVM has one. 0, -EAGAIN, -EBADMSG or -ENOMEM. */
int jvm_flags_load(struct jvm *jvm, struct err *err);
