/* Anonymous memory of a process → its JIT's objects, by the code that they tell of. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "jit_code.h"
#include "jit_memory.h"
#include "mem.h"
#include "u64map.h"
#include "vec.h"

#define SEARCHED   (512ull << 20) /* bytes of a search at most */
#define LOOKED_AT  (64ull << 30)  /* addresses that it asks for being in memory */
#define CODE_MOST  (64ull << 20)  /* of the JIT's code that are looked at for changes */
#define OBJECTS	   (1u << 17)	  /* that are known at most */
#define REST	   19		  /* times as long as a search took, until the next one */
#define LOOK_PAUSE 100000000ull	  /* between two looks at whether the code has changed */

/* Code of one section, and the object that tells of it. */
struct section {
	uint64_t start, end;
	uint64_t object; /* its address */
	uint32_t size;
	bool fresh; /* jit_code_functions() has not told of it */
};

struct jit_code {
	pid_t pid;
	struct jit_memory memory;
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
	code->chunk = malloc(JIT_RUN_MOST);
	if (code->chunk)
		return code;
	free(code);
	return NULL;
}

void jit_code_free(struct jit_code *code)
{
	if (!code)
		return;
	jit_memory_release(&code->memory);
	vec_free(&code->sections);
	u64map_release(&code->known);
	jit_object_free(code->last);
	free(code->chunk);
	free(code);
}

bool jit_code_holds(const struct jit_code *code, uint64_t address)
{
	return jit_memory_is_code(&code->memory, address);
}

/* What a search, or a sum, goes through memory with. */
struct passing {
	struct jit_code *code;
	uint64_t sum, left;
};

static bool add_run(const struct jit_run *run, void *arg)
{
	struct passing *passing = arg;
	struct jit_code *code = passing->code;
	size_t size = (size_t)(run->end - run->start);
	uint64_t word;

	if (mem_read(code->pid, run->start, code->chunk, size))
		return true;
	for (size_t at = 0; at < size; at += sizeof(word)) {
		memcpy(&word, code->chunk + at, sizeof(word));
		passing->sum = (passing->sum ^ word) * 0x9e3779b97f4a7c15ull;
		passing->sum ^= passing->sum >> 29;
	}
	return true;
}

/* Differs once code was added. Never 0. */
static uint64_t sum_up(struct jit_code *code, int pagemap)
{
	struct passing passing = {code, code->memory.code.count, CODE_MOST};

	for (size_t i = 0; i < code->memory.code.count; i++) {
		const struct jit_range *range = &code->memory.code.items[i];

		if (range->end - range->start > passing.left)
			break;
		passing.left -= range->end - range->start;
		jit_memory_visit(pagemap, range, add_run, &passing);
	}
	return passing.sum ? passing.sum : 1;
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

static bool search_run(const struct jit_run *run, void *arg)
{
	static const uint64_t magic =
		0x00010102464c457full; /* ELF, 64-bit, little-endian, version 1 */
	struct passing *passing = arg;
	struct jit_code *code = passing->code;
	size_t size = (size_t)(run->end - run->start);
	uint8_t header[JIT_HEADER_BYTES];
	uint64_t word;

	if (size > passing->left)
		return false;
	passing->left -= size;
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
	struct passing passing = {.code = code, .left = SEARCHED};
	uint64_t looked_at = 0;

	for (size_t i = 0; i < code->memory.data.count; i++) {
		const struct jit_range *range = &code->memory.data.items[i];

		looked_at += range->end - range->start;
		if (looked_at > LOOKED_AT ||
			!jit_memory_visit(pagemap, range, search_run, &passing))
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
	if (pagemap < 0 || !jit_memory_read(&code->memory, code->pid))
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
