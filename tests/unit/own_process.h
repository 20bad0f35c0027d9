/*
 * Tests of what the kernel says of this very program are skipped where another one runs it: qemu-user has no
 * process_vm_readv(2), and /proc/PID/map_files and what a user may open are its own.
 */
#pragma once

#include <stdlib.h>

#define NEEDS_OWN_PROCESS()                                                                        \
	do {                                                                                       \
		if (getenv("MESON_EXE_WRAPPER"))                                                   \
			skip();                                                                    \
	} while (0)
