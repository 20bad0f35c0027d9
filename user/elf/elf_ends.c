/* The graph of a function → on every path out of it, the first place where its work is done. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cleanup.h"
#include "elf_ends.h"
#include "elf_flow.h"

/* What is known of an instruction, a bit each. */
enum {
	LIVE = 1,     /* reachable from the entry */
	LOUD = 2,     /* adds, or some path leads from it to one that adds */
	AFTER = 4,    /* some path leads to it from one that adds, past no place */
	PLACE = 8,    /* what is looked for */
	AVOIDS = 16,  /* some path leads to it from the entry, past no place, … */
	ESCAPES = 32, /* … and from it out of the function */
	ENDS = 64,    /* some path leads from it out of the function */
};

struct ends {
	struct elf_flow flow;
	uint8_t *marks;
	/* Instructions that are the work which is to be seen to end; none: any that calls or adds may be. */
	const uint64_t *work;
	size_t work_count;
};

static void ends_release(struct ends *ends)
{
	elf_flow_release(&ends->flow);
	free(ends->marks);
}

/* Marks everything reachable from the marked ones, not going beyond one with a @stop mark. */
static void spread_forward(struct ends *ends, uint8_t mark, uint8_t stop)
{
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < ends->flow.insns.count; i++) {
			const struct elf_insn *insn = &ends->flow.insns.items[i];

			if (!(ends->marks[i] & mark) || ends->marks[i] & stop)
				continue;
			for (uint8_t n = 0; n < insn->next_count; n++) {
				more |= !(ends->marks[insn->next[n]] & mark);
				ends->marks[insn->next[n]] |= mark;
			}
		}
	}
}

/* Marks everything that reaches the marked ones without passing one with a @stop mark. */
static void spread_backward(struct ends *ends, uint8_t mark, uint8_t stop)
{
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = ends->flow.insns.count; i--;) {
			const struct elf_insn *insn = &ends->flow.insns.items[i];

			if (ends->marks[i] & (mark | stop))
				continue;
			for (uint8_t n = 0; n < insn->next_count; n++)
				if (ends->marks[insn->next[n]] & mark)
					ends->marks[i] |= mark;
			more |= ends->marks[i] & mark;
		}
	}
}

static void mark_returns(struct ends *ends, uint8_t mark, uint8_t stop)
{
	for (size_t i = 0; i < ends->flow.insns.count; i++)
		if (ends->flow.insns.items[i].returns && !(ends->marks[i] & stop))
			ends->marks[i] |= mark;
}

/* The first emulated instructions after the last one that adds. */
static void choose(struct ends *ends)
{
	const struct elf_insn *insns = ends->flow.insns.items;

	ends->marks[0] |= LIVE;
	spread_forward(ends, LIVE, 0);
	for (size_t i = 0; i < ends->flow.insns.count; i++)
		if (insns[i].adds && ends->marks[i] & LIVE)
			ends->marks[i] |= LOUD | AFTER;
	spread_backward(ends, LOUD, 0);
	mark_returns(ends, ENDS, 0);
	spread_backward(ends, ENDS, 0);
	for (size_t i = 0; i < ends->flow.insns.count; i++)
		if (insns[i].emulated && (ends->marks[i] & (LOUD | ENDS)) == ENDS)
			ends->marks[i] |= PLACE;
	spread_forward(ends, AFTER, PLACE);
	for (size_t i = 0; i < ends->flow.insns.count; i++)
		if (!(ends->marks[i] & AFTER))
			ends->marks[i] &= (uint8_t)~PLACE;
}

static bool may_work(const struct ends *ends, const struct elf_insn *insn)
{
	for (size_t i = 0; i < ends->work_count; i++)
		if (ends->work[i] == insn->vaddr)
			return true;
	return !ends->work_count && (insn->calls || insn->adds);
}

/* Whether paths that avoid all places do nothing. */
static int prove(struct ends *ends, struct err *err)
{
	const struct elf_insn *insns = ends->flow.insns.items;

	if (!(ends->marks[0] & PLACE))
		ends->marks[0] |= AVOIDS;
	spread_forward(ends, AVOIDS, PLACE);
	mark_returns(ends, ESCAPES, PLACE);
	spread_backward(ends, ESCAPES, PLACE);
	for (size_t i = 0; i < ends->flow.insns.count; i++)
		if (may_work(ends, &insns[i]) && !(ends->marks[i] & PLACE) &&
			ends->marks[i] & AVOIDS && ends->marks[i] & ESCAPES)
			return err_set(err, ENOTSUP,
				"a path through its code at %#" PRIx64
				" ends where no probe is cheap",
				insns[i].vaddr);
	return 0;
}

static int collect(const struct ends *ends, uint64_t *ret, size_t max, struct err *err)
{
	size_t count = 0;

	for (size_t i = 0; i < ends->flow.insns.count; i++)
		count += ends->marks[i] / PLACE % 2;
	if (!count || count > max)
		return err_set(err, ENOTSUP, "its code has %zu places where its work ends", count);
	for (size_t i = 0, n = 0; i < ends->flow.insns.count; i++)
		if (ends->marks[i] & PLACE)
			ret[n++] = ends->flow.insns.items[i].vaddr;
	return (int)count;
}

int elf_ends_find(const struct elf_file *file, uint64_t vaddr, uint64_t *ret, size_t max,
	struct err *err)
{
	return elf_ends_find_of(file, vaddr, NULL, 0, ret, max, err);
}

int elf_ends_find_of(const struct elf_file *file, uint64_t vaddr, const uint64_t *work,
	size_t work_count, uint64_t *ret, size_t max, struct err *err)
{
	_cleanup_(ends_release) struct ends ends = {.work = work, .work_count = work_count};
	int r = elf_flow_read(file, vaddr, &ends.flow, err);

	if (r)
		return r;
	ends.marks = calloc(ends.flow.insns.count, sizeof(*ends.marks));
	if (!ends.marks)
		return err_set(err, ENOMEM, "out of memory");
	choose(&ends);
	r = prove(&ends, err);
	return r ? r : collect(&ends, ret, max, err);
}
