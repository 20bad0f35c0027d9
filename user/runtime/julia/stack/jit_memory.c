/* Maps and page maps of a process → its anonymous memory, page by page. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "jit_memory.h"

#define PAGE	4096ull
#define ARENA	(64ull << 20) /* glibc's HEAP_MAX_SIZE, by which its arenas are aligned, too */
#define PRESENT (1ull << 63)  /* Documentation/admin-guide/mm/pagemap.rst */

/* What malloc manages comes first, then what it got apart for one large object; Julia's own heap is the largest. */
static unsigned int rank_of(const struct jit_range *range, const char *name)
{
	if (!strncmp(name, "[heap]", 6))
		return 0;
	if (range->start % ARENA == 0 && range->end - range->start < ARENA)
		return 1;
	return 2;
}

static int by_rank(const void *a, const void *b)
{
	const struct jit_range *left = a, *right = b;
	uint64_t left_size = left->end - left->start, right_size = right->end - right->start;

	if (left->rank != right->rank)
		return left->rank < right->rank ? -1 : 1;
	return left_size < right_size ? -1 : left_size > right_size;
}

bool jit_memory_is_named(const char *name)
{
	static const char memfd[] = "/memfd:julia-codegen";

	return !strncmp(name, memfd, strlen(memfd));
}

static void add_line(struct jit_memory *memory, const char *line)
{
	struct jit_range range = {}, *slot = NULL;
	char mode[5] = "";
	uint64_t inode;
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %" SCNu64 " %n", &range.start,
		    &range.end, mode, &inode, &at) < 4 ||
		!at || range.end <= range.start)
		return;
	line += at;
	/* A file's and the kernel's own have names; prctl() names anonymous ones "[anon:…]". */
	if (*line && *line != '\n' && strncmp(line, "[heap]", 6) && strncmp(line, "[anon:", 6) &&
		(mode[2] != 'x' || !jit_memory_is_named(line)))
		return;
	range.rank = rank_of(&range, line);
	if (mode[2] == 'x') {
		slot = vec_add(&memory->code);
		memory->code_start =
			range.start < memory->code_start ? range.start : memory->code_start;
		memory->code_end = range.end > memory->code_end ? range.end : memory->code_end;
	} else if (mode[0] == 'r' && mode[1] == 'w')
		slot = vec_add(&memory->data);
	if (slot)
		*slot = range;
}

bool jit_memory_read(struct jit_memory *memory, pid_t pid)
{
	_cleanup_free_ char *line = NULL;
	_cleanup_fclose_ FILE *file = NULL;
	char path[40];
	size_t room = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	memory->code.count = memory->data.count = 0;
	memory->code_start = UINT64_MAX;
	memory->code_end = 0;
	while (getline(&line, &room, file) > 0)
		add_line(memory, line);
	if (memory->data.count)
		qsort(memory->data.items, memory->data.count, sizeof(*memory->data.items), by_rank);
	return true;
}

void jit_memory_release(struct jit_memory *memory)
{
	vec_free(&memory->code);
	vec_free(&memory->data);
}

bool jit_memory_is_code(const struct jit_memory *memory, uint64_t address)
{
	for (size_t i = 0; i < memory->code.count; i++)
		if (address >= memory->code.items[i].start && address < memory->code.items[i].end)
			return true;
	return false;
}

bool jit_memory_visit(int pagemap, const struct jit_range *range, jit_run_fn visit, void *arg)
{
	uint64_t pages[JIT_RUN_MOST / PAGE];
	struct jit_run run = {};

	for (uint64_t at = range->start; at < range->end; at += JIT_RUN_MOST) {
		uint64_t left = range->end - at;
		size_t count = (size_t)((left < JIT_RUN_MOST ? left : JIT_RUN_MOST) / PAGE);
		ssize_t got = pread(pagemap, pages, count * 8, (off_t)(at / PAGE * 8));

		for (size_t i = 0; got > 0 && i <= (size_t)got / 8; i++) {
			bool in = i < (size_t)got / 8 && pages[i] & PRESENT;

			if (in && run.start == run.end)
				run.start = run.end = at + i * PAGE;
			if (in)
				run.end += PAGE;
			else if (run.start != run.end) {
				if (!visit(&run, arg))
					return false;
				run = (struct jit_run){};
			}
		}
	}
	return true;
}
