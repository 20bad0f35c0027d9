/* Children that the process of a trial forks while its settings are changed: they inherit what is tried. */
#pragma once

#include "subject.h"

/* Notes those that it has now. 0, or -errno with a sentence: there are too many to keep apart from later ones. */
int children_note(pid_t pid, struct state *ret, struct err *err);

/* Puts the settings back in those that it has forked since, and that have not called exec. */
void children_restore(const struct subject *subject);
