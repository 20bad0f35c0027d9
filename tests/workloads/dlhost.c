/*
 * A program that is not a Python until told to be: waits for a line on stdin, loads a libpython
 * with dlopen and becomes its command line.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int (*run)(int, char **);
	void *lib;
	char c;

	if (argc < 3) {
		fprintf(stderr, "usage: dlhost LIBPYTHON ARGV0 [SCRIPT ARG...]\n");
		return 2;
	}
	while (read(0, &c, 1) == 1 && c != '\n')
		;
	lib = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	run = (int (*)(int, char **))dlsym(lib, "Py_BytesMain");
	return run ? run(argc - 2, argv + 2) : 1;
}
