#include "library.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu_wire.h"
#include "list.h"

static const struct layout *const layouts[] = {
#ifdef HAVE_CUDA_13
	&layout_13,
#endif
#ifdef HAVE_CUDA_12
	&layout_12,
#endif
};
#define LAYOUTS (sizeof(layouts) / sizeof(layouts[0]))

/* Where libcupti is, seen from a folder with libcudart or another CUDA library. */
static const char *const neighbours[] = {
	"",				/* the wheels of CUDA 13, conda, Linux distributions */
	"/../../cuda_cupti/lib",	/* the wheels of CUDA 12 */
	"/../extras/CUPTI/lib64",	/* a toolkit's lib64 */
	"/../../../extras/CUPTI/lib64", /* its targets/x86_64-linux/lib */
};

/* Libraries of profilers that have the process to themselves: Nsight Systems, Nsight Compute. */
static const char *const profilers[] = {
	"libToolsInjection",
	"libcuda-injection",
	"libInterceptorInjectionTarget",
};

struct mapped {
	LIST(char *) folders; /* of CUDA libraries */
	unsigned int major;   /* of libcudart; 0: none */
	bool profiler;
};

static bool starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct mapped *mapped = arg;
	const char *slash = strrchr(info->dlpi_name, '/'),
		   *name = slash ? slash + 1 : info->dlpi_name;
	char *folder;

	for (size_t i = 0; i < sizeof(profilers) / sizeof(profilers[0]); i++)
		mapped->profiler |= starts(name, profilers[i]);
	if (starts(name, "libcudart.so."))
		mapped->major = strtoul(name + strlen("libcudart.so."), NULL, 10);
	if (!slash || !starts(name, "libcu"))
		return 0;
	folder = strndup(info->dlpi_name, slash - info->dlpi_name);
	if (folder && !list_add(&mapped->folders, folder))
		free(folder);
	return 0;
}

static void release(struct mapped *mapped)
{
	for (size_t i = 0; i < mapped->folders.count; i++)
		free(mapped->folders.items[i]);
	list_free(&mapped->folders);
}

bool library_profiler_mapped(void)
{
	struct mapped mapped = {0};

	dl_iterate_phdr(look, &mapped);
	release(&mapped);
	return mapped.profiler;
}

static void *open_beside(const struct mapped *mapped, const char *name)
{
	char path[PATH_MAX];
	void *handle;

	for (size_t i = 0; i < mapped->folders.count; i++)
		for (size_t j = 0; j < sizeof(neighbours) / sizeof(neighbours[0]); j++) {
			int length = snprintf(path, sizeof(path), "%s%s/%s",
				mapped->folders.items[i], neighbours[j], name);

			if (length < 0 || (size_t)length >= sizeof(path) || access(path, R_OK))
				continue;
			handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
			if (handle)
				return handle;
		}
	return NULL;
}

/* Of @layout's major version; NULL: there is none. */
static void *open_major(struct library *library, const struct layout *layout,
	const struct mapped *mapped, bool only_mapped)
{
	char name[32];
	void *handle;

	snprintf(name, sizeof(name), "libcupti.so.%u", layout->major);
	handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
	library->shared = handle != NULL;
	if (handle || only_mapped)
		return handle;
	handle = open_beside(mapped, name);
	return handle ? handle : dlopen(name, RTLD_LAZY | RTLD_LOCAL);
}

/*
 * That which is mapped already; that of the CUDA runtime in use; the newest that the driver can serve. None is opened
 * beside one that is there.
 */
static void *find(struct library *library, int driver_version)
{
	struct mapped mapped = {0};
	void *handle = NULL;

	dl_iterate_phdr(look, &mapped);
	for (size_t i = 0; i < LAYOUTS && !handle; i++)
		if ((handle = open_major(library, layouts[i], &mapped, true)))
			library->layout = layouts[i];
	for (size_t i = 0; i < LAYOUTS && !handle; i++) {
		if (mapped.major ? layouts[i]->major != mapped.major
				 : (int)layouts[i]->major > driver_version / 1000)
			continue;
		if ((handle = open_major(library, layouts[i], &mapped, false)))
			library->layout = layouts[i];
	}
	release(&mapped);
	return handle;
}

/* Returns whether all are there that every version has. */
static bool resolve(struct library *library, void *handle)
{
	library->enable = dlsym(handle, "cuptiActivityEnable");
	library->disable = dlsym(handle, "cuptiActivityDisable");
	library->enable_and_dump = dlsym(handle, "cuptiActivityEnableAndDump");
	library->register_callbacks = dlsym(handle, "cuptiActivityRegisterCallbacks");
	library->flush_all = dlsym(handle, "cuptiActivityFlushAll");
	library->next_record = dlsym(handle, "cuptiActivityGetNextRecord");
	library->dropped_records = dlsym(handle, "cuptiActivityGetNumDroppedRecords");
	library->set_thread_id_type = dlsym(handle, "cuptiSetThreadIdType");
	library->get_thread_id_type = dlsym(handle, "cuptiGetThreadIdType");
	library->timestamp = dlsym(handle, "cuptiGetTimestamp");
	library->register_clock = dlsym(handle, "cuptiActivityRegisterTimestampCallback");
	library->enable_runtime = dlsym(handle, "cuptiActivityEnableRuntimeApi");
	library->enable_driver = dlsym(handle, "cuptiActivityEnableDriverApi");
	library->enabled_kinds = dlsym(handle, "cuptiActivityGetEnabledKinds");
	return library->enable && library->disable && library->enable_and_dump &&
	       library->register_callbacks && library->flush_all && library->next_record &&
	       library->dropped_records && library->set_thread_id_type && library->timestamp;
}

int library_open(struct library *library, uint32_t *ret_detail)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD), *handle;
	__typeof__(cuptiGetVersion) *get_version;
	struct library found = {0};
	int driver_version = 0;
	CUptiResult result;

	if (!driver)
		return -EAGAIN;
	found.driver_version = (int (*)(int *))dlsym(driver, "cuDriverGetVersion");
	if (!found.driver_version || found.driver_version(&driver_version))
		return GC_GPU_NO_DRIVER;
	handle = find(&found, driver_version);
	if (!handle)
		return GC_GPU_NO_CUPTI;
	get_version = dlsym(handle, "cuptiGetVersion");
	if (!get_version || !resolve(&found, handle))
		return GC_GPU_NO_VERSION;
	result = get_version(&found.version);
	*ret_detail = result;
	if (result != CUPTI_SUCCESS)
		return GC_GPU_NO_DRIVER;
	*ret_detail = found.version;
	if (found.version < found.layout->first || found.version >= found.layout->beyond)
		return GC_GPU_NO_VERSION;
	*library = found;
	return 0;
}
