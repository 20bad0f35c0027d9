/* An open file → the signals it holds, by one pass over each symbol table for all of them together. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "edits.h"
#include "elf_code.h"
#include "elf_usdt.h"
#include "signal_name.h"
#include "signal_table.h"
#include "step_signal.h"

#define MAX_PATTERNS 48
#define USER_SITES   8 /* of one function of the user's: overloads, constructors */
#define NEAR_MOST    8 /* edits: beyond, names do not resemble each other */

/* What symbols are compared with. */
struct pattern {
	const char *text;
	size_t length;
	bool prefix;
	size_t plan; /* index into the file's plans */
	uint32_t variant;
	const char *label;
};

/* A function found, before its place for a probe is known. */
struct found {
	size_t plan;
	uint64_t vaddr;
	uint32_t variant;
	const char *label;
	char name[128]; /* for people */
};

struct finder {
	struct pattern patterns[MAX_PATTERNS];
	size_t pattern_count;
	VEC(struct found) found;
	size_t plan_count;				  /* patterns.plan is below it */
	const struct signal_entry *entries[MAX_PATTERNS]; /* by plan; NULL: the user's */
	char user_prefixes[6][192];
	int result;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool begins(const char *text, const char *with, size_t length)
{
	return !strncmp(text, with, length);
}

/* Whether the file's name begins with one of the words of @libraries. */
static bool is_of(const char *libraries, const char *base)
{
	for (const char *at = libraries; *at;) {
		size_t length = strcspn(at, " ");

		if (begins(base, at, length))
			return true;
		at += length + strspn(at + length, " ");
	}
	return false;
}

bool signal_wish_likely(const char *path, const struct signal_wish *wish)
{
	if (!wish)
		return false;
	return wish->usdt || begins(base_name(path), wish->library, strlen(wish->library));
}

bool signal_likely(const char *path, const struct signal_wish *wish)
{
	for (size_t i = 0; i < signal_table_count; i++)
		if (is_of(signal_table[i].libraries, base_name(path)))
			return true;
	return signal_wish_likely(path, wish);
}

static bool ends(const char *text, const char *with)
{
	size_t length = strlen(text), tail = strlen(with);

	return length >= tail && !strcmp(text + length - tail, with);
}

void signal_near_note(struct signal_near *near, const char *wanted, const char *name)
{
	unsigned int most = NEAR_MOST, distance;
	size_t at;

	if (most > strlen(wanted) / 2)
		most = (unsigned int)(strlen(wanted) / 2);
	if (near->count == ARRAY_SIZE(near->best))
		most = near->best[near->count - 1].distance - 1;
	if (most > NEAR_MOST)
		return; /* all of them are exact */
	distance = ends(name, wanted)	  ? 0
		   : strstr(name, wanted) ? 1
					  : edit_distance(wanted, name, most);
	if (distance > most)
		return;
	for (size_t i = 0; i < near->count; i++)
		if (begins(near->best[i].name, name, sizeof(near->best->name) - 1))
			return;
	if (near->count < ARRAY_SIZE(near->best))
		near->count++;
	for (at = near->count - 1; at && near->best[at - 1].distance > distance; at--)
		near->best[at] = near->best[at - 1];
	near->best[at].distance = distance;
	snprintf(near->best[at].name, sizeof(near->best->name), "%s", name);
}

static void add_pattern(struct finder *finder, const char *text, uint32_t variant,
	const char *label)
{
	struct pattern *pattern = &finder->patterns[finder->pattern_count];
	size_t length = strlen(text);

	if (finder->pattern_count == ARRAY_SIZE(finder->patterns))
		return;
	finder->pattern_count++;
	pattern->text = text;
	pattern->prefix = text[length - 1] == '*';
	pattern->length = length - pattern->prefix;
	pattern->plan = finder->plan_count;
	pattern->variant = variant;
	pattern->label = label;
}

static void add_entry(struct finder *finder, const struct signal_entry *entry)
{
	for (size_t i = 0; i < SIGNAL_MAX_SYMBOLS && entry->symbols[i].text; i++)
		add_pattern(finder, entry->symbols[i].text,
			entry->symbols[i].label ? (uint32_t)i + 1 : 0, entry->symbols[i].label);
	finder->entries[finder->plan_count++] = entry;
}

static void add_wish(struct finder *finder, const struct signal_wish *wish)
{
	size_t count = signal_name_prefixes(wish->symbol, finder->user_prefixes,
		ARRAY_SIZE(finder->user_prefixes));

	add_pattern(finder, wish->symbol, 0, NULL);
	finder->patterns[finder->pattern_count - 1].length = strlen(wish->symbol);
	finder->patterns[finder->pattern_count - 1].prefix = false;
	for (size_t i = 0; i < count; i++) {
		add_pattern(finder, finder->user_prefixes[i], 0, NULL);
		finder->patterns[finder->pattern_count - 1].prefix = true;
	}
	finder->entries[finder->plan_count++] = NULL;
}

/* Names begin alike, with their namespace: where the pattern ends, they differ. */
static bool matches(const struct pattern *pattern, const struct elf_symbol *symbol)
{
	size_t length = pattern->length;

	if (symbol->length < length || symbol->name[length - 1] != pattern->text[length - 1] ||
		(!pattern->prefix && symbol->length != length) ||
		memcmp(symbol->name, pattern->text, length))
		return false;
	/* Pieces that the compiler split off, and lambdas, are other functions. */
	return !pattern->prefix || (!strchr(symbol->name, '.') && !strstr(symbol->name, "$_"));
}

static int note(struct finder *finder, const struct pattern *pattern,
	const struct elf_symbol *symbol)
{
	struct found *found;

	for (size_t i = 0; i < finder->found.count; i++)
		if (finder->found.items[i].vaddr == symbol->vaddr &&
			finder->found.items[i].plan == pattern->plan)
			return 0;
	found = vec_add(&finder->found);
	if (!found)
		return finder->result = -ENOMEM;
	found->plan = pattern->plan;
	found->vaddr = symbol->vaddr;
	found->variant = pattern->variant;
	found->label = pattern->label;
	if (!signal_name_plain(symbol->name, found->name, sizeof(found->name)))
		snprintf(found->name, sizeof(found->name), "%.100s", symbol->name);
	return 0;
}

static int visit(const struct elf_symbol *symbol, void *arg)
{
	struct finder *finder = arg;

	for (size_t i = 0; i < finder->pattern_count; i++)
		if (matches(&finder->patterns[i], symbol) &&
			note(finder, &finder->patterns[i], symbol))
			return -ENOMEM;
	return 0;
}

static bool has_found(const struct finder *finder, size_t plan)
{
	for (size_t i = 0; i < finder->found.count; i++)
		if (finder->found.items[i].plan == plan)
			return true;
	return false;
}

/*
 * .symtab is many times as large, and no loader has read it into memory. The functions of one signal are
 * exported together, or none of them is; overloads of the user's need not be.
 */
static void find(struct finder *finder, const struct elf_file *file)
{
	size_t left = 0;

	elf_file_functions(file, true, visit, finder);
	for (size_t i = 0; i < finder->pattern_count; i++) {
		const struct pattern *pattern = &finder->patterns[i];

		if (!finder->entries[pattern->plan] || !has_found(finder, pattern->plan))
			finder->patterns[left++] = *pattern;
	}
	finder->pattern_count = left;
	if (left && !finder->result)
		elf_file_functions(file, false, visit, finder);
}

/* Puts a probe for @found into @plan. Leaves out functions that cannot be probed. */
static void add_site(const struct elf_file *file, const struct found *found,
	struct signal_plan *plan)
{
	struct signal_site *site = &plan->sites[plan->site_count];
	size_t used = strlen(plan->detail);
	enum elf_step step;
	char mnemonic[16];
	uint64_t place;

	if (plan->site_count == (plan->kept ? USER_SITES : SIGNAL_MAX_SITES) ||
		elf_code_probe_site(file, found->vaddr, &place, &step) ||
		elf_file_offset(file, place, &site->offset))
		return;
	site->variant = found->variant;
	site->label = found->label;
	if (plan->site_count++ < 2)
		snprintf(plan->detail + used, sizeof(plan->detail) - used, "%s%s+%llu (%s, %s)",
			plan->site_count > 1 ? ", " : " ", found->name,
			(unsigned long long)(place - found->vaddr),
			elf_code_mnemonic(file, place, mnemonic, sizeof(mnemonic)),
			step == ELF_STEP_EMULATED ? "emulated" : "single-stepped");
}

/* Appends the plan of index @plan if its functions were found. 0 or -ENOMEM. */
static int add_plan(const struct elf_file *file, const char *base, const struct finder *finder,
	size_t index, const struct signal_wish *wish, struct signal_plans *ret)
{
	const struct signal_entry *entry = finder->entries[index];
	struct signal_plan *plan = vec_add(&ret->plans);
	size_t used;

	if (!plan)
		return -ENOMEM;
	plan->kept = !entry;
	if (entry) {
		plan->key = entry->key;
		plan->argument = entry->argument;
		plan->offset = entry->offset;
		plan->spare_of = entry->spare_of;
		plan->spare_rate = entry->spare_rate;
		plan->thinned = entry->thinned;
	}
	snprintf(plan->name, sizeof(plan->name), "%s", entry ? entry->name : wish->name);
	snprintf(plan->detail, sizeof(plan->detail), "%.64s:", base);
	for (size_t i = 0; i < finder->found.count; i++)
		if (finder->found.items[i].plan == index)
			add_site(file, &finder->found.items[i], plan);
	if (!plan->site_count)
		ret->plans.count--;
	used = strlen(plan->detail);
	if (plan->site_count > 2)
		snprintf(plan->detail + used, sizeof(plan->detail) - used, " and %zu more",
			plan->site_count - 2);
	return 0;
}

struct resemblance {
	struct signal_near *near;
	const char *wanted;
	bool plain; /* C++ names are compared as people write them */
};

static int compare(const struct elf_symbol *symbol, void *arg)
{
	struct resemblance *search = arg;
	char plain[256];

	if (search->plain && signal_name_plain(symbol->name, plain, sizeof(plain)))
		signal_near_note(search->near, search->wanted, plain);
	else
		signal_near_note(search->near, search->wanted, symbol->name);
	return 0;
}

/*
 * Appends the plan of a USDT probe, as @like: no symbols, but notes. @args: where its arguments have to be; NULL: anywhere,
 * they are not read. 0 or -ENOMEM.
 */
static int plan_usdt(const struct elf_file *file, const char *base, const char *provider,
	const char *name, const char *args, const struct signal_plan *like,
	struct signal_plans *ret)
{
	struct elf_usdt probes[SIGNAL_MAX_SITES];
	size_t count = elf_usdt_find(file, provider, name, probes, ARRAY_SIZE(probes));
	struct signal_plan *plan;

	if (!count)
		return 0;
	plan = vec_add(&ret->plans);
	if (!plan)
		return -ENOMEM;
	*plan = *like;
	for (size_t i = 0; i < count && i < ARRAY_SIZE(probes); i++) {
		struct signal_site *site = &plan->sites[plan->site_count];

		if ((args && strcmp(probes[i].args, args)) ||
			elf_file_offset(file, probes[i].vaddr, &site->offset) ||
			(probes[i].semaphore &&
				elf_file_offset(file, probes[i].semaphore, &site->semaphore)))
			continue;
		plan->site_count++;
	}
	snprintf(plan->detail, sizeof(plan->detail), "%.64s: USDT probe %s:%s at %zu of %zu places",
		base, provider, name, plan->site_count, count);
	if (!plan->site_count)
		ret->plans.count--;
	return 0;
}

static int plan_own_usdt(const struct elf_file *file, const char *base,
	const struct signal_entry *entry, struct signal_plans *ret)
{
	struct signal_plan like = {.key = entry->key, .argument = entry->argument};

	snprintf(like.name, sizeof(like.name), "%s", entry->name);
	return plan_usdt(file, base, entry->provider, entry->probe, "8@%rdi", &like, ret);
}

static int plan_wished_usdt(const struct elf_file *file, const char *base,
	const struct signal_wish *wish, struct signal_plans *ret)
{
	struct signal_plan like = {.kept = true};

	snprintf(like.name, sizeof(like.name), "%s", wish->name);
	return plan_usdt(file, base, wish->library, wish->symbol, NULL, &like, ret);
}

static bool has_plan(const struct signal_plans *plans, const char *name)
{
	for (size_t i = 0; i < plans->plans.count; i++)
		if (!strcmp(plans->plans.items[i].name, name))
			return true;
	return false;
}

int signal_plan_file(const struct elf_file *file, const char *path, const struct signal_wish *wish,
	struct signal_plans *ret, struct signal_near *near)
{
	struct finder *finder = calloc(1, sizeof(*finder));
	const char *base = base_name(path);
	bool wished = signal_wish_likely(path, wish) && !wish->usdt;
	int r = 0;

	if (!finder)
		return -ENOMEM;
	for (size_t i = 0; !r && i < signal_table_count; i++) {
		if (!is_of(signal_table[i].libraries, base))
			continue;
		if (signal_table[i].probe)
			r = plan_own_usdt(file, base, &signal_table[i], ret);
		else
			add_entry(finder, &signal_table[i]);
	}
	if (wished)
		add_wish(finder, wish);
	if (finder->pattern_count)
		find(finder, file);
	r = r ? r : finder->result;
	for (size_t i = 0; !r && i < finder->plan_count; i++)
		r = add_plan(file, base, finder, i, wish, ret);
	vec_free(&finder->found);
	free(finder);
	if (!r && wish && wish->usdt)
		r = plan_wished_usdt(file, base, wish, ret);
	if (!r && wished && !has_plan(ret, wish->name)) {
		struct resemblance search = {near, wish->symbol, strstr(wish->symbol, "::")};

		elf_file_functions(file, true, compare, &search);
		elf_file_functions(file, false, compare, &search);
	}
	return r;
}
