/* The recording of a capture: begun, put in its place, written to, closed. */
#include <stdio.h>

#include "caller.h"
#include "capture_priv.h"
#include "log.h"
#include "spool.h"
#include "store.h"

int capture_open_store(struct capture *capture)
{
	const struct recording *head = trace_recording(capture->trace);
	const char *output = capture->options->output, *folder = spool_folder();
	struct err err = {};
	int r = caller_act(&err);

	if (r)
		return cmd_fail(r, &err);
	capture->temporary = !output;
	if (output)
		snprintf(capture->path, sizeof(capture->path), "%s", output);
	else
		snprintf(capture->path, sizeof(capture->path), "in %s", folder);
	r = output ? store_begin(output, head, &capture->store, &err)
		   : store_begin_nameless(folder, head, &capture->store, &err);
	caller_rest();
	return r ? cmd_fail(r, &err) : EXIT_OK;
}

int capture_settle_store(struct capture *capture)
{
	struct err err = {};
	int r = capture->temporary ? 0 : caller_act(&err);

	if (!r && !capture->temporary) {
		r = store_settle(capture->store, &err);
		capture->settled = !r;
		caller_rest();
	}
	return r ? cmd_fail(r, &err) : EXIT_OK;
}

int capture_commit(struct capture *capture)
{
	const struct recording *recording = trace_recording(capture->trace);
	int r;

	if (!capture->store)
		return 0;
	r = store_put_stacks(capture->store, trace_stacks(capture->trace));
	for (; !r && capture->shifts < recording->shifts.count; capture->shifts++)
		r = store_put_clock(capture->store, &recording->shifts.items[capture->shifts]);
	for (size_t i = 0; !r && i < recording->drops.count; i++)
		r = store_put_drop(capture->store, &recording->drops.items[i]);
	return r ? r : store_commit(capture->store);
}

/* After a failure: reads the recording to say how much of it there is. */
static void log_remainder(const struct capture *capture)
{
	struct store_reader *reader = NULL;
	unsigned long long pauses = 0;
	struct pause pause;
	struct err err = {};

	if (capture->temporary || caller_act(NULL))
		return;
	if (!capture->settled || store_open(capture->path, &reader, &err)) {
		log_error("nothing of it can be read%s%s", *err.text ? ": " : "", err.text);
		caller_rest();
		return;
	}
	while (store_next_pause(reader, &pause, &err) > 0)
		pauses++;
	store_reader_free(reader);
	caller_rest();
	log_info("%llu pause%s recorded before can be read: gctrace report %s", pauses,
		pauses == 1 ? "" : "s", capture->path);
}

int capture_close(struct capture *capture, struct recording recording, struct err *err)
{
	bool shown = capture->out || capture->options->budgets.items.count;
	int r = capture_commit(capture), acting = caller_act(err);
	struct store_writer *store = capture->store;

	capture->store = NULL;
	if (acting) {
		store_abandon(store);
		return acting;
	}
	if (!r && capture->limit.count) {
		recording.complete = false;
		r = store_put_drop(store, &capture->limit);
	}
	/* One that has failed is closed too, so that it records what it lost. */
	r = shown && !r ? store_close_to_read(store, &recording, &capture->reader, err)
			: store_close(store, &recording, err);
	caller_rest();
	return r;
}

int capture_close_store(struct capture *capture)
{
	struct err err = {};
	int r;

	if (!capture->store) /* it was closed when it reached its limit */
		return EXIT_OK;
	r = capture_close(capture, *trace_recording(capture->trace), &err);
	if (r && !capture->said)
		log_error("%s", err.text);
	if (r)
		log_remainder(capture);
	if (!r && !capture->temporary)
		log_info("%s written; gctrace report %s", capture->path, capture->path);
	return r ? EXIT_FAILED : EXIT_OK;
}
