/*
 * What PyTorch's profiler saw of GPUs. In: a trace that it exported (Kineto's JSON, plain or gzip), the recording that
 * gctrace made of the same process. Out: rows of a timeline, on the recording's clock. docs/gpu.md has the formats that
 * are known and how the clocks are joined.
 */
#pragma once

#include "gpu.h"
#include "pause.h"
#include "step.h"

/*
 * Adds the devices, launchers and waits of the trace at @path to @timeline, which the caller settles and releases, also
 * on failure. @marks are those of @recording, sorted by time, as steps_find() leaves them. Several traces may be added
 * to one timeline: what lies between two traces of one device becomes unknown. 0 or -errno with a sentence: -EBADMSG:
 * it is no trace or was cut off, -ENODATA: it has nothing of a GPU, -ESRCH: it is of processes that are not in
 * @recording, -ERANGE: it is of another time, -ENOMEM, or what opening and reading the file returned.
 */
int kineto_read(const char *path, const struct recording *recording, const struct step_marks *marks,
	struct gpu_timeline *timeline, struct err *err);
