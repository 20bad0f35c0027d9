/*
 * A process that puts the settings back if gctrace ends without having done so: by SIGKILL, a crash, the OOM killer.
 * It holds no more than a pipe and the memory of the process, sleeps, and ends when gctrace does.
 */
#pragma once

#include <stdbool.h>

#include "subject.h"

struct watcher {
	pid_t pid;
	int pipe; /* at its end, the watcher knows that we are gone */
};

/* Before the first change of @subject. 0 or -errno with a sentence. */
int watcher_start(const struct subject *subject, struct watcher *ret, struct err *err);
/* Whether it still runs; if not, there must be no change. */
bool watcher_lives(struct watcher *watcher);
/* It restores what is still changed, if anything, and ends. */
void watcher_end(struct watcher *watcher);
