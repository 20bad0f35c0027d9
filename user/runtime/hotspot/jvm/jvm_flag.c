/*
 * A JVM's flags (-XX:…). In: the table Flag::flags (8), JVMFlag::flags (11 on). Out: values as they
 * are now, and which collector they choose.
 */
#include <errno.h>
#include <string.h>

#include "cleanup.h"
#include "jvm_priv.h"

#define FLAGS_MAX  8192 /* HotSpot has up to 1450 */
#define FLAG_BYTES 256

/*
 * The types of flags: up to 16 the table holds their names, since then their places in enum
 * FlagType (runtime/flags/jvmFlag.hpp; unchanged from 17 to 27).
 */
static const struct type {
	const char *name;
	uint8_t bytes;
	bool is_signed, is_text;
} types[] = {
	{"bool", 1},
	{"int", 4, true},
	{"uint", 4},
	{"intx", 8, true},
	{"uintx", 8},
	{"uint64_t", 8},
	{"size_t", 8},
	{"double", 0},
	{"ccstr", 0, false, true},
	{"ccstrlist", 0, false, true},
};

struct columns {
	uint64_t array, count, stride;
	uint32_t name, type, address;
	bool type_is_text;
};

static int load_columns(const struct jvm *jvm, struct columns *ret)
{
	const char *name = "JVMFlag";
	struct columns c = {0};
	bool failed = false;
	uint64_t flags, count;

	if (jvm_static(jvm, name, "flags", &flags))
		name = "Flag";
	if (jvm_static(jvm, name, "flags", &flags) || jvm_static(jvm, name, "numFlags", &count) ||
		jvm_field(jvm, name, "_name", &c.name) || jvm_field(jvm, name, "_type", &c.type) ||
		jvm_field(jvm, name, "_addr", &c.address) || jvm_type_size(jvm, name, &c.stride))
		return -ENOENT;
	c.array = jvm_read_u64(jvm, flags, &failed);
	c.count = jvm_read_u64(jvm, count, &failed);
	if (failed || c.stride > FLAG_BYTES || c.stride < 16 || c.name > c.stride - 8 ||
		c.type > c.stride - 4 || c.address > c.stride - 8 || c.count > FLAGS_MAX)
		return -EBADMSG;
	if (!c.array || !c.count)
		return -EAGAIN;
	/* A pointer, if there is room for one before what follows; the enum follows the flags' int.
	 */
	c.type_is_text = c.type % 8 == 0 && c.type + 8 <= c.stride;
	*ret = c;
	return 0;
}

static int load_type(struct jvm *jvm, const struct columns *columns, const uint8_t *bytes,
	const struct type **ret)
{
	uint64_t address;
	uint32_t text, number;
	int r;

	*ret = NULL;
	if (!columns->type_is_text) {
		memcpy(&number, bytes + columns->type, 4);
		if (number < ARRAY_SIZE(types))
			*ret = &types[number];
		return 0;
	}
	memcpy(&address, bytes + columns->type, 8);
	r = jvm_text(jvm, address, &text);
	for (size_t i = 0; !r && i < ARRAY_SIZE(types); i++)
		if (!strcmp(strtab_get(jvm->texts, text), types[i].name))
			*ret = &types[i];
	return r;
}

/* 0: added, or of a type that is not known. */
static int load_flag(struct jvm *jvm, const struct columns *columns, const uint8_t *bytes)
{
	struct jvm_entry entry = {.kind = JVM_FLAG};
	const struct type *type;
	uint64_t name;
	int r;

	memcpy(&name, bytes + columns->name, 8);
	memcpy(&entry.value, bytes + columns->address, 8);
	if (!name || !entry.value) /* the last one; one that is a constant of this build */
		return 0;
	r = jvm_text(jvm, name, &entry.type);
	if (!r)
		r = load_type(jvm, columns, bytes, &type);
	if (r || !type)
		return r;
	entry.bytes = type->bytes;
	entry.is_signed = type->is_signed;
	entry.is_text = type->is_text;
	return jvm_entry_add(jvm, &entry);
}

/* Flags whose types have always been these: where they differ, the enum has changed. */
static bool types_hold(const struct jvm *jvm)
{
	const struct jvm_entry *serial = jvm_entry_find(jvm, JVM_FLAG, "UseSerialGC", "");
	const struct jvm_entry *heap = jvm_entry_find(jvm, JVM_FLAG, "MaxHeapSize", "");
	const struct jvm_entry *error = jvm_entry_find(jvm, JVM_FLAG, "OnError", "");

	return serial && serial->bytes == 1 && heap && heap->bytes == 8 && !heap->is_signed &&
	       error && error->is_text;
}

int jvm_flags_load(struct jvm *jvm, struct err *err)
{
	struct columns columns;
	uint8_t bytes[FLAG_BYTES];
	size_t before = jvm->entries.count;
	int r = load_columns(jvm, &columns);

	for (uint64_t i = 0; !r && i < columns.count; i++) {
		r = jvm_read(jvm, columns.array + i * columns.stride, bytes, columns.stride);
		if (r)
			r = columns.array < JVM_UNRELOCATED ? -EAGAIN : -EBADMSG;
		else
			r = load_flag(jvm, &columns, bytes);
	}
	if (!r && jvm->entries.count == before)
		r = -EAGAIN;
	if (!r && !types_hold(jvm))
		r = -EBADMSG;
	if (r == -EBADMSG || r == -ENOENT)
		return err_set(err, EBADMSG,
			"its table of flags makes no sense: is this a HotSpot JVM?");
	return r;
}

int jvm_flag(const struct jvm *jvm, const char *name, bool *ret)
{
	const struct jvm_entry *flag = jvm_entry_find(jvm, JVM_FLAG, name, "");
	uint8_t value;

	if (!flag || flag->bytes != 1)
		return -ENOENT;
	if (jvm_read(jvm, flag->value, &value, 1))
		return -EAGAIN;
	*ret = value != 0;
	return 0;
}

static bool is_set(const struct jvm *jvm, const char *name)
{
	bool value;

	return !jvm_flag(jvm, name, &value) && value;
}

static bool is_text(const struct jvm *jvm, const char *name, const char *want)
{
	const struct jvm_entry *flag = jvm_entry_find(jvm, JVM_FLAG, name, "");
	char text[32];

	return flag && flag->is_text &&
	       !jvm_read_text(jvm, jvm_read_u64(jvm, flag->value, NULL), text, sizeof(text)) &&
	       !strcmp(text, want);
}

const char *jvm_collector(const struct jvm *jvm)
{
	uint64_t heap;

	/* The flags are chosen before the heap is made. */
	if (jvm_static(jvm, "Universe", "_collectedHeap", &heap) || !jvm_read_u64(jvm, heap, NULL))
		return NULL;
	if (is_set(jvm, "UseG1GC"))
		return "G1";
	if (is_set(jvm, "UseParallelGC") || is_set(jvm, "UseParallelOldGC"))
		return "Parallel";
	if (is_set(jvm, "UseZGC")) /* 21 to 23: a choice; since 24 the only one */
		return jvm->release >= 24 || is_set(jvm, "ZGenerational") ? "Generational ZGC"
									  : "ZGC";
	if (is_set(jvm, "UseShenandoahGC"))
		return is_text(jvm, "ShenandoahGCMode", "generational") ? "Generational Shenandoah"
									: "Shenandoah";
	if (is_set(jvm, "UseEpsilonGC"))
		return "Epsilon";
	if (is_set(jvm, "UseConcMarkSweepGC"))
		return "CMS";
	/* 8 needs no flag for it. */
	return is_set(jvm, "UseSerialGC") || jvm->release == 8 ? "Serial" : NULL;
}
