/*
 * remap(NAME): puts the code of the mapped file whose path holds NAME into anonymous memory at the same
 * addresses, as programs do that want huge pages for it. Returns how many mappings were replaced. The code is read
 * from the file: in memory it may have breakpoints in it of who traces the same file at this moment.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct code {
	unsigned long begin, end, offset;
	char path[4096];
};

static int replace(const struct code *code)
{
	size_t size = code->end - code->begin;
	int file = open(code->path, O_RDONLY | O_CLOEXEC);
	void *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ssize_t got = copy == MAP_FAILED ? -1 : pread(file, copy, size, (off_t)code->offset);

	close(file);
	if (got <= 0 || mprotect(copy, size, PROT_READ | PROT_EXEC))
		return -1;
	copy = mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)code->begin);
	return copy == MAP_FAILED ? -1 : 0;
}

int remap(const char *name)
{
	static struct code found[8];
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[8192], rights[8];
	int count = 0;

	while (maps && count < 8 && fgets(line, sizeof(line), maps)) {
		struct code *code = &found[count];

		if (strstr(line, name) &&
			sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095[^\n]", &code->begin, &code->end,
				rights, &code->offset, code->path) == 5 &&
			rights[2] == 'x')
			count++;
	}
	if (maps)
		fclose(maps);
	for (int i = 0; i < count; i++)
		if (replace(&found[i]))
			return -1;
	return count;
}
