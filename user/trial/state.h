/*
 * What it takes to undo a trial, shared by gctrace and its watcher. In: a process and its settings. Out: a file of
 * /run/gctrace that both have mapped and locked. If both are killed at once, the file is still there and the lock is
 * not: that is how a later gctrace knows.
 *
 * It is complete before the first write to the process. It is never synced: whatever loses the page cache, ends the
 * process as well.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "settings.h"

#define STATE_FOLDER   "/run/gctrace"
#define STATE_CHILDREN 1024
#define STATE_NAME     24

struct state {
	char magic[24]; /* of this layout */
	pid_t pid;
	uint32_t setting_count;
	uint64_t start_ticks, stack_start; /* struct proc_info's: one program of one process */
	struct {
		char name[STATE_NAME];
		uint64_t address;
		int32_t as_it_is, tried;
	} settings[SETTINGS_MAX];
	uint32_t
		changed; /* they may be those tried: set before the first write, cleared after the last */
	uint32_t count;			/* of .children */
	pid_t children[STATE_CHILDREN]; /* those that were there before the last change, in order */
};

/* In @folder; a test has one of its own. */
struct state_file {
	struct state *state;
	int folder,
		file; /* -1: the state is in memory alone, and dies with gctrace and the watcher */
};
#define STATE_NONE {NULL, -1, -1}

/*
 * Makes that of @pid. @folder: NULL: in memory alone. 0; -EBUSY with a sentence: a trial of it is in progress; -EEXIST
 * with one: a trial left it changed. Any other -errno, with one: there can be no such file here.
 */
int state_create(const char *folder, pid_t pid, const struct settings *as_it_is,
	const struct settings *tried, struct state_file *ret, struct err *err);

/* That of a trial that was killed together with its watcher. 0, -ENOENT: none, or -errno; with a sentence. */
int state_open(const char *folder, pid_t pid, struct state_file *ret, struct err *err);

/* Whether @pid has been left with what a trial tried: 0: no; -EEXIST, -EBUSY: see above, with a sentence. */
int state_check(const char *folder, pid_t pid, struct err *err);

/* The settings that it holds; their names are the state's. */
void state_settings(const struct state *state, struct settings *ret_as_it_is,
	struct settings *ret_tried);

/* The file goes if nothing is changed any more; otherwise it stays. */
void state_close(struct state_file *file);
