/*
 * bench_report FILE [FORMAT]: writes the report of a recording to stdout in FORMAT (text), and to
 * stderr what that cost: "pauses CPU-seconds peak-RSS-MB". With bench_store's files, from 1e3 to
 * 1e7 pauses, it shows the growth.
 */
#include <stdio.h>
#include <sys/resource.h>

#include "mem.h"
#include "report.h"
#include "store.h"

static uint64_t pauses;

static int next(void *source, struct pause *ret, struct err *err)
{
	int r = store_next_pause(source, ret, err);

	pauses += r > 0;
	return r;
}

static int rewind_source(void *source)
{
	return store_rewind(source);
}

int main(int argc, char **argv)
{
	const struct report_ops *report = report_find(argc > 2 ? argv[2] : "text");
	struct report_input input = {.next = next, .rewind = rewind_source, .title = "bench"};
	struct store_reader *reader;
	struct rusage usage;
	struct err err;
	int r;

	if (argc < 2 || !report) {
		fprintf(stderr, "usage: bench_report FILE [FORMAT]\n");
		return 2;
	}
	r = store_open(argv[1], &reader, &err);
	if (r) {
		fprintf(stderr, "bench_report: %s\n", err.text);
		return 1;
	}
	input.recording = store_recording(reader);
	input.stacks = store_stacks(reader, &err);
	input.source = reader;
	r = input.stacks ? report->write(&input, stdout, &err) : -1;
	if (r)
		fprintf(stderr, "bench_report: %s\n", err.text);
	store_reader_free(reader);
	getrusage(RUSAGE_SELF, &usage);
	fprintf(stderr, "%10llu %8.3f %8.1f\n", (unsigned long long)pauses,
		(double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9, (double)usage.ru_maxrss / 1024);
	return r ? 1 : 0;
}
