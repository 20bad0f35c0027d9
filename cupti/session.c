#include "session.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "probe.h"
#include "recorder.h"

#define TICK_NS	     100000000ULL
#define NO_ANSWER_NS 3000000000ULL /* a call of CUPTI that takes longer may never return */
#define EXIT_NS	     500000000ULL  /* for which the end of the program may wait */

/* The thread that records, and what it is to do; one of each in a process. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool wanted, working, ending;
} session = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void init_condition(void)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&session.changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

static struct timespec at(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
}

/* Waits for the next tick, or until recording is no longer wanted, which is what it returns. */
static bool next_tick(uint64_t *due_ns)
{
	uint64_t now = clock_now();
	struct timespec until;
	bool wanted;

	*due_ns = *due_ns + TICK_NS > now ? *due_ns + TICK_NS : now + TICK_NS;
	until = at(*due_ns);
	pthread_mutex_lock(&session.lock);
	while (session.wanted && !session.ending)
		if (pthread_cond_timedwait(&session.changed, &session.lock, &until))
			break;
	wanted = session.wanted && !session.ending;
	pthread_mutex_unlock(&session.lock);
	return wanted;
}

/* At the program's end: what has not been handed over comes now, if CUPTI answers in time. */
static void finish(void)
{
	struct timespec until = at(clock_now() + EXIT_NS);

	pthread_mutex_lock(&session.lock);
	session.ending = true;
	pthread_cond_broadcast(&session.changed);
	while (session.working)
		if (pthread_cond_timedwait(&session.changed, &session.lock, &until))
			break;
	pthread_mutex_unlock(&session.lock);
}

static void *work(void *unused)
{
	static bool registered;
	uint64_t due_ns = clock_now();

	do {
		recorder_tick();
		/* Handlers run in reverse order: ours, made after CUPTI's, finds it whole. */
		if (!registered && recorder_recording())
			registered = !atexit(finish);
	} while (next_tick(&due_ns));
	recorder_end();
	pthread_mutex_lock(&session.lock);
	session.working = false;
	pthread_cond_broadcast(&session.changed);
	pthread_mutex_unlock(&session.lock);
	return NULL;
}

/* A thread that takes none of the program's signals. */
static bool start_worker(void)
{
	sigset_t all, before;
	pthread_t thread;
	bool made;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	made = !pthread_create(&thread, NULL, work, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!made)
		return false;
	pthread_setname_np(thread, "gctrace-gpu");
	pthread_detach(thread);
	return true;
}

/* The worker has been in a call for long: it cannot say so itself. */
static void watch_worker(void)
{
	static uint64_t said_ns;
	uint64_t since_ns = recorder_calling_ns();

	if (!since_ns || since_ns == said_ns || clock_now() - since_ns < NO_ANSWER_NS)
		return;
	said_ns = since_ns;
	probe_hand_over(&(struct gc_gpu_record){.kind = GC_GPU_REFUSED,
				.start_ns = since_ns,
				.value = GC_GPU_NO_ANSWER},
		1);
}

void session_want(bool wanted)
{
	static bool begun;

	if (!begun)
		init_condition();
	begun = true;
	pthread_mutex_lock(&session.lock);
	if (session.wanted != wanted) {
		session.wanted = wanted;
		pthread_cond_broadcast(&session.changed);
	}
	if (wanted && !session.working && !session.ending)
		session.working = start_worker();
	pthread_mutex_unlock(&session.lock);
	if (wanted)
		watch_worker();
}

void session_silence(void)
{
	pthread_mutex_init(&session.lock, NULL);
	init_condition();
	session.ending = true;
	session.working = false;
	recorder_silence();
}
