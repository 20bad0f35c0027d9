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

static void put_stalls(FILE *out, const char *before, unsigned long long stalls)
{
	if (stalls)
		fprintf(out, "%s%llu more stall%s", before, stalls, stalls == 1 ? "" : "s");
}

static void put_pauses(FILE *out, const struct live_lines *lines)
{
	fprintf(out, "%llu more pause%s, %s", (unsigned long long)lines->left_out.count,
		lines->left_out.count == 1 ? "" : "s", FORMAT_DURATION(lines->left_out.total_ns));
}

static void start_again(struct live_lines *lines, FILE *out)
{
	if (!lines->told)
		fputs(" (--min-duration 0 shows each)", out);
	lines->told = true;
	lines->left_out.count = lines->left_out.stalls = 0;
	lines->left_out.total_ns = lines->left_out.longest_ns = 0;
}

void live_lines_tell(struct live_lines *lines, FILE *out, const struct recording *recording)
{
	unsigned long long count = lines->left_out.count, stalls = lines->left_out.stalls;

	if (!count && !stalls)
		return;
	cell_time(out, recording, lines->last_ns);
	fputs("       … ", out);
	if (count) {
		put_pauses(out, lines);
		fprintf(out, " in all, longest %s", FORMAT_DURATION(lines->left_out.longest_ns));
	}
	put_stalls(out, count ? "; " : "", stalls);
	start_again(lines, out);
	fputc('\n', out);
}

void live_lines_append(struct live_lines *lines, FILE *out)
{
	unsigned long long count = lines->left_out.count, stalls = lines->left_out.stalls;

	if (!count && !stalls)
		return;
	fputs("  | ", out);
	if (count)
		put_pauses(out, lines);
	put_stalls(out, count ? "; " : "", stalls);
	start_again(lines, out);
}
