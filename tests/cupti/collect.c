/* In place of the shim's probe: what it hands over goes into a file, and the test says whether a tracer is attached. */
#include <stdatomic.h>
#include <stdlib.h>
#include <fcntl.h>
#include <unistd.h>

#include "probe.h"
#include "recorder.h"

/* For Python. */
void collect_attach(const char *path);
int collect_recording(void);

#define API __attribute__((visibility("default")))

static atomic_bool attached;
static int file = -1;

API void collect_attach(const char *path)
{
	if (path && file < 0)
		file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	atomic_store(&attached, path != NULL);
}

/* Whether CUPTI records for the shim. */
API int collect_recording(void)
{
	return recorder_recording();
}

bool probe_attached(void)
{
	return atomic_load(&attached);
}

void probe_hand_over(const struct gc_gpu_record *records, uint32_t count)
{
	if (count && probe_attached() && write(file, records, count * sizeof(*records)) < 0)
		abort();
}

/* The test's own semaphore and file are of records only. */
bool probe_ranges_wanted(void)
{
	return false;
}

void probe_range(const char *name, size_t length)
{
}
