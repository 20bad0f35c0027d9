/* Settings of a running collector, found, changed and put back, each write compared before and after. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "children.h"
#include "subject.h"
#include "write.h"

/* The one runtime in @maps that it may be about. 0 or -ENOENT. */
static int find_image(pid_t pid, const struct proc_maps *maps, struct probe_image *ret,
	struct err *err)
{
	struct probe_image found[PROBE_MAX_IMAGES];
	size_t count = probe_find(pid, maps, found, PROBE_MAX_IMAGES);

	if (!count)
		return err_set(err, ENOENT, "process %d has no runtime that gctrace knows", pid);
	if (count > 1)
		return err_set(err, ENOTSUP,
			"process %d has %zu runtimes: a trial would change the collector of only one",
			pid, count);
	*ret = found[0];
	if (ret->ops->settings)
		return 0;
	return err_set(err, ENOTSUP, "no trial in process %d (%s): %s", pid, ret->ops->kind,
		ret->ops->no_settings ? ret->ops->no_settings
				      : "its runtime has no settings that could be changed");
}

static int find_settings(struct subject *subject, const struct proc_maps *maps, const char *only,
	struct err *err)
{
	struct probe_image image;
	size_t tier = 0;
	int r = find_image(subject->pid, maps, &image, err);

	if (!r)
		r = probe_plan(subject->pid, &image, only, &tier, subject->plan, err);
	if (r)
		return r;
	if (subject->plan->per_process)
		return err_set(err, ENOTSUP,
			"process %d can only be traced by %s, for want of symbols: that is not certain enough for "
			"a trial, which writes to its memory%s%s",
			subject->pid, subject->plan->tier,
			image.ops->debug_package ? "; debug symbols help: " : "",
			image.ops->debug_package ? image.ops->debug_package : "");
	subject->bias = image.map.start - subject->plan->page_vaddr;
	return image.ops->settings->find(subject->pid, subject->bias, subject->plan,
		&subject->as_it_is, err);
}

static int open_memory(struct subject *subject, struct err *err)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", subject->pid);
	subject->memory = open(path, O_RDWR | O_CLOEXEC);
	if (subject->memory >= 0)
		return 0;
	return err_set(err, errno, "%s cannot be written: %s%s", path, strerror(errno),
		errno == EACCES || errno == EPERM ? "; a trial needs root, or CAP_SYS_PTRACE" : "");
}

int subject_open(pid_t pid, const char *only, struct subject *ret, struct err *err)
{
	struct proc_maps maps = {};
	int r;

	*ret = (struct subject){.pid = pid, .memory = -1, .undo = STATE_NONE};
	ret->plan = calloc(1, sizeof(*ret->plan));
	if (!ret->plan)
		return err_set(err, ENOMEM, "out of memory");
	/* The memory first: if the program calls exec in between, what is found is compared with nothing. */
	r = open_memory(ret, err);
	if (!r && (r = proc_maps_read(pid, &maps)) != 0)
		err_set(err, -r, "the maps of process %d cannot be read: %s", pid, strerror(-r));
	if (!r)
		r = find_settings(ret, &maps, only, err);
	if (!r)
		r = settings_verify(ret->memory, &ret->as_it_is, err);
	proc_maps_release(&maps);
	ret->tried = ret->as_it_is;
	return r;
}

void subject_close(struct subject *subject)
{
	if (subject->memory >= 0)
		close(subject->memory);
	state_close(&subject->undo);
	free(subject->plan);
	*subject = (struct subject){.memory = -1, .undo = STATE_NONE};
}

int subject_choose(struct subject *subject, const char *text, struct err *err)
{
	int r;

	subject->tried = subject->as_it_is;
	if (text && !strcmp(text, "same"))
		return 0;
	r = subject->plan->ops->settings->change(&subject->as_it_is, text, &subject->tried, err);
	if (r)
		return r;
	for (size_t i = 0; i < subject->tried.count; i++)
		if (subject->tried.items[i].value != subject->as_it_is.items[i].value)
			return 0;
	return err_set(err, EINVAL,
		"that is what the settings are: --set same compares them with themselves");
}

int subject_keep(struct subject *subject, const char *folder, struct err *err)
{
	return state_create(folder, subject->pid, &subject->as_it_is, &subject->tried,
		&subject->undo, err);
}

int subject_recall(pid_t pid, const char *folder, struct subject *ret, struct err *err)
{
	int r;

	*ret = (struct subject){.pid = pid, .memory = -1, .undo = STATE_NONE};
	/* The memory first, here too: whose it is, is asked afterwards. */
	r = open_memory(ret, err);
	if (!r)
		r = state_open(folder, pid, &ret->undo, err);
	if (!r)
		state_settings(ret->undo.state, &ret->as_it_is, &ret->tried);
	return r;
}

int subject_change(struct subject *subject, struct err *err)
{
	struct err ignored;
	int r = settings_verify(subject->memory, &subject->as_it_is, err);

	if (!r)
		r = children_note(subject->pid, subject->undo.state, err);
	if (r)
		return r;
	__atomic_store_n(&subject->undo.state->changed, true, __ATOMIC_SEQ_CST);
	r = settings_write(subject->memory, &subject->as_it_is, &subject->tried, err);
	if (r)
		subject_restore(subject, &ignored);
	return r;
}

int subject_restore(struct subject *subject, struct err *err)
{
	int r;

	if (!__atomic_load_n(&subject->undo.state->changed, __ATOMIC_SEQ_CST))
		return 0;
	r = settings_write(subject->memory, &subject->tried, &subject->as_it_is, err);
	children_restore(subject);
	if (!r || r == -EBUSY || r == -ESRCH)
		__atomic_store_n(&subject->undo.state->changed, false, __ATOMIC_SEQ_CST);
	return r;
}

int subject_check(const struct subject *subject, struct err *err)
{
	return settings_verify(subject->memory,
		subject->undo.state->changed ? &subject->tried : &subject->as_it_is, err);
}

const char *subject_describe(const struct subject *subject, const struct settings *settings,
	char *buffer, size_t size)
{
	subject->plan->ops->settings->describe(settings, buffer, size);
	return buffer;
}
