/*
 * NVTX ranges and marks of the program → the probe gctrace:nvtx, for a tracer that looks for steps. NVTX 3 is in headers: each library
 * that uses it has a table of functions, empty, and at its first call loads what NVTX_INJECTION64_PATH names. Whoever that is
 * fills the table. What is not in ASCII is left out. Layouts: nvtxDetail/nvtxTypes.h and nvToolsExt.h of NVTX 3.0 to 3.2, which are an ABI.
 */
#include <ctype.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

#define CALLBACKS 1 /* the exported table with what follows */

typedef void (*function)(void);

struct exported {
	size_t size;
	int (*module)(int module, function ***ret_table, unsigned int *ret_count);
};

int InitializeInjectionNvtx2(const void *(*exported)(uint32_t table));

#define CORE		 1 /* a module and its functions */
#define CORE_MARK	 1
#define CORE_MARK_A	 2
#define CORE_START	 4
#define CORE_START_A	 5
#define CORE_PUSH	 8
#define CORE_PUSH_A	 9
#define DOMAINS		 5 /* another, likewise */
#define DOMAINS_MARK	 1
#define DOMAINS_START	 2
#define DOMAINS_PUSH	 4
#define DOMAINS_REGISTER 10
#define DOMAINS_CREATE	 12

#define NO_LEVEL (-2) /* what a push returns where nobody counts them */

/* Until the message, an event's attributes have had one layout since NVTX 2. */
struct attributes {
	uint16_t version, size;
	uint32_t category, color_type, color, payload_type, reserved;
	uint64_t payload;
	uint32_t message_type, pad;
	const void *message;
};
#define ASCII	   1
#define REGISTERED 3

_Static_assert(sizeof(struct attributes) == 48, "nvtxEventAttributes_t");

/* A domain's name, or a registered string: the handle that the program gets. None is ever freed. */
struct name {
	struct name *next;
	size_t length;
	char text[];
};

static _Atomic(struct name *) names[256];

static size_t bucket_of(const char *text)
{
	uint32_t hash = 2166136261; /* FNV-1a */

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 16777619;
	return hash % (sizeof(names) / sizeof(names[0]));
}

/* The same handle for the same text, but for two threads that ask at once. No lock: a child may be forked at any time. */
static void *name_of(const char *text)
{
	_Atomic(struct name *) *bucket = &names[bucket_of(text)];
	struct name *name = atomic_load(bucket);

	for (; name; name = name->next)
		if (!strcmp(name->text, text))
			return name;
	name = malloc(sizeof(*name) + strlen(text) + 1);
	if (!name)
		return NULL;
	name->length = strlen(text);
	memcpy(name->text, text, name->length + 1);
	name->next = atomic_load(bucket);
	while (!atomic_compare_exchange_weak(bucket, &name->next, name))
		;
	return name;
}

/* A range that numbers itself is one, whatever its number. */
static size_t without_number(const char *text, size_t length)
{
	while (length > 1 && isdigit((unsigned char)text[length - 1]))
		length--;
	while (length > 1 && text[length - 1] == ' ')
		length--;
	return length;
}

static void say(const struct name *domain, const char *message)
{
	char label[GC_NVTX_BYTES];
	size_t used = 0, length;

	if (!message || !probe_ranges_wanted())
		return;
	if (domain) {
		used = domain->length < sizeof(label) / 2 ? domain->length : sizeof(label) / 2;
		memcpy(label, domain->text, used);
		label[used++] = ':';
	}
	length = strnlen(message, sizeof(label) - used);
	memcpy(label + used, message, length);
	probe_range(label, used + without_number(label + used, length));
}

static void say_event(const struct name *domain, const struct attributes *event)
{
	const struct name *registered;

	if (!event || event->size < sizeof(*event) || !event->message)
		return;
	registered = event->message;
	if (event->message_type == ASCII)
		say(domain, event->message);
	else if (event->message_type == REGISTERED)
		say(domain, registered->text);
}

static void mark(const struct attributes *event)
{
	say_event(NULL, event);
}

static void mark_text(const char *message)
{
	say(NULL, message);
}

static uint64_t start(const struct attributes *event)
{
	say_event(NULL, event);
	return 0;
}

static uint64_t start_text(const char *message)
{
	say(NULL, message);
	return 0;
}

static int push(const struct attributes *event)
{
	say_event(NULL, event);
	return NO_LEVEL;
}

static int push_text(const char *message)
{
	say(NULL, message);
	return NO_LEVEL;
}

static void mark_in(const struct name *domain, const struct attributes *event)
{
	say_event(domain, event);
}

static uint64_t start_in(const struct name *domain, const struct attributes *event)
{
	say_event(domain, event);
	return 0;
}

static int push_in(const struct name *domain, const struct attributes *event)
{
	say_event(domain, event);
	return NO_LEVEL;
}

static void *create_domain(const char *text)
{
	return text ? name_of(text) : NULL;
}

static void *register_text(const struct name *domain, const char *text)
{
	return text ? name_of(text) : NULL;
}

struct entry {
	unsigned int id;
	function function;
};

#define ENTRY(id, called) {id, (function)called}

static bool fill(const struct exported *exported, int module, const struct entry *entries,
	size_t count)
{
	function **table = NULL;
	unsigned int size = 0;

	if (!exported->module(module, &table, &size) || !table)
		return false;
	for (size_t i = 0; i < count; i++)
		if (entries[i].id < size && table[entries[i].id])
			*table[entries[i].id] = entries[i].function;
	return true;
}

/* NVTX calls it, once for each library that uses NVTX, and takes 0 for a failure: then it does nothing, as without us. */
__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(const void *(*exported)(uint32_t table))
{
	static const struct entry core[] = {
		ENTRY(CORE_MARK, mark),
		ENTRY(CORE_MARK_A, mark_text),
		ENTRY(CORE_START, start),
		ENTRY(CORE_START_A, start_text),
		ENTRY(CORE_PUSH, push),
		ENTRY(CORE_PUSH_A, push_text),
	};
	static const struct entry domains[] = {
		ENTRY(DOMAINS_MARK, mark_in),
		ENTRY(DOMAINS_START, start_in),
		ENTRY(DOMAINS_PUSH, push_in),
		ENTRY(DOMAINS_REGISTER, register_text),
		ENTRY(DOMAINS_CREATE, create_domain),
	};
	const struct exported *table = exported ? exported(CALLBACKS) : NULL;

	if (!table || table->size < sizeof(*table) || !table->module)
		return 0;
	/* What is given handles must be told of their use, too: all or nothing. */
	return fill(table, DOMAINS, domains, sizeof(domains) / sizeof(domains[0])) &&
	       fill(table, CORE, core, sizeof(core) / sizeof(core[0]));
}
