/* The lines for a pause in progress. */
#include <inttypes.h>
#include <time.h>

#include "json_line.h"
#include "parse.h"
#include "running.h"

void running_text(FILE *out, const struct recording *recording, uint32_t pid, uint64_t start_ns,
	uint64_t now_ns)
{
	time_t seconds = (time_t)(recording_wall_ns(recording, now_ns) / 1000000000);
	struct tm local;
	char clock[16];

	localtime_r(&seconds, &local);
	strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	fprintf(out, "%s      %" PRIu32 " a pause is in progress, for %s so far\n", clock, pid,
		FORMAT_DURATION(now_ns - start_ns));
}

void running_json(FILE *out, uint32_t pid, uint32_t tid, uint64_t start_ns, uint64_t now_ns)
{
	line_begin(out, "running");
	line_unsigned(out, "pid", pid);
	line_known(out, "tid", tid ? (int64_t)tid : UNKNOWN);
	line_unsigned(out, "start_ns", start_ns);
	line_unsigned(out, "elapsed_ns", now_ns - start_ns);
	line_end(out);
}
