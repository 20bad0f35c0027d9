/* Chooses the verb. */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "log.h"
#include "streams.h"
#include "suggest.h"

static void print_help(FILE *out)
{
	fputs("gctrace finds the garbage-collection pauses of running training jobs.\n"
	      "\n"
	      "usage: sudo gctrace -p PID            show its pauses as they happen\n"
	      "       gctrace VERB [options]\n"
	      "\n",
		out);
	for (size_t i = 1; commands[i]; i++)
		fprintf(out, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
	fputs("\n"
	      "`gctrace VERB --help` and gctrace(1) say more.\n"
	      "\n",
		out);
	fputs(cmd_live.usage, out);
}

static const struct command *find(const char *name)
{
	for (size_t i = 1; commands[i]; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

/* What was meant: a verb, a process, a recording. */
static int no_verb(const char *typed)
{
	const char *nearest = suggest_verb(commands, typed), *end = strrchr(typed, '.');
	char hint[64] = "";

	if (nearest)
		snprintf(hint, sizeof(hint), " (did you mean %s?)", nearest);
	else if (typed[strspn(typed, "0123456789")] == '\0')
		snprintf(hint, sizeof(hint), " (did you mean -p %.10s?)", typed);
	else if (end && !strcmp(end, ".gct"))
		snprintf(hint, sizeof(hint), " (did you mean report %.32s?)", typed);
	log_error("there is no verb \"%s\"%s; see `gctrace --help`", typed, hint);
	return EXIT_USAGE;
}

/* `gctrace help VERB` is `gctrace VERB --help`; NULL is no verb. */
static int help(char *verb)
{
	char option[] = "--help", *words[] = {verb, option, NULL};
	const struct command *command = verb ? find(verb) : NULL;

	if (command)
		return command->run(2, words);
	if (verb)
		return no_verb(verb);
	print_help(stdout);
	return EXIT_OK;
}

static int run_verb(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return help(argc > 2 && argv[1][0] != '-' ? argv[2] : NULL);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
		return cmd_version.run(1, argv);
	if (argv[1][0] == '-')
		return cmd_live.run(argc, argv);
	command = find(argv[1]);
	if (command)
		return command->run(argc - 1, argv + 1);
	return no_verb(argv[1]);
}

int main(int argc, char **argv)
{
	streams_open();
	return streams_close(run_verb(argc, argv));
}
