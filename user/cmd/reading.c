/* An option in; out comes what it says about how to read a recording. */
#include <errno.h>

#include "log.h"
#include "reading.h"

int reading_take(int option, struct reading *reading, struct err *err)
{
	switch (option) {
	case OPT_GC_ONLY:
		reading->gc_only = true;
		return 0;
	case OPT_STEP:
		reading->step = &reading->spec;
		return step_spec_parse(optarg, &reading->spec, err);
	case OPT_GPU:
		if (reading->gpu_count == GPU_FILES_MOST)
			return err_set(err, EINVAL, "--gpu can be given %d times", GPU_FILES_MOST);
		reading->gpu[reading->gpu_count++] = optarg;
		return 0;
	case 'v':
		log_set_level(LOG_DEBUG);
		return 0;
	default:
		reading->help = true;
		return 0;
	}
}
