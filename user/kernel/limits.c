/* The limits that gctrace was started with → room enough, or the sentence that says which is too low. */
#include <errno.h>
#include <sys/resource.h>

#include "load_priv.h"

#define FILES_MIN    64	  /* programs, maps and links of one process with a few libraries */
#define FILES_WANTED 4096 /* of many, each with its probes */
#define MEMORY_MIN   (64ull << 20) /* without what is mapped of the processes' libraries */

/* What was started before keeps its own. */
static rlim_t raise_files(void)
{
	struct rlimit limit, wider;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return RLIM_INFINITY;
	if (limit.rlim_cur >= FILES_WANTED)
		return limit.rlim_cur;
	wider = (struct rlimit){
		FILES_WANTED, limit.rlim_max < FILES_WANTED ? FILES_WANTED : limit.rlim_max};
	if (!setrlimit(RLIMIT_NOFILE, &wider)) /* above the hard one that takes CAP_SYS_RESOURCE */
		return wider.rlim_cur;
	wider = (struct rlimit){limit.rlim_max, limit.rlim_max};
	return setrlimit(RLIMIT_NOFILE, &wider) ? limit.rlim_cur : wider.rlim_cur;
}

int kernel_check_limits(struct err *err)
{
	rlim_t files = raise_files();
	struct rlimit memory;

	if (files < FILES_MIN)
		return err_set(err, EMFILE,
			"only %llu files may be open at a time here, and gctrace needs %d: raise it, with ulimit -n 1024",
			(unsigned long long)files, FILES_MIN);
	if (!getrlimit(RLIMIT_AS, &memory) && memory.rlim_cur < MEMORY_MIN)
		return err_set(err, ENOMEM,
			"only %llu KiB of address space may be used here, and gctrace needs %llu and the size of the "
			"largest library: raise it, with ulimit -v unlimited",
			(unsigned long long)memory.rlim_cur >> 10, MEMORY_MIN >> 10);
	return 0;
}
