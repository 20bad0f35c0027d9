/*
 * Java methods and compiled code, read out of a JVM. In: a physical frame as BPF walked it. Out:
 * the methods that it stands for, innermost first, with names and lines; or a clear no.
 */
#pragma once

#include "jvm.h"

/* Methods of one physical frame that are kept. HotSpot inlines at most 115 deep, by default. */
#define JAVA_INLINE_MAX 128
#define JAVA_NAME_BYTES 512

struct java_frame {
	char function[JAVA_NAME_BYTES]; /* "org.example.Trainer.step": dots, without arguments */
	char file[128];			/* "Trainer.java"; "" if the class does not say */
	uint32_t line;			/* 0: not known (native, no line table, deoptimised) */
};

/* Where the parts of methods and compiled code lie in one JVM. */
struct java_code;

/*
 * Looks the layouts up, once for a JVM. -ENOENT: vmStructs lack one; -EBADMSG: one makes no sense;
 * -EAGAIN: the JVM's version is not known yet. @jvm must outlive *ret.
 */
int java_code_new(const struct jvm *jvm, struct java_code **ret, struct err *err);
void java_code_free(struct java_code *code); /* NULL is fine */

/*
 * An interpreted frame: @method must (still) have @const_method and be of @bci. 0; -ESTALE: it is
 * no longer the same; -EBADMSG: what is there makes no sense; -EFAULT (or what else the source
 * says): unreadable.
 */
int java_interpreted(const struct java_code *code, uint64_t method, uint64_t const_method,
	int32_t bci, struct java_frame *ret);

/*
 * A compiled frame: the nmethod at @nmethod must (still) have @compile_id and @method. Fills at
 * most @max frames, innermost (most deeply inlined) first. Returns how many, 1 with line 0 where
 * the pc has no debug information (native wrapper, deoptimised), or -errno as above, and then @ret
 * is of no use.
 */
int java_compiled(const struct java_code *code, uint64_t nmethod, uint32_t compile_id,
	uint64_t method, int32_t at, struct java_frame *ret, size_t max);
