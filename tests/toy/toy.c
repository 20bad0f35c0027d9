/*
 * A runtime of the tests: stops its program so many times, for so long each, and counts.
 * usage: toy PAUSES MICROSECONDS
 */
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* Its books, as tests/toy/capture/ reads them. */
volatile struct {
	uint64_t pauses;
	uint64_t stopped; /* in one that the count does not hold yet */
} toy_books;

void toy_stop(void);
void toy_go(uint64_t pauses);

/* Where it stops and where it goes on: two places to probe. */
__attribute__((noinline)) void toy_stop(void)
{
	__asm__ volatile("nop" : : : "memory");
}

__attribute__((noinline)) void toy_go(uint64_t pauses)
{
	__asm__ volatile("nop" : : "r"(pauses) : "memory");
}

int main(int argc, char **argv)
{
	for (long left = argc > 1 ? atol(argv[1]) : 23; left > 0; left--) {
		toy_stop();
		toy_books.stopped = 1;
		usleep(argc > 2 ? (useconds_t)atol(argv[2]) : 0);
		toy_books.stopped = 0;
		toy_go(++toy_books.pauses);
	}
	return 0;
}
