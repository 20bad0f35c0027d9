/* XGBoost's name for one boosting iteration, called as often as asked. */
#include <unistd.h>

#define CALLED __attribute__((noinline, noclone, visibility("default")))

static volatile long work;

CALLED int XGBoosterUpdateOneIter(void)
{
	work++;
	return 0;
}

CALLED void rounds(long count, long pause_us)
{
	while (count-- > 0) {
		XGBoosterUpdateOneIter();
		usleep((unsigned int)pause_us);
	}
}
