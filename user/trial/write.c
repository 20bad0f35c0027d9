/* Settings → the memory of a process: one aligned integer at a time, and only over a value that is known. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "write.h"

/* 0 or -ESRCH: without a program behind it, the descriptor is at its end. */
static int read_value(int memory, uint64_t address, int32_t *ret, struct err *err)
{
	ssize_t got = pread(memory, ret, sizeof(*ret), (off_t)address);

	if (got == (ssize_t)sizeof(*ret))
		return 0;
	return got < 0 && errno != EIO && errno != ESRCH
		       ? err_set(err, errno, "the process's memory cannot be read: %s",
				 strerror(errno))
		       : err_set(err, ESRCH, "the program has ended, or called exec");
}

static int foreign(const char *name, int32_t value, int32_t expected, struct err *err)
{
	return err_set(err, EBUSY,
		"the program has changed its collector's %s to %d meanwhile (it was %d): that is left as it is",
		name, value, expected);
}

int settings_verify(int memory, const struct settings *settings, struct err *err)
{
	for (size_t i = 0; i < settings->count; i++) {
		int32_t value;
		int r = read_value(memory, settings->items[i].address, &value, err);

		if (r)
			return r;
		if (value != settings->items[i].value)
			return foreign(settings->items[i].name, value, settings->items[i].value,
				err);
	}
	return 0;
}

static int write_value(int memory, const char *name, uint64_t address, int32_t from, int32_t to,
	struct err *err)
{
	int32_t value = 0;
	int r = read_value(memory, address, &value, err);

	if (r || value == to)
		return r;
	if (value != from)
		return foreign(name, value, from, err);
	if (pwrite(memory, &to, sizeof(to), (off_t)address) != (ssize_t)sizeof(to))
		return errno == EIO || errno == ESRCH
			       ? err_set(err, ESRCH, "the program has ended, or called exec")
			       : err_set(err, errno ? errno : EIO,
					 "the collector's %s cannot be written: %s", name,
					 strerror(errno));
	r = read_value(memory, address, &value, err);
	return r || value == to ? r : foreign(name, value, to, err);
}

int settings_write(int memory, const struct settings *from, const struct settings *to,
	struct err *err)
{
	int first = 0;

	for (size_t i = 0; i < to->count; i++) {
		struct err why;
		int r = from->items[i].value == to->items[i].value
				? 0
				: write_value(memory, to->items[i].name, to->items[i].address,
					  from->items[i].value, to->items[i].value, &why);

		if (r && !first) {
			first = r;
			*err = why;
		}
	}
	return first;
}
