/* gctrace version: which gctrace this is. */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "version.h"

static int run(int argc, char **argv)
{
	if (argc > 1 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) {
		fputs(cmd_version.usage, stdout);
		return EXIT_OK;
	}
	if (argc > 1)
		return cmd_usage(&cmd_version, "unexpected argument \"%s\"", argv[1]);
	if (strcmp(GCTRACE_COMMIT, "unknown"))
		printf("gctrace %s (%s)\n", GCTRACE_VERSION, GCTRACE_COMMIT);
	else
		puts("gctrace " GCTRACE_VERSION);
	return EXIT_OK;
}

const struct command cmd_version = {
	.name = "version",
	.summary = "print the version; so do -V and --version",
	.usage = "usage: gctrace version\n"
		 "\n"
		 "Prints the version and, where it is known, the commit that it was built from.\n",
	.run = run,
};
