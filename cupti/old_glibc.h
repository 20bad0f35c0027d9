/*
 * The shim is loaded by programs with other C libraries than the one it was built with. What glibc 2.32 and 2.34 moved from
 * libpthread and libdl into libc, and what they renamed so, is asked for by the versions it had before, which newer ones
 * still have. So the shim needs glibc 2.17. Versions: glibc's sysdeps/unix/sysv/linux/x86_64/64/lib*.abilist. On
 * aarch64, whose glibc began with 2.17, all are that.
 */
#pragma once

#include <features.h>

#if defined(__GLIBC__) && defined(__x86_64__)
#define OLD_SYMBOL(name, version) __asm__(".symver " #name ", " #name "@GLIBC_" version)
#elif defined(__GLIBC__) && defined(__aarch64__)
#define OLD_SYMBOL(name, version) __asm__(".symver " #name ", " #name "@GLIBC_2.17")
#else
#define OLD_SYMBOL(name, version) _Static_assert(1, "")
#endif

OLD_SYMBOL(dlopen, "2.2.5");
OLD_SYMBOL(dlsym, "2.2.5");
OLD_SYMBOL(pthread_condattr_setclock, "2.3.3");
OLD_SYMBOL(pthread_create, "2.2.5");
OLD_SYMBOL(pthread_detach, "2.2.5");
OLD_SYMBOL(pthread_setname_np, "2.12");
OLD_SYMBOL(pthread_sigmask, "2.2.5");
