/* CPython's collector → where its begin and its end are probed, and what doctor says of it. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cpython_collector.h"
#include "elf_code.h"
#include "elf_ends.h"

#define ENDS_MAX 8
#define ENDS_TOLD 4 /* in the detail */

bool cpython_enters_idle(int minor)
{
	return minor >= 13;
}

__attribute__((format(printf, 2, 3))) static void tell(struct probe_plan *plan,
	const char *format, ...)
{
	size_t used = strlen(plan->detail);
	va_list args;

	va_start(args, format);
	vsnprintf(plan->detail + used, sizeof(plan->detail) - used, format, args);
	va_end(args);
}

static int add_site(const struct elf_file *file, uint64_t vaddr, enum site_kind kind,
	struct probe_plan *plan, struct err *err)
{
	struct probe_site site = {.kind = kind};

	if (plan->site_count == GC_MAX_SITES)
		return err_set(err, E2BIG, "more than %d places to probe", GC_MAX_SITES);
	if (elf_file_offset(file, vaddr, &site.offset))
		return err_set(err, ENOENT, "%#" PRIx64 " lies outside the file's code", vaddr);
	plan->layout.site_address[plan->site_count] = vaddr;
	plan->sites[plan->site_count++] = site;
	return 0;
}

/*
 * 3.14.0 – 3.14.4 collect in increments: functions that theirs calls move the counters, so that its
 * own code does not show where that is done.
 */
static bool counts_elsewhere(const struct probe_plan *plan)
{
	return !strncmp(plan->version, "3.14.", 5) && plan->version[5] >= '0' &&
	       plan->version[5] <= '4' && (plan->version[6] < '0' || plan->version[6] > '9');
}

static int add_ends(const struct elf_file *file, uint64_t vaddr, const char *name,
	struct probe_plan *plan, struct err *err)
{
	uint64_t ends[ENDS_MAX];
	char mnemonic[16];
	int count, r = 0;

	count = counts_elsewhere(plan)
		? err_set(err, ENOTSUP, "its counters are moved by other functions")
		: elf_ends_find(file, vaddr, ends, ENDS_MAX, err);
	if (count < 0) {
		err_prefix(err, "no safe place for a probe where %s ends", name);
		return -ENOENT;
	}
	for (int i = 0; !r && i < count; i++) {
		const char *sign = ends[i] < vaddr ? "-" : "+";
		uint64_t distance = ends[i] < vaddr ? vaddr - ends[i] : ends[i] - vaddr;

		r = add_site(file, ends[i], SITE_PLACE, plan, err);
		elf_code_mnemonic(file, ends[i], mnemonic, sizeof(mnemonic));
		if (i < ENDS_TOLD)
			tell(plan, "%s%s%#" PRIx64 " (%s)", i ? ", " : "; ends at ", sign, distance,
				mnemonic);
	}
	if (!r && count > ENDS_TOLD)
		tell(plan, " and %d more", count - ENDS_TOLD);
	plan->layout.idle_source = GC_IDLE_STATE;
	return r;
}

int cpython_add_collector(const struct elf_file *file, uint64_t vaddr, const char *name,
	struct probe_plan *plan, struct err *err)
{
	const bool idle = cpython_enters_idle(plan->minor);
	enum elf_step step;
	char mnemonic[16];
	uint64_t place;
	int r;

	if (elf_code_probe_site(file, vaddr, &place, &step))
		return err_set(err, ENOENT, "%s lies outside the file's code", name);
	r = add_site(file, place, idle ? SITE_BEGIN : SITE_FUNCTION, plan, err);
	if (r)
		return r;
	plan->single_stepped |= step == ELF_STEP_SINGLE;
	tell(plan, "%s%s+%" PRIu64 " (%s, %s)", plan->detail[0] ? ", " : "", name, place - vaddr,
		elf_code_mnemonic(file, place, mnemonic, sizeof(mnemonic)),
		step == ELF_STEP_EMULATED ? "emulated" : "single-stepped");
	return idle ? add_ends(file, vaddr, name, plan, err) : 0;
}
