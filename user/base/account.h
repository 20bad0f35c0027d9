/* A user's number → name, home folder and groups, as this machine has them. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* All are the account's own; account_release() frees them. */
struct account {
	char *name, *home; /* NULL: the machine knows no such user */
	gid_t *groups;	   /* the first is the one that account_find() was given */
	size_t count;
};

/*
 * Looks in /etc/passwd and /etc/group, and asks getent(1), which knows users and groups of other sources (LDAP, SSSD,
 * systemd). It runs as a process of its own: the C library would load those sources' libraries into us, which a static
 * program cannot. 0, or -ENOMEM and *ret untouched; a user who is not known has @gid alone.
 */
int account_find(uid_t uid, gid_t gid, struct account *ret);

void account_release(struct account *account);
