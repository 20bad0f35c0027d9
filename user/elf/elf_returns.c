/* References to a function, found in a file's bytes → the place after each of its calls. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "elf_decode.h"
#include "elf_machine.h"
#include "elf_priv.h"
#include "elf_returns.h"

#define CALLS_MAX 8192 /* of one caller */
#define LINE_MAX  32   /* instructions from the call to the place */

#define FUNCTION_MAX (1u << 20) /* bytes */
#define LOOKS_MAX    256	/* into functions that may refer to it */

#define SHORT_JUMP 130 /* x86-64: bytes that a two-byte jump reaches, including itself */

struct search {
	const struct elf_file *file;
	const struct elf_machine *machine;
	uint64_t vaddr;
	struct elf_return *places;
	size_t count, max;
	size_t looks;
	struct err *err;
};

static int refuse(const struct search *search, uint64_t vaddr, const char *what)
{
	return err_set(search->err, ENOTSUP, "its caller at %#" PRIx64 " %s", vaddr, what);
}

/* False where the straight-line code after the call ends or branches. */
static bool goes_on(const struct decode *decode)
{
	return !decode_jumps(decode) && !decode_calls(decode) && !decode_returns(decode) &&
	       !decode_ends_block(decode);
}

/* Searches from @start within the function that ends at @end. False if no instruction is there. */
static bool find_place(const struct elf_file *file, uint64_t start, uint64_t end,
	struct elf_return *ret)
{
	_cleanup_(decode_release) struct decode decode = {};

	ret->vaddr = start;
	ret->emulated = false;
	if (start >= end || decode_init(&decode, file, start, end - start))
		return false;
	for (int i = 0; i < LINE_MAX && decode_next(&decode); i++) {
		ret->emulated = decode_is_emulated(&decode);
		if (ret->emulated)
			ret->vaddr = decode.at;
		if (ret->emulated || !goes_on(&decode))
			return true;
	}
	return decode.vaddr > start;
}

/* @vaddr: of an instruction that calls the function. */
static int add_call(struct search *search, uint64_t vaddr, uint64_t start, uint64_t end)
{
	_cleanup_(cleanup_free) struct elf_call *calls = calloc(CALLS_MAX, sizeof(*calls));
	struct elf_return *place = &search->places[search->count];
	int count, i;

	if (!calls)
		return err_set(search->err, ENOMEM, "out of memory");
	if (search->count == search->max)
		return err_set(search->err, ENOTSUP, "it is called more than %zu times",
			search->max);
	count = elf_code_calls(search->file, start, end, calls, CALLS_MAX);
	for (i = 0; i < count && calls[i].vaddr != vaddr; i++)
		;
	if (i >= count)
		return refuse(search, vaddr, "is not understood");
	place->call = calls[i];
	if (!find_place(search->file, vaddr + search->machine->call_bytes, end, place))
		return refuse(search, vaddr, "does not continue");
	search->count++;
	return 0;
}

int elf_returns_behind(const struct elf_file *file, const struct elf_call *call, uint64_t end,
	struct elf_return *ret)
{
	struct elf_return place = {.call = *call};

	if (!find_place(file, call->vaddr + elf_machine_of(file)->call_bytes, end, &place))
		return -ENOENT;
	*ret = place;
	return 0;
}

/* The bytes at @vaddr may refer to the function: decodes the instruction that contains them. */
static int check_reference(struct search *search, uint64_t vaddr)
{
	_cleanup_(decode_release) struct decode decode = {};
	uint64_t start, end, target;

	if (elf_code_bounds(search->file, vaddr, &start, &end))
		return 0; /* alignment between functions */
	if (++search->looks > LOOKS_MAX || end - start > FUNCTION_MAX ||
		decode_init(&decode, search->file, start, end - start))
		return refuse(search, vaddr, "cannot be read, or takes too long");
	while (decode.vaddr <= vaddr)
		if (!decode_next(&decode))
			return refuse(search, decode.vaddr, "is not an instruction");
	if (search->machine->refers(&decode, search->vaddr) != MACHINE_REFERS)
		return 0;
	if (decode.size == search->machine->call_bytes && decode_call_target(&decode, &target))
		return add_call(search, decode.at, start, end);
	return refuse(search, decode.at, "does not call it, but refers to it");
}

/*
 * The instruction at @vaddr computes the address of the page that holds the function: whether another of the same code
 * can add the rest.
 */
static int check_page(struct search *search, uint64_t vaddr)
{
	_cleanup_(decode_release) struct decode decode = {};
	uint64_t start, end;

	if (elf_code_bounds(search->file, vaddr, &start, &end))
		return 0; /* data between functions, or the stubs of a linker, which load from there */
	if (++search->looks > LOOKS_MAX || end - start > FUNCTION_MAX ||
		decode_init(&decode, search->file, start, end - start))
		return refuse(search, vaddr, "cannot be read, or takes too long");
	while (decode_next(&decode))
		if (search->machine->refers(&decode, search->vaddr) == MACHINE_REST)
			return refuse(search, vaddr, "does not call it, but refers to it");
	return decode.vaddr == end ? 0 : refuse(search, decode.vaddr, "is not an instruction");
}

/* Where instructions have one size, each is looked at. */
static int search_words(struct search *search, const struct elf_segment *segment)
{
	const uint64_t step = search->machine->insn_bytes;
	int r = 0;

	for (uint64_t at = -segment->vaddr % step; !r && at < segment->size;) {
		_cleanup_(decode_release) struct decode decode = {};

		if (decode_init(&decode, search->file, segment->vaddr + at, segment->size - at))
			break;
		while (!r && decode_next(&decode)) {
			enum machine_reference kind =
				search->machine->refers(&decode, search->vaddr);

			if (kind == MACHINE_REFERS)
				r = check_reference(search, decode.at);
			else if (kind == MACHINE_PAGE)
				r = check_page(search, decode.at);
		}
		at = decode.vaddr - segment->vaddr + step; /* past what is no instruction */
	}
	return r;
}

/* 32-bit displacements and, where the program has a fixed address, the function's own address. */
static int search_code(struct search *search, const struct elf_segment *segment)
{
	const uint8_t *bytes = search->file->bytes + segment->offset;
	const bool fixed = search->file->header.e_type == ET_EXEC;
	int32_t word;
	int r = 0;

	for (uint64_t at = 0; !r && at + sizeof(word) <= segment->size; at++) {
		uint64_t vaddr = segment->vaddr + at, value;

		memcpy(&word, bytes + at, sizeof(word));
		value = (uint64_t)(int64_t)word;
		if (vaddr + sizeof(word) + value == search->vaddr ||
			(fixed && value == search->vaddr))
			r = check_reference(search, vaddr);
	}
	return r;
}

static int search_data(const struct search *search, const struct elf_segment *segment)
{
	const uint8_t *bytes = search->file->bytes + segment->offset;
	uint64_t value;

	for (uint64_t at = -segment->vaddr & 7; at + sizeof(value) <= segment->size; at += 8) {
		memcpy(&value, bytes + at, sizeof(value));
		if (value == search->vaddr)
			return err_set(search->err, ENOTSUP, "the data at %#" PRIx64 " point to it",
				segment->vaddr + at);
	}
	return 0;
}

/* Two-byte jumps from the neighbouring functions. */
static int search_neighbours(const struct search *search)
{
	const uint64_t first = search->vaddr > SHORT_JUMP ? search->vaddr - SHORT_JUMP : 0;
	uint64_t start, end, target;

	for (uint64_t at = first; at < search->vaddr + SHORT_JUMP; at++) {
		_cleanup_(decode_release) struct decode decode = {};

		if (elf_code_bounds(search->file, at, &start, &end))
			continue;
		at = end - 1;
		if (start == search->vaddr)
			continue;
		if (end - start > FUNCTION_MAX ||
			decode_init(&decode, search->file, start, end - start))
			return refuse(search, start, "cannot be read, or takes too long");
		while (decode_next(&decode))
			if (decode_jump_target(&decode, &target) && target == search->vaddr)
				return refuse(search, decode.at, "jumps to it");
		if (decode.vaddr != end)
			return refuse(search, decode.vaddr, "is not an instruction");
	}
	return 0;
}

int elf_returns_find(const struct elf_file *file, uint64_t vaddr, struct elf_return *ret,
	size_t max, struct err *err)
{
	struct search search = {.file = file,
		.machine = elf_machine_of(file),
		.vaddr = vaddr,
		.max = max,
		.err = err};
	_cleanup_(cleanup_free) struct elf_return *places = calloc(max, sizeof(*places));
	int r;

	if (!places)
		return err_set(err, ENOMEM, "out of memory");
	search.places = places;
	r = search.machine->insn_bytes ? 0 : search_neighbours(&search);
	for (size_t i = 0; !r && i < file->segment_count; i++)
		r = search_data(&search, &file->segments[i]);
	for (size_t i = 0; !r && i < file->segment_count; i++)
		if (file->segments[i].exec)
			r = search.machine->insn_bytes ? search_words(&search, &file->segments[i])
						       : search_code(&search, &file->segments[i]);
	if (r)
		return r;
	if (!search.count)
		return err_set(err, ENOTSUP, "nothing in the file calls it");
	memcpy(ret, places, search.count * sizeof(*ret));
	return (int)search.count;
}
