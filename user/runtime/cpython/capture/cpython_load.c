/*
 * A library → a running CPython 3.14 or later, by what it has for debuggers: whoever may write to its memory leaves the
 * path of a script in the main thread's state, and that thread runs it where it looks whether a signal is pending, a
 * collection due, another thread waiting. In: a request. Out: a script that has been run, or a request withdrawn.
 *
 * Layouts: Include/internal/pycore_debug_offsets.h of 3.14 and 3.15, whose offsets the process itself holds. The bits:
 * Include/internal/pycore_ceval.h; what is done about each: _Py_HandlePending() in Python/ceval_gil.c.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "cpython_load.h"
#include "elf_file.h"
#include "probe.h"
#include "proc.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_free);

#define TABLE_BYTES	  1024
#define ANYWHERE	  (1 << 20)
#define MOST_INTERPRETERS 1000

/* Positions in the table of offsets; the six of debugger_support are one after the other. */
enum {
	VERSION = 8,
	FREE_THREADED = 16,
	FINALIZING = 32,
	HEAD = 40,
	NEXT = 64,
	MAIN_THREAD = 80,
	INTERPRETER = 200
};
static const uint16_t support_at[] = {[14] = 712, [15] = 840};

/* Where the main thread's state has what is written, and where in the process that is. */
struct desk {
	uint64_t breaker, pending, path;
	size_t path_size;
};

/*
 * The lowest byte of eval_breaker. A bit that is set in vain does nothing: whoever acts on it looks for a signal, a call,
 * an exception first. So those that others set are set too: none is lost between the read and the write. Not so the
 * request to drop the GIL: set in vain it would have the thread wait for another to take it. That one is made again every
 * 5 ms while somebody waits, and one for a collection at the next allocation.
 */
enum {
	SIGNALS = 1 << 1,
	CALLS = 1 << 2,
	EXCEPTION = 1 << 3,
	COLLECTION = 1 << 4,
	STOP = 1 << 5,
	COLD_CODE = 1 << 7
};

static int read_at(const struct load_request *request, uint64_t address, void *ret, size_t size)
{
	return pread(request->memory, ret, size, (off_t)address) == (ssize_t)size ? 0 : -ESRCH;
}

static int write_at(const struct load_request *request, uint64_t address, const void *bytes,
	size_t size)
{
	return pwrite(request->memory, bytes, size, (off_t)address) == (ssize_t)size ? 0 : -ESRCH;
}

static int gone(const struct load_request *request, struct err *err)
{
	return err_set(err, ESRCH, "process %d has ended, or called exec", request->pid);
}

static int nonsense(const struct load_request *request, struct err *err)
{
	return err_set(err, ENOTSUP, "the offsets of the CPython of process %d make no sense",
		request->pid);
}

static uint64_t entry(const uint8_t *table, size_t position)
{
	uint64_t value;

	memcpy(&value, table + position, sizeof(value));
	return value;
}

/* The address of _PyRuntime in the process, which begins with the table of offsets. 0 or -errno. */
static int find_runtime(const struct load_request *request, uint64_t *ret, struct err *err)
{
	_cleanup_(cleanup_elf_file_free) struct elf_file *file = NULL;
	const struct proc_map *map = &request->image->map;
	struct elf_symbol symbol;
	char path[PATH_MAX];
	uint64_t first;
	int fd = proc_map_open(request->pid, map, path, sizeof(path)), r = fd;

	if (fd < 0)
		return err_set(err, -fd, "%s cannot be read: %s", map->path, strerror(-fd));
	r = elf_file_open(fd, map->path, &file, err);
	if (r)
		return r;
	if (elf_file_symbol(file, "_PyRuntime", true, &symbol) ||
		probe_first_page(file, map, &first))
		return err_set(err, ENOTSUP, "%s has no symbol _PyRuntime", map->path);
	*ret = symbol.vaddr + map->start - first;
	return 0;
}

/* Which CPython it is. 0 or -ENOTSUP. */
static int check_version(const struct load_request *request, const uint8_t *table, struct err *err)
{
	uint64_t version = entry(table, VERSION);
	unsigned int minor = (unsigned int)(version >> 16 & 0xff);

	if (memcmp(table, "xdebugpy", 8) || version >> 24 != 3 || minor < 14)
		return err_set(err, ENOTSUP,
			"process %d runs a CPython before 3.14, which cannot be asked to load a library",
			request->pid);
	if (minor >= ARRAY_SIZE(support_at) || (version & 0xf0) != 0xf0)
		return err_set(err, ENOTSUP,
			"process %d runs a CPython 3.%u that this gctrace does not know",
			request->pid, minor);
	if (entry(table, FREE_THREADED))
		return err_set(err, ENOTSUP,
			"process %d runs a free-threaded CPython 3.%u, where that was never tried",
			request->pid, minor);
	return 0;
}

/* The main interpreter: the oldest, the last of the list. 0: there is none. */
static uint64_t main_interpreter(const struct load_request *request, uint64_t runtime,
	const uint8_t *table)
{
	uint64_t found = 0, next = 0;

	if (read_at(request, runtime + entry(table, HEAD), &next, sizeof(next)))
		return 0;
	for (int i = 0; i < MOST_INTERPRETERS && next; i++) {
		found = next;
		if (read_at(request, found + entry(table, NEXT), &next, sizeof(next)))
			return 0;
	}
	return next ? 0 : found;
}

/* The state of the main thread. 0 or -errno. */
static int find_thread(const struct load_request *request, uint64_t runtime, const uint8_t *table,
	uint64_t *ret, struct err *err)
{
	uint16_t support = support_at[entry(table, VERSION) >> 16 & 0xff];
	uint64_t interpreter = main_interpreter(request, runtime, table), thread = 0, owner = 0,
		 ending = 0;
	int32_t enabled = -1;

	if (!interpreter ||
		read_at(request, interpreter + entry(table, support + 16), &enabled,
			sizeof(enabled)) ||
		read_at(request, interpreter + entry(table, MAIN_THREAD), &thread,
			sizeof(thread)) ||
		read_at(request, runtime + entry(table, FINALIZING), &ending, sizeof(ending)))
		return err_set(err, ESRCH, "the CPython of process %d is starting or ending",
			request->pid);
	if (enabled != 1)
		return err_set(err, ENOTSUP,
			"in process %d CPython's remote debugging is turned off (PYTHON_DISABLE_REMOTE_DEBUG, "
			"-X disable-remote-debug, or its build)",
			request->pid);
	if (ending || !thread ||
		read_at(request, thread + entry(table, INTERPRETER), &owner, sizeof(owner)) ||
		owner != interpreter)
		return err_set(err, ESRCH, "process %d has no main Python thread, or is ending",
			request->pid);
	*ret = thread;
	return 0;
}

static int find_desk(const struct load_request *request, struct desk *ret, struct err *err)
{
	uint8_t table[TABLE_BYTES];
	uint64_t runtime = 0, thread = 0, support;
	int r = find_runtime(request, &runtime, err);

	if (r)
		return r;
	if (read_at(request, runtime, table, sizeof(table)))
		return gone(request, err);
	r = check_version(request, table, err);
	for (size_t at = FINALIZING; !r && at <= INTERPRETER; at += 8)
		if (entry(table, at) > ANYWHERE)
			r = nonsense(request, err);
	support = r ? 0 : support_at[entry(table, VERSION) >> 16 & 0xff];
	for (size_t at = support; !r && at < support + 48; at += 8)
		if (entry(table, at) > ANYWHERE)
			r = nonsense(request, err);
	if (!r)
		r = find_thread(request, runtime, table, &thread, err);
	if (r)
		return r;
	*ret = (struct desk){
		.breaker = thread + entry(table, support),
		.pending = thread + entry(table, support + 8) + entry(table, support + 24),
		.path = thread + entry(table, support + 8) + entry(table, support + 32),
		.path_size = entry(table, support + 40),
	};
	return 0;
}

/* 0, 1: a request is waiting; or -ESRCH. */
static int is_pending(const struct load_request *request, const struct desk *desk)
{
	int32_t pending;
	int r = read_at(request, desk->pending, &pending, sizeof(pending));

	return r ? r : pending != 0;
}

/* Whether the request that is waiting is one of ours, left by a gctrace that was killed. */
static bool is_ours(const struct load_request *request, const struct desk *desk)
{
	char found[512];
	size_t size = strlen(request->file) + 1;

	return size <= sizeof(found) && !read_at(request, desk->path, found, size) &&
	       !memcmp(found, request->file, size);
}

static int check(const struct load_request *request, struct err *err)
{
	struct desk desk;

	return find_desk(request, &desk, err);
}

/* Has the thread look whether anything is pending. */
static int poke(const struct load_request *request, const struct desk *desk)
{
	const uint8_t harmless = SIGNALS | CALLS | EXCEPTION | STOP;
	uint8_t bits;
	int r = read_at(request, desk->breaker, &bits, 1);

	if (r || bits & STOP)
		return r;
	bits = (bits & (COLLECTION | COLD_CODE)) | harmless;
	return write_at(request, desk->breaker, &bits, 1);
}

/* The path first: whoever reads the request meanwhile finds it empty, and does nothing. */
static int withdraw(const struct load_request *request, const struct desk *desk)
{
	const int32_t none = 0;
	int r = write_at(request, desk->path, "", 1);

	if (!r)
		r = write_at(request, desk->pending, &none, sizeof(none));
	return r ? r : is_pending(request, desk);
}

static int load(const struct load_request *request, struct err *err)
{
	const int32_t one = 1;
	struct desk desk;
	int r = find_desk(request, &desk, err);

	if (!r && strlen(request->file) >= desk.path_size)
		r = err_set(err, ENOTSUP, "%s is longer than CPython takes (%zu)", request->file,
			desk.path_size - 1);
	if (!r && (r = is_pending(request, &desk)) < 0)
		return gone(request, err);
	if (r == 1 && !is_ours(request, &desk))
		r = err_set(err, EBUSY,
			"in process %d the script of another debugger is waiting to be run",
			request->pid);
	if (r < 0)
		return r;
	r = write_at(request, desk.path, request->file, strlen(request->file) + 1);
	if (!r)
		r = write_at(request, desk.pending, &one, sizeof(one));
	while (!r && (r = is_pending(request, &desk)) == 1) {
		r = poke(request, &desk);
		if (!r && !request->wait(request->arg)) {
			r = withdraw(request, &desk);
			return r ? gone(request, err)
				 : err_set(err, ETIMEDOUT,
					   "the main thread of process %d has run no Python code in time, and was not "
					   "asked any longer: try again, or start it by gctrace run",
					   request->pid);
		}
	}
	return r ? gone(request, err) : 0;
}

/* A path in a string of Python's. 0: it does not fit. */
static size_t quote(const char *path, char *ret, size_t size)
{
	size_t used = 0;

	for (; *path; path++) {
		if (used + 5 > size)
			return 0;
		used += (size_t)snprintf(ret + used, size - used,
			strchr("\\\"", *path) || (unsigned char)*path < ' ' ? "\\x%02x" : "%c",
			(unsigned char)*path);
	}
	return used;
}

/*
 * ctypes itself would leave classes behind for the collector. What is raised by a signal's handler just then is for
 * CPython to report.
 */
static size_t text(const char *library, const char *entry, char *ret, size_t size)
{
	char path[PATH_MAX * 4];
	int len;

	if (!quote(library, path, sizeof(path)))
		return 0;
	len = snprintf(ret, size,
		"# gctrace --gpu inject has a running CPython load the CUPTI shim by this; without a tracer it does nothing.\n"
		"try:\n"
		"    import _ctypes\n"
		"    _ctypes.call_cdeclfunction(_ctypes.dlsym(_ctypes.dlopen(\"%s\", 2), \"%s\"), ())\n"
		"except Exception:\n"
		"    pass\n",
		path, entry);
	return len > 0 && (size_t)len < size ? (size_t)len : 0;
}

const struct load_ops cpython_load = {.suffix = ".py", .text = text, .check = check, .load = load};
