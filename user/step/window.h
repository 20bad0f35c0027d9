/*
 * The latest marks of a session that goes on: enough of them that steps can be found again and again, and never more
 * than a bound, however long it lasts.
 */
#pragma once

#include "step.h"

#define WINDOW_THREAD 16384  /* marks of one thread; half of them stay when there are more */
#define WINDOW_LEAST  512    /* the same where there are many threads … */
#define WINDOW_ALL    262144 /* … which share these */

/* A zeroed one is empty and ready. */
struct step_window {
	struct step_marks marks;
	size_t kept;  /* marks in it */
	size_t added; /* since it was last cut */
	size_t ended; /* processes that had ended then */
};

int step_window_add(struct step_window *window, const struct mark *mark); /* 0 or -ENOMEM */

/*
 * Forgets what is no longer needed. @steps are those found in it: a thread that makes steps keeps whole ones, so that
 * the next steps found are a continuation of them. Of one that made none in so many marks, whatever is oldest goes.
 * 0 or -ENOMEM: nothing was forgotten.
 */
int step_window_cut(struct step_window *window, const struct recording *recording,
	const struct steps *steps);

/* When its first mark was, once steps_find() has sorted them; UINT64_MAX: it is empty. */
uint64_t step_window_first(const struct step_window *window);

/* For which steps_find() can go on without it: all marks, gone. */
void step_window_release(struct step_window *window);
