/* gctrace trial --restore: what a trial left that was killed together with its watcher, undone. */
#include <errno.h>
#include <stdio.h>

#include "log.h"
#include "trial_priv.h"

static void show(const struct trial *trial)
{
	const struct settings *was = &trial->subject.as_it_is, *tried = &trial->subject.tried;

	for (size_t i = 0; i < was->count; i++)
		if (was->items[i].value != tried->items[i].value)
			fprintf(trial->out, "%s is %d again; the trial had it %d\n",
				was->items[i].name, was->items[i].value, tried->items[i].value);
}

int trial_restore(struct trial *trial)
{
	struct err err = {};
	int r = trial_check_process(trial->pid, &err);

	if (!r)
		r = subject_recall(trial->pid, STATE_FOLDER, &trial->subject, &err);
	if (r == -ENOENT) {
		log_info("%s", err.text);
		return EXIT_OK;
	}
	if (r)
		return cmd_blind(&err);
	r = subject_restore(&trial->subject, &err);
	if (!r)
		show(trial);
	if (r == -EBUSY) {
		fprintf(trial->out, "%s; all else is as it was\n", err.text);
		return EXIT_INCOMPLETE;
	}
	return !r ? EXIT_OK : r == -ESRCH ? cmd_blind(&err) : cmd_fail(r, &err);
}
