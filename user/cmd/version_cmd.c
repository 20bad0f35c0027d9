/* gctrace version: which gctrace this is, how it was built, and of what, by whose leave. */
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "cmd.h"
#include "linked.h"
#include "probe.h"
#include "version.h"

struct version_options {
	bool verbose, licences, help;
};

static const struct option long_options[] = {
	{"verbose", no_argument, NULL, 'v'},
	{"licences", no_argument, NULL, 'l'},
	{"help", no_argument, NULL, 'h'},
	{},
};

static int take(int option, void *arg)
{
	struct version_options *options = arg;

	*(option == 'v'		? &options->verbose
		: option == 'l' ? &options->licences
				: &options->help) = true;
	return EXIT_OK;
}

static void print_version(void)
{
	if (strcmp(GCTRACE_COMMIT, "unknown"))
		printf("gctrace %s (%s)\n", GCTRACE_VERSION, GCTRACE_COMMIT);
	else
		puts("gctrace " GCTRACE_VERSION);
}

static void print_libraries(void)
{
	for (const struct linked_library *library = linked_libraries; library->name; library++)
		if (library->source)
			printf("  %-9s  %-12s  %-42s  %s\n", library->name, library->version,
				library->licence, library->source);
		else
			printf("  %-9s  %-12s  %s\n", library->name, library->version,
				library->licence);
}

static void print_build(void)
{
	printf("machine   %s\n"
	       "compiler  %s\n"
	       "flags     %s\n"
	       "runtimes ",
		BUILD_MACHINE, BUILD_COMPILER, BUILD_FLAGS);
	for (size_t i = 0; probe_runtimes[i]; i++)
		printf(" %s", probe_runtimes[i]->kind);
	printf("\nlinked    %s\n",
		BUILD_STATIC
			? "statically: this file holds all it needs, the libraries below included"
			: "dynamically: the libraries below were there when it was built; others may be "
			  "loaded now");
	print_libraries();
	puts("licence   BSD-2-Clause; the BPF programs: GPL-2.0-only OR BSD-2-Clause; `gctrace version "
	     "--licences` prints the texts");
}

static int run(int argc, char **argv)
{
	struct version_options options = {};
	int status = cmd_options(&cmd_version, argc, argv, "vh", long_options, take, &options);

	if (status)
		return status;
	if (optind < argc)
		return cmd_usage(&cmd_version, "unexpected argument \"%s\"", argv[optind]);
	if (options.help) {
		fputs(cmd_version.usage, stdout);
	} else if (options.licences) {
		fputs(linked_licences, stdout);
	} else {
		print_version();
		if (options.verbose)
			print_build();
	}
	return EXIT_OK;
}

const struct command cmd_version = {
	.name = "version",
	.summary = "print the version; so do -V and --version",
	.usage =
		"usage: gctrace version [--verbose | --licences]\n"
		"\n"
		"Prints the version and, where it is known, the commit that it was built from.\n"
		"\n"
		"  -v, --verbose             also the compiler and its flags, the runtimes, the libraries\n"
		"                            and their licences\n"
		"      --licences            the licences' texts, of gctrace and of what is linked in\n"
		"  -h, --help                print this help\n",
	.run = run,
};
