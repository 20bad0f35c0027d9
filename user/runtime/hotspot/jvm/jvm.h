/*
 * A JVM as it describes itself: the vmStructs tables that HotSpot exports for its serviceability agent,
 * its flags and its hsperf counters. In: reads of the target's memory, addresses of its symbols. Out:
 * layouts, addresses, counters. Everything read is bounds-checked: it may lie.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* Where a JVM is read from: a live process, or bytes in a test. */
struct jvm_source {
	void *arg;
	/* All of it or -errno. */
	int (*read)(void *arg, uint64_t address, void *ret, size_t len);
	/* The address in the process of a libjvm symbol ("gHotSpotVMStructs", "_ZTV10JavaThread"); 0: none. */
	uint64_t (*symbol)(void *arg, const char *name);
};

struct jvm;

/*
 * Reads the vmStructs tables and the list of flags. -EAGAIN while the JVM is not loaded far enough (its
 * tables are not relocated yet); -EBADMSG for tables that make no sense; -errno of @source->read; else 0.
 * @source is copied; what its arg points to must outlive *ret.
 */
int jvm_open(const struct jvm_source *source, struct jvm **ret, struct err *err);
void jvm_free(struct jvm *jvm); /* NULL is fine */

/* Reads from the target, as jvm_source.read. */
int jvm_read(const struct jvm *jvm, uint64_t address, void *ret, size_t len);
/* The value at @address, 0 where it cannot be read; *ret_failed (may be NULL) is set then, else left. */
uint64_t jvm_read_u64(const struct jvm *jvm, uint64_t address, bool *ret_failed);
uint32_t jvm_read_u32(const struct jvm *jvm, uint64_t address, bool *ret_failed);
/* At most @size − 1 bytes up to a NUL; 0 or -errno, and "" then. */
int jvm_read_text(const struct jvm *jvm, uint64_t address, char *ret, size_t size);

/* 8, 11, 17, …; 0: not known (yet). */
int jvm_release_number(const struct jvm *jvm);
/* "17.0.15+6-Debian-1deb12u1"; "" if not known. */
const char *jvm_version(const struct jvm *jvm);

/* Offset of a field in its class, as vmStructs has it; -ENOENT: no such entry. */
int jvm_field(const struct jvm *jvm, const char *type, const char *field, uint32_t *ret);
/* Address of a static field. -ENOENT. */
int jvm_static(const struct jvm *jvm, const char *type, const char *field, uint64_t *ret);
/* sizeof(type). -ENOENT. */
int jvm_type_size(const struct jvm *jvm, const char *type, uint64_t *ret);
/* A constant of vmIntConstants or vmLongConstants. -ENOENT. */
int jvm_constant(const struct jvm *jvm, const char *name, int64_t *ret);
/* The address of @symbol, 0: none; see jvm_source. */
uint64_t jvm_symbol(const struct jvm *jvm, const char *name);

/* A flag of type bool as it is set now. -ENOENT: no such flag; -EAGAIN: not initialised yet. */
int jvm_flag(const struct jvm *jvm, const char *name, bool *ret);

/* "G1", "Parallel", "Serial", "ZGC", "Generational ZGC", "Shenandoah", "Generational Shenandoah",
 * "Epsilon", "CMS"; NULL: not known (yet). */
const char *jvm_collector(const struct jvm *jvm);
