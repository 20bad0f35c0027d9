/* Chooses the verb. */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "log.h"

static void print_help(FILE *out)
{
	fputs("gctrace finds the garbage-collection pauses of running training jobs.\n"
	      "\n"
	      "usage: sudo gctrace -p PID            show its pauses as they happen\n"
	      "       gctrace VERB [options]\n"
	      "\n", out);
	for (size_t i = 1; commands[i]; i++)
		fprintf(out, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
	fputs("\n"
	      "`gctrace VERB --help` and gctrace(1) say more.\n"
	      "\n", out);
	fputs(cmd_live.usage, out);
}

static const struct command *find(const char *name)
{
	for (size_t i = 1; commands[i]; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		print_help(stdout);
		return EXIT_OK;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("gctrace %s\n", GCTRACE_VERSION);
		return EXIT_OK;
	}
	if (argv[1][0] == '-')
		return cmd_live.run(argc, argv);
	command = find(argv[1]);
	if (command)
		return command->run(argc - 1, argv + 1);
	log_error("there is no verb \"%s\"; see `gctrace --help`", argv[1]);
	return EXIT_USAGE;
}
