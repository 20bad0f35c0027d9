/*
 * libcupti of mock.h: compiled once per major version of CUDA, with that version's records (MAJOR), and once as an old 12 that
 * lacks what came later (OLD). It fills buffers in the order of calls, returns one when all work in it is done, and
 * misbehaves as the environment's MOCK_CUPTI says: "name=value,…".
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cupti.h>

#include "mock.h"

/* For Python. */
long mock_other(int on);
long mock_enabled(void);
long mock_dropped(void);
long mock_clock_as_found(void);
long mock_thread_ids(void);

#define API __attribute__((visibility("default")))

#if MAJOR == 13
#define VERSION CUPTI_API_VERSION
typedef CUpti_ActivityKernel13 kernel;
typedef CUpti_ActivityMemcpy7 copy;
typedef CUpti_ActivityMemset5 set;
typedef CUpti_ActivityDevice6 device;
typedef CUpti_ActivityGraphTrace2 graph;
typedef CUpti_ActivityMemory4 memory;
#elif !defined OLD
#define VERSION CUPTI_API_VERSION
typedef CUpti_ActivityKernel9 kernel;
typedef CUpti_ActivityMemcpy6 copy;
typedef CUpti_ActivityMemset4 set;
typedef CUpti_ActivityDevice5 device;
typedef CUpti_ActivityGraphTrace2 graph;
typedef CUpti_ActivityMemory4 memory;
#else
#define VERSION 18
typedef CUpti_ActivityKernel9 kernel;
typedef CUpti_ActivityMemcpy5 copy;
typedef CUpti_ActivityMemset4 set;
typedef CUpti_ActivityDevice4 device;
typedef CUpti_ActivityGraphTrace graph;
typedef CUpti_ActivityMemory3 memory;
#endif

/* What CUPTI keeps with a buffer that it has been given. */
struct buffer {
	struct buffer *next;
	uint8_t *bytes;
	size_t size, used;
	uint64_t ready_ns; /* when all work in it is done */
	CUpti_BuffersCallbackCompleteFunc completed;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t delivery = PTHREAD_MUTEX_INITIALIZER;
static struct buffer *current, *closed; /* closed: oldest first */
static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static CUpti_TimestampCallbackFunc clock_callback;
static bool kinds[CUPTI_ACTIVITY_KIND_COUNT], calls[2][4096];
static atomic_bool over; /* kernels were recorded, and are not any more */
static atomic_ulong dropped, records, flushes, other_got, other_foreign;
static pid_t home;
static uint64_t loaded_ns;

static uint64_t real_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* What MOCK_CUPTI says of @name; 0: nothing. */
static long told(const char *name)
{
	const char *at = getenv("MOCK_CUPTI");
	size_t length = strlen(name);

	for (; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (!strncmp(at, name, length) && at[length] == '=')
			return atol(at + length + 1);
	return 0;
}

/* A time as CUPTI would give it: by the callback, or by a clock of its own, which is off and drifts. */
static uint64_t their_ns(uint64_t ns)
{
	static long skew, drift;
	static bool asked;

	if (clock_callback)
		return ns;
	if (!asked) {
		skew = told("skew_ns");
		drift = told("drift_ppm");
		asked = true;
	}
	return ns + skew + (int64_t)(ns - loaded_ns) / 1000000 * drift;
}

/* What has not been done has no end. */
static void cut(struct buffer *buffer)
{
	uint64_t now = their_ns(real_ns());
	CUpti_Activity *record = NULL;

	while (cuptiActivityGetNextRecord(buffer->bytes, buffer->used, &record) == CUPTI_SUCCESS) {
		uint64_t *end = (uint64_t *)((char *)record + offsetof(kernel, end));

		if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && *end > now)
			*end = 0;
	}
}

/* Those whose work is done, or all of them, go to whoever has asked for them. */
static void deliver(bool forced)
{
	uint64_t now = real_ns() - told("late_ms") * 1000000;
	struct buffer *ready = NULL, **end = &ready, **at;
	bool backwards = told("backwards");

	pthread_mutex_lock(&lock);
	for (at = &closed; *at;) {
		struct buffer *buffer = *at;

		if (!forced && buffer->ready_ns > now) {
			at = &buffer->next;
			continue;
		}
		*at = buffer->next;
		buffer->next = backwards ? ready : NULL;
		if (backwards) {
			ready = buffer;
		} else {
			*end = buffer;
			end = &buffer->next;
		}
	}
	pthread_mutex_unlock(&lock);
	while (ready) {
		struct buffer *next = ready->next;

		if (forced)
			cut(ready);
		complete(NULL, 0, ready->bytes, ready->size, ready->used);
		free(ready);
		ready = next;
	}
}

static void close_current(void)
{
	struct buffer **at = &closed;

	if (!current)
		return;
	while (*at)
		at = &(*at)->next;
	*at = current;
	current->next = NULL;
	current = NULL;
}

/* Room for a record in the order of calls; NULL: it is dropped. */
static void *room(size_t size, uint64_t ready_ns)
{
	static long drop = -1;
	size_t max;

	if (drop < 0)
		drop = told("drop");
	if (drop && atomic_fetch_add(&records, 1) % drop == (unsigned long)drop - 1) {
		atomic_fetch_add(&dropped, 1);
		return NULL;
	}
	if (current && current->used + size > current->size)
		close_current();
	if (!current) {
		current = calloc(1, sizeof(*current));
		request(&current->bytes, &current->size, &max);
		if (!current->bytes)
			abort(); /* as the real one */
		memset(current->bytes, 0, current->size);
	}
	if (ready_ns > current->ready_ns)
		current->ready_ns = ready_ns;
	current->used += size;
	return current->bytes + current->used - size;
}

static CUpti_ActivityKind kind_of(const struct mock_entry *entry)
{
	switch (entry->kind) {
	case MOCK_COPY:
		return CUPTI_ACTIVITY_KIND_MEMCPY;
	case MOCK_PEER_COPY:
		return CUPTI_ACTIVITY_KIND_MEMCPY2;
	case MOCK_SET:
		return CUPTI_ACTIVITY_KIND_MEMSET;
	case MOCK_GRAPH:
		return kinds[CUPTI_ACTIVITY_KIND_GRAPH_TRACE]
			       ? CUPTI_ACTIVITY_KIND_GRAPH_TRACE
			       : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	default:
		return CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	}
}

static size_t size_of(CUpti_ActivityKind kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		return sizeof(kernel);
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		return sizeof(copy);
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		return sizeof(CUpti_ActivityMemcpyPtoP4);
	case CUPTI_ACTIVITY_KIND_MEMSET:
		return sizeof(set);
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		return sizeof(graph);
	case CUPTI_ACTIVITY_KIND_MEMORY2:
		return sizeof(memory);
	case CUPTI_ACTIVITY_KIND_DEVICE:
		return sizeof(device);
	case CUPTI_ACTIVITY_KIND_RUNTIME:
	case CUPTI_ACTIVITY_KIND_DRIVER:
		return sizeof(CUpti_ActivityAPI);
	default:
		return 0;
	}
}

#define FILL(type)                                                                                 \
	do {                                                                                       \
		type *to = record;                                                                 \
		to->kind = kind;                                                                   \
		to->start = start_ns;                                                              \
		to->end = end_ns;                                                                  \
		to->deviceId = entry->device;                                                      \
		to->contextId = entry->device + 1;                                                 \
		to->streamId = entry->stream;                                                      \
		to->correlationId = entry->correlation;                                            \
	} while (0)

static void on_activity(const struct mock_entry *entry, uint64_t bytes)
{
	CUpti_ActivityKind kind = kind_of(entry);
	uint64_t start_ns, end_ns;
	void *record;

	pthread_mutex_lock(&lock);
	record = kinds[kind] && request ? room(size_of(kind), entry->end_ns) : NULL;
	start_ns = their_ns(entry->start_ns) + told("device_skew_ns");
	end_ns = their_ns(entry->end_ns) + told("device_skew_ns");
	if (!record)
		;
	else if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
		FILL(kernel);
	else if (kind == CUPTI_ACTIVITY_KIND_MEMCPY)
		FILL(copy);
	else if (kind == CUPTI_ACTIVITY_KIND_MEMCPY2)
		FILL(CUpti_ActivityMemcpyPtoP4);
	else if (kind == CUPTI_ACTIVITY_KIND_MEMSET)
		FILL(set);
	else
		FILL(graph);
	pthread_mutex_unlock(&lock);
}

static void on_call(bool runtime, uint32_t id, const struct mock_entry *entry)
{
	CUpti_ActivityKind kind =
		runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
	CUpti_ActivityAPI *record;

	pthread_mutex_lock(&lock);
	record = (kinds[kind] || calls[runtime][id]) && request ? room(sizeof(*record), 0) : NULL;
	if (record)
		*record = (CUpti_ActivityAPI){.kind = kind,
			.cbid = id,
			.start = their_ns(entry->call_ns),
			.end = their_ns(entry->returned_ns),
			.processId = home,
			.threadId = entry->tid,
			.returnValue = entry->kind >= MOCK_ALLOCATE ? entry->stream : 0,
			.correlationId = entry->correlation};
	pthread_mutex_unlock(&lock);
}

static void on_memory(uint32_t on, bool allocated, uint64_t address, uint64_t bytes,
	uint64_t time_ns)
{
	memory *record;

	pthread_mutex_lock(&lock);
	record = kinds[CUPTI_ACTIVITY_KIND_MEMORY2] && request ? room(sizeof(*record), 0) : NULL;
	if (record) {
		record->kind = CUPTI_ACTIVITY_KIND_MEMORY2;
		record->memoryOperationType =
			allocated ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION
				  : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
		record->memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
		record->bytes = bytes;
		record->address = address;
		record->timestamp = their_ns(time_ns);
		record->deviceId = on;
	}
	pthread_mutex_unlock(&lock);
}

/* Full buffers come by themselves; with after=1 also when nothing is recorded any more. */
static void *deliver_often(void *unused)
{
	for (;;) {
		usleep(5000);
		if (!complete)
			continue;
		if (told("after") && over) {
			pthread_mutex_lock(&lock);
			if (room(sizeof(CUpti_ActivityAPI), 0))
				memset(current->bytes + current->used - sizeof(CUpti_ActivityAPI),
					0xff, 4);
			close_current();
			pthread_mutex_unlock(&lock);
		}
		pthread_mutex_lock(&delivery);
		deliver(false);
		pthread_mutex_unlock(&delivery);
	}
	return NULL;
}

/* A child may launch something, too, whatever another thread did when it was made. */
static void in_child(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_mutex_init(&delivery, NULL);
}

__attribute__((constructor)) static void load(void)
{
	static const struct mock_listener listener = {on_activity, on_call, on_memory};
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	void (*listen)(const struct mock_listener *) =
		driver ? (void (*)(const struct mock_listener *))dlsym(driver, "mock_listen")
		       : NULL;
	pthread_t thread;

	pthread_atfork(NULL, NULL, in_child);
	home = getpid();
	loaded_ns = real_ns();
	if (listen)
		listen(&listener);
	pthread_create(&thread, NULL, deliver_often, NULL);
}

/* Until the driver is there, for as long as the environment says. */
static CUptiResult ready(void)
{
	return real_ns() - loaded_ns < (uint64_t)told("asleep_ms") * 1000000
		       ? CUPTI_ERROR_NOT_INITIALIZED
		       : CUPTI_SUCCESS;
}

API CUptiResult cuptiGetVersion(uint32_t *ret)
{
	*ret = told("version") ? told("version") : VERSION;
	return told("no_driver") ? CUPTI_ERROR_UNKNOWN : CUPTI_SUCCESS;
}

API CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	if (told("refuse_kind") == (long)kind)
		return CUPTI_ERROR_NOT_COMPATIBLE;
	if (!ready())
		kinds[kind] = true;
	if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
		over = false;
	return ready();
}

API CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
	if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && kinds[kind])
		over = true;
	kinds[kind] = false;
	if (kind == CUPTI_ACTIVITY_KIND_RUNTIME || kind == CUPTI_ACTIVITY_KIND_DRIVER)
		memset(calls[kind == CUPTI_ACTIVITY_KIND_RUNTIME], 0, sizeof(calls[0]));
	return CUPTI_SUCCESS;
}

API CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind)
{
	uint32_t (*devices)(void) =
		(uint32_t(*)(void))dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD),
			"mock_devices");

	pthread_mutex_lock(&lock);
	kinds[kind] = true;
	for (uint32_t i = 0; kind == CUPTI_ACTIVITY_KIND_DEVICE && request && i < devices(); i++) {
		device *record = room(sizeof(*record), 0);

		if (!record)
			continue;
		record->kind = kind;
		record->id = i;
		record->globalMemorySize = 80ULL << 30;
		record->name = "Mock GPU with a name that is longer than others";
	}
	pthread_mutex_unlock(&lock);
	return ready();
}

API CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
	CUpti_BuffersCallbackCompleteFunc completed)
{
	if (told("refuse_callbacks"))
		return CUPTI_ERROR_NOT_COMPATIBLE;
	pthread_mutex_lock(&lock);
	request = requested;
	complete = completed;
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

API CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	unsigned long number = atomic_fetch_add(&flushes, 1) + 1;

	if (!complete)
		return CUPTI_ERROR_INVALID_OPERATION;
	if (told("slow_flush_ms"))
		usleep(told("slow_flush_ms") * 1000);
	while (told("stuck_flush") && number >= (unsigned long)told("stuck_flush"))
		pause();
	pthread_mutex_lock(&lock);
	close_current();
	pthread_mutex_unlock(&lock);
	pthread_mutex_lock(&delivery);
	deliver(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	pthread_mutex_unlock(&delivery);
	return CUPTI_SUCCESS;
}

API CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t bytes, CUpti_Activity **record)
{
	uint8_t *next = *record ? (uint8_t *)*record + size_of((*record)->kind) : buffer;

	if (next >= buffer + bytes)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)next;
	return size_of((*record)->kind) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}

API CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *ret)
{
	*ret = atomic_exchange(&dropped, 0);
	return CUPTI_SUCCESS;
}

static CUpti_ActivityThreadIdType thread_ids;

API CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
	if (!ready())
		thread_ids = type;
	return ready();
}

API CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType *ret)
{
	*ret = thread_ids;
	return ready();
}

/* Whether a profiler gets the times that it gets without the shim: since 1970. */
API long mock_clock_as_found(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return !clock_callback || clock_callback() / 1000000000 - now.tv_sec < 2;
}

API CUptiResult cuptiGetTimestamp(uint64_t *ret)
{
	*ret = clock_callback ? clock_callback() : their_ns(real_ns());
	return CUPTI_SUCCESS;
}

API CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc callback)
{
	if (told("refuse_clock"))
		return CUPTI_ERROR_NOT_SUPPORTED;
	clock_callback = callback;
	return CUPTI_SUCCESS;
}

#ifndef OLD
API CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, uint8_t enable)
{
	calls[true][id] = enable;
	return CUPTI_SUCCESS;
}

API CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId id, uint8_t enable)
{
	calls[false][id] = enable;
	return CUPTI_SUCCESS;
}
#endif

#if MAJOR == 13
API CUptiResult cuptiActivityGetEnabledKinds(CUpti_SubscriberHandle subscriber,
	CUpti_ActivityKind *buffer, uint32_t *size, uint32_t *ret)
{
	*ret = 0;
	for (unsigned int i = 0; i < CUPTI_ACTIVITY_KIND_COUNT; i++)
		*ret += kinds[i];
	return CUPTI_SUCCESS;
}
#endif

/* Another user, such as a framework's profiler. */
static void CUPTIAPI other_requested(uint8_t **buffer, size_t *size, size_t *max)
{
	*buffer = aligned_alloc(8, *size = 65536);
	*max = 0;
	memset(*buffer, 0, *size);
	atomic_fetch_add(&other_foreign, 1); /* until it comes back */
}

static void CUPTIAPI other_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
	size_t size, size_t bytes)
{
	CUpti_Activity *record = NULL;

	while (size == 65536 && cuptiActivityGetNextRecord(buffer, bytes, &record) == CUPTI_SUCCESS)
		if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			atomic_fetch_add(&other_got, 1);
	free(buffer);
}

/* It begins or ends to record kernels; returns how many it has got. */
API long mock_other(int on)
{
	if (on) {
		cuptiActivityRegisterCallbacks(other_requested, other_completed);
		cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME);
		cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	} else {
		cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
		cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
		cuptiActivityDisable(CUPTI_ACTIVITY_KIND_RUNTIME);
	}
	return atomic_load(&other_got);
}

/* How many kinds and calls are recorded, for whomever. */
API long mock_enabled(void)
{
	long count = 0;

	for (unsigned int i = 0; i < CUPTI_ACTIVITY_KIND_COUNT; i++)
		count += kinds[i];
	for (unsigned int i = 0; i < sizeof(calls) / sizeof(calls[0][0]); i++)
		count += (&calls[0][0])[i];
	return count;
}

/* Records that were dropped, in all. */
API long mock_dropped(void)
{
	return told("drop") ? (long)(atomic_load(&records) / told("drop")) : 0;
}

API long mock_thread_ids(void)
{
	return thread_ids;
}
