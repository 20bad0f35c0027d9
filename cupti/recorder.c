#include "recorder.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "buffers.h"
#include "clock.h"
#include "collector.h"
#include "kinds.h"
#include "library.h"
#include "probe.h"

#define LOOK_AGAIN   10		   /* ticks until what prevents recording is looked at again */
#define DRIVER_TICKS 20		   /* for which a driver may take to be there before that is said */
#define LATE_NS	     3000000000ULL /* a buffer that is later does not count as coming any more */

#define SAME_CLOCK_NS 1000000000ULL /* CLOCK_REALTIME is decades away */

enum state {
	STATE_OFF,
	STATE_PROVING, /* whether CUPTI's callbacks are still ours */
	STATE_ON,
	STATE_ASIDE, /* another user is at work */
	STATE_REFUSED,
};

/* All but what is said to be otherwise belongs to the thread that ticks. */
static struct {
	pthread_mutex_t lock; /* of collector, and of collecting */
	struct collector collector;
	bool collecting;
	_Atomic enum state state; /* written by that thread, read by any */
	struct library library;	  /* .layout NULL: not opened yet */
	bool registered;    /* CUPTI has our callbacks, unless another user took their place */
	unsigned int ticks; /* in this state */
	uint32_t said;	    /* the reason that was said last; GC_GPU_NO_… or SAID_ASIDE */
	atomic_bool silent;
	atomic_uint_fast64_t calling_ns, returned; /* returned: buffers of ours that came back */
	uint64_t returned_before;
	CUpti_ActivityThreadIdType thread_ids; /* as they were before */
} recorder = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define SAID_ASIDE UINT32_MAX

/* A call of CUPTI's, or of another library that may not return. */
#define CALL(expression)                                                                           \
	({                                                                                         \
		atomic_store(&recorder.calling_ns, clock_now());                                   \
		__auto_type result_ = (expression);                                                \
		atomic_store(&recorder.calling_ns, 0);                                             \
		result_;                                                                           \
	})

static void say(uint16_t kind, uint32_t reason, uint32_t detail)
{
	struct gc_gpu_record record = {.kind = kind, .start_ns = clock_now(), .count = detail};

	if (kind == GC_GPU_REFUSED)
		record.value = reason;
	if (recorder.said != reason)
		probe_hand_over(&record, 1);
	recorder.said = reason;
}

static void enter(enum state state)
{
	recorder.state = state;
	recorder.ticks = 0;
}

static void refuse(uint32_t reason, uint32_t detail)
{
	say(GC_GPU_REFUSED, reason, detail);
	enter(STATE_REFUSED);
}

static void step_aside(void)
{
	say(GC_GPU_ASIDE, SAID_ASIDE, 0);
	recorder.returned_before = atomic_load(&recorder.returned);
	enter(STATE_ASIDE);
}

/* CUPTI calls it in any thread of the program, when it launches something. */
static void CUPTIAPI requested(uint8_t **ret_buffer, size_t *ret_bytes, size_t *ret_records)
{
	*ret_buffer = buffers_give(ret_bytes);
	*ret_records = 0; /* as many as it holds */
}

static void read_buffer(uint8_t *buffer, size_t bytes, uint64_t number)
{
	CUpti_Activity *record = NULL;
	CUptiResult result;

	while ((result = recorder.library.next_record(buffer, bytes, &record)) == CUPTI_SUCCESS)
		collector_record(&recorder.collector, record, number);
	collector_match(&recorder.collector);
	if (result != CUPTI_ERROR_MAX_LIMIT_REACHED)
		collector_lost(&recorder.collector, 1);
}

/* CUPTI calls us under its own lock: it is not asked under ours. */
static struct check ask_dropped(void)
{
	struct check check = {0};

	pthread_mutex_lock(&recorder.lock);
	check.since_ns = recorder.collecting ? recorder.collector.checked_ns : UINT64_MAX;
	pthread_mutex_unlock(&recorder.lock);
	check.before_ns = clock_now();
	if (recorder.library.dropped_records(NULL, 0, &check.missing) != CUPTI_SUCCESS)
		check.missing = 0;
	return check;
}

static void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
	size_t bytes)
{
	uint64_t number = buffers_number(buffer);
	struct check check;

	if (atomic_load(&recorder.silent) || (!number && !buffers_spare(buffer)))
		return; /* a child's copy, or somebody else's */
	check = ask_dropped();
	if (!number && !check.missing)
		check.missing = 1;
	pthread_mutex_lock(&recorder.lock);
	if (recorder.collecting) {
		if (number && bytes)
			read_buffer(buffer, bytes, number);
		collector_checked(&recorder.collector, &check);
	}
	pthread_mutex_unlock(&recorder.lock);
	buffers_take_back(buffer);
	if (number)
		atomic_fetch_add(&recorder.returned, 1);
}

static uint64_t CUPTIAPI timestamp(void)
{
	return clock_now();
}

/* What CUPTI takes by itself: nobody else shall get our times. */
static uint64_t CUPTIAPI real_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static bool their_timestamp(uint64_t *ret_ns)
{
	return recorder.library.timestamp(ret_ns) == CUPTI_SUCCESS;
}

/*
 * Whether another user has registered callbacks or records something, which ours must not take over. CUPTI says so since
 * 13.3. Before, a library that somebody else had loaded flushes without an error once callbacks are registered, which
 * kind DEVICE, harmless to all, makes safe to call.
 */
static bool others_at_work(void)
{
	struct library *library = &recorder.library;
	uint32_t count = 0;

	if (library->enabled_kinds)
		return CALL(library->enabled_kinds(NULL, NULL, NULL, &count)) == CUPTI_SUCCESS &&
		       count;
	if (!library->shared || recorder.registered)
		return false;
	return CALL(library->enable(CUPTI_ACTIVITY_KIND_DEVICE)) == CUPTI_SUCCESS &&
	       CALL(library->flush_all(0)) == CUPTI_SUCCESS;
}

/* CUPTI's clock is one for all users: as it was, unless another has given it theirs. */
static void restore_clock(void)
{
	uint64_t theirs_ns, ours_ns = clock_now();

	if (recorder.library.register_clock && their_timestamp(&theirs_ns) &&
		theirs_ns - ours_ns < SAME_CLOCK_NS)
		CALL(recorder.library.register_clock(real_time));
}

/* Nobody else has come meanwhile. */
static void restore(void)
{
	restore_clock();
	if (recorder.library.get_thread_id_type)
		CALL(recorder.library.set_thread_id_type(recorder.thread_ids));
}

/* 0, or CUPTI's error. Nothing is recorded yet. */
static CUptiResult prepare(bool *ret_same_clock)
{
	struct library *library = &recorder.library;
	CUptiResult result = CUPTI_SUCCESS;

	*ret_same_clock = false;
	if (library->get_thread_id_type)
		result = CALL(library->get_thread_id_type(&recorder.thread_ids));
	if (result == CUPTI_SUCCESS)
		result = CALL(library->set_thread_id_type(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM));
	if (result == CUPTI_SUCCESS)
		result = CALL(library->enable(CUPTI_ACTIVITY_KIND_DEVICE));
	if (result != CUPTI_SUCCESS)
		return result;
	*ret_same_clock = library->register_clock &&
			  CALL(library->register_clock(timestamp)) == CUPTI_SUCCESS;
	if (!recorder.registered)
		result = CALL(library->register_callbacks(requested, completed));
	if (result != CUPTI_SUCCESS) {
		CALL(library->disable(CUPTI_ACTIVITY_KIND_DEVICE));
		restore();
	}
	return result;
}

static int collect(bool same_clock)
{
	int result;

	pthread_mutex_lock(&recorder.lock);
	result = collector_init(&recorder.collector, recorder.library.layout, same_clock);
	recorder.collector.own_tid = syscall(SYS_gettid);
	recorder.collecting = !result;
	pthread_mutex_unlock(&recorder.lock);
	return result;
}

static void stop_collecting(void)
{
	pthread_mutex_lock(&recorder.lock);
	recorder.collecting = false;
	collector_release(&recorder.collector);
	pthread_mutex_unlock(&recorder.lock);
}

static void compare_clocks(void)
{
	struct clock_point point;

	if (recorder.collector.clock.same || !CALL(clock_compare(their_timestamp, &point)))
		return;
	pthread_mutex_lock(&recorder.lock);
	clock_add(&recorder.collector.clock, point);
	pthread_mutex_unlock(&recorder.lock);
}

static void switch_on(void)
{
	CUptiResult result;

	compare_clocks();
	result = CALL(kinds_enable(&recorder.library));
	if (result != CUPTI_SUCCESS) {
		CALL((kinds_disable(&recorder.library, KINDS_ALL), 0));
		restore();
		stop_collecting();
		refuse(GC_GPU_NO_ENABLE, result);
		return;
	}
	recorder.said = 0;
	enter(STATE_ON);
}

/* From off to on, or to why not. */
static void begin(void)
{
	uint32_t detail = 0;
	bool same_clock;
	int reason = 0;

	if (library_profiler_mapped()) {
		step_aside();
		return;
	}
	if (!recorder.library.layout)
		reason = CALL(library_open(&recorder.library, &detail));
	if (reason > 0)
		refuse(reason, detail);
	if (reason)
		return;
	if (others_at_work()) {
		step_aside();
		return;
	}
	if (recorder.library.enabled_kinds)
		recorder.registered = false; /* nobody records: no harm in doing it again */
	detail = prepare(&same_clock);
	if (detail != CUPTI_SUCCESS) {
		if (recorder.ticks >= DRIVER_TICKS)
			say(GC_GPU_REFUSED, GC_GPU_NO_DRIVER, detail);
		return; /* it may be there later */
	}
	if (collect(same_clock))
		return; /* no memory: again at the next tick */
	/* As device records come, the callbacks are ours still. */
	recorder.returned_before = atomic_load(&recorder.returned);
	CALL(recorder.library.enable_and_dump(CUPTI_ACTIVITY_KIND_DEVICE));
	if (recorder.registered) {
		enter(STATE_PROVING);
		return;
	}
	recorder.registered = true;
	switch_on();
}

static void make_canary(void)
{
	int version;

	pthread_mutex_lock(&recorder.lock);
	collector_canary(&recorder.collector, clock_now());
	pthread_mutex_unlock(&recorder.lock);
	CALL(recorder.library.driver_version(&version));
	pthread_mutex_lock(&recorder.lock);
	collector_canary_done(&recorder.collector, clock_now());
	pthread_mutex_unlock(&recorder.lock);
}

/* Everything that is known by now; @last: without waiting for more. */
static void hand_over(bool last)
{
	__typeof__(recorder.collector.out) out;
	uint64_t oldest_ns = 0, oldest = buffers_oldest(&oldest_ns);
	struct collector *collector = &recorder.collector;

	pthread_mutex_lock(&recorder.lock);
	/* later ones have come: this one is held back, or was never written to */
	if (oldest != UINT64_MAX && collector->canary_ns > oldest_ns + LATE_NS) {
		collector_late(collector, oldest_ns);
		buffers_give_up(oldest);
	}
	collector_tick(collector, oldest, last);
	out = collector->out;
	collector->out = (__typeof__(out)){0};
	pthread_mutex_unlock(&recorder.lock);
	probe_hand_over(out.items, out.count);
	list_free(&out);
}

static void record(void)
{
	struct check check;
	bool alive;

	compare_clocks();
	make_canary();
	CALL(recorder.library.flush_all(0));
	check = CALL(ask_dropped());
	pthread_mutex_lock(&recorder.lock);
	collector_checked(&recorder.collector, &check);
	pthread_mutex_unlock(&recorder.lock);
	hand_over(false);
	pthread_mutex_lock(&recorder.lock);
	alive = collector_alive(&recorder.collector, LATE_NS);
	pthread_mutex_unlock(&recorder.lock);
	if (!alive) {
		/* Nothing comes any more: another user's callbacks have taken the place of ours. */
		hand_over(true);
		CALL((kinds_disable(&recorder.library, KINDS_OURS), 0));
		restore_clock();
		stop_collecting();
		step_aside();
	}
}

static void prove(void)
{
	CALL(recorder.library.flush_all(0));
	if (atomic_load(&recorder.returned) != recorder.returned_before) {
		switch_on();
	} else if (recorder.ticks > LOOK_AGAIN) {
		stop_collecting();
		CALL(recorder.library.disable(CUPTI_ACTIVITY_KIND_DEVICE));
		restore();
		step_aside();
	}
}

/* Until the other has gone: CUPTI says so, or a buffer of ours has come back to us. */
static void wait_aside(void)
{
	say(GC_GPU_ASIDE, SAID_ASIDE, 0); /* to a tracer that has attached since */
	if (recorder.ticks % LOOK_AGAIN != LOOK_AGAIN - 1)
		return;
	if (recorder.library.enabled_kinds || !recorder.library.layout ||
		atomic_load(&recorder.returned) != recorder.returned_before)
		begin();
}

void recorder_tick(void)
{
	enum state state = recorder.state;

	if (state == STATE_ON)
		record();
	else if (state == STATE_PROVING)
		prove();
	else if (state == STATE_OFF &&
		 (recorder.ticks <= DRIVER_TICKS || recorder.ticks % LOOK_AGAIN == 0))
		begin();
	else if (state == STATE_ASIDE)
		wait_aside();
	recorder.ticks++;
}

void recorder_end(void)
{
	if (recorder.state == STATE_ON) {
		compare_clocks();
		make_canary();
		CALL((kinds_disable(&recorder.library, KINDS_ALL), 0));
		CALL(recorder.library.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
		hand_over(true);
	}
	if (recorder.state == STATE_PROVING)
		CALL(recorder.library.disable(CUPTI_ACTIVITY_KIND_DEVICE));
	if (recorder.state == STATE_ON || recorder.state == STATE_PROVING)
		restore();
	if (recorder.collecting)
		stop_collecting();
	buffers_trim();
	recorder.said = 0;
	if (recorder.state != STATE_ASIDE)
		enter(STATE_OFF);
}

bool recorder_recording(void)
{
	return recorder.state == STATE_ON;
}

uint64_t recorder_calling_ns(void)
{
	return atomic_load(&recorder.calling_ns);
}

void recorder_silence(void)
{
	atomic_store(&recorder.silent, true);
	pthread_mutex_init(&recorder.lock, NULL);
	buffers_forget();
}
