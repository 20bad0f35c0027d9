/* A command line → the files that its programs will be mapped from, found out by a process of that user. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"
#include "elf_file.h"
#include "probe.h"
#include "program.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_free);

#define WORDS_MAX  16	 /* of a command line that may name a program */
#define DEPTH_MAX  4	 /* scripts whose interpreters are scripts (fs/exec.c allows 5) */
#define BYTES_MAX  65536 /* of the answer */
#define PATIENCE_S 2

static void tell(int out, const char *path)
{
	size_t len = strlen(path) + 1;

	if (write(out, path, len) != (ssize_t)len)
		_exit(1); /* nobody listens */
}

static bool is_program(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

/* As execvp() finds @name. */
static bool find_program(const char *name, char ret[PATH_MAX])
{
	const char *path = getenv("PATH");

	if (strchr(name, '/')) {
		snprintf(ret, PATH_MAX, "%s", name);
		return is_program(ret);
	}
	if (!path)
		path = "/bin:/usr/bin";
	for (;; path++) {
		int len = (int)strcspn(path, ":");

		snprintf(ret, PATH_MAX, "%.*s%s%s", len, path, len ? "/" : "", name);
		if (*name && is_program(ret))
			return true;
		path += len;
		if (!*path)
			return false;
	}
}

/* Starts @loader, to list and not to run @program, with its answer in the pipe @out. */
static pid_t ask_loader(const char *loader, const char *program, int out)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(PATIENCE_S);
	if (!freopen("/dev/null", "r", stdin) || !freopen("/dev/null", "w", stderr) ||
		dup2(out, STDOUT_FILENO) < 0)
		_exit(127);
	/* musl's loader lists when it is called ldd. */
	execl(loader, "ldd", "--list", program, (char *)NULL);
	_exit(127);
}

/* "\tlibm.so.6 => /lib/libm.so.6 (0x…)" and "\t/lib64/ld-linux-x86-64.so.2 (0x…)". */
static void tell_library(int out, char *line)
{
	char *arrow = strstr(line, "=> "), *path = arrow ? arrow + 3 : line + strspn(line, " \t");
	char *end = strstr(path, " (0x");

	if (*path != '/' || !end)
		return;
	*end = '\0';
	tell(out, path);
}

static void tell_libraries(int out, const char *loader, const char *program)
{
	_cleanup_fclose_ FILE *answer = NULL;
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	int pipes[2];
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC))
		return;
	pid = ask_loader(loader, program, pipes[1]);
	close(pipes[1]);
	answer = fdopen(pipes[0], "r");
	while (answer && pid > 0 && getline(&line, &size, answer) > 0)
		tell_library(out, line);
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

/* What a runtime's launcher loads by a path that it knows. */
static void tell_beside(int out, const char *program)
{
	int folder = (int)(strrchr(program, '/') - program);

	for (size_t i = 0; probe_runtimes[i]; i++)
		for (size_t j = 0; probe_runtimes[i]->beside && probe_runtimes[i]->beside[j]; j++) {
			char path[PATH_MAX], real[PATH_MAX];

			snprintf(path, sizeof(path), "%.*s/%s", folder, program,
				probe_runtimes[i]->beside[j]);
			if (realpath(path, real))
				tell(out, real);
		}
}

static void tell_elf(int out, const char *path, int fd)
{
	_cleanup_(cleanup_elf_file_free) struct elf_file *file = NULL;
	struct err err = {};
	char real[PATH_MAX];
	const char *loader;

	if (elf_file_open(dup(fd), path, &file, &err) || !realpath(path, real))
		return;
	tell(out, real);
	tell_beside(out, real);
	loader = elf_file_interpreter(file);
	if (!loader)
		return;
	tell(out, loader);
	tell_libraries(out, loader, real); /* by its real path, from which $ORIGIN counts */
}

/* NAME=value, as env takes it: PATH and the loader's own variables may change. */
static bool take_assignment(const char *word)
{
	size_t len = strcspn(word, "=");
	char name[256];

	if (!len || len >= sizeof(name) || word[len] != '=')
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)len, word);
	return !setenv(name, word + len + 1, 1);
}

static void tell_program(int out, const char *path, int depth);

/* "/usr/bin/env -S NAME=value train -u": the interpreter and, if it finds others, the one found. */
static void tell_interpreter(int out, char *line, int depth)
{
	static const char blank[] = " \t";
	char *rest = NULL, *word = strtok_r(line, blank, &rest), found[PATH_MAX];
	const char *base = word ? strrchr(word, '/') : NULL;
	bool env = base && !strcmp(base, "/env");

	if (word)
		tell_program(out, word, depth + 1);
	while (env && (word = strtok_r(NULL, blank, &rest)))
		if (*word != '-' && !take_assignment(word)) {
			if (find_program(word, found))
				tell_program(out, found, depth + 1);
			return;
		}
}

static void tell_program(int out, const char *path, int depth)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char head[256]; /* BINPRM_BUF_SIZE: the kernel looks no further */
	ssize_t len = fd < 0 ? -1 : read(fd, head, sizeof(head) - 1);

	if (len < 4 || depth > DEPTH_MAX)
		return;
	head[len] = '\0';
	if (head[0] == '#' && head[1] == '!') {
		head[strcspn(head, "\n")] = '\0';
		tell_interpreter(out, head + 2, depth);
	} else {
		tell_elf(out, path, fd);
	}
}

static void tell_command(int out, char *const *argv)
{
	char found[PATH_MAX];

	for (size_t i = 0; argv[i] && i < WORDS_MAX; i++)
		if (*argv[i] != '-' && !(i && take_assignment(argv[i])) &&
			find_program(argv[i], found))
			tell_program(out, found, 0);
}

static int wait_for(int fd, uint64_t end_ns)
{
	struct pollfd poller = {.fd = fd, .events = POLLIN};
	struct timespec now;
	int64_t left;

	clock_gettime(CLOCK_MONOTONIC, &now);
	left = (int64_t)end_ns - (int64_t)now.tv_sec * 1000000000 - now.tv_nsec;
	return left <= 0 ? 0 : poll(&poller, 1, (int)(left / 1000000) + 1);
}

/* Everything that arrives in time. Returns its length. */
static size_t listen(int fd, char *text, size_t size)
{
	struct timespec now;
	uint64_t end_ns;
	size_t used = 0;

	clock_gettime(CLOCK_MONOTONIC, &now);
	end_ns = ((uint64_t)now.tv_sec + PATIENCE_S) * 1000000000 + (uint64_t)now.tv_nsec;
	while (used < size && wait_for(fd, end_ns) > 0) {
		ssize_t len = read(fd, text + used, size - used);

		if (len <= 0)
			break;
		used += (size_t)len;
	}
	return used;
}

static int take_paths(const char *text, size_t size, struct program_files *files)
{
	const char *end;

	for (; (end = memchr(text, '\0', size)); size -= (size_t)(end + 1 - text), text = end + 1) {
		char *path = NULL, **slot;
		bool known = false;

		for (size_t i = 0; i < files->paths.count; i++)
			known |= !strcmp(files->paths.items[i], text);
		if (known || !(path = strdup(text)))
			continue;
		slot = vec_add(&files->paths);
		if (!slot) {
			free(path);
			return -ENOMEM;
		}
		*slot = path;
	}
	return 0;
}

int program_foresee(char *const *argv, int (*become)(void), struct program_files *ret)
{
	_cleanup_free_ char *text = malloc(BYTES_MAX);
	int pipes[2];
	size_t used;
	pid_t pid;

	if (!text || pipe2(pipes, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid) {
		signal(SIGPIPE, SIG_DFL);
		if (!become())
			tell_command(pipes[1], argv);
		_exit(0);
	}
	close(pipes[1]);
	used = pid < 0 ? 0 : listen(pipes[0], text, BYTES_MAX);
	close(pipes[0]);
	if (pid < 0)
		return -EAGAIN;
	kill(pid, SIGKILL); /* it is done, or takes too long */
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return take_paths(text, used, ret);
}

int program_foresee_usual(int (*become)(void), struct program_files *ret)
{
	char *argv[WORDS_MAX + 1];
	size_t count = 0;

	for (size_t i = 0; probe_runtimes[i]; i++)
		for (size_t j = 0; probe_runtimes[i]->commands[j] && count < WORDS_MAX; j++)
			argv[count++] = (char *)probe_runtimes[i]->commands[j];
	argv[count] = NULL;
	return program_foresee(argv, become, ret);
}

void program_files_release(struct program_files *files)
{
	for (size_t i = 0; i < files->paths.count; i++)
		free(files->paths.items[i]);
	vec_free(&files->paths);
}
