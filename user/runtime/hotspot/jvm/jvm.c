/*
 * The tables that HotSpot exports for its serviceability agent. In: the symbols gHotSpotVM…, the
 * target's memory. Out: entries found by name. Layout: vmStructs.hpp, the same from 8 to 27: each
 * table is an array that ends with a null name; its stride and the places of its columns are
 * exported beside it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "jvm_priv.h"

#define ENTRIES_MAX 32768 /* of one table; HotSpot has up to 850 */
#define STRIDE_MAX  256
#define BATCH	    64		  /* entries per read */
#define LIBRARY_MAX 0x40000000ull /* how far apart two addresses of one library may be */

DEFINE_CLEANUP(struct jvm *, jvm_free);

/* One table; the columns are symbols behind @prefix, NULL where it has no such column. */
struct table {
	const char *array, *prefix;
	const char *type, *name, *is_static, *value, *address;
	enum jvm_kind kind;
	uint8_t value_bytes;
	bool required;
};

static const struct table tables[] = {
	{"gHotSpotVMStructs", "gHotSpotVMStructEntry", "TypeNameOffset", "FieldNameOffset",
		"IsStaticOffset", "OffsetOffset", "AddressOffset", JVM_FIELD, 8, true},
	{"gHotSpotVMTypes", "gHotSpotVMTypeEntry", "TypeNameOffset", NULL, NULL, "SizeOffset", NULL,
		JVM_TYPE, 8, true},
	{"gHotSpotVMIntConstants", "gHotSpotVMIntConstantEntry", "NameOffset", NULL, NULL,
		"ValueOffset", NULL, JVM_CONSTANT, 4, false},
	{"gHotSpotVMLongConstants", "gHotSpotVMLongConstantEntry", "NameOffset", NULL, NULL,
		"ValueOffset", NULL, JVM_CONSTANT, 8, false},
};

/* The same table in the target. Columns are offsets within an entry. */
struct layout {
	uint64_t array, stride;
	uint64_t type, name, is_static, value, address;
};

/* The number behind an exported symbol; -ENOENT, -EFAULT. */
static int exported(const struct jvm *jvm, const char *prefix, const char *suffix, uint64_t *ret)
{
	char name[64];
	uint64_t address;

	snprintf(name, sizeof(name), "%s%s", prefix, suffix);
	address = jvm_symbol(jvm, name);
	if (!address)
		return -ENOENT;
	return jvm_read(jvm, address, ret, sizeof(*ret));
}

/* One column: its offset must leave room for @bytes in an entry. */
static int column(const struct jvm *jvm, const struct table *table, const char *suffix,
	uint64_t stride, size_t bytes, uint64_t *ret)
{
	uint64_t offset;
	int r;

	if (!suffix)
		return 0;
	r = exported(jvm, table->prefix, suffix, &offset);
	if (r)
		return r;
	if (offset > stride || stride - offset < bytes)
		return -EBADMSG;
	*ret = offset;
	return 0;
}

/*
 * The array's address is the first word to look at. While the linker maps a library, the file's
 * bytes lie at other addresses than they will; then the address is there, but relative. It is
 * believed once it is one in the same library. The columns are variables that JDK 8 computes still
 * later: until then they are 0.
 */
static int load_layout(const struct jvm *jvm, const struct table *table, struct layout *ret)
{
	uint64_t symbol = jvm_symbol(jvm, table->array);
	struct layout layout = {0};
	int r = exported(jvm, table->array, "", &layout.array);

	if (r)
		return r == -EFAULT ? -EAGAIN : r;
	if (layout.array - symbol + LIBRARY_MAX > 2 * LIBRARY_MAX)
		return -EAGAIN;
	r = exported(jvm, table->prefix, "ArrayStride", &layout.stride);
	if (!r && !layout.stride)
		return -EAGAIN;
	if (!r && layout.stride > STRIDE_MAX)
		return -EBADMSG;
	if (!r)
		r = column(jvm, table, table->type, layout.stride, 8, &layout.type);
	if (!r)
		r = column(jvm, table, table->name, layout.stride, 8, &layout.name);
	if (!r)
		r = column(jvm, table, table->is_static, layout.stride, 4, &layout.is_static);
	if (!r)
		r = column(jvm, table, table->value, layout.stride, table->value_bytes,
			&layout.value);
	if (!r)
		r = column(jvm, table, table->address, layout.stride, 8, &layout.address);
	if (r)
		return r;
	if (layout.value == layout.type || (table->name && layout.name == layout.type))
		return -EAGAIN;
	*ret = layout;
	return 0;
}

/* 1: added; 0: the end of the table. */
static int load_entry(struct jvm *jvm, const struct table *table, const struct layout *layout,
	const uint8_t *bytes)
{
	struct jvm_entry entry = {.kind = table->kind};
	uint64_t type, name = 0;
	uint32_t is_static = 0;
	int32_t narrow;
	int r;

	memcpy(&type, bytes + layout->type, 8);
	if (!type)
		return 0;
	r = jvm_text(jvm, type, &entry.type);
	if (!r && table->name) {
		memcpy(&name, bytes + layout->name, 8);
		r = jvm_text(jvm, name, &entry.name);
	}
	if (r)
		return r;
	if (table->is_static)
		memcpy(&is_static, bytes + layout->is_static, 4);
	if (is_static) {
		entry.kind = JVM_STATIC;
		memcpy(&entry.value, bytes + layout->address, 8);
	} else if (table->value_bytes == 4) {
		memcpy(&narrow, bytes + layout->value, 4);
		entry.value = (uint64_t)(int64_t)narrow;
	} else {
		memcpy(&entry.value, bytes + layout->value, 8);
	}
	r = jvm_entry_add(jvm, &entry);
	return r ? r : 1;
}

static int load_table(struct jvm *jvm, const struct table *table)
{
	uint8_t bytes[BATCH * STRIDE_MAX];
	struct layout layout;
	size_t have = 0, next = 0;
	int r = load_layout(jvm, table, &layout);

	if (r)
		return r;
	for (size_t i = 0; i < ENTRIES_MAX; i++, next++) {
		uint64_t at = layout.array + i * layout.stride;

		if (next == have) {
			next = 0;
			have = BATCH; /* beyond the table's end there may be nothing: then one by
					 one */
			if (jvm_read(jvm, at, bytes, have * layout.stride)) {
				have = 1;
				if (jvm_read(jvm, at, bytes, layout.stride))
					return layout.array < JVM_UNRELOCATED ? -EAGAIN : -EBADMSG;
			}
		}
		r = load_entry(jvm, table, &layout, bytes + next * layout.stride);
		if (r < 0)
			return r;
		if (!r)
			return i ? 0 : -EAGAIN;
	}
	return -EBADMSG;
}

/*
 * Which Java it is. Up to 8 the major number is HotSpot's own, 25 for Java 8, which Java 25 has as
 * well; only the former has a class Flag.
 */
static int load_version(struct jvm *jvm, struct err *err)
{
	uint64_t major, text = 0, flags;
	bool failed = false;
	char version[100];

	if (jvm_static(jvm, "Abstract_VM_Version", "_s_vm_release", &text) ||
		jvm_static(jvm, "Abstract_VM_Version", "_vm_major_version", &major))
		return 0;
	text = jvm_read_u64(jvm, text, &failed);
	if (failed)
		return err_set(err, EBADMSG, "its version cannot be read: is this a HotSpot JVM?");
	if (text < JVM_UNRELOCATED || !jvm_read_u32(jvm, major, NULL))
		return -EAGAIN;
	if (!jvm_read_text(jvm, text, version, sizeof(version)))
		snprintf(jvm->version, sizeof(jvm->version), "%s", version);
	for (char *c = jvm->version; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	jvm->release = (int)jvm_read_u32(jvm, major, NULL);
	if (jvm->release == 25 && !jvm_static(jvm, "Flag", "flags", &flags)) {
		jvm->release = 8;
		if (!strncmp(version, "25.", 3)) /* "25.504-b08" is what is called 8u504-b08 */
			snprintf(jvm->version, sizeof(jvm->version), "8u%s", version + 3);
	}
	if (jvm->release < 0 || jvm->release > 999)
		jvm->release = 0;
	return 0;
}

static int load(struct jvm *jvm, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(tables) && !r; i++) {
		r = load_table(jvm, &tables[i]);
		if (r == -ENOENT && !tables[i].required)
			r = 0;
		else if (r == -ENOENT || r == -EFAULT || r == -EBADMSG)
			return err_set(err, EBADMSG,
				"its table %s %s: is this a HotSpot JVM of JDK 8 or newer?",
				tables[i].array,
				r == -ENOENT ? "is not exported" : "makes no sense");
	}
	if (!r)
		r = jvm_flags_load(jvm, err);
	if (!r)
		r = load_version(jvm, err);
	if (r == -EAGAIN)
		return err_set(err, EAGAIN, "the JVM is still being loaded");
	if (r == -ENOMEM)
		return err_set(err, ENOMEM, "out of memory");
	if (r && r != -EBADMSG)
		return err_set(err, -r, "the JVM's memory cannot be read: %s", strerror(-r));
	return r;
}

int jvm_open(const struct jvm_source *source, struct jvm **ret, struct err *err)
{
	_cleanup_(cleanup_jvm_free) struct jvm *jvm = calloc(1, sizeof(*jvm));
	int r;

	if (jvm)
		jvm->texts = strtab_new();
	if (!jvm || !jvm->texts)
		return err_set(err, ENOMEM, "out of memory");
	jvm->source = *source;
	r = load(jvm, err);
	if (r)
		return r;
	u64map_release(&jvm->text_at);
	jvm->text_at = (struct u64map){0};
	*ret = steal_ptr(jvm);
	return 0;
}

void jvm_free(struct jvm *jvm)
{
	if (!jvm)
		return;
	strtab_free(jvm->texts);
	u64map_release(&jvm->text_at);
	u64map_release(&jvm->by_key);
	vec_free(&jvm->entries);
	free(jvm);
}

int jvm_release_number(const struct jvm *jvm)
{
	return jvm->release;
}

const char *jvm_version(const struct jvm *jvm)
{
	return jvm->version;
}

uint64_t jvm_symbol(const struct jvm *jvm, const char *name)
{
	return jvm->source.symbol(jvm->source.arg, name);
}
