/* Lengths and times of pauses in; which of them to show, and a line about the rest, out. */
#include "live_lines.h"
#include "parse.h"
#include "text_cell.h"

static bool is_shown(struct live_lines *lines, uint64_t end_ns, uint64_t duration_ns)
{
	lines->last_ns = end_ns;
	if (duration_ns < lines->min_ns)
		return false;
	if (!lines->shown ||
		(end_ns > lines->second_ns && end_ns - lines->second_ns >= 1000000000)) {
		lines->second_ns = end_ns;
		lines->longest_ns = 0;
		lines->shown = 0;
	}
	if (lines->most && lines->shown >= lines->most && duration_ns <= lines->longest_ns)
		return false;
	lines->shown++;
	if (duration_ns > lines->longest_ns)
		lines->longest_ns = duration_ns;
	return true;
}

static void leave_out(struct live_lines *lines, uint64_t end_ns)
{
	if (!lines->left_out.count && !lines->left_out.stalls)
		lines->left_out.first_ns = end_ns;
}

bool live_lines_take(struct live_lines *lines, uint64_t end_ns, uint64_t duration_ns)
{
	if (is_shown(lines, end_ns, duration_ns))
		return true;
	leave_out(lines, end_ns);
	lines->left_out.count++;
	lines->left_out.total_ns += duration_ns;
	if (duration_ns > lines->left_out.longest_ns)
		lines->left_out.longest_ns = duration_ns;
	return false;
}

bool live_lines_take_stall(struct live_lines *lines, uint64_t end_ns, uint64_t duration_ns)
{
	if (is_shown(lines, end_ns, duration_ns))
		return true;
	leave_out(lines, end_ns);
	lines->left_out.stalls++;
	return false;
}

bool live_lines_due(const struct live_lines *lines, uint64_t now_ns)
{
	return (lines->left_out.count || lines->left_out.stalls) &&
	       now_ns > lines->left_out.first_ns &&
	       now_ns - lines->left_out.first_ns >= LIVE_EVERY_NS;
}

void live_lines_tell(struct live_lines *lines, FILE *out, const struct recording *recording)
{
	unsigned long long count = lines->left_out.count, stalls = lines->left_out.stalls;

	if (!count && !stalls)
		return;
	cell_time(out, recording, lines->last_ns);
	fputs("       … ", out);
	if (count)
		fprintf(out, "%llu more pause%s, %s in all, longest %s", count,
			count == 1 ? "" : "s", FORMAT_DURATION(lines->left_out.total_ns),
			FORMAT_DURATION(lines->left_out.longest_ns));
	if (stalls)
		fprintf(out, "%s%llu more stall%s", count ? "; " : "", stalls,
			stalls == 1 ? "" : "s");
	if (!lines->told)
		fputs(" (--min-duration 0 shows each)", out);
	fputc('\n', out);
	lines->told = true;
	lines->left_out.count = lines->left_out.stalls = 0;
	lines->left_out.total_ns = lines->left_out.longest_ns = 0;
}
