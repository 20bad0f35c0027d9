/* gctrace schema: what a .gct file and the JSON records hold. */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "json.h"
#include "store.h"

static int run(int argc, char **argv)
{
	const char *which = argc > 1 ? argv[1] : NULL;

	if (which && (!strcmp(which, "-h") || !strcmp(which, "--help"))) {
		fputs(cmd_schema.usage, stdout);
		return EXIT_OK;
	}
	if (argc > 2 || (which && strcmp(which, "json") && strcmp(which, "sql")))
		return cmd_usage(&cmd_schema, "\"%s\" is neither json nor sql", argv[argc - 1]);
	if (!which || !strcmp(which, "sql"))
		fputs(store_schema_sql, stdout);
	if (!which)
		fputs("\n", stdout);
	if (!which || !strcmp(which, "json"))
		fputs(json_schema, stdout);
	return EXIT_OK;
}

const struct command cmd_schema = {
	.name = "schema",
	.summary = "print the schema of the .gct file and of the JSON records",
	.usage =
		"usage: gctrace schema [sql|json]\n"
		"\n"
		"Prints the tables of a .gct file (SQL) and the JSON Schema of the records that --json\n"
		"and `gctrace report -f json` write; or one of the two.\n",
	.run = run,
};
