/* The instructions that can follow one of a function's, as a graph → the places where it ends. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cleanup.h"
#include "elf_code.h"
#include "elf_decode.h"
#include "julia_flow.h"
#include "julia_wire.h"
#include "u64map.h"
#include "vec.h"

#define INSNS_MAX 8192 /* the collector's call has 200 */

struct insn {
	uint64_t vaddr;
	uint64_t next[2]; /* what follows it in the file; where it jumps; 0: neither */
	uint32_t condition;
	bool calls, jumps_if;
	bool direct; /* the call */
	bool leaves; /* to another function, for good */
	bool leads;  /* some way leads from it to a call, or it is one */
};

struct flow {
	const struct elf_file *file;
	uint64_t start, end; /* of the function */
	VEC(struct insn) insns;
	struct u64map at;
	VEC(uint64_t) todo;
};

static void flow_release(struct flow *flow)
{
	vec_free(&flow->insns);
	vec_free(&flow->todo);
	u64map_release(&flow->at);
}

/* The condition of a jcc, by its encoding; -1: it is none. */
static int condition_of(const struct decode *decode)
{
	const uint8_t *code = decode->insn->bytes;

	if (decode->insn->size == 2 && code[0] >= 0x70 && code[0] <= 0x7f)
		return code[0] & 0xf;
	if (decode->insn->size == 6 && code[0] == 0x0f && (code[1] & 0xf0) == 0x80)
		return code[1] & 0xf;
	return -1;
}

/* Whether what lies at @target, outside of the function, is a part of it that the compiler put elsewhere: it jumps back. */
static bool is_part(const struct flow *flow, uint64_t target)
{
	_cleanup_(decode_release) struct decode decode = {};
	uint64_t start, end, jump;

	if (elf_code_bounds(flow->file, target, &start, &end) ||
		decode_init(&decode, flow->file, start, end - start))
		return false;
	while (decode_next(&decode))
		if (decode_jump_target(&decode, &jump) && jump > flow->start && jump < flow->end)
			return true;
	return false;
}

static int add_todo(struct flow *flow, uint64_t vaddr)
{
	uint64_t *slot = vaddr ? vec_add(&flow->todo) : NULL;

	if (slot)
		*slot = vaddr;
	return slot || !vaddr ? 0 : -ENOMEM;
}

/* Whether the call is its function's last instruction: it does not come back. */
static bool is_last(const struct flow *flow, const struct decode *decode)
{
	uint64_t start, end;

	return !elf_code_bounds(flow->file, decode->insn->address, &start, &end) &&
	       decode->insn->address + decode->insn->size == end;
}

/* Fills what may follow. A jump to another function is a call after which this one ends. */
static int note_ways(const struct flow *flow, const struct decode *decode, struct insn *insn)
{
	const int condition = condition_of(decode);
	uint64_t target;

	if (cs_insn_group(decode->handle, decode->insn, CS_GRP_JUMP)) {
		if (!decode_jump_target(decode, &target))
			return -ENOTSUP;
		if ((target >= flow->start && target < flow->end) || is_part(flow, target))
			insn->next[1] = target;
		else
			insn->calls = insn->leaves = true;
		insn->jumps_if = condition >= 0;
		insn->condition = (uint32_t)condition;
		if (!decode_ends_block(decode) && condition < 0)
			return -ENOTSUP; /* jrcxz, loop */
	}
	insn->direct = decode_call_target(decode, &target);
	insn->calls |= cs_insn_group(decode->handle, decode->insn, CS_GRP_CALL) ||
		       cs_insn_group(decode->handle, decode->insn, CS_GRP_INT);
	if (!decode_ends_block(decode) && !(insn->calls && is_last(flow, decode)))
		insn->next[0] = decode->insn->address + decode->insn->size;
	return 0;
}

static int add_insn(struct flow *flow, const struct decode *decode)
{
	struct insn insn = {.vaddr = decode->insn->address};
	struct insn *slot;
	int r = note_ways(flow, decode, &insn);

	if (r)
		return r;
	slot = vec_add(&flow->insns);
	if (!slot || u64map_put(&flow->at, insn.vaddr, flow->insns.count - 1))
		return -ENOMEM;
	*slot = insn;
	return add_todo(flow, insn.next[1]);
}

/* Reads on from @vaddr to where the straight line ends or is known. */
static int read_line(struct flow *flow, uint64_t vaddr)
{
	_cleanup_(decode_release) struct decode decode = {};
	int r;

	if (u64map_get(&flow->at, vaddr))
		return 0;
	if (decode_init(&decode, flow->file, vaddr, UINT64_MAX))
		return -ENOTSUP;
	do {
		if (u64map_get(&flow->at, decode.vaddr))
			return 0;
		if (flow->insns.count == INSNS_MAX || !decode_next(&decode))
			return -ENOTSUP;
		r = add_insn(flow, &decode);
	} while (!r && flow->insns.items[flow->insns.count - 1].next[0]);
	return r;
}

static struct insn *at(const struct flow *flow, uint64_t vaddr)
{
	const uint64_t *index = vaddr ? u64map_get(&flow->at, vaddr) : NULL;

	return index ? &flow->insns.items[*index] : NULL;
}

static bool leads(const struct flow *flow, uint64_t vaddr)
{
	const struct insn *insn = at(flow, vaddr);

	return insn && insn->leads;
}

/* @direct: to direct calls only. */
static void mark_leading(struct flow *flow, bool direct)
{
	bool more = true;

	for (size_t i = 0; i < flow->insns.count; i++)
		flow->insns.items[i].leads =
			direct ? flow->insns.items[i].direct : flow->insns.items[i].calls;
	while (more) {
		more = false;
		for (size_t i = flow->insns.count; i--;) {
			struct insn *insn = &flow->insns.items[i];

			if (!insn->leads &&
				(leads(flow, insn->next[0]) || leads(flow, insn->next[1])))
				more = insn->leads = true;
		}
	}
}

/* An end is the step from what leads to a call to what does not; it can be seen where it is a jump that may do either. */
static int find_end(const struct flow *flow, const struct insn *insn, struct julia_end *ret)
{
	const bool on = leads(flow, insn->next[0]), jump = leads(flow, insn->next[1]);
	uint64_t place;

	if (insn->leaves)
		return -ENOTSUP;
	if (insn->jumps_if && on != jump) {
		*ret = (struct julia_end){insn->vaddr,
			on ? GC_JULIA_IF(insn->condition) : GC_JULIA_UNLESS(insn->condition)};
		return 1;
	}
	if (!insn->calls || on || !insn->next[0])
		return 0;
	/* The last call of this way. */
	if (julia_flow_behind(flow->file, insn->vaddr, &place))
		return -ENOTSUP;
	*ret = (struct julia_end){place, GC_JULIA_ALWAYS};
	return 1;
}

static int collect_ends(const struct flow *flow, struct julia_end *ret, size_t max, struct err *err)
{
	size_t count = 0;

	for (size_t i = 0; i < flow->insns.count; i++) {
		const struct insn *insn = &flow->insns.items[i];
		struct julia_end end;
		bool known = false;
		int r = find_end(flow, insn, &end);

		if (r < 0)
			return err_set(err, ENOTSUP,
				"its code at %#" PRIx64 " ends where no probe is cheap",
				insn->vaddr);
		for (size_t j = 0; r && j < count; j++)
			known |= ret[j].vaddr == end.vaddr;
		if (!r || known)
			continue;
		if (count == max)
			return err_set(err, ENOTSUP, "its code ends in more than %zu places", max);
		ret[count++] = end;
	}
	return count ? (int)count : err_set(err, ENOTSUP, "its code has no end");
}

static int flow_read(struct flow *flow, uint64_t vaddr)
{
	int r = elf_code_bounds(flow->file, vaddr, &flow->start, &flow->end) ? -ENOTSUP : 0;

	if (!r)
		r = read_line(flow, vaddr);
	for (size_t i = 0; !r && i < flow->todo.count; i++)
		r = read_line(flow, flow->todo.items[i]);
	return r;
}

int julia_flow_last_call(const struct elf_file *file, uint64_t vaddr, uint64_t *ret)
{
	_cleanup_(flow_release) struct flow flow = {.file = file};
	int r = flow_read(&flow, vaddr);
	uint64_t found = 0;

	if (r)
		return r;
	mark_leading(&flow, true);
	for (size_t i = 0; i < flow.insns.count; i++) {
		const struct insn *insn = &flow.insns.items[i];

		if (!insn->direct || leads(&flow, insn->next[0]) || !insn->next[0])
			continue;
		if (found)
			return -ENOENT;
		found = insn->vaddr;
	}
	*ret = found;
	return found ? 0 : -ENOENT;
}

int julia_flow_ends(const struct elf_file *file, uint64_t vaddr, struct julia_end *ret, size_t max,
	struct err *err)
{
	_cleanup_(flow_release) struct flow flow = {.file = file};
	int r = flow_read(&flow, vaddr);

	if (r)
		return err_set(err, -r,
			r == -ENOMEM ? "out of memory" : "its code is not understood");
	mark_leading(&flow, false);
	return collect_ends(&flow, ret, max, err);
}

int julia_flow_behind(const struct elf_file *file, uint64_t vaddr, uint64_t *ret)
{
	_cleanup_(decode_release) struct decode decode = {};

	if (decode_init(&decode, file, vaddr, 128) || !decode_next(&decode))
		return -ENOTSUP;
	while (decode_next(&decode)) {
		if (decode_is_emulated(&decode)) {
			*ret = decode.insn->address;
			return 0;
		}
		if (decode_ends_block(&decode) ||
			cs_insn_group(decode.handle, decode.insn, CS_GRP_JUMP))
			return -ENOTSUP;
	}
	return -ENOTSUP;
}
