/* Instructions → the graph of a function, or a refusal where its paths cannot be known. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cleanup.h"
#include "elf_code.h"
#include "elf_decode.h"
#include "elf_flow.h"
#include "elf_machine.h"

#define PART_MAX (64u << 10) /* bytes; the largest collector seen has 9 KB */
#define PARTS	 4

#define NOWHERE UINT64_MAX

/* What is left open about an instruction until all are read. */
struct pending {
	uint64_t target; /* of a direct jump, or NOWHERE */
	bool falls;	 /* the next one may follow */
	bool by_frame;	 /* adds, to where the frame pointer points */
	bool joined;	 /* some jump leads to it */
	bool unless;	 /* adds nothing unless it is */
};

struct reader {
	const struct elf_file *file;
	struct elf_flow flow;
	VEC(struct pending) pending; /* as flow.insns */
	struct {
		uint64_t start, end;
		bool back; /* jumps into the first part */
	} parts[PARTS];
	size_t part_count;
	bool frame;    /* the frame pointer is made to point into the stack, … */
	bool no_frame; /* … or to something else */
};

static int refuse(struct err *err, uint64_t vaddr, const char *what)
{
	return err_set(err, ENOTSUP, "its code at %#" PRIx64 " %s", vaddr, what);
}

static void note_frame(struct reader *reader, const struct decode *decode)
{
	enum machine_frame frame = decode->machine->frame(decode);

	reader->frame |= frame == MACHINE_FRAMES;
	reader->no_frame |= frame == MACHINE_USES;
}

/*
 * Sets insn->adds, or of @pending what that depends on: what the frame pointer holds; whether it is the one before it that
 * it follows, if it is not the part's @first.
 */
static void note_write(const struct decode *decode, bool first, struct elf_insn *insn,
	struct pending *pending)
{
	enum machine_write write = decode->machine->write(decode);

	insn->adds = write == MACHINE_ADDS;
	pending->by_frame = write == MACHINE_BY_FRAME;
	if (!first && write != MACHINE_LEAVES && decode->machine->copies &&
		decode->machine->copies(decode)) {
		insn->adds = pending->by_frame = false;
		pending->unless = true;
	}
}

/* A call of a function that exchanges a word of memory is no more than an instruction that does. */
static bool leaves(const struct reader *reader, const struct decode *decode)
{
	uint64_t target;

	return decode_calls(decode) &&
	       !(decode->machine->exchanges && decode_call_target(decode, &target) &&
		       decode->machine->exchanges(reader->file, target));
}

static int note_insn(struct reader *reader, const struct decode *decode, bool first,
	struct err *err)
{
	const uint64_t vaddr = decode->at;
	uint32_t index = (uint32_t)reader->flow.insns.count;
	struct elf_insn *insn = vec_add(&reader->flow.insns);
	struct pending *pending = vec_add(&reader->pending);

	if (!insn || !pending || u64map_put(&reader->flow.at, vaddr, index))
		return err_set(err, ENOMEM, "out of memory");
	insn->vaddr = vaddr;
	insn->size = decode->size;
	insn->emulated = decode_is_emulated(decode);
	insn->calls = leaves(reader, decode);
	insn->returns = decode_returns(decode);
	pending->falls = !decode_ends_block(decode) && !insn->returns;
	pending->target = NOWHERE;
	if (decode_jumps(decode) && !decode_jump_target(decode, &pending->target))
		return refuse(err, vaddr, "jumps to an address known only at run time");
	note_frame(reader, decode);
	note_write(decode, first, insn, pending);
	return 0;
}

static int read_part(struct reader *reader, uint64_t start, uint64_t end, struct err *err)
{
	_cleanup_(decode_release) struct decode decode = {};
	int r = 0;

	if (end - start > PART_MAX)
		return err_set(err, ENOTSUP, "its code is larger than %u bytes", PART_MAX);
	if (decode_init(&decode, reader->file, start, end - start))
		return refuse(err, start, "cannot be read");
	while (!r && decode_next(&decode))
		r = note_insn(reader, &decode, decode.at == start, err);
	if (!r && (decode.vaddr != end || start == end))
		r = refuse(err, decode.vaddr, "is not an instruction");
	return r;
}

static bool is_known(const struct reader *reader, uint64_t vaddr)
{
	for (size_t i = 0; i < reader->part_count; i++)
		if (vaddr >= reader->parts[i].start && vaddr < reader->parts[i].end)
			return true;
	return false;
}

/* Reads the part that contains @vaddr, to which the instruction at @from jumps. */
static int add_part(struct reader *reader, uint64_t from, uint64_t vaddr, struct err *err)
{
	uint64_t start, end;

	if (reader->part_count == PARTS || elf_code_bounds(reader->file, vaddr, &start, &end) ||
		is_known(reader, start))
		return refuse(err, from, "jumps out of the function");
	reader->parts[reader->part_count].start = start;
	reader->parts[reader->part_count++].end = end;
	return read_part(reader, start, end, err);
}

/*
 * Reads all parts that are jumped to, recursively; one that never jumps back is another function.
 */
static int read_parts(struct reader *reader, struct err *err)
{
	const uint64_t start = reader->parts[0].start, end = reader->parts[0].end;

	for (size_t i = 0; i < reader->pending.count; i++) {
		uint64_t target = reader->pending.items[i].target;
		uint64_t from = reader->flow.insns.items[i].vaddr;
		int r;

		if (target == NOWHERE)
			continue;
		r = is_known(reader, target) ? 0 : add_part(reader, from, target, err);
		if (r)
			return r;
		for (size_t part = 1; part < reader->part_count; part++)
			if (from >= reader->parts[part].start && from < reader->parts[part].end &&
				target > start && target < end)
				reader->parts[part].back = true;
	}
	for (size_t part = 1; part < reader->part_count; part++)
		if (!reader->parts[part].back)
			return refuse(err, reader->parts[part].start, "is another function's");
	return 0;
}

static int follow(struct reader *reader, struct elf_insn *insn, uint64_t vaddr, struct err *err)
{
	const uint64_t *index = u64map_get(&reader->flow.at, vaddr);

	if (!index)
		return refuse(err, insn->vaddr, "continues where no instruction begins");
	insn->next[insn->next_count++] = (uint32_t)*index;
	return 0;
}

/* True if the code after @insn is beyond its part: a call that does not return. */
static bool is_last(const struct reader *reader, const struct elf_insn *insn)
{
	for (size_t i = 0; i < reader->part_count; i++)
		if (insn->vaddr + insn->size == reader->parts[i].end)
			return true;
	return false;
}

static int connect(struct reader *reader, struct err *err)
{
	const bool framed = reader->frame && !reader->no_frame;
	int r = 0;

	for (size_t i = 0; !r && i < reader->flow.insns.count; i++) {
		struct elf_insn *insn = &reader->flow.insns.items[i];
		const struct pending *pending = &reader->pending.items[i];

		insn->adds |= pending->by_frame && !framed;
		if (pending->falls && !(insn->calls && is_last(reader, insn)))
			r = follow(reader, insn, insn->vaddr + insn->size, err);
		if (!r && pending->target != NOWHERE) {
			r = follow(reader, insn, pending->target, err);
			if (!r)
				reader->pending.items[insn->next[insn->next_count - 1]].joined =
					true;
		}
	}
	for (size_t i = 0; !r && i < reader->flow.insns.count; i++)
		reader->flow.insns.items[i].adds |=
			reader->pending.items[i].unless && reader->pending.items[i].joined;
	return r;
}

int elf_flow_read(const struct elf_file *file, uint64_t vaddr, struct elf_flow *ret,
	struct err *err)
{
	struct reader reader = {.file = file, .part_count = 1};
	int r;

	if (elf_code_bounds(file, vaddr, &reader.parts[0].start, &reader.parts[0].end) ||
		reader.parts[0].start != vaddr)
		return err_set(err, ENOENT, "no function begins at %#" PRIx64, vaddr);
	r = read_part(&reader, vaddr, reader.parts[0].end, err);
	if (!r)
		r = read_parts(&reader, err);
	if (!r)
		r = connect(&reader, err);
	vec_free(&reader.pending);
	if (r)
		elf_flow_release(&reader.flow);
	else
		*ret = reader.flow;
	return r;
}

void elf_flow_release(struct elf_flow *flow)
{
	vec_free(&flow->insns);
	u64map_release(&flow->at);
}
