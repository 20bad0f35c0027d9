/*
 * A JVMTI agent: -agentpath:LIBRARY=FIFO. When a byte arrives through the FIFO, a thread that the JVM knows nothing of
 * calls exec, as a launcher or native code may; safepoints do not stop it.
 */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static void *wait_and_exec(void *fifo)
{
	int fd = open(fifo, O_RDONLY);
	char byte;

	if (fd >= 0 && read(fd, &byte, 1) == 1)
		execl("/bin/true", "true", (char *)NULL);
	return NULL;
}

int Agent_OnLoad(void *vm, char *options, void *reserved)
{
	pthread_t thread;

	(void)vm;
	(void)reserved;
	return pthread_create(&thread, NULL, wait_and_exec, strdup(options));
}
