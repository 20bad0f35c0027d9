/*
 * An imagined runtime: a program that stops, collects and goes on as told, and keeps books about it.
 * Commands, a line each, answered by a line of JSON:
 *   collect MINOR MAJOR US  so many, in turn, each at least US microseconds long
 *   train STEPS EVERY US    so many steps; every EVERY-th ends in a minor and a major collection of US, and the step
 *                           after it begins with a minor one
 *   hide N                  N minor collections that only the books hold
 *   stop                    begins a major collection and stays in it
 *   go                      ends it
 *   quit
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Its books, which gctrace reads, as tests/toy/bpf/toy_wire.h has it. */
struct toy_heap {
	uint64_t minor, major; /* collections */
	uint64_t mark_ns;      /* of the last one: how long it marked */
	uint64_t swept;	       /* and how many bytes it freed */
	uint64_t collecting;   /* 1: it is in one */
	char callers[2][24];   /* the functions that asked for it, outermost first */
};

struct toy_heap toy_heap;

/* What gctrace probes: the begin of a stop, and its end, when it is in the books. */
void toy_stop(uint64_t major);
void toy_go(const struct toy_heap *heap);
void toy_step(uint64_t step);

__attribute__((noinline)) void toy_stop(uint64_t major)
{
	__asm__ volatile("nop" : : "r"(major) : "memory");
}

__attribute__((noinline)) void toy_go(const struct toy_heap *heap)
{
	__asm__ volatile("nop" : : "r"(heap) : "memory");
}

/* A step of its training begins. */
__attribute__((noinline)) void toy_step(uint64_t step)
{
	__asm__ volatile("nop" : : "r"(step) : "memory");
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t work(uint64_t ns)
{
	uint64_t start_ns = now_ns(), end_ns = start_ns;

	while (end_ns - start_ns < ns)
		end_ns = now_ns();
	return end_ns - start_ns;
}

/* Prints the kind of stop, the two facts, and an interval within the stop. */
static void collect(bool major, uint64_t ns, const char *separator)
{
	uint64_t start_ns, end_ns;

	toy_stop(major);
	start_ns = now_ns();
	toy_heap.collecting = 1;
	toy_heap.mark_ns = work(ns / 3 + 1);
	work(ns - ns / 3);
	toy_heap.swept = 4096 * (toy_heap.minor + 2) * (major ? 11 : 1);
	*(major ? &toy_heap.major : &toy_heap.minor) += 1;
	toy_heap.collecting = 0;
	end_ns = now_ns();
	toy_go(&toy_heap);
	printf("%s[%d, %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", separator, major,
		toy_heap.mark_ns, toy_heap.swept, start_ns, end_ns);
}

static void collect_many(unsigned int minor, unsigned int major, uint64_t ns)
{
	const char *separator = "";

	strcpy(toy_heap.callers[1], "collect_many");
	printf("{\"event\": \"collect\", \"collections\": [");
	for (; minor || major; separator = ", ") {
		bool next = major > minor || (major && (minor + major) % 3 == 0);

		collect(next, ns, separator);
		*(next ? &major : &minor) -= 1;
	}
	printf("], \"minor\": %" PRIu64 ", \"major\": %" PRIu64 "}\n", toy_heap.minor,
		toy_heap.major);
}

static void train(unsigned int steps, unsigned int every, uint64_t ns)
{
	const char *separator = "";

	strcpy(toy_heap.callers[1], "train");
	printf("{\"event\": \"train\", \"collections\": [");
	for (unsigned int i = 0; i < steps; i++) {
		toy_step(i);
		if (i && i % every == 0)
			collect(false, ns / 10, ", ");
		work(2000000);
		if (i % every != every - 1)
			continue;
		collect(false, ns / 10, separator);
		collect(true, ns, separator = ", ");
	}
	toy_step(steps);
	printf("], \"minor\": %" PRIu64 ", \"major\": %" PRIu64 "}\n", toy_heap.minor,
		toy_heap.major);
}

static void stop(void)
{
	toy_stop(1);
	toy_heap.collecting = 1;
	puts("{\"event\": \"stop\"}");
}

static void go(void)
{
	toy_heap.mark_ns = 0;
	toy_heap.swept = 0;
	toy_heap.major++;
	toy_heap.collecting = 0;
	toy_go(&toy_heap);
	puts("{\"event\": \"go\"}");
}

int main(void)
{
	unsigned int minor, major, us, steps, every;
	char line[128];

	strcpy(toy_heap.callers[0], "main");
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("{\"event\": \"ready\"}");
	while (fgets(line, sizeof(line), stdin) && strcmp(line, "quit\n")) {
		if (sscanf(line, "collect %u %u %u", &minor, &major, &us) == 3) {
			collect_many(minor, major, us * 1000ull);
		} else if (sscanf(line, "train %u %u %u", &steps, &every, &us) == 3 && every) {
			train(steps, every, us * 1000ull);
		} else if (sscanf(line, "hide %u", &minor) == 1) {
			toy_heap.minor += minor;
			puts("{\"event\": \"hide\"}");
		} else if (!strcmp(line, "stop\n")) {
			stop();
		} else if (!strcmp(line, "go\n")) {
			go();
		}
	}
	return 0;
}
