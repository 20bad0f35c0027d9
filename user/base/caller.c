/* SUDO_UID and SUDO_GID in; out comes a thread, or a process, with that user's rights to files. */
#include <errno.h>
#include <grp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "account.h"
#include "caller.h"
#include "cleanup.h"

/* What caller_act() replaced, for caller_rest() to restore. */
static struct {
	gid_t *groups;
	int count;
	gid_t gid;
	unsigned int acting; /* how deep */
} own;

static bool parse_id(const char *name, unsigned int *ret)
{
	const char *text = getenv(name);
	int saved = errno; /* a failure is reported after the caller was looked up */
	unsigned long value;
	bool fits;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	fits = !errno && !*end && value < UINT32_MAX; /* which means "leave it" */
	errno = saved;
	if (!fits)
		return false;
	*ret = (unsigned int)value;
	return true;
}

bool caller_get(struct caller *ret)
{
	struct caller caller;

	if (geteuid() || !parse_id("SUDO_UID", &caller.uid) || !parse_id("SUDO_GID", &caller.gid) ||
		!caller.uid)
		return false;
	*ret = caller;
	return true;
}

/* The account of @caller, looked up once. NULL: no memory. */
static const struct account *account_of(const struct caller *caller)
{
	static struct account account;
	static uid_t known; /* whose it is; root needs none */

	if (known != caller->uid) {
		account_release(&account);
		known = account_find(caller->uid, caller->gid, &account) ? 0 : caller->uid;
	}
	return known ? &account : NULL;
}

void caller_look_up(void)
{
	struct caller caller;

	if (caller_get(&caller))
		account_of(&caller);
}

/* For this thread only, unlike setgroups(3). */
static int set_groups(size_t count, const gid_t *groups)
{
	return syscall(SYS_setgroups, count, groups) ? -errno : 0;
}

/* fsuid is set last and reset first: root's file capabilities follow it. */
static int put_on(const struct caller *caller)
{
	setfsgid(caller->gid);
	setfsuid(caller->uid);
	/* Neither call reports a failure: ask again what is set. */
	if ((uid_t)setfsuid((uid_t)-1) == caller->uid && (gid_t)setfsgid((gid_t)-1) == caller->gid)
		return 0;
	setfsuid(0);
	setfsgid(own.gid);
	return -EPERM;
}

int caller_act(struct err *err)
{
	const struct account *account;
	struct caller caller;
	int r;

	if (own.acting) {
		own.acting++;
		return 0;
	}
	if (!caller_get(&caller))
		return 0;
	account = account_of(&caller);
	own.count = getgroups(0, NULL);
	own.groups = !account || own.count < 0 ? NULL
					       : calloc((size_t)own.count + 1, sizeof(*own.groups));
	own.gid = getegid();
	r = own.groups ? 0 : -ENOMEM;
	if (!r && getgroups(own.count, own.groups) != own.count)
		r = -errno;
	if (!r)
		r = set_groups(account->count, account->groups);
	if (!r) {
		r = put_on(&caller);
		if (r)
			set_groups((size_t)own.count, own.groups);
	}
	own.acting = !r;
	if (!r)
		return 0;
	free(steal_ptr(own.groups));
	return err_set(err, -r,
		"files cannot be made as uid %u, who called sudo: %s; sudo env -u SUDO_UID makes them as root",
		caller.uid,
		r == -EPERM
			? "root may not become it here (CAP_SETUID, CAP_SETGID, the user namespace)"
			: "no memory");
}

void caller_rest(void)
{
	if (!own.acting || --own.acting)
		return;
	setfsuid(0);
	setfsgid(own.gid);
	set_groups((size_t)own.count, own.groups);
	free(steal_ptr(own.groups));
}

int caller_become(void)
{
	const struct account *account;
	struct caller caller;

	if (!caller_get(&caller))
		return 0;
	account = account_of(&caller);
	if (!account)
		return -ENOMEM;
	if (setgroups(account->count, account->groups) ||
		setresgid(caller.gid, caller.gid, caller.gid) ||
		setresuid(caller.uid, caller.uid, caller.uid))
		return -errno;
	if (account->name) {
		setenv("HOME", account->home, 1);
		setenv("USER", account->name, 1);
		setenv("LOGNAME", account->name, 1);
	}
	return 0;
}

const char *caller_note(char *text, size_t size)
{
	struct caller caller;

	*text = '\0';
	if (caller_get(&caller))
		snprintf(text, size, " for uid %u, who called sudo", caller.uid);
	return text;
}
