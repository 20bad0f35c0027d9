/*
 * two_copies LIBPYTHON SCRIPT twice|again|before: one libpython in places where nobody expects it. Says ready,
 * waits for a line, runs, says done and waits for the end of stdin.
 * twice: a second copy of the same file, by dlmopen(). again: it is used, closed and reopened at another
 * address. before: it is opened and closed without being used, and reopened.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *need(void *thing)
{
	if (thing)
		return thing;
	fprintf(stderr, "%s\n", dlerror());
	exit(2);
}

static void wait_for_line(void)
{
	char c;

	while (read(0, &c, 1) == 1 && c != '\n')
		;
}

static void say(const char *word)
{
	printf("%s\n", word);
	fflush(stdout);
}

static void run(void *lib, const char *script)
{
	((int (*)(const char *))need(dlsym(lib, "PyRun_SimpleString")))(script);
}

/* From here on it collects only when told to. */
static void initialize(void *lib)
{
	((void (*)(int))need(dlsym(lib, "Py_InitializeEx")))(0);
	run(lib, "import gc; gc.disable()");
}

/* Closes the library, and maps something else where it was. */
static void drop(void *lib)
{
	void *was = need(dlsym(lib, "Py_InitializeEx"));
	void *page = (void *)((unsigned long)was & -4096ul);

	dlclose(lib);
	if (mmap(page, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) ==
		page)
		say("unmapped");
	else
		say("kept");
}

int main(int argc, char **argv)
{
	void *first, *second = NULL;

	if (argc < 4)
		return 2;
	first = need(dlopen(argv[1], RTLD_NOW | RTLD_LOCAL));
	if (strcmp(argv[3], "before"))
		initialize(first);
	if (!strcmp(argv[3], "twice")) {
		second = need(dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW | RTLD_LOCAL));
		initialize(second);
	}
	say("ready");
	wait_for_line();
	if (!strcmp(argv[3], "again")) {
		run(first, argv[2]);
		((int (*)(void))need(dlsym(first, "Py_FinalizeEx")))();
	}
	if (!second) {
		drop(first);
		first = need(dlopen(argv[1], RTLD_NOW | RTLD_LOCAL));
		initialize(first);
		say("reopened");
		wait_for_line();
	}
	run(first, argv[2]);
	if (second)
		run(second, argv[2]);
	say("done");
	wait_for_line();
	_exit(0);
}
