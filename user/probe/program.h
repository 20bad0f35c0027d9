/* What a command line will run. In: its words, the environment, the user. Out: files, before it runs. */
#pragma once

#include "vec.h"

struct program_files {
	VEC(char *) paths;
};

/*
 * Lists the files from which the programs that @argv names will be mapped: the first word's, found as
 * execvp() does, its interpreters' if it is a script, and those that further words name, for what starts
 * others (env, nice, numactl); their libraries, by their own dynamic loaders, which run nothing; what a
 * runtime is known to load from beside them. A guess: what is not foreseen is seen when it comes.
 * A forked process does it all, made by @become the user who will run it. At most two seconds. 0 or -errno.
 */
int program_foresee(char *const *argv, int (*become)(void), struct program_files *ret);

/* The same for the usual names of all runtimes, which a script may start. */
int program_foresee_usual(int (*become)(void), struct program_files *ret);
void program_files_release(struct program_files *files);
