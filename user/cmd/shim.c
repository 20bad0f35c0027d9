/* Where the CUPTI shim was put → its path, and into a process that runs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "inject.h"
#include "log.h"
#include "shim.h"

#define NAME "libgctrace_cupti.so"

/* The folder of our own executable, without a final "/". */
static bool own_folder(char ret[PATH_MAX])
{
	ssize_t len = readlink("/proc/self/exe", ret, PATH_MAX - 1);
	char *slash;

	if (len <= 0)
		return false;
	ret[len] = '\0';
	slash = strrchr(ret, '/');
	if (slash)
		*slash = '\0';
	return slash;
}

bool shim_find(char ret[PATH_MAX])
{
	/* in a package that was put anywhere, such as a virtual environment; in the build's folder */
	static const char *const beside[] = {"/../lib/gctrace", "", "/cupti"};
	const char *asked = getenv("GCTRACE_SHIM");
	char folder[PATH_MAX];

	if (asked && *asked) {
		snprintf(ret, PATH_MAX, "%s", asked);
		return !access(ret, R_OK);
	}
	for (size_t i = 0; i < ARRAY_SIZE(beside) && own_folder(folder); i++) {
		snprintf(ret, PATH_MAX, "%.4000s%s/%s", folder, beside[i], NAME);
		if (!access(ret, R_OK))
			return true;
	}
	snprintf(ret, PATH_MAX, "%s/%s", GCTRACE_SHIM_FOLDER, NAME);
	return !access(ret, R_OK);
}

int shim_inject(pid_t pid, struct err *err)
{
	char path[PATH_MAX];
	bool there;
	int r;

	if (!shim_find(path))
		return err_set(err, ENOENT, "%s, which --gpu inject loads, is not installed", path);
	r = inject_shim(pid, path, &there, err);
	if (!r && !there)
		log_info("process %d has loaded %s, and keeps it: without a tracer it does nothing",
			pid, path);
	return r;
}
