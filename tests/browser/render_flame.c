/*
 * Renders a recording described on stdin, for the browser tests: render_flame FORMAT TITLE [incomplete].
 * In: one line per pause: "pid ns generation cause frame…", generation 3: of a process whose runtime is of an
 * unknown kind, frames outermost first, each
 * "function:file:line" with function and file in hexadecimal. Out: the report on stdout.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "meaning.h"
#include "report.h"

struct memory {
	VEC(struct pause) pauses;
	size_t next;
	const struct recording *recording;
	const struct stack_table *stacks;
};

static int next_pause(void *source, struct pause *ret, struct err *err)
{
	struct memory *memory = source;

	if (memory->next == memory->pauses.count)
		return 0;
	*ret = memory->pauses.items[memory->next++];
	meaning_judge(memory->recording, memory->stacks->strings, ret);
	return 1;
}

static int rewind_pauses(void *source)
{
	((struct memory *)source)->next = 0;
	return 0;
}

static uint32_t add_hex(struct strtab *strings, char *hex)
{
	size_t len = strlen(hex) / 2;

	for (size_t i = 0; i < len; i++) {
		unsigned int byte = 0;

		sscanf(hex + 2 * i, "%2x", &byte);
		hex[i] = (char)byte; /* before what is still to be read */
	}
	return strtab_add(strings, hex, len);
}

static uint32_t add_frame(struct stack_table *stacks, uint32_t parent, char *text)
{
	char *rest = NULL, *function, *file, *line;
	struct frame frame = {.lang = LANG_PYTHON};

	/* An empty function or file is written as "-". */
	function = strtok_r(text, ":", &rest);
	file = strtok_r(NULL, ":", &rest);
	line = strtok_r(NULL, ":", &rest);
	if (!function || !file || !line)
		return 0;
	frame.function = strcmp(function, "-") ? add_hex(stacks->strings, function) : 0;
	frame.file = strcmp(file, "-") ? add_hex(stacks->strings, file) : 0;
	frame.line = (uint32_t)strtoul(line, NULL, 10);
	return stack_table_node(stacks, parent, stack_table_frame(stacks, &frame));
}

/* The runtime of process @pid, made when it is new, of @kind. */
static uint32_t find_runtime(struct recording *recording, int pid, const char *kind)
{
	struct process *process;
	struct runtime *runtime;

	for (size_t i = 0; i < recording->processes.count; i++)
		if (recording->processes.items[i].pid == pid)
			return recording->processes.items[i].id;
	process = vec_add(&recording->processes);
	runtime = vec_add(&recording->runtimes);
	if (!process || !runtime)
		exit(1);
	process->id = (uint32_t)recording->processes.count;
	process->pid = process->ns_pid = pid;
	strcpy(process->comm, "python3");
	runtime->id = process->id;
	runtime->process = process->id;
	snprintf(runtime->kind, sizeof(runtime->kind), "%s", kind);
	strcpy(runtime->version, "3.11.2");
	return runtime->id;
}

static void read_pause(char *line, struct recording *recording, struct stack_table *stacks,
	struct memory *memory)
{
	char *rest = NULL, *word = strtok_r(line, " \n", &rest);
	struct pause *pause = vec_add(&memory->pauses);
	uint64_t fields[3] = {};
	int pid;

	if (!pause || !word)
		exit(1);
	pause->id = memory->pauses.count;
	pid = atoi(word);
	for (size_t i = 0; i < ARRAY_SIZE(fields) && (word = strtok_r(NULL, " \n", &rest)); i++)
		fields[i] = (uint64_t)strtoll(word, NULL, 10);
	pause->runtime = find_runtime(recording, pid, fields[1] == 3 ? "unknown" : "cpython");
	pause->start_ns = recording->end_ns;
	pause->end_ns = pause->start_ns + fields[0];
	recording->end_ns += 50 * fields[0];
	pause->generation = (int32_t)fields[1];
	pause->cause = (uint32_t)fields[2];
	while ((word = strtok_r(NULL, " \n", &rest)))
		pause->stack = add_frame(stacks, pause->stack, word);
}

int main(int argc, char **argv)
{
	const struct report_ops *const formats[] = {&report_flamegraph, &report_folded};
	struct recording recording = {.start_ns = 1000, .end_ns = 1000, .complete = true};
	struct stack_table stacks;
	struct memory memory = {.recording = &recording, .stacks = &stacks};
	struct report_input input = {
		&recording, &stacks, next_pause, rewind_pauses, &memory, argc > 2 ? argv[2] : NULL};
	struct err err = {};
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	int r = 1;

	if (argc < 3 || stack_table_init(&stacks))
		return 2;
	if (argc > 3) {
		struct drop *drop = vec_add(&recording.drops);

		recording.complete = false;
		if (drop)
			*drop = (struct drop){.cause = "ring-full", .count = 23};
	}
	while (getline(&line, &size, stdin) > 0)
		read_pause(line, &recording, &stacks, &memory);
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (!strcmp(formats[i]->name, argv[1]))
			r = formats[i]->write(&input, stdout, &err);
	if (r)
		fprintf(stderr, "%s\n", err.text);
	vec_free(&memory.pauses);
	stack_table_release(&stacks);
	recording_release(&recording);
	return r != 0;
}
