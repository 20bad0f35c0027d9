/* Offsets in gc_num by version → its fields, and whether they can be such. */
#include <string.h>

#include "cleanup.h"
#include "julia_layout.h"
#include "pause.h"

#define LATER 9999

/* 1.5 and 1.13 were read in running programs, the others in Julia's source. */
static const struct julia_layout layouts[] = {
	{5, 8, {64, 72, 96}, 0},
	{9, 9, {64, 72, 96, 120, 152, 160}, 128},
	{10, 11, {64, 72, 88, 112, 152, 160}, 120},
	{12, LATER, {64, 72, 88, 112, 160, 192}, 120},
};

const struct julia_layout *julia_layout(const struct julia_version *version)
{
	for (size_t i = 0; version->major == 1 && i < ARRAY_SIZE(layouts); i++)
		if (version->minor >= layouts[i].first && version->minor <= layouts[i].last)
			return &layouts[i];
	return NULL;
}

/* UNKNOWN for what is not there, or is no length of time or number of bytes. */
static int64_t field(const struct julia_layout *layout, const __u64 *fields, int which)
{
	return layout->fields[which] && fields[which] <= INT64_MAX ? (int64_t)fields[which]
								   : UNKNOWN;
}

void julia_books_read(const struct julia_layout *layout, const __u64 fields[GC_JULIA_FIELDS],
	struct julia_books *ret)
{
	*ret = (struct julia_books){
		.total_ns = field(layout, fields, GC_JULIA_TOTAL_TIME),
		.allocated_bytes = field(layout, fields, GC_JULIA_TOTAL_ALLOCD),
		.ttsp_ns = field(layout, fields, GC_JULIA_TTSP),
		.sweep_ns = field(layout, fields, GC_JULIA_TOTAL_SWEEP),
		.mark_ns = field(layout, fields, GC_JULIA_TOTAL_MARK),
		.pauses = (uint32_t)fields[GC_JULIA_COUNTS],
		.full_sweeps = fields[GC_JULIA_COUNTS] >> 32,
	};
}

void julia_books_of(const struct julia_layout *layout, const uint8_t bytes[GC_JULIA_NUM],
	struct julia_books *ret)
{
	__u64 fields[GC_JULIA_FIELDS];

	for (size_t i = 0; i < GC_JULIA_FIELDS; i++)
		memcpy(&fields[i], bytes + layout->fields[i], sizeof(fields[i]));
	julia_books_read(layout, fields, ret);
}

/* A collection may be under way: what it counts at its end lags behind what it counts before. */
bool julia_books_fit(const struct julia_layout *layout, const uint8_t bytes[GC_JULIA_NUM],
	uint64_t age_ns)
{
	struct julia_books books;
	int64_t max_ttsp_ns;

	julia_books_of(layout, bytes, &books);
	memcpy(&max_ttsp_ns, bytes + layout->max_ttsp, sizeof(max_ttsp_ns));
	if (books.total_ns < 0 || (uint64_t)books.total_ns > age_ns || books.allocated_bytes < 0)
		return false;
	if (books.pauses > INT32_MAX || books.full_sweeps > 2 * (books.pauses + 1))
		return false;
	if ((!books.pauses && books.total_ns && !books.full_sweeps) ||
		(books.pauses && !books.total_ns))
		return false;
	if (layout->max_ttsp && (books.ttsp_ns < 0 || books.ttsp_ns > max_ttsp_ns ||
					(uint64_t)books.ttsp_ns > age_ns))
		return false;
	return !layout->fields[GC_JULIA_TOTAL_MARK] ||
	       (books.mark_ns >= 0 && (uint64_t)books.mark_ns <= age_ns && books.sweep_ns >= 0 &&
		       (uint64_t)books.sweep_ns <= age_ns);
}
