/*
 * Embeds the Julia 1.13.1 of scripts/runtimes' wheel-julia1.13, which has neither an executable nor a compiler, but the
 * collector with threads. Argument: its image, libetcouple.so. Commands, a line each, answered by a line of JSON with its
 * own books (jl_gc_num_t) by then:
 *   state                  no more than that
 *   work THREADS MIB LIVE  so many threads allocate MIB each, and keep lists of LIVE nodes meanwhile
 *   collect KIND N         N calls of jl_gc_collect(): 0 auto, 1 full, 2 incremental
 *   enable 0|1             GC.enable()
 *   cost KIND N            as collect, with .ns: the median of the CPU times of the calls
 *   clock N                N calls of jl_hrtime(), with .ns: CPU time of one
 *   quit
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 64

/* src/gc-interface.h of 1.13; the offsets are those of its .debug_info. */
struct books {
	int64_t allocd, deferred_alloc, freed;
	uint64_t calls[5], total_time, total_allocd, interval;
	int32_t pause, full_sweep;
	uint64_t max_pause, max_memory, time_to_safepoint, max_time_to_safepoint,
		total_time_to_safepoint, sweep_time, mark_time, stack_pool_sweep_time,
		total_sweep_time, of_sweep[3], total_mark_time, rest[4];
};

_Static_assert(sizeof(struct books) == 232, "as jl_gc_num_t");

/* src/julia.h: a frame of roots, of which the collector finds the chain in the task. */
struct roots {
	size_t encoded; /* how many << 2 */
	void *previous;
	void *of[2];
};

static struct books (*gc_num)(void);
static int64_t (*gc_live_bytes)(void);
static void (*gc_collect)(int kind);
static int (*gc_enable)(int on);
static uint64_t (*hrtime)(void);
static void *(*alloc_string)(size_t bytes);
static void *(*svec2)(void *a, void *b);
static void **(*get_pgcstack)(void);
static int8_t (*unsafe_enter)(void), (*safe_enter)(void);
static void (*unsafe_leave)(int8_t state), (*safe_leave)(int8_t state);
static int (*adopt)(
	void); /* any function that Julia exports to C makes the calling thread one of Julia's */

static const struct {
	const char *name;
	void *to;
} imports[] = {
	{"jl_gc_num", &gc_num},
	{"jl_gc_live_bytes", &gc_live_bytes},
	{"jl_gc_collect", &gc_collect},
	{"jl_gc_enable", &gc_enable},
	{"jl_hrtime", &hrtime},
	{"jl_alloc_string", &alloc_string},
	{"jl_svec2", &svec2},
	{"jl_get_pgcstack", &get_pgcstack},
	{"jl_gc_unsafe_enter", &unsafe_enter},
	{"jl_gc_unsafe_leave", &unsafe_leave},
	{"jl_gc_safe_enter", &safe_enter},
	{"jl_gc_safe_leave", &safe_leave},
	{"etc_abi_version", &adopt},
};

static void *import(void *image, const char *name)
{
	void *found = dlsym(image, name);

	if (found)
		return found;
	fprintf(stderr, "%s\n", dlerror());
	exit(1);
}

/* The safepoints' page faults need Julia's signal handlers, which an embedding program has to ask for. */
#define OPTION_HANDLE_SIGNALS 152

static void boot(const char *path)
{
	void *image = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void (*init_options)(void);
	void (*init)(void *image);

	if (!image) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	*(void **)&init_options = import(image, "jl_init_options");
	*(void **)&init = import(image, "jl_init_with_image_handle");
	init_options();
	((char *)import(image, "jl_options"))[OPTION_HANDLE_SIGNALS] = 1;
	init(image);
	for (size_t i = 0; i < sizeof(imports) / sizeof(*imports); i++)
		*(void **)imports[i].to = import(image, imports[i].name);
}

struct job {
	unsigned int mib, live;
	pid_t tid;
};

static void allocate(struct job *job)
{
	struct roots roots = {2 << 2, *get_pgcstack(), {NULL, NULL}};

	job->tid = (pid_t)syscall(SYS_gettid);
	*get_pgcstack() = &roots;
	roots.of[1] = alloc_string(8);
	for (unsigned int i = 0; i < job->live; i++) {
		roots.of[0] = alloc_string(16);
		roots.of[1] = svec2(roots.of[0], roots.of[1]);
	}
	for (unsigned int i = 0; i < job->mib * 1024; i++)
		alloc_string(1000);
	*get_pgcstack() = roots.previous;
}

/*
 * A thread that is being made one of Julia's keeps the collector disabled: one that was about to collect has stopped all
 * threads by then, which total_time_to_safepoint counts, and collects nothing. So all are made before any allocates.
 */
static pthread_barrier_t adopted;

static void *thread(void *arg)
{
	int8_t state;

	adopt();
	pthread_barrier_wait(&adopted);
	state = unsafe_enter();
	allocate(arg);
	unsafe_leave(state);
	return NULL;
}

static void work(unsigned int threads, unsigned int mib, unsigned int live)
{
	struct job jobs[THREADS_MAX];
	pthread_t ids[THREADS_MAX];
	int8_t state;

	threads = threads > THREADS_MAX ? THREADS_MAX : threads;
	pthread_barrier_init(&adopted, NULL, threads);
	for (unsigned int i = 0; i < threads; i++) {
		jobs[i] = (struct job){mib, live, 0};
		if (i && pthread_create(&ids[i], NULL, thread, &jobs[i]))
			exit(1);
	}
	state = safe_enter();
	pthread_barrier_wait(&adopted);
	safe_leave(state);
	allocate(&jobs[0]);
	state = safe_enter();
	for (unsigned int i = 1; i < threads; i++)
		pthread_join(ids[i], NULL);
	safe_leave(state);
	pthread_barrier_destroy(&adopted);
	printf("\"tids\": [");
	for (unsigned int i = 0; i < threads; i++)
		printf("%s%d", i ? ", " : "", jobs[i].tid);
	printf("], ");
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
	const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return (one > other) - (one < other);
}

#define COSTS_MAX 10000

static void put_cost(int kind, unsigned int calls)
{
	static uint64_t costs[COSTS_MAX];

	calls = calls > COSTS_MAX ? COSTS_MAX : calls ? calls : 1;
	for (unsigned int i = 0; i < calls; i++) {
		uint64_t start = cpu_ns();

		gc_collect(kind);
		costs[i] = cpu_ns() - start;
	}
	qsort(costs, calls, sizeof(*costs), ascending);
	printf("\"ns\": %" PRIu64 ", ", costs[calls / 2]);
}

static void put_books(void)
{
	const struct books books = gc_num();

	printf("\"pauses\": %d, \"full\": %d, \"total_ns\": %" PRIu64 ", \"ttsp_ns\": %" PRIu64
	       ", \"mark_ns\": %" PRIu64 ", \"sweep_ns\": %" PRIu64 ", \"allocated\": %" PRIu64
	       ", \"live\": %" PRId64 "}\n",
		books.pause, books.full_sweep, books.total_time, books.total_time_to_safepoint,
		books.total_mark_time, books.total_sweep_time, books.total_allocd, gc_live_bytes());
}

/* While it waits for a command it is where a collector need not wait for it. */
static char *read_command(char *line, int size)
{
	int8_t state = safe_enter();
	char *got = fgets(line, size, stdin);

	safe_leave(state);
	return got;
}

static void run(const char *line)
{
	unsigned int a = 0, b = 0, c = 0;
	uint64_t start;

	printf("{\"event\": \"%.*s\", ", (int)strcspn(line, " \n"), line);
	if (sscanf(line, "work %u %u %u", &a, &b, &c) == 3) {
		work(a, b, c);
	} else if (sscanf(line, "collect %u %u", &a, &b) == 2) {
		for (; b; b--)
			gc_collect((int)a);
	} else if (sscanf(line, "enable %u", &a) == 1) {
		gc_enable((int)a);
	} else if (sscanf(line, "clock %u", &a) == 1) {
		start = cpu_ns();
		for (b = 0; b < a; b++)
			hrtime();
		printf("\"ns\": %.2f, ", (double)(cpu_ns() - start) / (a ? a : 1));
	} else if (sscanf(line, "cost %u %u", &a, &b) == 2) {
		put_cost((int)a, b);
	}
	put_books();
}

int main(int argc, char **argv)
{
	char line[128];
	int8_t state;

	if (argc != 2)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	boot(argv[1]);
	/* Julia's own I/O never waits in read(2). */
	fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) & ~O_NONBLOCK);
	state = unsafe_enter();
	printf("{\"event\": \"ready\"}\n");
	while (read_command(line, sizeof(line)) && strcmp(line, "quit\n"))
		run(line);
	unsafe_leave(state);
	return 0;
}
