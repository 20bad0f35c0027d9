/*
 * remap(NAME): puts the code of the mapped file whose path holds NAME into anonymous memory at the same
 * addresses, as programs do that want huge pages for it. Returns how many mappings were replaced.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

int remap(const char *name)
{
	unsigned long begin[64], end[64];
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096], rights[8];
	int found = 0, done = 0;

	while (maps && found < 64 && fgets(line, sizeof(line), maps))
		if (strstr(line, name) &&
			sscanf(line, "%lx-%lx %7s", &begin[found], &end[found], rights) == 3 &&
			rights[2] == 'x')
			found++;
	if (maps)
		fclose(maps);
	for (int i = 0; i < found; i++) {
		size_t size = end[i] - begin[i];
		void *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

		if (copy == MAP_FAILED)
			return -1;
		memcpy(copy, (void *)begin[i], size);
		mprotect(copy, size, PROT_READ | PROT_EXEC);
		if (mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)begin[i]) ==
			MAP_FAILED)
			return -1;
		done++;
	}
	return done;
}
