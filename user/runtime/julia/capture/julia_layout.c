/* Offsets in gc_num by version → its fields, and whether they can be such. */
#include <string.h>

#include "cleanup.h"
#include "julia_layout.h"
#include "pause.h"

#define LATER 9999

/* 1.5 and 1.13 were read in running programs, the others in Julia's source. */
static const struct julia_layout layouts[] = {
	{5, 8, .total_time = 64, .total_allocd = 72, .pause = 96, .full_sweep = 100},
	{9, 9, .total_time = 64, .total_allocd = 72, .pause = 96, .full_sweep = 100, .ttsp = 120,
		.max_ttsp = 128, .total_sweep = 152, .total_mark = 160},
	{10, 11, .total_time = 64, .total_allocd = 72, .pause = 88, .full_sweep = 92, .ttsp = 112,
		.max_ttsp = 120, .total_sweep = 152, .total_mark = 160},
	{12, LATER, .total_time = 64, .total_allocd = 72, .pause = 88, .full_sweep = 92,
		.ttsp = 112, .max_ttsp = 120, .total_sweep = 160, .total_mark = 192},
};

const struct julia_layout *julia_layout(const struct julia_version *version)
{
	for (size_t i = 0; version->major == 1 && i < ARRAY_SIZE(layouts); i++)
		if (version->minor >= layouts[i].first && version->minor <= layouts[i].last)
			return &layouts[i];
	return NULL;
}

/* UNKNOWN for what is not there, or is no length of time or number of bytes. */
static int64_t read_field(const uint8_t *bytes, uint8_t offset)
{
	int64_t value;

	if (!offset)
		return UNKNOWN;
	memcpy(&value, bytes + offset, sizeof(value));
	return value < 0 ? UNKNOWN : value;
}

static uint64_t read_count(const uint8_t *bytes, uint8_t offset)
{
	uint32_t value;

	memcpy(&value, bytes + offset, sizeof(value));
	return value;
}

void julia_books_read(const struct julia_layout *layout, const uint8_t bytes[GC_JULIA_NUM],
	struct julia_books *ret)
{
	*ret = (struct julia_books){
		.total_ns = read_field(bytes, layout->total_time),
		.allocated_bytes = read_field(bytes, layout->total_allocd),
		.ttsp_ns = read_field(bytes, layout->ttsp),
		.sweep_ns = read_field(bytes, layout->total_sweep),
		.mark_ns = read_field(bytes, layout->total_mark),
		.pauses = read_count(bytes, layout->pause),
		.full_sweeps = read_count(bytes, layout->full_sweep),
	};
}

/* A collection may be under way: what it counts at its end lags behind what it counts before. */
bool julia_books_fit(const struct julia_layout *layout, const uint8_t bytes[GC_JULIA_NUM],
	uint64_t age_ns)
{
	struct julia_books books;

	julia_books_read(layout, bytes, &books);
	if (books.total_ns < 0 || (uint64_t)books.total_ns > age_ns || books.allocated_bytes < 0)
		return false;
	if (books.pauses > INT32_MAX || books.full_sweeps > 2 * (books.pauses + 1))
		return false;
	if ((!books.pauses && books.total_ns && !books.full_sweeps) ||
		(books.pauses && !books.total_ns))
		return false;
	if (layout->ttsp &&
		(books.ttsp_ns < 0 || books.ttsp_ns > read_field(bytes, layout->max_ttsp) ||
			(uint64_t)books.ttsp_ns > age_ns))
		return false;
	return !layout->total_mark ||
	       (books.mark_ns >= 0 && (uint64_t)books.mark_ns <= age_ns && books.sweep_ns >= 0 &&
		       (uint64_t)books.sweep_ns <= age_ns);
}
