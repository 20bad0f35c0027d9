/* base: numbers typed by users, maps, interned strings, /proc of this very process. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "edits.h"
#include "mem.h"
#include "own_process.h"
#include "parse.h"
#include "proc.h"
#include "strtab.h"
#include "u64map.h"

static void durations_have_units(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {{"1", 1000000000}, {"1.5s", 1500000000}, {"20ms", 20000000}, {"50us", 50000},
		{"50µs", 50000}, {"7ns", 7}, {"3m", 180000000000}, {"2h", 7200000000000}, {"0", 0},
		{".5", 500000000}};
	static const char *const bad[] = {
		"", "s", "-1", "1x", "1 s", "1e400", "nan", "1ms ", "inf"};
	struct err err;
	uint64_t ns = 1;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(parse_duration(good[i].text, &ns, &err), 0);
		assert_int_equal(ns, good[i].ns);
	}
	ns = 23;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_true(parse_duration(bad[i], &ns, &err) < 0);
		assert_non_null(strstr(err.text, bad[i]));
		assert_int_equal(ns, 23);
	}
}

static void sizes_are_powers_of_1024(void **state)
{
	uint64_t bytes = 0;
	struct err err;

	assert_int_equal(parse_size("4M", &bytes, &err), 0);
	assert_int_equal(bytes, 4 << 20);
	assert_int_equal(parse_size("512KiB", &bytes, &err), 0);
	assert_int_equal(bytes, 512 << 10);
	assert_true(parse_size("4MB!", &bytes, &err) < 0);
}

static void durations_print_four_digits(void **state)
{
	assert_string_equal(FORMAT_DURATION(0), "0 ns");
	assert_string_equal(FORMAT_DURATION(999), "999 ns");
	assert_string_equal(FORMAT_DURATION(1000), "1.000 µs");
	assert_string_equal(FORMAT_DURATION(999949), "999.9 µs");
	assert_string_equal(FORMAT_DURATION(999950), "1.000 ms");
	assert_string_equal(FORMAT_DURATION(12345678), "12.35 ms");
	assert_string_equal(FORMAT_DURATION(1234000000ull), "1.234 s");
	assert_string_equal(FORMAT_DURATION(4300000000ull * 1000), "4300 s");
}

static void map_keeps_what_is_put(void **state)
{
	struct u64map map = {};

	for (uint64_t i = 0; i < 10007; i++)
		assert_int_equal(u64map_put(&map, i * 0x10001, i), 0);
	assert_int_equal(map.count, 10007);
	for (uint64_t i = 0; i < 10007; i += 3)
		assert_true(u64map_remove(&map, i * 0x10001));
	assert_false(u64map_remove(&map, 0));
	for (uint64_t i = 0; i < 10007; i++) {
		const uint64_t *value = u64map_get(&map, i * 0x10001);

		if (i % 3)
			assert_int_equal(*value, i);
		else
			assert_null(value);
	}
	u64map_release(&map);
	assert_null(u64map_get(&map, 1));
	assert_false(u64map_remove(&map, 1));
}

static void strings_are_interned_once(void **state)
{
	struct strtab *tab = strtab_new();
	uint32_t first, second;

	assert_int_equal(strtab_add(tab, "", 0), 0);
	first = strtab_add(tab, "a\0b", 3);
	second = strtab_add(tab, "a", 1);
	assert_int_not_equal(first, second);
	assert_int_equal(strtab_add(tab, "a\0b", 3), first);
	assert_int_equal(strtab_len(tab, first), 3);
	assert_memory_equal(strtab_get(tab, first), "a\0b", 4);
	for (int i = 0; i < 20011; i++) {
		char text[32];
		int len = snprintf(text, sizeof(text), "function_%d", i);

		strtab_add(tab, text, (size_t)len);
	}
	assert_int_equal(strtab_count(tab), 3 + 20011);
	assert_string_equal(strtab_get(tab, 3 + 4999), "function_4999");
	assert_string_equal(strtab_get(tab, 4000000), "");
	strtab_free(tab);
	strtab_free(NULL);
}

static void proc_describes_this_process(void **state)
{
	struct proc_info info = {};
	struct proc_maps maps = {};
	struct stat self;
	bool found = false;

	NEEDS_OWN_PROCESS();
	assert_int_equal(proc_info_read(getpid(), &info), 0);
	assert_int_equal(info.ppid, getppid());
	assert_int_equal(info.ns_pid, getpid());
	assert_true(info.start_ticks > 0);
	assert_non_null(strstr(info.cmdline, "base"));
	proc_info_release(&info);
	assert_int_equal(stat("/proc/self/exe", &self), 0);
	assert_int_equal(proc_maps_read(getpid(), &maps), 0);
	for (size_t i = 0; i < maps.maps.count; i++) {
		const struct proc_map *map = &maps.maps.items[i];

		if (map->exec && map->inode == self.st_ino) {
			char path[4096];
			struct stat opened;
			int fd = proc_map_open(getpid(), map, path, sizeof(path));

			assert_true(fd >= 0);
			assert_int_equal(fstat(fd, &opened), 0);
			assert_int_equal(opened.st_ino, self.st_ino);
			close(fd);
			found = true;
		}
	}
	assert_true(found);
	proc_maps_release(&maps);
	assert_true(proc_info_read(1 << 23, &info) < 0);
}

/* A child has ended even if nobody has reaped it yet. */
static void the_dead_are_told_from_the_living(void **state)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	assert_true(child > 0);
	assert_int_equal(waitid(P_PID, (id_t)child, NULL, WEXITED | WNOWAIT), 0);
	assert_true(proc_has_exited(child));
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_false(proc_has_exited(getpid()));
	assert_true(proc_has_exited((1 << 22) + 1));
}

static void time_namespaces_shift_the_clock(void **state)
{
	int64_t offset = 1;
	struct err err;

	assert_int_equal(clock_parse_offsets("monotonic         600         7\nboottime 0 0\n",
				 &offset),
		0);
	assert_int_equal(offset, 600000000007);
	assert_int_equal(clock_parse_offsets("boottime 5 5\nmonotonic -300 250000000\n", &offset),
		0);
	assert_int_equal(offset, -299750000000);
	assert_int_equal(clock_parse_offsets("", &offset), -EBADMSG);
	assert_int_equal(clock_parse_offsets("monotonic 99999999999999 0", &offset), -EBADMSG);
	assert_int_equal(clock_parse_offsets("monotonic 1 -1", &offset), -EBADMSG);
	assert_int_equal(offset, -299750000000);
	assert_int_equal(clock_offset_of(getpid(), &offset, &err), 0);
	assert_int_equal(clock_offset_of((1 << 22) + 1, &offset, &err), 0);
	assert_int_equal(offset, 0);
}

static void memory_reads_are_bounded(void **state)
{
	uint64_t value = 0x1234567812345678, copy = 0;

	NEEDS_OWN_PROCESS();
	assert_int_equal(mem_read(getpid(), (uintptr_t)&value, &copy, sizeof(copy)), 0);
	assert_int_equal(copy, value);
	assert_true(mem_read(getpid(), 8, &copy, sizeof(copy)) < 0);
	assert_true(mem_read(1 << 23, (uintptr_t)&value, &copy, sizeof(copy)) < 0);
}

static void distances_are_edits(void **state)
{
	assert_int_equal(edit_distance("step", "step", 3), 0);
	assert_int_equal(edit_distance("step", "stop", 3), 1);
	assert_int_equal(edit_distance("step", "steps", 3), 1);
	assert_int_equal(edit_distance("", "abc", 3), 3);
	assert_int_equal(edit_distance("kitten", "sitting", 3), 3);
	assert_int_equal(edit_distance("kitten", "sitting", 2), 3);
	assert_int_equal(edit_distance("a", "bcdefghijk", 3), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_have_units),
		cmocka_unit_test(sizes_are_powers_of_1024),
		cmocka_unit_test(durations_print_four_digits),
		cmocka_unit_test(map_keeps_what_is_put),
		cmocka_unit_test(strings_are_interned_once),
		cmocka_unit_test(proc_describes_this_process),
		cmocka_unit_test(the_dead_are_told_from_the_living),
		cmocka_unit_test(time_namespaces_shift_the_clock),
		cmocka_unit_test(memory_reads_are_bounded),
		cmocka_unit_test(distances_are_edits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
