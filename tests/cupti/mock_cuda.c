/*
 * libcuda.so.1 of mock.h. Functions are CUDA's, arguments too, except that a kernel (CUfunction) or graph is the time for
 * which it runs, in ns, a copy or a set takes a ns a byte, and a context is the number of its device plus one.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cupti.h>

#include "mock.h"

/* For Python. */
int mock_runtime_launch(uint64_t duration_ns, CUstream stream);
CUresult mock_free(CUdeviceptr address, size_t bytes);
void mock_burst(uint64_t count, uint64_t duration_ns, uint64_t period_ns, CUstream *on,
	uint32_t width);
int mock_write_book(const char *path);

#define API	   __attribute__((visibility("default")))
#define LATENCY_NS 2000 /* from a call to the earliest start of its work */
#define STREAMS	   4096
#define BOOK	   8000000

struct stream {
	uint32_t device, id;
	uint64_t end_ns;
};

static struct stream streams[STREAMS];
static unsigned int stream_count;
static uint64_t device_end_ns[256];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct mock_listener *_Atomic listener;
static atomic_uint correlations;
static struct mock_entry *book;
static atomic_ulong book_count;
static atomic_ulong next_address = 0x10000;
static uint64_t gap_ns; /* between two works on a stream, as MOCK_GAP_NS says */
static _Thread_local uint32_t current_device;
static _Thread_local uint32_t tid;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	struct timespec until = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

	while (now_ns() < ns)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void write_down(const struct mock_entry *entry)
{
	unsigned long at = atomic_fetch_add(&book_count, 1);

	if (book && at < BOOK)
		book[at] = *entry;
}

API void mock_listen(const struct mock_listener *given)
{
	atomic_store(&listener, given);
}

API uint32_t mock_devices(void)
{
	const char *devices = getenv("MOCK_DEVICES");

	return devices ? strtoul(devices, NULL, 10) : 1;
}

static struct stream *stream_of(CUstream given)
{
	/* the default stream of each device */
	return given ? (struct stream *)given : &streams[current_device];
}

static struct mock_entry enter_call(void)
{
	if (!tid)
		tid = syscall(SYS_gettid);
	return (struct mock_entry){.correlation = atomic_fetch_add(&correlations, 1) + 1,
		.tid = tid,
		.call_ns = now_ns(),
		.device = current_device};
}

static void leave_call(struct mock_entry *entry, bool runtime, uint32_t id)
{
	const struct mock_listener *to = atomic_load(&listener);

	entry->returned_ns = now_ns();
	if (to)
		to->call(runtime, id, entry);
	if (entry->kind)
		write_down(entry);
}

/* Puts work on a stream. */
static void launch(struct mock_entry *entry, CUstream given, uint32_t kind, uint64_t duration_ns,
	uint64_t bytes)
{
	const struct mock_listener *to = atomic_load(&listener);
	struct stream *stream = stream_of(given);
	uint64_t ready_ns;

	pthread_mutex_lock(&lock);
	ready_ns = now_ns() + LATENCY_NS;
	entry->kind = kind;
	entry->device = stream->device;
	entry->stream = stream->id;
	if (stream->end_ns && stream->end_ns + gap_ns > ready_ns)
		ready_ns = stream->end_ns + gap_ns;
	entry->start_ns = ready_ns;
	entry->end_ns = stream->end_ns = entry->start_ns + duration_ns;
	if (entry->end_ns > device_end_ns[stream->device])
		device_end_ns[stream->device] = entry->end_ns;
	/* Nothing begins before its record has a place. */
	if (to)
		to->activity(entry, bytes);
	pthread_mutex_unlock(&lock);
}

static CUresult wait_until(uint64_t end_ns, uint32_t id)
{
	struct mock_entry entry = enter_call();

	sleep_until(end_ns);
	entry.kind = MOCK_WAIT;
	entry.waited = 1;
	entry.end_ns = end_ns;
	leave_call(&entry, false, id);
	return CUDA_SUCCESS;
}

/* A child may launch something, too, whatever another thread did when it was made. */
static void in_child(void)
{
	pthread_mutex_init(&lock, NULL);
}

static void inject(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *handle = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*initialize)(void) =
		handle ? (int (*)(void))dlsym(handle, "InitializeInjection") : NULL;

	if (initialize)
		initialize();
}

API CUresult cuInit(unsigned int flags)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint32_t devices = mock_devices();

	pthread_mutex_lock(&lock);
	if (!stream_count) {
		book = calloc(BOOK, sizeof(*book));
		gap_ns = getenv("MOCK_GAP_NS") ? strtoul(getenv("MOCK_GAP_NS"), NULL, 10) : 0;
		stream_count = devices;
		for (uint32_t i = 0; i < devices; i++)
			streams[i] = (struct stream){i, 7, 0};
	}
	pthread_mutex_unlock(&lock);
	pthread_once(&once, inject);
	pthread_atfork(NULL, NULL, in_child);
	return CUDA_SUCCESS;
}

API CUresult cuDriverGetVersion(int *ret_version)
{
	const char *version = getenv("MOCK_DRIVER");
	struct mock_entry entry = enter_call();

	*ret_version = version ? atoi(version) : 13050;
	pthread_mutex_lock(&lock);
	leave_call(&entry, false, CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion);
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

API CUresult cuCtxSetCurrent(CUcontext context)
{
	current_device = (uint32_t)((uintptr_t)context - 1);
	return CUDA_SUCCESS;
}

API CUresult cuStreamCreate(CUstream *ret, unsigned int flags)
{
	pthread_mutex_lock(&lock);
	streams[stream_count] = (struct stream){current_device, 8 + stream_count, 0};
	*ret = (CUstream)&streams[stream_count++];
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

API CUresult cuLaunchKernel(CUfunction kernel, unsigned int gx, unsigned int gy, unsigned int gz,
	unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared, CUstream stream,
	void **parameters, void **extra)
{
	struct mock_entry entry = enter_call();

	launch(&entry, stream, MOCK_KERNEL, (uintptr_t)kernel, 0);
	leave_call(&entry, false, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
	return CUDA_SUCCESS;
}

/* cudaLaunchKernel, which makes the driver's within it, of the same correlation. */
API int mock_runtime_launch(uint64_t duration_ns, CUstream stream)
{
	struct mock_entry outer = enter_call(), inner = outer;

	inner.call_ns = now_ns();
	launch(&outer, stream, MOCK_KERNEL, duration_ns, 0);
	inner.kind = 0;
	leave_call(&inner, false, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
	leave_call(&outer, true, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
	return 0;
}

API CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream)
{
	struct mock_entry entry = enter_call();

	launch(&entry, stream, MOCK_GRAPH, (uintptr_t)graph, 0);
	leave_call(&entry, false, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch);
	return CUDA_SUCCESS;
}

API CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)
{
	struct mock_entry entry = enter_call();

	launch(&entry, stream, MOCK_SET, bytes, bytes);
	leave_call(&entry, false, CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async);
	return CUDA_SUCCESS;
}

API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
	struct mock_entry entry = enter_call();

	launch(&entry, stream, MOCK_COPY, bytes, bytes);
	leave_call(&entry, false, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2);
	return CUDA_SUCCESS;
}

API CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	struct mock_entry entry = enter_call();

	launch(&entry, stream, MOCK_COPY, bytes, bytes);
	sleep_until(entry.end_ns); /* as into memory that is not pinned */
	entry.waited = 1;
	leave_call(&entry, false, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2);
	return CUDA_SUCCESS;
}

API CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here,
	size_t bytes, CUstream stream)
{
	struct mock_entry entry = enter_call();

	launch(&entry, stream, MOCK_PEER_COPY, bytes, bytes);
	leave_call(&entry, false, CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeerAsync);
	return CUDA_SUCCESS;
}

API CUresult cuStreamSynchronize(CUstream stream)
{
	return wait_until(stream_of(stream)->end_ns, CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize);
}

API CUresult cuCtxSynchronize(void)
{
	return wait_until(device_end_ns[current_device], CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize);
}

/* An event is the time at which it will have happened. */
API CUresult cuEventRecord(CUevent event, CUstream stream)
{
	*(uint64_t *)event = stream_of(stream)->end_ns;
	return CUDA_SUCCESS;
}

API CUresult cuEventSynchronize(CUevent event)
{
	return wait_until(*(uint64_t *)event, CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize);
}

static CUresult change_memory(CUdeviceptr *address, size_t bytes, bool allocate, uint32_t id)
{
	const struct mock_listener *to = atomic_load(&listener);
	struct mock_entry entry = enter_call();

	if (allocate)
		*address = atomic_fetch_add(&next_address, bytes + 1);
	if (to)
		to->memory(current_device, allocate, *address, bytes, entry.call_ns);
	leave_call(&entry, false, id);
	return CUDA_SUCCESS;
}

API CUresult cuMemAlloc_v2(CUdeviceptr *ret, size_t bytes)
{
	return change_memory(ret, bytes, true, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
}

/* Unlike CUDA's, it has to be told how much it frees. */
API CUresult mock_free(CUdeviceptr address, size_t bytes)
{
	return change_memory(&address, bytes, false, CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2);
}

/* @count kernels, one every @period_ns, on @width streams of each device in turn. */
API void mock_burst(uint64_t count, uint64_t duration_ns, uint64_t period_ns, CUstream *on,
	uint32_t width)
{
	uint64_t begin_ns = now_ns();

	for (uint64_t i = 0; i < count; i++) {
		while (now_ns() < begin_ns + i * period_ns)
			;
		cuLaunchKernel((CUfunction)(uintptr_t)duration_ns, 1, 1, 1, 1, 1, 1, 0,
			on[i % width], NULL, NULL);
	}
}

/* The book so far, into a file. */
API int mock_write_book(const char *path)
{
	FILE *file = fopen(path, "w");
	size_t count = atomic_load(&book_count);

	if (!file || count > BOOK)
		return -1;
	fwrite(book, sizeof(*book), count, file);
	return fclose(file);
}
