/* A shim's path → that shim in a process: what must hold first, the request, and its effect. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beside.h"
#include "cleanup.h"
#include "clock.h"
#include "gpu_shim.h"
#include "inject.h"
#include "load.h"
#include "probe.h"
#include "proc.h"
#include "view.h"

#define ENTRY	  "InitializeInjection"
#define THREAD	  "gctrace-gpu\n"
#define SHIM_MOST (64 << 20)
#define TEXT_MOST 8192
#define STEP_NS	  10000000000ull /* to take the request, and again to have loaded it */
#define NAP_NS	  5000000L
#define REMEDY	  "start it by gctrace run, or with CUDA_INJECTION64_PATH=%s"

struct injection {
	struct load_request request;
	struct proc_maps maps;
	struct probe_image images[PROBE_MAX_IMAGES];
	char library[PATH_MAX], file[PATH_MAX];
	void *bytes; /* of the library */
	size_t size;
	sigset_t signals;
	int signal; /* that has come; 0: none */
	uint64_t deadline_ns;
};

static bool wait_a_little(void *arg)
{
	struct injection *injection = arg;
	const struct timespec nap = {.tv_nsec = NAP_NS};
	int number = sigtimedwait(&injection->signals, NULL, &nap);

	if (number > 0)
		injection->signal = number;
	return !injection->signal && now_ns() < injection->deadline_ns;
}

/* 0, or -ENOTSUP: system calls of the shim's might be forbidden there, and end the process. */
static int check_filters(pid_t pid, struct err *err)
{
	_cleanup_fclose_ FILE *status = NULL;
	char line[256], path[32];
	int mode = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "Seccomp: %d", &mode) == 1)
			break;
	if (status && !mode)
		return 0;
	return err_set(err, status ? ENOTSUP : ESRCH,
		status ? "process %d has a seccomp filter, which may end it for what loading takes"
		       : "process %d has ended",
		pid);
}

/* 0 with *ret_there, or -ENOTSUP. */
static int check_maps(pid_t pid, const struct proc_maps *maps, bool *ret_there, struct err *err)
{
	bool driver = false;

	for (size_t i = 0; i < maps->maps.count; i++) {
		*ret_there |= gpu_shim_likely(maps->maps.items[i].path);
		driver |= gpu_driver_likely(maps->maps.items[i].path);
	}
	if (*ret_there || driver)
		return 0;
	return err_set(err, ENOTSUP,
		"process %d has not loaded CUDA's driver (libcuda.so.1): it has no GPU to measure",
		pid);
}

static int find_runtime(struct injection *injection, struct err *err)
{
	struct load_request *request = &injection->request;
	size_t count =
		probe_find(request->pid, &injection->maps, injection->images, PROBE_MAX_IMAGES);
	const char *clause = NULL;
	int r = 0;

	for (size_t i = 0; i < count; i++) {
		request->image = &injection->images[i];
		if (!request->image->ops->load)
			continue;
		r = request->image->ops->load->check(request, err);
		if (r != -ENOTSUP)
			return r;
	}
	if (r)
		return r;
	for (size_t i = 0; i < count && !clause; i++)
		clause = injection->images[i].ops->no_load;
	return err_set(err, ENOTSUP, "gctrace cannot ask process %d (%s) to load a library%s%s",
		request->pid, count ? injection->images[0].ops->kind : "no runtime that it knows",
		clause ? ": " : "", clause ? clause : "");
}

static int read_shim(struct injection *injection, struct err *err)
{
	_cleanup_close_ int fd = open(injection->library, O_RDONLY | O_CLOEXEC);
	struct gpu_shim_plan plan;
	struct stat stat;

	if (fd < 0 || fstat(fd, &stat))
		return err_set(err, errno, "%s cannot be read: %s", injection->library,
			strerror(errno));
	injection->size = (size_t)stat.st_size;
	injection->bytes = stat.st_size <= SHIM_MOST ? malloc(injection->size + 1) : NULL;
	if (!injection->bytes)
		return err_set(err, ENOMEM, "%s is too large", injection->library);
	if (pread(fd, injection->bytes, injection->size, 0) != (ssize_t)injection->size)
		return err_set(err, EIO, "%s cannot be read", injection->library);
	return gpu_shim_plan(steal_fd(&fd), injection->library, &plan, err);
}

/* What the process is to load is what we have, there and for its user. */
static int check_files(struct injection *injection, const char *path, struct err *err)
{
	const struct load_ops *ops = injection->request.image->ops->load;
	char text[TEXT_MOST];
	size_t size = 0;
	int r;

	if (!realpath(path, injection->library))
		return err_set(err, errno, "%s: %s", path, strerror(errno));
	r = read_shim(injection, err);
	if (!r)
		r = view_check(injection->request.pid, injection->library, injection->bytes,
			injection->size, true, err);
	if (r || !ops->suffix)
		return r;
	if ((size_t)snprintf(injection->file, PATH_MAX, "%.4000s%s", injection->library,
		    ops->suffix) >= PATH_MAX - sizeof("12345678"))
		return err_set(err, ENAMETOOLONG, "%s is too long", injection->library);
	size = ops->text(injection->library, ENTRY, text, sizeof(text));
	r = size ? beside_write(injection->file, text, size, err)
		 : err_set(err, ENOTSUP, "%s has a name that cannot be passed on",
			   injection->library);
	return r ? r : view_check(injection->request.pid, injection->file, text, size, false, err);
}

/* Whether the shim's own thread runs, which is the last that it does. */
static bool is_running(pid_t pid)
{
	char path[300], name[32] = "";
	const struct dirent *entry;
	bool found = false;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	while (tasks && !found && (entry = readdir(tasks))) {
		_cleanup_fclose_ FILE *comm = NULL;

		if (!isdigit((unsigned char)*entry->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/comm", pid, entry->d_name);
		comm = fopen(path, "re");
		found = comm && fgets(name, sizeof(name), comm) && !strcmp(name, THREAD);
	}
	if (tasks)
		closedir(tasks);
	return found;
}

/* The request has been taken: nothing of it is left to undo. */
static int await(struct injection *injection, struct err *err)
{
	pid_t pid = injection->request.pid;
	char byte;

	injection->deadline_ns = now_ns() + STEP_NS;
	while (!is_running(pid)) {
		if (pread(injection->request.memory, &byte, 1,
			    (off_t)injection->request.image->map.start) != 1)
			return err_set(err, ESRCH, "process %d has ended, or called exec", pid);
		if (!wait_a_little(injection))
			return err_set(err, EPERM,
				"process %d was asked to load %s and has not done so: something forbids it there, "
				"such as an audit hook, or it is still at it",
				pid, injection->library);
	}
	return 0;
}

static int ask(struct injection *injection, struct err *err)
{
	struct load_request *request = &injection->request;
	sigset_t before;
	int r;

	sigprocmask(SIG_BLOCK, &injection->signals, &before);
	injection->deadline_ns = now_ns() + STEP_NS;
	r = request->image->ops->load->load(request, err);
	if (!r)
		r = await(injection, err);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (injection->signal) { /* ignored from the start in a shell's background: it ends a recording there, too */
		signal(injection->signal, SIG_DFL);
		raise(injection->signal);
	}
	return r;
}

/* Before the request: nothing is written but the file beside the shim. */
static int prepare(struct injection *injection, const char *path, bool *ret_there, struct err *err)
{
	struct load_request *request = &injection->request;
	pid_t pid = request->pid;
	char memory[32];
	int r;

	/* Before anything is looked at: if the program calls exec then, the descriptor leads to nothing. */
	snprintf(memory, sizeof(memory), "/proc/%d/mem", pid);
	request->memory = open(memory, O_RDWR | O_CLOEXEC);
	if (request->memory < 0)
		return err_set(err, errno, "%s cannot be written: %s", memory, strerror(errno));
	r = proc_maps_read(pid, &injection->maps);
	if (r)
		return err_set(err, -r, "the maps of process %d cannot be read: %s", pid,
			strerror(-r));
	r = check_maps(pid, &injection->maps, ret_there, err);
	if (r || *ret_there)
		return r;
	r = check_filters(pid, err);
	if (!r)
		r = find_runtime(injection, err);
	return r ? r : check_files(injection, path, err);
}

int inject_shim(pid_t pid, const char *path, bool *ret_there, struct err *err)
{
	struct injection injection = {
		.request = {.pid = pid, .memory = -1, .entry = ENTRY, .wait = wait_a_little}};
	bool there = false;
	int r;

	injection.request.arg = &injection;
	injection.request.library = injection.library;
	injection.request.file = injection.file;
	sigemptyset(&injection.signals);
	sigaddset(&injection.signals, SIGINT);
	sigaddset(&injection.signals, SIGTERM);
	sigaddset(&injection.signals, SIGHUP);
	r = prepare(&injection, path, &there, err);
	if (!r && !there)
		r = ask(&injection, err);
	if (r == -ENOTSUP) {
		size_t len = strlen(err->text);

		snprintf(err->text + len, sizeof(err->text) - len, "; " REMEDY, path);
	}
	cleanup_close(&injection.request.memory);
	proc_maps_release(&injection.maps);
	free(injection.bytes);
	*ret_there = there;
	return r;
}
