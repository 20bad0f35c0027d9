/*
 * A program that loads many libraries: loads FOLDER COUNT LIBPYTHON ARGV0 [SCRIPT ARG...] waits for a
 * line, loads FOLDER/lib1.so … with dlopen, says so, waits for another, loads a libpython and becomes its
 * command line.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *load(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);

	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return lib;
}

static void wait_for_line(void)
{
	char c;

	while (read(0, &c, 1) == 1 && c != '\n')
		;
}

int main(int argc, char **argv)
{
	int (*run)(int, char **);
	char path[4096];

	if (argc < 5)
		return 2;
	wait_for_line();
	for (int i = 1; i <= atoi(argv[2]); i++) {
		snprintf(path, sizeof(path), "%s/lib%d.so", argv[1], i);
		load(path);
	}
	puts("loaded");
	fflush(stdout);
	wait_for_line();
	run = (int (*)(int, char **))dlsym(load(argv[3]), "Py_BytesMain");
	return run ? run(argc - 4, argv + 4) : 1;
}
