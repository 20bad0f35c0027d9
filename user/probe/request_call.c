/* The table of the C library's functions that receive and send, and an open file → its places. */
#include <errno.h>
#include <string.h>

#include "cleanup.h"
#include "elf_code.h"
#include "elf_file.h"
#include "elf_syscall.h"
#include "gc_wire.h"
#include "request_call.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_free);

/*
 * (descriptor, buffer, …), (descriptor, struct msghdr *, …), (descriptor, struct iovec *, …). CPython's sockets, and
 * with them asyncio and everything written in Python, call those that only sockets have. libuv, of uvloop, the JDK's
 * channels and Netty's own call those that serve any file.
 */
static const struct request_function {
	const char *name;
	uint8_t kind;
	enum request_role role;
	bool files;
} functions[] = {
	{"accept", 0, REQUEST_ACCEPTS, false},
	{"accept4", 0, REQUEST_ACCEPTS, false},
	{"recv", GC_REQUEST_SOCKET, REQUEST_RECEIVES, false},
	{"recvfrom", GC_REQUEST_SOCKET, REQUEST_RECEIVES, false},
	{"recvmsg", GC_REQUEST_MESSAGE, REQUEST_RECEIVES, false},
	{"send", GC_REQUEST_BUFFER, REQUEST_SENDS, false},
	{"sendmsg", GC_REQUEST_MESSAGE, REQUEST_SENDS, false},
	{"read", GC_REQUEST_BUFFER, REQUEST_RECEIVES, true},
	{"write", GC_REQUEST_BUFFER, REQUEST_SENDS, true},
	{"writev", GC_REQUEST_VECTOR, REQUEST_SENDS, true},
};

#define CALLS_MOST 2 /* in one function: with and without other threads */

_Static_assert(ARRAY_SIZE(functions) * CALLS_MOST <= REQUEST_MAX_SITES, "room for all");

static bool begins(const char *path, const char *with)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

	return !strncmp(base, with, strlen(with));
}

bool request_library(const char *path)
{
	return begins(path, "libc.so.6") || begins(path, "libc-2.") || begins(path, "ld-musl-");
}

bool request_by_file_calls(const char *path)
{
	return begins(path, "libnio.so") || begins(path, "libuv.so") || strstr(path, "/uvloop/") ||
	       begins(path, "libnetty_transport_native_epoll");
}

bool request_encrypts(const char *path)
{
	return begins(path, "libssl.so") || begins(path, "libssl-");
}

static void add_at(uint64_t offset, const struct request_function *function, bool behind_call,
	struct request_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		if (plan->sites[i].offset == offset)
			return; /* two names of one function */
	plan->sites[plan->count++] = (struct request_site){
		.name = function->name,
		.offset = offset,
		.kind = function->kind,
		.role = function->role,
		.behind_call = behind_call,
	};
}

/* One hit behind its system call costs half of what two at its entry and its return do. */
static void add(const struct elf_file *file, const struct request_function *function,
	struct request_plan *plan)
{
	uint64_t offsets[CALLS_MOST];
	struct elf_symbol symbol;
	enum elf_step step;
	int count = 0;

	if (function->role == REQUEST_RECEIVES &&
		!elf_file_symbol(file, function->name, false, &symbol))
		count = elf_syscall_results(file, symbol.vaddr, offsets, CALLS_MOST);
	for (int i = 0; i < count; i++)
		add_at(offsets[i], function, true, plan);
	if (count <= 0 && !elf_code_function_site(file, function->name, &offsets[0], &step))
		add_at(offsets[0], function, false, plan);
}

int request_plan(int fd, const char *name, bool files, struct request_plan *ret, struct err *err)
{
	_cleanup_(cleanup_elf_file_free) struct elf_file *file = NULL;
	int r = elf_file_open(fd, name, &file, err);

	if (r)
		return r;
	ret->count = 0;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (files || !functions[i].files)
			add(file, &functions[i], ret);
	return ret->count ? 0
			  : err_set(err, ENOENT, "%s has neither recv() nor send() to probe", name);
}

int request_plan_encrypted(int fd, const char *name, struct request_plan *ret, struct err *err)
{
	static const struct request_function serves = {
		"SSL_set_accept_state", 0, REQUEST_ENCRYPTS, false};
	_cleanup_(cleanup_elf_file_free) struct elf_file *file = NULL;
	int r = elf_file_open(fd, name, &file, err);

	if (r)
		return r;
	ret->count = 0;
	add(file, &serves, ret);
	return ret->count ? 0 : err_set(err, ENOENT, "%s has no %s() to probe", name, serves.name);
}
