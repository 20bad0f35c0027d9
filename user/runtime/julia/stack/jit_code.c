/* Anonymous memory of a process → its JIT's objects, by the code that they tell of. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "jit_code.h"
#include "jit_memory.h"
#include "jit_registry.h"
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
	uint64_t object; /* its address; of one that Julia's registry leads to, jit_entry.copy */
	uint32_t size;	 /* of the object; not known of one of the registry's */
	uint32_t
		index; /* of the section in one of the registry's; else 0: its headers have the address */
	bool fresh; /* jit_code_functions() has not looked at it */
	bool told;  /* it has told of its functions */
};

struct jit_code {
	pid_t pid;
	struct jit_memory memory;
	VEC(struct section) sections; /* by start, once a search is over */
	uint64_t sum;		      /* of the code, as of the last search; 0: none yet */
	bool settled; /* it was searched once more since: an object comes after its code */
	uint64_t next_ns;
	struct u64map known; /* addresses of objects, and nodes by their contents */
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
static void try_object(struct jit_code *code, uint64_t address)
{
	size_t size, offset, count, index = 0;
	_cleanup_free_ void *table = NULL;
	struct section section = {.object = address, .fresh = true};
	uint8_t header[JIT_HEADER_BYTES];

	if (mem_read(code->pid, address, header, sizeof(header)))
		return;
	size = jit_object_size(header);
	if (!size || code->sections.count >= OBJECTS || u64map_get(&code->known, address))
		return;
	section.size = (uint32_t)size;
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

/* Notes the section that Julia's registry has at @address, if that is one of its nodes: of @size bytes that were read. */
static void try_entry(struct jit_code *code, uint64_t address, const uint8_t *bytes, size_t size)
{
	uint8_t across[JIT_ENTRY_BYTES], copied[JIT_COPY_BYTES];
	struct section *slot;
	struct jit_entry entry;
	struct jit_copy copy;
	uint64_t key;

	if (size < sizeof(across)) {
		if (mem_read(code->pid, address, across, sizeof(across)))
			return;
		bytes = across;
	}
	if (!jit_entry_read(bytes, &entry) || !jit_code_holds(code, entry.start) ||
		!jit_code_holds(code, entry.start + entry.size - 1))
		return;
	/* Not by @address: Julia made the node of another copy, which may be left on a stack. */
	key = u64_mix(entry.start) ^ u64_mix(entry.copy + entry.index);
	if (code->sections.count >= OBJECTS || u64map_get(&code->known, key) ||
		mem_read(code->pid, entry.copy, copied, sizeof(copied)) ||
		!jit_copy_read(copied, &copy))
		return;
	slot = vec_add(&code->sections);
	if (!slot)
		return;
	*slot = (struct section){.start = entry.start,
		.end = entry.start + entry.size,
		.object = entry.copy,
		.index = entry.index,
		.fresh = true};
	u64map_put(&code->known, key, 1);
}

static bool search_run(const struct jit_run *run, void *arg)
{
	static const uint64_t magic =
		0x00010102464c457full; /* ELF, 64-bit, little-endian, version 1 */
	struct passing *passing = arg;
	struct jit_code *code = passing->code;
	size_t size = (size_t)(run->end - run->start);
	const struct jit_memory *memory = &code->memory;
	uint64_t word;

	if (size > passing->left)
		return false;
	passing->left -= size;
	if (mem_read(code->pid, run->start, code->chunk, size))
		return true;
	for (size_t at = 0; at < size; at += 16) { /* as malloc aligns */
		memcpy(&word, code->chunk + at, sizeof(word));
		if ((word & 0x00ffffffffffffffull) == magic)
			try_object(code, run->start + at);
		else if (word >= memory->code_start && word < memory->code_end)
			try_entry(code, run->start + at, code->chunk + at, size - at);
	}
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct section *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (!left->index != !right->index)
		return left->index ? 1 : -1;
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

/*
 * The last one that begins at or before @address, and holds it: the registry's, if it has one, as what else looks like
 * an object there is what Julia made its copy of, and let go.
 */
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

/* @size bytes of the process at @address, from malloc; NULL if they cannot be read. */
static void *read_bytes(const struct jit_code *code, uint64_t address, size_t size)
{
	_cleanup_free_ void *bytes = malloc(size);

	return bytes && !mem_read(code->pid, address, bytes, size) ? steal_ptr(bytes) : NULL;
}

/* The object that the registry has for @section, from malloc, with the address of that in it; else NULL. */
static void *read_copy(const struct jit_code *code, const struct section *section, size_t *ret_size)
{
	_cleanup_free_ uint8_t *bytes = NULL, *packed = NULL;
	uint8_t copied[JIT_COPY_BYTES];
	struct jit_copy copy;

	if (mem_read(code->pid, section->object, copied, sizeof(copied)) ||
		!jit_copy_read(copied, &copy))
		return NULL;
	bytes = read_bytes(code, copy.address, copy.size);
	*ret_size = copy.size;
	if (bytes && copy.unpacked) {
		packed = steal_ptr(bytes);
		bytes = malloc(copy.unpacked);
		*ret_size = copy.unpacked;
		if (!bytes || jit_unpack(packed, copy.size, bytes, copy.unpacked))
			return NULL;
	}
	if (!bytes || jit_object_place(bytes, *ret_size, section->index, section->start,
			      section->end - section->start))
		return NULL;
	*ret_size = jit_object_size(bytes);
	return steal_ptr(bytes);
}

/* Reads the object anew: the process may have let go of it. 0 or -errno: -ESTALE if other code is there by now. */
static int read_object(const struct jit_code *code, const struct section *section,
	struct jit_object **ret)
{
	size_t size = section->size, code_size = (size_t)(section->end - section->start);
	_cleanup_free_ uint8_t *runs = read_bytes(code, section->start, code_size);
	struct jit_object *object;
	void *bytes;
	int r;

	bytes = section->index ? read_copy(code, section, &size)
			       : read_bytes(code, section->object, size);
	if (!bytes)
		return -ENODATA;
	r = jit_object_open(bytes, size, &object);
	if (r)
		return r;
	if (!runs || !jit_object_is_code(object, section->start, runs, code_size)) {
		jit_object_free(object);
		return -ESTALE;
	}
	*ret = object;
	return 0;
}

/* The object of the code at @address: the first that can be read of those that tell of it. */
static int open_at(const struct jit_code *code, uint64_t address, struct jit_object **ret)
{
	const struct section *section = find_section(code, address);
	int r = -ENOENT;

	while (section) {
		r = read_object(code, section, ret);
		if (!r || section == code->sections.items || section[-1].start != section->start)
			break;
		section--;
	}
	return r;
}

size_t jit_code_find(struct jit_code *code, uint64_t address, struct elf_place *ret, size_t max)
{
	jit_object_free(steal_ptr(code->last));
	if (open_at(code, address, &code->last))
		return 0;
	return jit_object_find(code->last, address, ret, max);
}

int jit_code_rule(struct jit_code *code, uint64_t address, struct elf_rule *ret)
{
	struct jit_object *object;
	int r;

	if (open_at(code, address, &object))
		return -ENOENT;
	r = jit_object_rule(object, address, ret);
	jit_object_free(object);
	return r;
}

/* Those of an object that a section has. */
struct visiting {
	const struct section *section;
	jit_visit_fn visit;
	void *arg;
};

static int visit_function(const char *symbol, uint64_t address, uint64_t size, void *arg)
{
	const struct visiting *visiting = arg;

	if (address < visiting->section->start || address >= visiting->section->end)
		return 0;
	return visiting->visit(symbol, address, size, visiting->arg);
}

static bool tell_of(const struct jit_code *code, struct section *section, jit_visit_fn visit,
	void *arg)
{
	struct visiting visiting = {section, visit, arg};
	struct jit_object *object;
	int r = read_object(code, section, &object);

	section->fresh = r == -ESTALE; /* its code is not there yet */
	if (r)
		return false;
	jit_object_functions(object, visit_function, &visiting);
	jit_object_free(object);
	return true;
}

void jit_code_functions(struct jit_code *code, jit_visit_fn visit, void *arg)
{
	struct section *sections = code->sections.items;

	for (size_t i = 0, end; i < code->sections.count; i = end) {
		bool told = false;

		/* All that tell of one section's code. */
		for (end = i;
			end < code->sections.count && sections[end].start == sections[i].start;
			end++)
			told |= sections[end].told;
		for (size_t k = end; k-- > i && !told;)
			told = sections[k].told =
				sections[k].fresh && tell_of(code, &sections[k], visit, arg);
	}
}
