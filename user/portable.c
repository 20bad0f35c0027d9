/*
 * What a static gctrace does not do: load a shared library, which would bring another C library into the process. SQLite
 * asks for it, if it is told to load an extension, which it never is.
 */
#include <dlfcn.h>
#include <stddef.h>

void *dlopen(const char *path, int flags)
{
	return NULL;
}

void *dlsym(void *library, const char *name)
{
	return NULL;
}

int dlclose(void *library)
{
	return -1;
}

char *dlerror(void)
{
	static char said[] = "this gctrace is static: it loads no shared library";

	return said;
}
