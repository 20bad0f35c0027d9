/*
 * The process of a trial: the settings of its collector as they were, and as they are tried. In: a pid. Out: its
 * memory, in which some integers change and change back.
 *
 * The running code reads these integers; nothing is injected, and nothing is stopped. They are written through a
 * descriptor of /proc/PID/mem, which leads to the program that was opened and no other: once that has ended or called
 * exec, there is nothing behind it, whoever has its number then.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "err.h"
#include "probe.h"
#include "settings.h"
#include "state.h"

struct subject {
	pid_t pid;
	int memory;
	uint64_t bias;
	struct probe_plan *plan;
	struct settings as_it_is, tried;
	struct state_file undo; /* shared with the watcher */
};

/*
 * Finds the settings of the one runtime in @pid. @only: the name of the one tier allowed, or NULL. 0, or -errno with a
 * sentence where a trial must not be made; nothing is written. The caller closes in any case.
 */
int subject_open(pid_t pid, const char *only, struct subject *ret, struct err *err);
void subject_close(struct subject *subject);

/* What is to be tried: "same", NULL (by what is worth a try), or what the runtime takes. 0 or -errno, sentence. */
int subject_choose(struct subject *subject, const char *text, struct err *err);

/* Before the first change: keeps what it takes to undo it, in @folder or, if NULL, in memory alone. See state_create(). */
int subject_keep(struct subject *subject, const char *folder, struct err *err);

/*
 * Instead of all this: what a trial of @pid that was killed has left, for subject_restore() to undo. 0; -ENOENT:
 * nothing; or -errno; with a sentence. The caller closes in any case.
 */
int subject_recall(pid_t pid, const char *folder, struct subject *ret, struct err *err);

/*
 * Changes the settings to those tried, and back. Each integer is compared with what it must be, written and read
 * back. -EBUSY: the program has changed one meanwhile; its value stays, the others are put back. -ESRCH: the program
 * is gone, and its settings with it. With a sentence.
 */
int subject_change(struct subject *subject, struct err *err);
/* Also for children that it forked meanwhile and that run on without exec. Does nothing if nothing was changed. */
int subject_restore(struct subject *subject, struct err *err);
/* Whether they are what they should be now: 0, -EBUSY or -ESRCH as above. */
int subject_check(const struct subject *subject, struct err *err);

/* For people: "on, thresholds 700, 10, 10". Returns @buffer. */
const char *subject_describe(const struct subject *subject, const struct settings *settings,
	char *buffer, size_t size);
