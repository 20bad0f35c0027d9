/* Whether a process serves: what /proc says about its sockets. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/*
 * Whether @pid has a TCP or Unix stream socket that others can connect to. False too for what cannot be read, and for
 * a process with more than 4,096 sockets, of which the first are looked at.
 */
bool proc_listens(pid_t pid);
