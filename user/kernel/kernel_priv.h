/* What the files behind kernel.h share: how a condition is answered. */
#pragma once

#include "kernel.h"

/* answer.c */
void kernel_answer(struct kernel_check *check, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* It is not met, and what to do. @error: of a fatal one; 0: something can be traced even so. */
void kernel_refuse(struct kernel_check *check, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The first line of @path that begins with @key, without that. */
bool kernel_read_line(const char *path, const char *key, char *ret, size_t size);

/* rights.c */
void kernel_look_at_privileges(struct kernel_check *check);
void kernel_look_at_bpf(struct kernel_check *check);
void kernel_look_at_perf(struct kernel_check *check);
