/* /proc → how much memory a trial's process has, and how much it may have. */
#include <stdio.h>
#include <unistd.h>

#include "cleanup.h"
#include "trial_priv.h"

uint64_t trial_rss(pid_t pid)
{
	_cleanup_fclose_ FILE *stream = NULL;
	unsigned long long pages;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	stream = fopen(path, "re");
	if (!stream || fscanf(stream, "%*u %llu", &pages) != 1)
		return 0;
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* UINT64_MAX: not known. */
static uint64_t available(void)
{
	_cleanup_fclose_ FILE *stream = fopen("/proc/meminfo", "re");
	unsigned long long kib;
	char line[128];

	while (stream && fgets(line, sizeof(line), stream))
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
			return kib << 10;
	return UINT64_MAX;
}

uint64_t trial_rss_limit(uint64_t rss, uint64_t asked)
{
	uint64_t fifth = rss / 5, spare = available() / 4;

	return asked ? asked : rss + (fifth < spare ? fifth : spare);
}
