/*
 * Several CPythons in one process, each in a scope of the loader of its own: says ready on stdout,
 * waits for a line on stdin, then runs the same script in each.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#define MOST 8

static void run(void *lib, const char *script)
{
	((int (*)(const char *))dlsym(lib, "PyRun_SimpleString"))(script);
}

static void release(void *lib)
{
	((void *(*)(void))dlsym(lib, "PyEval_SaveThread"))();
}

int main(int argc, char **argv)
{
	void *libs[MOST];
	int n = argc - 2;
	char c;

	if (n < 1 || n > MOST) {
		fprintf(stderr, "usage: two_pythons SCRIPT LIBPYTHON...\n");
		return 2;
	}
	for (int i = 0; i < n; i++) {
		libs[i] = dlopen(argv[2 + i], RTLD_NOW | RTLD_LOCAL);
		if (!libs[i]) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		((void (*)(int))dlsym(libs[i], "Py_InitializeEx"))(0);
		run(libs[i], "import gc; gc.disable()");
		release(libs[i]);
	}
	puts("{\"event\": \"ready\"}");
	fflush(stdout);
	while (read(0, &c, 1) == 1 && c != '\n')
		;
	for (int i = 0; i < n; i++) {
		((int (*)(void))dlsym(libs[i], "PyGILState_Ensure"))();
		run(libs[i], argv[1]);
		release(libs[i]);
	}
	_exit(0);
}
