/*
 * The memory that CUPTI writes its records to: requested by threads of the program, which must not wait, and returned in
 * any order. Each is from aligned_alloc(), so that another user of CUPTI, who gets what was given to us, can free it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUFFER_BYTES                                                                               \
	(256 * 1024) /* some 1000 kernels; CUPTI clears it in the program's own thread */

/* Never NULL. *ret_bytes: its size. */
uint8_t *buffers_give(size_t *ret_bytes);

/* One has come back: its number, from 1 on in the order of requests; 0: it is not one of ours, or a last resort. */
uint64_t buffers_number(const uint8_t *buffer);

/* One of those for when memory is out; with no number its records cannot be read. */
bool buffers_spare(const uint8_t *buffer);

/* After that; it may be given out again. */
void buffers_take_back(uint8_t *buffer);

/* The lowest number of those that are with CUPTI; UINT64_MAX: there are none. *ret_ns: when it was requested. */
uint64_t buffers_oldest(uint64_t *ret_ns);

/* No longer counts on those with numbers up to @number to come back. */
void buffers_give_up(uint64_t number);

/* Frees those that are kept for the next request. */
void buffers_trim(void);

/* In a child: all of them are the parent's. */
void buffers_forget(void);
