/*
 * A JVM's Java threads. In: its list of them, oldest first. Out: what class JavaThread's vtable is,
 * and where in a thread's own memory the C library keeps the address of its Thread.
 */
#include <errno.h>
#include <string.h>

#include "plan_priv.h"

#define THREADS_MAX 32	  /* looked at */
#define LIST_MAX    65536 /* threads that a JVM may have */
#define LIST_TRIES  3
#define OWN_BYTES                                                                                  \
	4096 /* of a thread's memory above its fsbase: struct pthread has 2304 in glibc 2.36 */
#define PAGE   4096
#define PLACES (OWN_BYTES / 8)

/* Java threads, the oldest ones first. */
struct threads {
	uint64_t items[THREADS_MAX];
	size_t count;
};

/* From 12 on: an immutable list, replaced as a whole (runtime/threadSMR.hpp). */
static int list_array(const struct jvm *jvm, uint64_t head, struct threads *ret)
{
	uint32_t length_at, threads_at;
	struct threads threads = {0};
	bool failed = false;
	uint64_t list, array;
	uint32_t length;

	if (jvm_field(jvm, "ThreadsList", "_length", &length_at) ||
		jvm_field(jvm, "ThreadsList", "_threads", &threads_at))
		return -ENOENT;
	list = jvm_read_u64(jvm, head, &failed);
	length = jvm_read_u32(jvm, list + length_at, &failed);
	array = jvm_read_u64(jvm, list + threads_at, &failed);
	if (failed || length > LIST_MAX)
		return -EAGAIN;
	threads.count = length < THREADS_MAX ? length : THREADS_MAX;
	if (threads.count && jvm_read(jvm, array, threads.items, threads.count * 8))
		return -EAGAIN;
	if (jvm_read_u64(jvm, head, &failed) != list || failed) /* freed since? */
		return -EAGAIN;
	*ret = threads;
	return 0;
}

/* Up to 11: linked, the newest first; the last ones are kept. */
static int list_links(const struct jvm *jvm, uint64_t head, struct threads *ret)
{
	struct threads threads = {0};
	bool failed = false;
	uint64_t ring[THREADS_MAX], thread;
	uint32_t next_at;
	size_t seen = 0;

	if (jvm_field(jvm, "JavaThread", "_next", &next_at))
		return -ENOENT;
	for (thread = jvm_read_u64(jvm, head, &failed); thread && !failed && seen < LIST_MAX;
		seen++) {
		ring[seen % THREADS_MAX] = thread;
		thread = jvm_read_u64(jvm, thread + next_at, &failed);
	}
	if (failed || thread)
		return -EAGAIN;
	while (seen && threads.count < THREADS_MAX)
		threads.items[threads.count++] = ring[--seen % THREADS_MAX];
	*ret = threads;
	return 0;
}

static int list_threads(const struct jvm *jvm, struct threads *ret)
{
	bool array;
	uint64_t head;
	int r = -EAGAIN;

	array = !jvm_static(jvm, "ThreadsSMRSupport", "_java_thread_list", &head);
	if (!array && jvm_static(jvm, "Threads", "_thread_list", &head))
		return -ENOENT;
	for (int i = 0; i < LIST_TRIES && r == -EAGAIN; i++) /* it may have changed meanwhile */
		r = array ? list_array(jvm, head, ret) : list_links(jvm, head, ret);
	return r;
}

/*
 * Some Java threads are of subclasses: the compilers', of which a large machine has many. The
 * oldest two never are: they are main or its successor and the reference handler, or that and the
 * finalizer.
 */
static uint64_t oldest_vtable(const struct jvm *jvm, const struct threads *threads)
{
	uint64_t first = jvm_read_u64(jvm, threads->items[0], NULL);

	return first == jvm_read_u64(jvm, threads->items[1], NULL) ? first : 0;
}

/*
 * Marks the places above @base that hold @thread, as the data of a pthread_setspecific() key kept
 * in struct pthread: {sequence, data}, where the sequence is odd for a key in use (glibc). The
 * thread's start argument, which lies there too, has a function before it. Returns how many.
 */
static size_t find_places(const struct jvm *jvm, uint64_t base, uint64_t thread,
	bool places[PLACES])
{
	uint64_t words[PLACES];
	size_t bytes = PAGE - base % PAGE, found = 0;

	memset(places, 0, PLACES * sizeof(*places));
	if (base % 8 || jvm_read(jvm, base, words, bytes))
		return 0;
	if (bytes < OWN_BYTES &&
		!jvm_read(jvm, base + bytes, (char *)words + bytes, OWN_BYTES - bytes))
		bytes = OWN_BYTES;
	for (size_t i = 1; i < bytes / 8; i++) {
		if (words[i] != thread || !(words[i - 1] & 1) || words[i - 1] >> 32)
			continue;
		places[i] = true;
		found++;
	}
	return found;
}

/* The one place that all threads agree on; 0: there is none. A thread may end while it is looked
 * at. */
static uint32_t own_place(const struct jvm *jvm, const struct threads *threads,
	uint16_t osthread_at)
{
	bool common[PLACES], places[PLACES];
	size_t agreed = 0, failed = 0, left = 0, place = 0;
	uint32_t pthread_at;

	if (osthread_at == GC_NO_FIELD || jvm_field(jvm, "OSThread", "_pthread_id", &pthread_at))
		return 0;
	memset(common, 1, sizeof(common));
	for (size_t i = 0; i < threads->count; i++) {
		bool unreadable = false;
		uint64_t os = jvm_read_u64(jvm, threads->items[i] + osthread_at, &unreadable);
		uint64_t base = jvm_read_u64(jvm, os + pthread_at, &unreadable);

		if (unreadable || !find_places(jvm, base, threads->items[i], places)) {
			failed++;
			continue;
		}
		agreed++;
		for (size_t k = 0; k < PLACES; k++)
			common[k] = common[k] && places[k];
	}
	for (size_t k = 0; k < PLACES; k++) {
		if (!common[k])
			continue;
		left++;
		place = k;
	}
	return agreed >= 2 && agreed > failed && left == 1 ? (uint32_t)place * 8 : 0;
}

int plan_threads(const struct jvm *jvm, struct jvm_plan *plan)
{
	uint64_t vtable = jvm_symbol(jvm, "_ZTV10JavaThread");
	struct threads threads;
	int r = list_threads(jvm, &threads);

	if (vtable)
		plan->wire.java_vtable =
			vtable + 16; /* behind the offset to the top and the type's place */
	if (r == -ENOENT) {
		plan_lacks(plan, "Java stacks of threads that wait (its list of threads is not "
				 "where it is expected)");
		return 0;
	}
	if (r || threads.count < 3)
		return -EAGAIN;
	if (!vtable)
		plan->wire.java_vtable = oldest_vtable(jvm, &threads);
	plan->wire.thread_tls = own_place(jvm, &threads, plan->wire.thread_osthread);
	if (!plan->wire.java_vtable)
		plan_lacks(plan, "Java stacks (its Java threads cannot be told from others)");
	if (!plan->wire.thread_tls)
		plan_lacks(plan, "Java stacks of threads that wait (their Thread is not found)");
	return 0;
}
