/* Attaches floor.bpf.o's empty program to several places of a file, says "ready", ends with its stdin. */
#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct bpf_program *program, *nothing = NULL;
	struct bpf_object *object;
	char byte;

	if (argc < 4) {
		fprintf(stderr, "usage: safepoint_floor OBJECT PATH OFFSET...\n");
		return 2;
	}
	object = bpf_object__open_file(argv[1], NULL);
	if (!object)
		return 1;
	bpf_object__for_each_program(program, object) {
		bool wanted = !strcmp(bpf_program__name(program), "on_nothing");

		bpf_program__set_autoload(program, wanted);
		nothing = wanted ? program : nothing;
	}
	if (!nothing || bpf_object__load(object))
		return 1;
	for (int i = 3; i < argc; i++)
		if (!bpf_program__attach_uprobe(nothing, false, -1, argv[2],
			    strtoull(argv[i], NULL, 0))) {
			fprintf(stderr, "safepoint_floor: %s cannot be probed\n", argv[i]);
			return 1;
		}
	fprintf(stderr, "ready\n");
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	bpf_object__close(object);
	return 0;
}
