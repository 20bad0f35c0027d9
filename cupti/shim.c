/*
 * libgctrace_cupti.so: loaded into a program by the CUDA driver, which finds it by CUDA_INJECTION64_PATH. Until a tracer
 * attaches to its probe there is one thread that looks for one ten times a second. It writes no file and no log, and
 * reads no environment. No signal reaches its threads, and no error leaves it.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <time.h>

#include "probe.h"
#include "session.h"

#define LOOK_NS 100000000L /* between two looks for a tracer */

int InitializeInjection(void);
int Agent_OnAttach(void *vm, const char *options, void *reserved);

static void *look(void *unused)
{
	prctl(PR_SET_TIMERSLACK, LOOK_NS / 10); /* wake up when others do */
	for (;;) {
		session_want(probe_attached());
		clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = LOOK_NS}, NULL);
	}
	return NULL;
}

/* A child has none of our threads. If it runs another program, that is injected anew. */
static void after_fork(void)
{
	session_silence();
}

/* The driver calls it when CUDA is initialised, and takes 0 for a failure, which it ignores. */
__attribute__((visibility("default"))) int InitializeInjection(void)
{
	static atomic_flag done = ATOMIC_FLAG_INIT;
	sigset_t all, before;
	pthread_t thread;
	bool made;

	if (atomic_flag_test_and_set(&done))
		return 1;
	if (pthread_atfork(NULL, NULL, after_fork))
		return 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	made = !pthread_create(&thread, NULL, look, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!made)
		return 0;
	pthread_setname_np(thread, "gctrace-gpu");
	pthread_detach(thread);
	return 1;
}

/* A JVM calls it where its own tools have it load us as an agent. Nothing of the JVM is used. 0: success. */
__attribute__((visibility("default"))) int Agent_OnAttach(__attribute__((unused)) void *vm,
	__attribute__((unused)) const char *options, __attribute__((unused)) void *reserved)
{
	return InitializeInjection() ? 0 : -1;
}
