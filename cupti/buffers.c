#include "buffers.h"

#include <pthread.h>
#include <stdlib.h>

#include "clock.h"

#define OUT_MAX                                                                                    \
	4096 /* 1 GiB: a program that has more of them with CUPTI is recorded incompletely */
#define FREE_MAX    16
#define SPARES	    8
#define SPARE_BYTES 8192

/* One that is with CUPTI. */
struct out {
	uint8_t *buffer;
	uint64_t number, requested_ns;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct out outs[OUT_MAX];
static unsigned int out_count;
static uint8_t *free_ones[FREE_MAX];
static unsigned int free_count;
static uint64_t requests;
static uint64_t given_up;

/* For when memory is out: CUPTI must not get NULL. What is written to the last one is not read. */
static uint8_t spares[SPARES + 1][SPARE_BYTES] __attribute__((aligned(64)));
static bool spare_out[SPARES];

bool buffers_spare(const uint8_t *buffer)
{
	return (uintptr_t)buffer - (uintptr_t)spares < sizeof(spares);
}

static uint8_t *give_spare(size_t *ret_bytes)
{
	*ret_bytes = SPARE_BYTES;
	for (unsigned int i = 0; i < SPARES; i++)
		if (!spare_out[i]) {
			spare_out[i] = true;
			return spares[i];
		}
	return spares[SPARES];
}

uint8_t *buffers_give(size_t *ret_bytes)
{
	uint8_t *buffer = NULL;
	uint64_t now = clock_now();

	pthread_mutex_lock(&lock);
	*ret_bytes = BUFFER_BYTES;
	if (free_count)
		buffer = free_ones[--free_count];
	else if (out_count < OUT_MAX)
		buffer = aligned_alloc(64, BUFFER_BYTES);
	if (!buffer)
		buffer = give_spare(ret_bytes);
	requests++;
	if (out_count < OUT_MAX && buffer != spares[SPARES])
		outs[out_count++] = (struct out){buffer, requests, now};
	pthread_mutex_unlock(&lock);
	return buffer;
}

uint64_t buffers_number(const uint8_t *buffer)
{
	uint64_t number = 0;

	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < out_count; i++)
		if (outs[i].buffer == buffer)
			number = outs[i].number;
	pthread_mutex_unlock(&lock);
	return number;
}

void buffers_take_back(uint8_t *buffer)
{
	bool ours = false;

	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < out_count; i++)
		if (outs[i].buffer == buffer) {
			outs[i] = outs[--out_count];
			ours = true;
			break;
		}
	if (buffers_spare(buffer) && buffer != spares[SPARES])
		spare_out[(buffer - spares[0]) / SPARE_BYTES] = false;
	else if (ours && free_count < FREE_MAX)
		free_ones[free_count++] = buffer;
	else if (ours)
		free(buffer);
	pthread_mutex_unlock(&lock);
}

uint64_t buffers_oldest(uint64_t *ret_ns)
{
	uint64_t oldest = UINT64_MAX;

	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < out_count; i++)
		if (outs[i].number > given_up && outs[i].number < oldest) {
			oldest = outs[i].number;
			*ret_ns = outs[i].requested_ns;
		}
	pthread_mutex_unlock(&lock);
	return oldest;
}

void buffers_give_up(uint64_t number)
{
	pthread_mutex_lock(&lock);
	if (number > given_up)
		given_up = number;
	pthread_mutex_unlock(&lock);
}

void buffers_trim(void)
{
	pthread_mutex_lock(&lock);
	while (free_count)
		free(free_ones[--free_count]);
	pthread_mutex_unlock(&lock);
}

void buffers_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	out_count = 0;
}
