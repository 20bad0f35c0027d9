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
uint64_t mock_replay(const struct mock_entry *works, uint64_t work_count,
	const struct mock_entry *calls, uint64_t call_count);
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
static uint64_t memory_bytes, free_bytes; /* of each device, as MOCK_MEMORY says; 0: any number */
static uint64_t gap_ns;			  /* between two works on a stream, as MOCK_GAP_NS says */
static _Thread_local uint32_t current_device;
static _Thread_local uint32_t tid;

/* What is yet to come of a timeline that is played, whose times are since its begin. */
static struct {
	const struct mock_entry *work, *works_end, *call, *calls_end;
	uint64_t begin_ns;
	uint32_t tid;
} replay;

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
		memory_bytes =
			getenv("MOCK_MEMORY") ? strtoull(getenv("MOCK_MEMORY"), NULL, 10) : 0;
		free_bytes = memory_bytes;
		stream_count = devices;
		for (uint32_t i = 0; i < devices; i++)
			streams[i] = (struct stream){i, 7, 0};
	}
	pthread_mutex_unlock(&lock);
	pthread_once(&once, inject);
	pthread_atfork(NULL, NULL, in_child);
	return CUDA_SUCCESS;
}

static uint32_t call_of(uint32_t kind)
{
	switch (kind) {
	case MOCK_WAIT:
		return CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020;
	case MOCK_SET:
		return CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020;
	case MOCK_COPY:
		return CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020;
	default:
		return CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
	}
}

static struct mock_entry replayed(const struct mock_entry *at)
{
	struct mock_entry entry = *at;

	entry.tid = replay.tid;
	entry.start_ns += replay.begin_ns;
	entry.end_ns += replay.begin_ns;
	entry.call_ns += replay.begin_ns;
	entry.returned_ns += replay.begin_ns;
	return entry;
}

/* A call that takes long launches its work when it is nearly over. */
static uint64_t due_ns(const struct mock_entry *work)
{
	return work->start_ns < work->returned_ns ? work->start_ns : work->returned_ns;
}

/* Hands over the work that begins or whose call has returned, and the calls that have returned. Locked. */
static void replay_due(void)
{
	const struct mock_listener *to = atomic_load(&listener);
	uint64_t now = now_ns() - replay.begin_ns;

	for (; replay.work < replay.works_end && due_ns(replay.work) <= now; replay.work++) {
		struct mock_entry entry = replayed(replay.work);

		if (to)
			to->activity(&entry, 0);
		write_down(&entry);
	}
	for (; replay.call < replay.calls_end && replay.call->returned_ns <= now; replay.call++) {
		struct mock_entry entry = replayed(replay.call);

		if (to)
			to->call(true, call_of(entry.kind), &entry);
		if (entry.kind == MOCK_WAIT)
			write_down(&entry);
	}
}

/*
 * Plays @works, in the order in which they are handed over, and @calls, by the times of their return, as if this thread
 * had made them all; returns when it began.
 */
API uint64_t mock_replay(const struct mock_entry *works, uint64_t work_count,
	const struct mock_entry *calls, uint64_t call_count)
{
	uint64_t last_ns = 0;
	bool more = true;

	for (uint64_t i = 0; i < work_count; i++)
		last_ns = works[i].end_ns > last_ns ? works[i].end_ns : last_ns;
	pthread_mutex_lock(&lock);
	replay.work = works;
	replay.works_end = works + work_count;
	replay.call = calls;
	replay.calls_end = calls + call_count;
	replay.tid = syscall(SYS_gettid);
	replay.begin_ns = now_ns();
	pthread_mutex_unlock(&lock);
	while (more) {
		usleep(1000);
		pthread_mutex_lock(&lock);
		replay_due();
		more = replay.work < replay.works_end || replay.call < replay.calls_end;
		pthread_mutex_unlock(&lock);
	}
	sleep_until(replay.begin_ns + last_ns);
	return replay.begin_ns;
}

API CUresult cuDriverGetVersion(int *ret_version)
{
	const char *version = getenv("MOCK_DRIVER"), *late_ms = getenv("MOCK_LATE_CALL_MS");
	struct mock_entry entry;

	if (late_ms)
		usleep(atoi(late_ms) * 1000); /* as a thread that gets no processor */
	entry = enter_call();

	*ret_version = version ? atoi(version) : 13050;
	pthread_mutex_lock(&lock);
	replay_due(); /* what was begun before this call has its place before this call's */
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
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	return wait_until(*(uint64_t *)event, CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize);
}

/* Whether there is room, of which @bytes are taken, or given back. */
static bool take_room(size_t bytes, bool allocate)
{
	bool fits;

	pthread_mutex_lock(&lock);
	fits = !allocate || !memory_bytes || bytes <= free_bytes;
	if (fits)
		free_bytes += allocate ? -bytes : bytes;
	pthread_mutex_unlock(&lock);
	return fits;
}

static CUresult change_memory(CUdeviceptr *address, size_t bytes, bool allocate, uint32_t id)
{
	const struct mock_listener *to = atomic_load(&listener);
	struct mock_entry entry = enter_call();
	bool fits = take_room(bytes, allocate);

	if (allocate && fits)
		*address = atomic_fetch_add(&next_address, bytes + 1);
	if (!allocate) /* as CUDA's, which waits for what may use it */
		sleep_until(device_end_ns[current_device]);
	if (to && fits)
		to->memory(current_device, allocate, *address, bytes, now_ns());
	entry.kind = allocate ? MOCK_ALLOCATE : MOCK_FREE;
	entry.stream = fits ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	entry.start_ns = bytes;
	leave_call(&entry, false, id);
	return entry.stream;
}

/* How much is allocated where. */
static struct {
	CUdeviceptr address;
	size_t bytes;
} blocks[4096];

static void set_block(CUdeviceptr was, CUdeviceptr address, size_t bytes)
{
	for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++)
		if (blocks[i].address == was) {
			blocks[i].address = address;
			blocks[i].bytes = bytes;
			return;
		}
}

static size_t block_bytes(CUdeviceptr address)
{
	for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++)
		if (blocks[i].address == address)
			return blocks[i].bytes;
	return 0;
}

/* No device has a tebibyte. */
API CUresult cuMemAlloc_v2(CUdeviceptr *ret, size_t bytes)
{
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

	if (!(bytes >> 40))
		result = change_memory(ret, bytes, true, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
	if (result == CUDA_SUCCESS)
		set_block(0, *ret, bytes);
	return result;
}

API CUresult cuMemFree_v2(CUdeviceptr address)
{
	size_t bytes = block_bytes(address);

	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	set_block(address, 0, 0);
	return change_memory(&address, bytes, false, CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2);
}

/* As long as a stream's memory comes from nowhere in particular, the stream does not matter. */
API CUresult cuMemAllocAsync(CUdeviceptr *ret, size_t bytes, CUstream stream)
{
	return cuMemAlloc_v2(ret, bytes);
}

API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
	return cuMemFree_v2(address);
}

/* Unlike CUDA's, it has to be told how much it frees. */
API CUresult mock_free(CUdeviceptr address, size_t bytes)
{
	set_block(address, 0, 0);
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
