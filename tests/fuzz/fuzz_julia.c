/*
 * Ring-buffer bytes → Julia's pauses, stacks and their names: whatever comes, no read outside, no crash. The input is a
 * run of records, each preceded by its length in two bytes. Addresses are looked up in the fuzzer's own process, whose
 * files and .eh_frame are real ones.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "julia_layout.h"
#include "julia_process.h"
#include "julia_record.h"

#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_pause(const struct gc_julia_pause *wire)
{
	static const struct julia_version version = {1, 13, 1};
	const struct julia_layout *layout = julia_layout(&version);
	struct julia_books books;

	MUST(wire->start_ns <= wire->header.time_ns - wire->waited_ns);
	MUST(layout);
	julia_books_read(layout, wire->before, &books);
	julia_books_read(layout, wire->after, &books);
}

/* Half of the addresses are made ones of this program. */
static void point_here(uint8_t *bytes, size_t length)
{
	struct gc_julia_stack *wire = (struct gc_julia_stack *)bytes;
	uint64_t here = (uint64_t)LLVMFuzzerTestOneInput;
	const size_t head = offsetof(struct gc_julia_stack, bytes);

	if (length < head)
		return;
	wire->header.pid = (uint32_t)getpid();
	if (wire->ip & 1)
		wire->ip = here + (wire->ip >> 1) % 4096;
	for (size_t at = head; at + 8 <= length; at += 8) {
		uint64_t word;

		memcpy(&word, bytes + at, sizeof(word));
		if (word & 1)
			word = here + (word >> 1) % 65536;
		memcpy(bytes + at, &word, sizeof(word));
	}
}

static void take(struct julia_processes *processes, struct stack_table *table, uint8_t *bytes,
	size_t length)
{
	const struct gc_header *header = (const struct gc_header *)bytes;
	struct julia_moment moment;

	if (julia_record_makes_sense(bytes, length))
		take_pause((const struct gc_julia_pause *)bytes);
	point_here(bytes, length);
	if (julia_process_stack(processes, bytes, length, table))
		return;
	moment = (struct julia_moment){header->type, header->pid, header->tid, header->time_ns};
	julia_process_take(processes, &moment, table);
	MUST(julia_process_take(processes, &moment, table) == STACK_NONE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct julia_processes processes; /* what it knows of us stays true */
	struct stack_table table;

	MUST(!stack_table_init(&table));
	while (size >= 2) {
		size_t length = data[0] | (size_t)data[1] << 8;
		uint8_t *record;

		data += 2;
		size -= 2;
		if (length > size)
			length = size;
		record = malloc(length + 1); /* the sanitizer sees what is read behind it */
		memcpy(record, data, length);
		take(&processes, &table, record, length);
		free(record);
		data += length;
		size -= length;
	}
	stack_table_release(&table);
	return 0;
}
