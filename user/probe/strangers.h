/* What gctrace does not trace but knows by name, recognised without running it. */
#pragma once

#include <sys/types.h>

#include "elf_file.h"
#include "err.h"
#include "proc.h"

/* What a table of them ends with. */
#define NO_STRANGER {NULL, NULL, NULL, NULL}

/* A runtime that no tier serves, by a mapped file that bears its name or defines its symbol. */
struct stranger {
	const char *file;   /* how the file's name begins; NULL: any file */
	const char *symbol; /* that the file defines; NULL: its name is enough */
	const char *what;   /* "Node.js", after "runs" */
	const char *remedy; /* what shows its collections instead */
};

/* The runtimes that this gctrace traces on other processors only; NULL-terminated; user/runtime/meson.build. */
extern const struct stranger *const probe_refused[];

/* What @file, mapped as @path, makes of a process, or NULL. */
const struct stranger *stranger_of(const struct elf_file *file, const char *path);

/* The first of them that @pid maps, or NULL. For processes in which probe_find() found nothing. */
const struct stranger *probe_stranger(pid_t pid, const struct proc_maps *maps);

/*
 * 0 if @pid is a program whose memory can be looked at; else -ESRCH with a sentence: there is none of that
 * number, it is a zombie, its main thread has ended, it is a thread of the kernel.
 */
int probe_absent(pid_t pid, struct err *err);
