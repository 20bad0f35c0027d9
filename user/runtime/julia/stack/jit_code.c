/* Anonymous memory of a process → its JIT's objects, by the code that they tell of. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "jit_code.h"
#include "mem.h"
#include "u64map.h"
#include "vec.h"

#define PAGE	   4096ull
#define CHUNK	   (1u << 20)
#define SEARCHED   (512ull << 20) /* bytes of a search at most */
#define LOOKED_AT  (64ull << 30)  /* addresses that it asks for being in memory */
#define CODE_MOST  (64ull << 20)  /* of the JIT's code that are looked at for changes */
#define OBJECTS	   (1u << 17)	  /* that are known at most */
#define REST	   19		  /* times as long as a search took, until the next one */
#define ARENA	   (64ull << 20)  /* glibc's HEAP_MAX_SIZE, by which its arenas are aligned, too */
#define PRESENT	   (1ull << 63)	  /* Documentation/admin-guide/mm/pagemap.rst */
#define LOOK_PAUSE 100000000ull	  /* between two looks at whether the code has changed */

struct range {
	uint64_t start, end;
	unsigned int rank; /* in which order it is searched */
};

/* Code of one section, and the object that tells of it. */
struct section {
	uint64_t start, end;
	uint64_t object; /* its address */
	uint32_t size;
	bool fresh; /* jit_code_functions() has not told of it */
};

struct jit_code {
	pid_t pid;
	VEC(struct range) code, data;
	VEC(struct section) sections; /* by start, once a search is over */
	uint64_t sum;		      /* of the code, as of the last search; 0: none yet */
	bool settled; /* it was searched once more since: an object comes after its code */
	uint64_t next_ns;
	struct u64map known; /* addresses of objects */
	uint8_t *chunk;
	struct jit_object *last; /* of the last jit_code_find(): texts are its own */
};

struct jit_code *jit_code_new(pid_t pid)
{
	struct jit_code *code = calloc(1, sizeof(*code));

	if (!code)
		return NULL;
	code->pid = pid;
	code->chunk = malloc(CHUNK);
	if (code->chunk)
		return code;
	free(code);
	return NULL;
}

void jit_code_free(struct jit_code *code)
{
	if (!code)
		return;
	vec_free(&code->code);
	vec_free(&code->data);
	vec_free(&code->sections);
	u64map_release(&code->known);
	jit_object_free(code->last);
	free(code->chunk);
	free(code);
}

/* What malloc manages comes first, then what it got apart for one large object; Julia's own heap is the largest. */
static unsigned int rank_of(const struct range *range, const char *name)
{
	if (!strncmp(name, "[heap]", 6))
		return 0;
	if (range->start % ARENA == 0 && range->end - range->start < ARENA)
		return 1;
	return 2;
}

static int by_rank(const void *a, const void *b)
{
	const struct range *left = a, *right = b;
	uint64_t left_size = left->end - left->start, right_size = right->end - right->start;

	if (left->rank != right->rank)
		return left->rank < right->rank ? -1 : 1;
	return left_size < right_size ? -1 : left_size > right_size;
}

static void add_line(struct jit_code *code, const char *line)
{
	struct range range = {}, *slot = NULL;
	char mode[5] = "";
	uint64_t inode;
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %" SCNu64 " %n", &range.start,
		    &range.end, mode, &inode, &at) < 4 ||
		!at || range.end <= range.start)
		return;
	line += at;
	/* A file's and the kernel's own have names; prctl() names anonymous ones "[anon:…]". */
	if (*line && *line != '\n' && strncmp(line, "[heap]", 6) && strncmp(line, "[anon:", 6))
		return;
	range.rank = rank_of(&range, line);
	if (mode[2] == 'x')
		slot = vec_add(&code->code);
	else if (mode[0] == 'r' && mode[1] == 'w')
		slot = vec_add(&code->data);
	if (slot)
		*slot = range;
}

static bool read_maps(struct jit_code *code)
{
	_cleanup_free_ char *line = NULL;
	_cleanup_fclose_ FILE *file = NULL;
	char path[40];
	size_t room = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", code->pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	code->code.count = code->data.count = 0;
	while (getline(&line, &room, file) > 0)
		add_line(code, line);
	if (code->data.count)
		qsort(code->data.items, code->data.count, sizeof(*code->data.items), by_rank);
	return true;
}

bool jit_code_holds(const struct jit_code *code, uint64_t address)
{
	for (size_t i = 0; i < code->code.count; i++)
		if (address >= code->code.items[i].start && address < code->code.items[i].end)
			return true;
	return false;
}

/* A run of pages that are in memory: what is read brings no other in. */
struct run {
	uint64_t start, end;
};

typedef bool (*run_fn)(struct jit_code *code, const struct run *run, void *arg);

/* Calls @visit for the runs of pages of @range that are in memory, none longer than a chunk, until it says false. */
static bool visit_runs(struct jit_code *code, int pagemap, const struct range *range, run_fn visit,
	void *arg)
{
	uint64_t pages[CHUNK / PAGE];
	struct run run = {};

	for (uint64_t at = range->start; at < range->end; at += CHUNK) {
		size_t count = (size_t)((range->end - at < CHUNK ? range->end - at : CHUNK) / PAGE);
		ssize_t got = pread(pagemap, pages, count * 8, (off_t)(at / PAGE * 8));

		for (size_t i = 0; got > 0 && i <= (size_t)got / 8; i++) {
			bool in = i < (size_t)got / 8 && pages[i] & PRESENT;

			if (in && run.start == run.end)
				run.start = run.end = at + i * PAGE;
			if (in)
				run.end += PAGE;
			else if (run.start != run.end) {
				if (!visit(code, &run, arg))
					return false;
				run = (struct run){};
			}
		}
	}
	return true;
}

static bool add_run(struct jit_code *code, const struct run *run, void *arg)
{
	uint64_t *sum = arg, word;
	size_t size = (size_t)(run->end - run->start);

	if (mem_read(code->pid, run->start, code->chunk, size))
		return true;
	for (size_t at = 0; at < size; at += sizeof(word)) {
		memcpy(&word, code->chunk + at, sizeof(word));
		*sum = (*sum ^ word) * 0x9e3779b97f4a7c15ull;
		*sum ^= *sum >> 29;
	}
	return true;
}

/* Differs once code was added. Never 0. */
static uint64_t sum_up(struct jit_code *code, int pagemap)
{
	uint64_t sum = code->code.count, left = CODE_MOST;

	for (size_t i = 0; i < code->code.count; i++) {
		const struct range *range = &code->code.items[i];

		if (range->end - range->start > left)
			break;
		left -= range->end - range->start;
		visit_runs(code, pagemap, range, add_run, &sum);
	}
	return sum ? sum : 1;
}

/* Notes the object at @address if there is one, whose code is where code may be. */
static void try_object(struct jit_code *code, uint64_t address, const uint8_t *header)
{
	size_t size = jit_object_size(header), offset, count, index = 0;
	_cleanup_free_ void *table = NULL;
	struct section section = {.object = address, .size = (uint32_t)size, .fresh = true};

	if (!size || code->sections.count >= OBJECTS || u64map_get(&code->known, address))
		return;
	jit_object_table(header, &offset, &count);
	table = malloc(size - offset);
	if (!table || mem_read(code->pid, address + offset, table, size - offset))
		return;
	while (jit_object_code(table, count, &index, &section.start, &section.end)) {
		struct section *slot =
			jit_code_holds(code, section.start) && jit_code_holds(code, section.end - 1)
				? vec_add(&code->sections)
				: NULL;

		if (!slot)
			continue;
		*slot = section;
		u64map_put(&code->known, address, 1);
	}
}

static bool search_run(struct jit_code *code, const struct run *run, void *arg)
{
	static const uint64_t magic =
		0x00010102464c457full; /* ELF, 64-bit, little-endian, version 1 */
	size_t size = (size_t)(run->end - run->start);
	uint8_t header[JIT_HEADER_BYTES];
	uint64_t *left = arg, word;

	if (size > *left)
		return false;
	*left -= size;
	if (mem_read(code->pid, run->start, code->chunk, size))
		return true;
	for (size_t at = 0; at < size; at += 16) { /* as malloc aligns */
		memcpy(&word, code->chunk + at, sizeof(word));
		if ((word & 0x00ffffffffffffffull) == magic &&
			!mem_read(code->pid, run->start + at, header, sizeof(header)))
			try_object(code, run->start + at, header);
	}
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct section *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return left->object < right->object ? -1 : left->object > right->object;
}

static void search(struct jit_code *code, int pagemap)
{
	uint64_t left = SEARCHED, looked_at = 0;

	for (size_t i = 0; i < code->data.count; i++) {
		const struct range *range = &code->data.items[i];

		looked_at += range->end - range->start;
		if (looked_at > LOOKED_AT || !visit_runs(code, pagemap, range, search_run, &left))
			break;
	}
	if (code->sections.count)
		qsort(code->sections.items, code->sections.count, sizeof(*code->sections.items),
			by_start);
}

bool jit_code_look(struct jit_code *code, uint64_t now_ns)
{
	_cleanup_close_ int pagemap = -1;
	uint64_t start_ns, sum;
	char path[40];
	bool changed, searches;

	if (now_ns < code->next_ns)
		return false;
	start_ns = clock_ns(CLOCK_MONOTONIC);
	code->next_ns = now_ns + LOOK_PAUSE;
	snprintf(path, sizeof(path), "/proc/%d/pagemap", code->pid);
	pagemap = open(path, O_RDONLY | O_CLOEXEC);
	if (pagemap < 0 || !read_maps(code))
		return false;
	sum = sum_up(code, pagemap);
	changed = sum != code->sum;
	searches = changed || !code->settled;
	if (searches)
		search(code, pagemap);
	code->settled = !changed;
	code->sum = sum;
	code->next_ns += (clock_ns(CLOCK_MONOTONIC) - start_ns) * REST;
	return searches;
}

/* The last one that begins at or before @address, and holds it: of several the newest search's. */
static const struct section *find_section(const struct jit_code *code, uint64_t address)
{
	size_t low = 0, high = code->sections.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (code->sections.items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < code->sections.items[low - 1].end ? &code->sections.items[low - 1]
								  : NULL;
}

/* Reads the object anew: the process may have let go of it. 0 or -errno. */
static int read_object(const struct jit_code *code, const struct section *section,
	struct jit_object **ret)
{
	_cleanup_free_ void *bytes = malloc(section->size);
	int r;

	if (!bytes)
		return -ENOMEM;
	r = mem_read(code->pid, section->object, bytes, section->size);
	return r ? r : jit_object_open(steal_ptr(bytes), section->size, ret);
}

size_t jit_code_find(struct jit_code *code, uint64_t address, struct elf_place *ret, size_t max)
{
	const struct section *section = find_section(code, address);

	jit_object_free(steal_ptr(code->last));
	if (!section || read_object(code, section, &code->last))
		return 0;
	return jit_object_find(code->last, address, ret, max);
}

int jit_code_rule(struct jit_code *code, uint64_t address, struct elf_rule *ret)
{
	const struct section *section = find_section(code, address);
	struct jit_object *object;
	int r;

	if (!section || read_object(code, section, &object))
		return -ENOENT;
	r = jit_object_rule(object, address, ret);
	jit_object_free(object);
	return r;
}

void jit_code_functions(struct jit_code *code, jit_visit_fn visit, void *arg)
{
	uint64_t told = 0;

	for (size_t i = 0; i < code->sections.count; i++) {
		struct section *section = &code->sections.items[i];
		struct jit_object *object;

		if (!section->fresh)
			continue;
		section->fresh = false;
		if (section->object == told || read_object(code, section, &object))
			continue;
		told = section->object;
		jit_object_functions(object, visit, arg);
		jit_object_free(object);
	}
}
