/* The .gct file: what is put comes back; what is cut off gives what it can. */
#include <errno.h>
#include <sys/stat.h>

#include "needs.h"
#include "store_fixture.h"

#define UNWRITTEN 17

static bool exists(const char *name)
{
	return !access(name, F_OK);
}

static void test_round_trip(void **state)
{
	struct store_reader *reader;
	const struct recording *recording;
	const struct stack_table *stacks;
	struct pause pause;
	struct stat st;
	int r;

	make_file(PAUSES);
	assert_false(exists(wal));
	reader = open_file();
	recording = store_recording(reader);
	assert_string_equal(recording->host, "node7");
	assert_string_equal(recording->version, "0.1.0");
	assert_int_equal(recording->start_ns, 1000000000);
	assert_int_equal(recording->end_ns, 900000000000);
	assert_int_equal(recording->realtime_offset_ns, 1700000000000000000);
	assert_false(recording->complete); /* it has drops */
	assert_false(recording->cut_off);
	assert_string_equal(recording->damage, "");
	assert_int_equal(recording->processes.count, 2);
	assert_int_equal(recording->processes.items[0].ns_pid, 17);
	assert_memory_equal(recording->processes.items[0].cmdline, "python3\0train.py", 17);
	assert_string_equal(recording->processes.items[1].comm, "w\xef\xbf\xbdrker");
	assert_int_equal(recording->processes.items[1].exit_ns, 99);
	assert_int_equal(recording->processes.items[0].cpu.until_ns, 0);
	assert_int_equal(recording->processes.items[1].cpu.from_ns, 13);
	assert_int_equal(recording->processes.items[1].cpu.until_ns, 97);
	assert_int_equal(recording->processes.items[1].cpu.used_ns, 61);
	assert_int_equal(recording->runtimes.count, 2);
	assert_string_equal(recording->runtimes.items[0].path, "/usr/bin/python3.11");
	assert_int_equal(recording->runtimes.items[1].missed, 13);
	assert_int_equal(recording->processes.items[0].attached_ns, 7);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(recording->bytes, st.st_size);
	assert_int_equal(recording->drops.count, 1);
	assert_int_equal(recording->drops.items[0].count, 11);
	for (int pass = 0; pass < 2; pass++) {
		for (uint64_t id = 1; id <= PAUSES; id++) {
			struct pause expected = nth_pause(id);

			assert_int_equal(store_next_pause(reader, &pause, NULL), 1);
			assert_same_pause(&pause, &expected);
		}
		assert_int_equal(store_next_pause(reader, &pause, NULL), 0);
		assert_int_equal(store_next_pause(reader, &pause, NULL), 0);
		store_rewind(reader);
	}
	assert_int_equal(count_pauses(reader, &r), PAUSES);
	stacks = store_stacks(reader, NULL);
	assert_int_equal(stacks->node_count, 4);
	assert_int_equal(stacks->nodes[3].parent, 2);
	assert_string_equal(strtab_get(stacks->strings,
				    stacks->frames[stacks->nodes[2].frame].function),
		"Trainer.step");
	assert_int_equal(strtab_len(stacks->strings,
				 stacks->frames[stacks->nodes[3].frame].function),
		4096);
	assert_int_equal(stacks->frames[1].file, 0);
	assert_int_equal(stacks->frames[3].lang, LANG_NATIVE);
	store_reader_free(reader);
	assert_false(exists(wal));
}

static void test_stacks_grow(void **state)
{
	struct store_writer *writer = start(0, false);
	struct recording recording = head();
	struct store_reader *reader;
	struct stack_table stacks;
	struct frame frame = {.function = 1, .line = 3, .lang = LANG_PYTHON};
	uint32_t node = 3;

	make_stacks(&stacks);
	for (int i = 0; i < 101; i++) { /* each put takes only what is new */
		frame.line++;
		node = stack_table_node(&stacks, node, stack_table_frame(&stacks, &frame));
		assert_int_equal(store_put_stacks(writer, &stacks), 0);
		assert_int_equal(store_commit(writer), 0);
	}
	recording.end_ns = 2000000000;
	assert_int_equal(store_close(writer, &recording, NULL), 0);
	reader = open_file();
	assert_int_equal(store_stacks(reader, NULL)->node_count, stacks.node_count);
	assert_true(store_recording(reader)->complete);
	assert_memory_equal(store_stacks(reader, NULL)->nodes, stacks.nodes,
		stacks.node_count * sizeof(*stacks.nodes));
	stack_table_release(&stacks);
	store_reader_free(reader);
}

static void test_odd_path(void **state)
{
	snprintf(path, sizeof(path), "/%s/a b?mode=memory#%%41'é.gct", folder);
	make_file(23);
	assert_true(exists(path));
	store_reader_free(open_file());
	assert_int_equal(chdir(folder), 0);
	snprintf(path, sizeof(path), "file:x?.gct");
	make_file(23);
	assert_true(exists("file:x?.gct"));
	store_reader_free(open_file());
	assert_int_equal(chdir("/"), 0);
}

static void test_backward_pause(void **state)
{
	struct store_writer *writer = start(7, true);
	struct pause pause = nth_pause(8);
	struct store_reader *reader;
	int r;

	pause.end_ns = pause.start_ns - 1;
	assert_int_equal(store_put_pause(writer, &pause), -EINVAL);
	pause = nth_pause(8);
	assert_int_equal(store_put_pause(writer, &pause), 0);
	store_abandon(writer); /* keeps what it has, without an end */
	reader = open_file();
	assert_true(store_recording(reader)->cut_off);
	assert_false(store_recording(reader)->complete);
	assert_int_equal(store_recording(reader)->end_ns, 0);
	assert_int_equal(count_pauses(reader, &r), 8);
	assert_int_equal(r, 0);
	store_reader_free(reader);
}

/* A child commits @committed pauses, puts some more, and tells us; it then waits to be killed. */
static pid_t recorder(uint64_t committed)
{
	int ready[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (!child) {
		struct store_writer *writer = start(committed, true);

		if (committed && store_commit(writer))
			_exit(1);
		for (uint64_t id = committed + 1; id <= committed + UNWRITTEN && committed; id++) {
			struct pause pause = nth_pause(id);

			store_put_pause(writer, &pause);
		}
		if (write(ready[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return child;
}

static void kill_and_wait(pid_t child)
{
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static int read_killed(void)
{
	struct store_reader *reader = open_file();
	int r, ok = store_recording(reader)->cut_off && count_pauses(reader, &r) == PAUSES && !r;

	store_reader_free(reader);
	return ok ? 0 : 1;
}

static void test_killed(void **state)
{
	struct stat before, after;

	kill_and_wait(recorder(PAUSES));
	assert_int_equal(stat(wal, &before), 0);
	assert_true(before.st_size > 0);
	assert_int_equal(read_killed(), 0);
	assert_int_equal(stat(wal, &after), 0); /* reading changed nothing */
	assert_int_equal(before.st_size, after.st_size);
	run("test $(ls %s | wc -l) = 2", folder);
	run("mkdir %s/links; ln -s %s %s/links/a.gct", folder, path, folder);
	snprintf(path, sizeof(path), "%s/links/a.gct",
		folder); /* the -wal stands by the real file */
	assert_int_equal(read_killed(), 0);
	snprintf(path, sizeof(path), "%s/run.gct", folder);
	if (!geteuid()) { /* neither the file nor its folder may be written */
		run("chmod 444 %s %s; chmod 555 %s", path, wal, folder);
		assert_int_equal(as_nobody(read_killed), 0);
	}
}

static void test_killed_at_once(void **state)
{
	struct store_reader *reader;
	int r;

	kill_and_wait(recorder(0));
	reader = open_file();
	assert_true(store_recording(reader)->cut_off);
	assert_int_equal(count_pauses(reader, &r), 0);
	assert_int_equal(r, 0);
	store_reader_free(reader);
	run("rm %s-wal", path); /* as when only the .gct was copied away */
	reader = open_file();
	assert_int_equal(store_recording(reader)->start_ns, 1000000000);
	store_reader_free(reader);
}

static void test_being_recorded(void **state)
{
	pid_t child = recorder(PAUSES);
	struct recording recording = head();
	struct store_reader *reader = NULL;
	struct store_writer *writer = NULL;
	struct err err;
	char who[32];

	snprintf(who, sizeof(who), "process %d", (int)child);
	assert_int_equal(store_open(path, &reader, &err), -EBUSY);
	assert_non_null(strstr(err.text, who));
	assert_int_equal(create(&recording, &writer, &err), -EBUSY);
	assert_non_null(strstr(err.text, who));
	kill_and_wait(child);
	assert_int_equal(read_killed(), 0);
	make_file(11); /* the old -wal must not leak into the new recording */
	reader = open_file();
	assert_int_equal(store_recording(reader)->end_ns, 900000000000);
	store_reader_free(reader);
}

/* The machine slept for 7 h in the recording's second minute; its clock was set back by 3 s later. */
static void test_clock_shifts(void **state)
{
	const int64_t start = 1700000000000000000, slept = start + 25200000000000;
	const struct clock_shift shifts[] = {
		{60000000000, slept}, {600000000000, slept - 3000000000}};
	struct recording head = {.start_ns = 1000000000,
		.end_ns = 900000000000,
		.realtime_offset_ns = start,
		.complete = true};
	struct store_writer *writer;
	struct store_reader *reader;
	const struct recording *recording;

	assert_int_equal(create(&head, &writer, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(shifts); i++)
		assert_int_equal(store_put_clock(writer, &shifts[i]), 0);
	assert_int_equal(store_close(writer, &head, NULL), 0);
	reader = open_file();
	recording = store_recording(reader);
	assert_int_equal(recording->realtime_offset_ns, start);
	assert_int_equal(recording->shifts.count, 2);
	assert_int_equal(recording_offset(recording, 5), start);
	assert_int_equal(recording_offset(recording, 59999999999), start);
	assert_int_equal(recording_offset(recording, 60000000000), slept);
	assert_int_equal(recording_offset(recording, 599999999999), slept);
	assert_int_equal(recording_offset(recording, 600000000000), slept - 3000000000);
	assert_int_equal(recording_offset(recording, UINT64_MAX), slept - 3000000000);
	assert_int_equal(recording_wall_ns(recording, 1000000000), start + 1000000000);
	assert_int_equal(recording_wall_ns(recording, 61000000000), slept + 61000000000);
	assert_int_equal(recording_wall_ns(recording, UINT64_MAX), UNKNOWN);
	assert_int_equal(recording_wall_ns(recording, INT64_MAX), UNKNOWN);
	store_reader_free(reader);
}

/* A stack main → step N of a table that is emptied again and again, as a session's is. */
static void put_emptied(struct store_writer *writer, uint32_t generation, unsigned int pauses)
{
	struct stack_table stacks;

	assert_int_equal(stack_table_init(&stacks), 0);
	stacks.generation = generation;
	for (unsigned int i = 0; i < pauses; i++) {
		char name[32];
		int len = snprintf(name, sizeof(name), "step %u", generation * 5 + i);
		struct frame outer = {
			.function = strtab_add(stacks.strings, "main", 4), .lang = LANG_PYTHON};
		struct frame inner = {.function = strtab_add(stacks.strings, name, (size_t)len),
			.file = outer.function,
			.line = i + 1,
			.lang = LANG_PYTHON};
		uint32_t node =
			stack_table_node(&stacks, STACK_NONE, stack_table_frame(&stacks, &outer));
		struct pause pause = {.id = 1000 * generation + i + 1,
			.start_ns = 7,
			.end_ns = 9,
			.runtime = 1,
			.flags = PAUSE_HAS_FACTS,
			.facts = {[HOTSPOT_OPERATION] = inner.function,
				[HOTSPOT_CAUSE] = outer.function,
				[HOTSPOT_LATE_STACK] = node}};

		pause.stack = stack_table_node(&stacks, node, stack_table_frame(&stacks, &inner));
		assert_int_equal(store_put_stacks(writer, &stacks), 0);
		assert_int_equal(store_put_pause(writer, &pause), 0);
	}
	assert_int_equal(store_put_stall(writer, &(struct stall){.id = generation + 1,
							 .runtime = 1,
							 .stack = stacks.node_count - 1}),
		0);
	assert_int_equal(store_put_phase(writer, &(struct phase){.id = generation + 1,
							 .runtime = 1,
							 .name = strtab_count(stacks.strings) - 1}),
		0);
	stack_table_release(&stacks);
}

static void test_emptied_stacks(void **state)
{
	NEEDS("hotspot");
	static const struct process process = {.id = 1, .pid = 7};
	static const struct runtime runtime = {.id = 1, .process = 1, .kind = "hotspot"};
	struct recording head = {.start_ns = 1, .end_ns = 10, .complete = true};
	const struct stack_table *stacks;
	struct store_writer *writer;
	struct store_reader *reader;
	struct pause pause;
	unsigned int seen = 0;

	assert_int_equal(create(&head, &writer, NULL), 0);
	store_put_process(writer, &process);
	store_put_runtime(writer, &runtime);
	for (uint32_t generation = 0; generation < 7; generation++)
		put_emptied(writer, generation, 7); /* two of them as the next generation's first */
	assert_int_equal(store_close(writer, &head, NULL), 0);
	reader = open_file();
	stacks = store_stacks(reader, NULL);
	assert_string_equal(store_recording(reader)->damage, "");
	assert_int_equal(strtab_count(stacks->strings), 2 + 37);
	assert_int_equal(stacks->node_count, 2 + 49); /* the two have another line */
	while (store_next_pause(reader, &pause, NULL) > 0) {
		uint32_t inner = stacks->nodes[pause.stack].frame;
		uint32_t outer = stacks->nodes[pause.stack].parent;
		char name[32];

		snprintf(name, sizeof(name), "step %u", seen / 7 * 5 + seen % 7);
		assert_string_equal(strtab_get(stacks->strings, stacks->frames[inner].function),
			name);
		assert_string_equal(strtab_get(stacks->strings, pause.facts[HOTSPOT_OPERATION]),
			name);
		assert_string_equal(strtab_get(stacks->strings, stacks->frames[inner].file),
			"main");
		assert_int_equal(stacks->frames[inner].line, seen % 7 + 1);
		assert_int_equal(outer, 1);
		assert_int_equal(pause.facts[HOTSPOT_LATE_STACK], 1);
		seen++;
	}
	assert_int_equal(seen, 49);
	for (uint32_t i = 0; i < 7; i++) {
		const struct stall *stall = &store_recording(reader)->stalls.items[i];
		char name[32];

		snprintf(name, sizeof(name), "step %u", i * 5 + 6);
		assert_string_equal(strtab_get(stacks->strings,
					    stacks->frames[stacks->nodes[stall->stack].frame]
						    .function),
			name);
		assert_string_equal(strtab_get(stacks->strings,
					    store_recording(reader)->phases.items[i].name),
			name);
	}
	store_reader_free(reader);
}

static void test_clock_is_noted_when_it_changes(void **state)
{
	struct recording recording = {.realtime_offset_ns = 500};

	for (uint64_t second = 1; second <= 86400; second++) /* an NTP client slews by 20 ppm */
		recording_note_offset(&recording, second * 1000000000,
			500 + (int64_t)second * 20000);
	assert_int_equal(recording.shifts.count, 86400 / 51);
	assert_int_equal(recording.shifts.items[0].time_ns, 51000000000);
	recording_note_offset(&recording, 86401000000000, INT64_MIN); /* of a hostile file */
	assert_int_equal(recording_offset(&recording, 86401000000000), INT64_MIN);
	assert_int_equal(recording_wall_ns(&recording, 86401000000000), UNKNOWN);
	recording_release(&recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_clock_shifts, each),
		cmocka_unit_test(test_clock_is_noted_when_it_changes),
		cmocka_unit_test_setup(test_emptied_stacks, each),
		cmocka_unit_test_setup(test_round_trip, each),
		cmocka_unit_test_setup(test_stacks_grow, each),
		cmocka_unit_test_setup(test_odd_path, each),
		cmocka_unit_test_setup(test_backward_pause, each),
		cmocka_unit_test_setup(test_killed, each),
		cmocka_unit_test_setup(test_killed_at_once, each),
		cmocka_unit_test_setup(test_being_recorded, each),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
