/*
 * Who called sudo: what gctrace makes as root on their behalf is made with their rights, so that no symbolic link
 * and no folder of another user turns root's rights against anybody.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "err.h"

struct caller {
	uid_t uid;
	gid_t gid;
};

/* Whether root acts for somebody else, by SUDO_UID and SUDO_GID; *ret says for whom. */
bool caller_get(struct caller *ret);

/*
 * Looks up who that is, which may start a process (account.h): before a fork whose child calls caller_become() and is
 * traced, so that no process is seen in it that is not the program's.
 */
void caller_look_up(void);

/*
 * From here to caller_rest() this thread opens, makes, renames and removes files with the rights of
 * the user who called sudo, without root's groups; without sudo, with its own. Nests. 0, or -errno
 * with a sentence and nothing changed.
 */
int caller_act(struct err *err);
void caller_rest(void);

/* The process becomes the user who called sudo for good, environment included. 0 or -errno. */
int caller_become(void);

/*
 * " for uid 1000, who called sudo", or "": for an error sentence about a file that could not be
 * made.
 */
const char *caller_note(char *text, size_t size);
