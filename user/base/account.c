/* /etc/passwd, /etc/group and what getent prints → an account. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "account.h"
#include "cleanup.h"

#define GROUPS_MAX 65536 /* NGROUPS_MAX of Linux */

/* Starts getent; what it prints about @key can be read from *ret. A process or -1. */
static pid_t start_getent(const char *database, const char *key, int *ret)
{
	char program[] = "/usr/bin/getent", path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
	char *const argv[] = {program, (char *)database, (char *)key, NULL};
	char *const environment[] = {path, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none;
	int ends[2], r;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawn_file_actions_init(&files);
	r = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	r = r ? r : posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
	r = r ? r
	      : posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	r = r ? r : posix_spawn(&pid, program, &files, &attributes, argv, environment);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	close(ends[1]);
	*ret = ends[0];
	if (!r)
		return pid;
	close(ends[0]);
	return -1;
}

/* What getent prints about @key; NULL: nothing. The caller frees. */
static char *ask(const char *database, const char *key)
{
	size_t capacity = 0;
	char *text = NULL;
	int from;
	pid_t pid = start_getent(database, key, &from);
	FILE *answer = pid < 0 ? NULL : fdopen(from, "re");

	if (answer && getdelim(&text, &capacity, '\0', answer) < 0) {
		free(text);
		text = NULL;
	}
	if (answer)
		fclose(answer);
	else if (pid >= 0)
		close(from);
	while (pid >= 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return text;
}

/* The entry of @uid in a file of the form of passwd(5), which must be one that can be sought in. 0, -ENOENT or -ENOMEM. */
static int find_user(FILE *file, uid_t uid, struct account *account)
{
	const struct passwd *user;

	do
		user = fgetpwent(file);
	while (user && user->pw_uid != uid);
	if (!user)
		return -ENOENT;
	account->name = strdup(user->pw_name);
	account->home = strdup(user->pw_dir);
	return account->name && account->home ? 0 : -ENOMEM;
}

static int add_group(struct account *account, gid_t gid)
{
	gid_t *groups;

	for (size_t i = 0; i < account->count; i++)
		if (account->groups[i] == gid)
			return 0;
	if (account->count == GROUPS_MAX)
		return 0;
	groups = reallocarray(account->groups, account->count + 1, sizeof(*groups));
	if (!groups)
		return -ENOMEM;
	account->groups = groups;
	groups[account->count++] = gid;
	return 0;
}

/* "NAME  4 24 27": `getent initgroups`. 0, -ENOENT if that is not what was printed, or -ENOMEM. */
static int read_initgroups(const char *answer, struct account *account)
{
	size_t len = strlen(account->name);
	char *end;
	int r = 0;

	if (!answer || strncmp(answer, account->name, len))
		return -ENOENT;
	for (const char *at = answer + len; !r; at = end) {
		unsigned long gid = strtoul(at, &end, 10);

		if (end == at)
			break;
		if (gid < UINT32_MAX) /* which stands for no group */
			r = add_group(account, (gid_t)gid);
	}
	return r;
}

/* Of a file of the form of group(5), those that list the user. 0 or -ENOMEM. */
static int read_groups(FILE *file, struct account *account)
{
	const struct group *group;
	int r = 0;

	while (!r && (group = fgetgrent(file)))
		for (char *const *member = group->gr_mem; !r && *member; member++)
			if (!strcmp(*member, account->name))
				r = add_group(account, group->gr_gid);
	return r;
}

static int find_name(uid_t uid, struct account *account)
{
	_cleanup_fclose_ FILE *file = fopen("/etc/passwd", "re"), *entry = NULL;
	int r = file ? find_user(file, uid, account) : -ENOENT;
	_cleanup_free_ char *answer = NULL;
	char number[16];

	if (r != -ENOENT)
		return r;
	snprintf(number, sizeof(number), "%u", uid);
	answer = ask("passwd", number);
	entry = answer ? fmemopen(answer, strlen(answer), "r") : NULL;
	return entry ? find_user(entry, uid, account) : -ENOENT;
}

static int find_groups(struct account *account)
{
	_cleanup_free_ char *answer = ask("initgroups", account->name);
	_cleanup_fclose_ FILE *file = NULL;
	int r = read_initgroups(answer, account);

	if (r != -ENOENT)
		return r;
	file = fopen("/etc/group", "re");
	return file ? read_groups(file, account) : 0;
}

int account_find(uid_t uid, gid_t gid, struct account *ret)
{
	struct account account = {};
	int r = add_group(&account, gid);

	if (!r)
		r = find_name(uid, &account);
	if (!r)
		r = find_groups(&account);
	if (r && r != -ENOENT) {
		account_release(&account);
		return r;
	}
	*ret = account;
	return 0;
}

void account_release(struct account *account)
{
	free(account->name);
	free(account->home);
	free(account->groups);
	*account = (struct account){};
}
