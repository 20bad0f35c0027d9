/* SUDO_UID and SUDO_GID in; out comes a thread, or a process, with that user's rights to files. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "caller.h"
#include "cleanup.h"

#define GROUPS_MAX 65536 /* NGROUPS_MAX of Linux */

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

/* The groups of the user; without a passwd entry, only the one that sudo names. The caller frees. -errno. */
static int groups_of(const struct caller *caller, gid_t **ret)
{
	const struct passwd *user = getpwuid(caller->uid);
	int count = 64;
	gid_t *groups;

	for (;;) {
		groups = malloc((size_t)count * sizeof(*groups));
		if (!groups)
			return -ENOMEM;
		groups[0] = caller->gid;
		*ret = groups;
		if (!user)
			return 1;
		if (getgrouplist(user->pw_name, caller->gid, groups, &count) >= 0)
			return count;
		free(groups);
		*ret = NULL;
		if (count > GROUPS_MAX)
			return -E2BIG;
	}
}

/* For this thread only, unlike setgroups(3). */
static int set_groups(int count, const gid_t *groups)
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
	_cleanup_free_ gid_t *groups = NULL;
	struct caller caller;
	int r, count;

	if (own.acting) {
		own.acting++;
		return 0;
	}
	if (!caller_get(&caller))
		return 0;
	count = groups_of(&caller, &groups);
	own.count = getgroups(0, NULL);
	own.groups = count < 0 || own.count < 0
			     ? NULL
			     : calloc((size_t)own.count + 1, sizeof(*own.groups));
	own.gid = getegid();
	r = count < 0 ? count : own.groups ? 0 : -ENOMEM;
	if (!r && getgroups(own.count, own.groups) != own.count)
		r = -errno;
	if (!r)
		r = set_groups(count, groups);
	if (!r) {
		r = put_on(&caller);
		if (r)
			set_groups(own.count, own.groups);
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
	set_groups(own.count, own.groups);
	free(steal_ptr(own.groups));
}

int caller_become(void)
{
	_cleanup_free_ gid_t *groups = NULL;
	const struct passwd *user;
	struct caller caller;
	int count;

	if (!caller_get(&caller))
		return 0;
	count = groups_of(&caller, &groups);
	if (count < 0)
		return count;
	if (setgroups((size_t)count, groups) || setresgid(caller.gid, caller.gid, caller.gid) ||
		setresuid(caller.uid, caller.uid, caller.uid))
		return -errno;
	user = getpwuid(caller.uid);
	if (user) {
		setenv("HOME", user->pw_dir, 1);
		setenv("USER", user->pw_name, 1);
		setenv("LOGNAME", user->pw_name, 1);
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
