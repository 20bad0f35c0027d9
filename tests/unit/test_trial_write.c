/* trial: what is written, on memory of this process and its child; what is undone, by whom, and what is left. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "children.h"
#include "state.h"
#include "watcher.h"
#include "write.h"

static int32_t values[3] = {1, 700, 10};

static struct settings settings_of(int32_t enabled, int32_t young, int32_t old)
{
	return (struct settings){.count = 3,
		.items = {{"enabled", (uintptr_t)&values[0], enabled},
			{"threshold 0", (uintptr_t)&values[1], young},
			{"threshold 1", (uintptr_t)&values[2], old}}};
}

static void set_values(int32_t enabled, int32_t young, int32_t old)
{
	((volatile int32_t *)values)[0] = enabled;
	((volatile int32_t *)values)[1] = young;
	((volatile int32_t *)values)[2] = old;
}

static void assert_values(int32_t enabled, int32_t young, int32_t old)
{
	assert_int_equal(((volatile int32_t *)values)[0], enabled);
	assert_int_equal(((volatile int32_t *)values)[1], young);
	assert_int_equal(((volatile int32_t *)values)[2], old);
}

/* @folder: of its state; NULL: it has no file. */
static struct subject subject_of_this_process(const char *folder)
{
	struct subject subject = {.pid = getpid(),
		.memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC),
		.as_it_is = settings_of(1, 700, 10),
		.tried = settings_of(0, 7000, 10),
		.undo = STATE_NONE};
	struct err err;

	set_values(1, 700, 10);
	assert_true(subject.memory >= 0);
	assert_int_equal(subject_keep(&subject, folder, &err), 0);
	return subject;
}

static void settings_change_and_change_back(void **state)
{
	struct subject subject = subject_of_this_process(NULL);
	struct err err;

	assert_int_equal(subject_restore(&subject, &err), 0);
	assert_int_equal(subject_check(&subject, &err), 0);
	assert_int_equal(subject_change(&subject, &err), 0);
	assert_values(0, 7000, 10);
	assert_int_equal(subject_check(&subject, &err), 0);
	assert_int_equal(subject_restore(&subject, &err), 0);
	assert_values(1, 700, 10);
	assert_false(subject.undo.state->changed);
	subject_close(&subject);
}

/* What the program sets is its own, wherever the trial is. */
static void values_of_the_program_stay(void **state)
{
	struct subject subject = subject_of_this_process(NULL);
	struct err err;

	set_values(1, 500, 10);
	assert_int_equal(subject_change(&subject, &err), -EBUSY);
	assert_non_null(strstr(err.text, "threshold 0 to 500"));
	assert_values(1, 500, 10);
	set_values(1, 700, 10);
	assert_int_equal(subject_change(&subject, &err), 0);
	set_values(0, 7000, 11); /* one that is not written, too */
	assert_int_equal(subject_check(&subject, &err), -EBUSY);
	set_values(0, 123, 11);
	assert_int_equal(subject_check(&subject, &err), -EBUSY);
	assert_int_equal(subject_restore(&subject, &err), -EBUSY);
	assert_values(1, 123, 11);
	assert_false(subject.undo.state->changed);
	subject_close(&subject);
}

/* Children that are forked with what is tried get back what was; those from before are not touched. */
static void forked_children_are_put_right(void **state)
{
	struct subject subject = subject_of_this_process(NULL);
	int ready[2], results[2], statuses[2];
	pid_t children[2];
	struct err err;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(results), 0);
	for (int i = 0; i < 2; i++) {
		char byte;

		children[i] = fork();
		if (!children[i]) {
			if (!i)
				set_values(0, 7000,
					10); /* by itself: that is no business of ours */
			if (write(results[1], "x", 1) != 1 || read(ready[0], &byte, 1) != 1)
				_exit(3);
			_exit(((volatile int32_t *)values)[0] == 1 &&
				((volatile int32_t *)values)[1] == 700);
		}
		assert_int_equal(read(results[0], &byte, 1), 1);
		if (!i)
			assert_int_equal(subject_change(&subject, &err), 0);
	}
	assert_int_equal(subject_restore(&subject, &err), 0);
	assert_int_equal(write(ready[1], "xx", 2), 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(waitpid(children[i], &statuses[i], 0), children[i]);
		assert_true(WIFEXITED(statuses[i]));
		assert_int_equal(WEXITSTATUS(statuses[i]), i);
		close(ready[i]);
		close(results[i]);
	}
	subject_close(&subject);
}

/* The watcher restores when its pipe ends, by a killed owner as by watcher_end(), and only what is changed. */
static void watchers_restore(void **state)
{
	struct subject subject = subject_of_this_process(NULL);
	struct watcher watcher = {};
	struct err err;

	for (int changed = 0; changed < 2; changed++) {
		assert_int_equal(watcher_start(&subject, &watcher, &err), 0);
		assert_true(watcher_lives(&watcher));
		if (changed)
			assert_int_equal(subject_change(&subject, &err), 0);
		watcher_end(&watcher);
		assert_values(1, 700, 10);
		assert_int_equal(subject_check(&subject, &err), 0);
		assert_false(watcher_lives(&watcher));
	}
	assert_int_equal(watcher_start(&subject, &watcher, &err), 0);
	assert_int_equal(kill(watcher.pid, SIGKILL), 0);
	while (watcher_lives(&watcher))
		usleep(1000);
	watcher_end(&watcher);
	subject_close(&subject);
}

/* ── what is left when gctrace and its watcher are killed at once ── */

static char folder[] = "/tmp/gctrace-trial-XXXXXX";

static int make_folder(void **state)
{
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/trial-%d", folder, getpid());
	unlink(path);
	return rmdir(folder);
}

/* Its descriptors and mappings go as those of a killed process do. */
static void vanish(struct subject *subject)
{
	munmap(subject->undo.state, sizeof(*subject->undo.state));
	close(subject->undo.file);
	close(subject->undo.folder);
	subject->undo = (struct state_file)STATE_NONE;
	subject_close(subject);
}

static void what_is_left_can_be_undone(void **state)
{
	struct subject subject = subject_of_this_process(folder), other = subject, recalled;
	struct watcher watcher = {};
	struct err err;

	assert_int_equal(watcher_start(&subject, &watcher, &err), 0);
	assert_int_equal(subject_change(&subject, &err), 0);
	/* While one of them lives, nothing has been left. */
	assert_int_equal(state_check(folder, getpid(), &err), -EBUSY);
	assert_int_equal(subject_recall(getpid(), folder, &recalled, &err), -EBUSY);
	subject_close(&recalled);
	assert_int_equal(subject_keep(&other, folder, &err), -EBUSY);
	assert_non_null(strstr(err.text, "in progress"));
	vanish(&subject);
	assert_int_equal(state_check(folder, getpid(), &err), -EBUSY);
	assert_int_equal(kill(watcher.pid, SIGKILL), 0);
	watcher_end(&watcher);

	assert_values(0, 7000, 10);
	assert_int_equal(state_check(folder, getpid(), &err), -EEXIST);
	assert_non_null(strstr(err.text,
		"enabled 0 instead of 1, threshold 0 7000 instead of 700"));
	assert_null(strstr(err.text, "threshold 1"));
	other = (struct subject){.pid = getpid(), .memory = -1, .undo = STATE_NONE};
	assert_int_equal(subject_keep(&other, folder, &err), -EEXIST);
	assert_int_equal(subject_recall(getpid(), folder, &recalled, &err), 0);
	assert_int_equal(subject_restore(&recalled, &err), 0);
	subject_close(&recalled);
	assert_values(1, 700, 10);
	assert_int_equal(state_check(folder, getpid(), &err), 0);
	assert_int_equal(subject_recall(getpid(), folder, &recalled, &err), -ENOENT);
	subject_close(&recalled);
}

/* What the program has set since is not touched. */
static void what_is_left_is_compared_too(void **state)
{
	struct subject subject = subject_of_this_process(folder), recalled;
	struct err err;

	assert_int_equal(subject_change(&subject, &err), 0);
	vanish(&subject);
	set_values(0, 123, 10);
	assert_int_equal(subject_recall(getpid(), folder, &recalled, &err), 0);
	assert_int_equal(subject_restore(&recalled, &err), -EBUSY);
	assert_non_null(strstr(err.text, "threshold 0 to 123"));
	subject_close(&recalled);
	assert_values(1, 123, 10);
	assert_int_equal(state_check(folder, getpid(), &err), 0);
}

/* A trial that ends as it should leaves no file, and one that changes nothing leaves nothing to undo. */
static void ended_trials_leave_nothing(void **state)
{
	char path[64];
	struct err err;

	snprintf(path, sizeof(path), "%s/trial-%d", folder, getpid());
	for (int killed = 0; killed < 2; killed++) {
		struct subject subject = subject_of_this_process(folder);

		assert_int_equal(access(path, F_OK), 0);
		assert_int_equal(subject_change(&subject, &err), 0);
		assert_int_equal(subject_restore(&subject, &err), 0);
		if (killed)
			vanish(&subject);
		else
			subject_close(&subject);
		assert_int_equal(access(path, F_OK), killed ? 0 : -1);
		assert_int_equal(state_check(folder, getpid(), &err), 0);
	}
	/* What one that was killed left behind is in nobody's way. */
	struct subject subject = subject_of_this_process(folder);

	subject_close(&subject);
	assert_int_equal(access(path, F_OK), -1);
}

/* Writes @bytes over the state of a trial that was killed, and looks whether it is still believed. */
static int check_altered(size_t offset, const void *bytes, size_t len, mode_t mode)
{
	struct subject subject = subject_of_this_process(folder);
	struct subject recalled;
	char path[64];
	struct err err;
	int file, r;

	assert_int_equal(subject_change(&subject, &err), 0);
	vanish(&subject);
	snprintf(path, sizeof(path), "%s/trial-%d", folder, getpid());
	file = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pwrite(file, bytes, len, (off_t)offset), len);
	fchmod(file, mode);
	close(file);
	r = state_check(folder, getpid(), &err);
	if (!r)
		assert_true(subject_recall(getpid(), folder, &recalled, &err) < 0);
	if (!r)
		subject_close(&recalled);
	set_values(1, 700, 10);
	unlink(path);
	return r;
}

/* Another program, or no state at all, is never written to by what such a file says. */
static void only_the_same_program_is_written(void **state)
{
	const uint32_t many = 1u << 30;
	const uint64_t odd = 4097;
	char long_name[STATE_NAME];

	memset(long_name, 'x', sizeof(long_name));
	assert_int_equal(check_altered(0, "", 0, 0600), -EEXIST);
	assert_int_equal(check_altered(offsetof(struct state, magic), "x", 1, 0600), 0);
	assert_int_equal(check_altered(offsetof(struct state, start_ticks), &odd, 8, 0600), 0);
	assert_int_equal(check_altered(offsetof(struct state, stack_start), &odd, 8, 0600), 0);
	assert_int_equal(check_altered(offsetof(struct state, setting_count), &many, 4, 0600), 0);
	assert_int_equal(check_altered(offsetof(struct state, count), &many, 4, 0600), 0);
	assert_int_equal(check_altered(offsetof(struct state, settings[1].address), &odd, 8, 0600),
		0);
	assert_int_equal(check_altered(offsetof(struct state, settings[1].name), long_name,
				 sizeof(long_name), 0600),
		0);
	assert_int_equal(check_altered(0, "", 0, 0666), 0);
	chmod(folder, 0777);
	assert_int_equal(state_check(folder, getpid(), &(struct err){}), 0);
	chmod(folder, 0700);
}

/* Behind the descriptor there is one program: once it is gone, nothing. */
static void the_gone_are_not_written(void **state)
{
	struct settings was = settings_of(1, 700, 10), tried = settings_of(0, 700, 10);
	pid_t child = fork();
	char path[32];
	struct err err;
	int memory, status;

	if (!child) {
		pause();
		_exit(0);
	}
	set_values(1, 700, 10);
	snprintf(path, sizeof(path), "/proc/%d/mem", child);
	memory = open(path, O_RDWR | O_CLOEXEC);
	assert_true(memory >= 0);
	assert_int_equal(settings_write(memory, &was, &tried, &err), 0);
	assert_int_equal(settings_verify(memory, &tried, &err), 0);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(settings_verify(memory, &tried, &err), -ESRCH);
	assert_int_equal(settings_write(memory, &tried, &was, &err), -ESRCH);
	assert_non_null(strstr(err.text, "has ended"));
	close(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_change_and_change_back),
		cmocka_unit_test(values_of_the_program_stay),
		cmocka_unit_test(forked_children_are_put_right),
		cmocka_unit_test(watchers_restore),
		cmocka_unit_test(the_gone_are_not_written),
		cmocka_unit_test(what_is_left_can_be_undone),
		cmocka_unit_test(what_is_left_is_compared_too),
		cmocka_unit_test(ended_trials_leave_nothing),
		cmocka_unit_test(only_the_same_program_is_written),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
