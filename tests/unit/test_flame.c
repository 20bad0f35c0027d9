/* Folded stacks and flame graphs: every nanosecond is in one box, every name is harmless. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "cleanup.h"
#include "flame_leaves.h"
#include "flame_tree.h"
#include "report.h"
#include "meaning.h"
#include "u64map.h"

/* A recording in memory: two processes, the second with two runtimes. */
struct fixture {
	struct recording recording;
	struct process processes[2];
	struct runtime runtimes[3];
	struct stack_table stacks;
	VEC(struct pause) pauses;
	size_t next;
	struct report_input input;
};

static int next_pause(void *source, struct pause *ret, struct err *err)
{
	struct fixture *f = source;

	(void)err;
	if (f->next == f->pauses.count)
		return 0;
	*ret = f->pauses.items[f->next++];
	meaning_judge(&f->recording, f->stacks.strings, ret);
	return 1;
}

static int rewind_pauses(void *source)
{
	((struct fixture *)source)->next = 0;
	return 0;
}

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){
		.processes = {{.id = 1, .pid = 1234, .ns_pid = 7, .comm = "python3"},
			{.id = 2, .pid = 1301, .ns_pid = 1301, .comm = "wor;ker"}},
		.runtimes = {{.id = 1, .process = 1, .kind = "cpython", .version = "3.11.2"},
			{.id = 2, .process = 2, .kind = "cpython", .version = "3.12.1"},
			{.id = 3, .process = 2, .kind = "cpython", .version = "3.9.18"}},
	};
	f.recording.complete = true;
	f.recording.processes.items = f.processes;
	f.recording.processes.count = 2;
	f.recording.runtimes.items = f.runtimes;
	f.recording.runtimes.count = 3;
	f.input = (struct report_input){
		&f.recording, &f.stacks, next_pause, rewind_pauses, &f, "run.gct"};
	*state = &f;
	return stack_table_init(&f.stacks);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	stack_table_release(&f->stacks);
	vec_free(&f->pauses);
	return 0;
}

static uint32_t call(struct fixture *f, uint32_t caller, const char *function, size_t len,
	const char *file, uint32_t line)
{
	struct frame frame = {
		.function = strtab_add(f->stacks.strings, function, len),
		.file = strtab_add(f->stacks.strings, file, strlen(file)),
		.line = line,
		.lang = LANG_PYTHON,
	};

	return stack_table_node(&f->stacks, caller, stack_table_frame(&f->stacks, &frame));
}

#define CALL(f, caller, name, line) call(f, caller, name, strlen(name), "/srv/train.py", line)

static void add(struct fixture *f, uint32_t runtime, uint32_t stack, int32_t generation,
	uint64_t ns)
{
	struct pause *pause = vec_add(&f->pauses);

	assert_non_null(pause);
	*pause = (struct pause){.id = f->pauses.count,
		.runtime = runtime,
		.stack = stack,
		.generation = generation,
		.cause = CAUSE_AUTOMATIC,
		.start_ns = 1000,
		.end_ns = 1000 + ns};
}

/* The report as a string; the caller frees. */
static char *write_report(struct fixture *f, const struct report_ops *ops)
{
	char *text = NULL;
	size_t len = 0;
	struct err err = {};
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_int_equal(ops->write(&f->input, out, &err), 0);
	fclose(out);
	return text;
}

static void test_folded_lines(void **state)
{
	struct fixture *f = *state;
	uint32_t main_call = CALL(f, STACK_NONE, "main", 3);
	_cleanup_free_ char *text = NULL;

	add(f, 1, CALL(f, main_call, "train;step", 41), 2, 23000000);
	add(f, 1, CALL(f, main_call, "train;step", 41), 2, 1000);
	add(f, 1, main_call, 0, 11000);
	add(f, 1, STACK_NONE, UNKNOWN, 7000);
	add(f, 3, main_call, 1, 5000);
	f->pauses.items[4].interpreter = 2;
	f->pauses.items[0].cause = CAUSE_MANUAL;
	text = write_report(f, &report_folded);
	assert_string_equal(text,
		"python3 (1234);main (train.py:3);train:step (train.py:41);[gen 2] 23001\n"
		"python3 (1234);main (train.py:3);[gen 0] 11\n"
		"python3 (1234);[no stack];[gen ?] 7\n"
		"wor:ker (1301) cpython 3.9.18 #3 interpreter 2;main (train.py:3);[gen 1] 5\n");
}

static void test_folded_weights_add_up(void **state)
{
	struct fixture *f = *state;
	_cleanup_free_ char *text = NULL;
	unsigned long long us, sum = 0;
	size_t lines = 0;

	for (uint32_t i = 0; i < 1009; i++)
		add(f, 1, CALL(f, STACK_NONE, "f", i + 1), 0, 333); /* each rounds to 0 µs alone */
	text = write_report(f, &report_folded);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++) {
		assert_int_equal(sscanf(strrchr(line, ' '), " %llu", &us), 1);
		sum += us;
	}
	assert_int_equal(lines, 1009);
	assert_int_equal(sum, 336); /* 1009 × 333 ns = 335.997 µs */
}

static void test_control_characters_stay_on_their_line(void **state)
{
	struct fixture *f = *state;
	_cleanup_free_ char *text = NULL;

	add(f, 1, call(f, 0, "a\nb\0c\xff\xe2\x80\xae", 9, "", 0), 0, 1000);
	text = write_report(f, &report_folded);
	assert_string_equal(text,
		"python3 (1234);a\\x0ab\\x00c\xef\xbf\xbd\xef\xbf\xbd;[gen 0] 1\n");
}

static const struct flame_box *find_box(const struct flame_tree *tree, uint32_t kind, uint32_t id)
{
	for (size_t i = 0; i < tree->boxes.count; i++)
		if (tree->boxes.items[i].kind == kind && tree->boxes.items[i].id == id)
			return &tree->boxes.items[i];
	return NULL;
}

/* What must hold of every tree: order, depths, and every box filled exactly by those upon it. */
static void check_tree(const struct flame_tree *tree, const struct flame_leaves *leaves)
{
	uint64_t *filled = test_calloc(tree->boxes.count, sizeof(*filled)), pauses = 0;

	for (size_t i = 0; i < tree->boxes.count; i++) {
		const struct flame_box *box = &tree->boxes.items[i];
		const struct flame_box *parent = &tree->boxes.items[box->parent];

		if (i) {
			assert_true(box->parent < i);
			assert_int_equal(box->depth, parent->depth + 1);
			assert_int_equal(box->start_ns, parent->start_ns + filled[box->parent]);
			assert_int_not_equal(parent->kind, FLAME_PAUSE);
			filled[box->parent] += box->ns;
		}
		assert_true(box->depth < tree->depth);
		if (box->kind == FLAME_PAUSE)
			pauses += box->pauses;
	}
	for (size_t i = 0; i < tree->boxes.count; i++)
		if (tree->boxes.items[i].kind != FLAME_PAUSE)
			assert_int_equal(filled[i], tree->boxes.items[i].ns);
	assert_int_equal(tree->boxes.items[0].ns, leaves->ns);
	assert_int_equal(pauses, leaves->pauses);
	test_free(filled);
}

static void build(struct fixture *f, const struct flame_limits *limits, struct flame_tree *tree,
	struct flame_leaves *leaves)
{
	struct err err = {};

	assert_int_equal(flame_leaves_collect(&f->input, true, leaves, &err), 0);
	assert_int_equal(flame_tree_build(leaves, &f->stacks, limits, tree, &err), 0);
	check_tree(tree, leaves);
}

static const struct flame_limits roomy = {.calls = 100000, .share = 1000000000, .depth = 512};

static void test_one_process_is_the_bottom(void **state)
{
	struct fixture *f = *state;
	uint32_t outer = CALL(f, STACK_NONE, "main", 3), inner = CALL(f, outer, "step", 41);
	struct flame_leaves leaves;
	struct flame_tree tree;

	add(f, 1, inner, 2, 700);
	add(f, 1, outer, 0, 300);
	build(f, &roomy, &tree, &leaves);
	assert_int_equal(tree.boxes.count, 5);
	assert_int_equal(tree.boxes.items[0].kind, FLAME_ORIGIN);
	assert_int_equal(find_box(&tree, FLAME_CALL, outer)->ns, 1000);
	assert_int_equal(find_box(&tree, FLAME_CALL, inner)->ns, 700);
	assert_int_equal(find_box(&tree, FLAME_PAUSE, 2 << 8 | CAUSE_AUTOMATIC)->depth, 3);
	assert_int_equal(find_box(&tree, FLAME_PAUSE, 0 << 8 | CAUSE_AUTOMATIC)->start_ns, 700);
	flame_tree_release(&tree);
	flame_leaves_release(&leaves);
}

static void test_narrow_frames_are_merged_not_lost(void **state)
{
	const struct flame_limits limits = {.calls = 1000, .share = 100, .depth = 512};
	struct fixture *f = *state;
	uint32_t outer = CALL(f, STACK_NONE, "main", 3);
	struct flame_leaves leaves;
	struct flame_tree tree;
	const struct flame_box *box;

	add(f, 1, CALL(f, outer, "wide", 1), 2, 100000);
	for (uint32_t i = 0; i < 23; i++)
		for (uint32_t k = 0; k < 3; k++) /* three callees each: below what is merged */
			add(f, 1, CALL(f, CALL(f, outer, "narrow", i), "below", k), (int)k, 100);
	build(f, &limits, &tree, &leaves);
	box = find_box(&tree, FLAME_NARROW, 23);
	assert_non_null(box);
	assert_int_equal(box->ns, 23 * 3 * 100);
	assert_int_equal(box->pauses, 69);
	assert_int_equal(tree.narrow, 23);
	assert_int_equal(tree.boxes.items[box->parent].id, outer);
	/* process, main, wide, its pause, the merged box and its three generations */
	assert_int_equal(tree.boxes.count, 8);
	flame_tree_release(&tree);
	flame_leaves_release(&leaves);
}

static void test_exactly_the_limit_is_wide_enough(void **state)
{
	const struct flame_limits limits = {.calls = 1000, .share = 100, .depth = 512};
	struct fixture *f = *state;
	uint32_t limit = CALL(f, STACK_NONE, "limit", 1), below = CALL(f, STACK_NONE, "below", 1);
	struct flame_leaves leaves;
	struct flame_tree tree;

	add(f, 1, CALL(f, STACK_NONE, "wide", 1), 0, 1000 - 10 - 9);
	add(f, 1, limit, 0, 10);
	add(f, 1, below, 0, 9);
	build(f, &limits, &tree, &leaves);
	assert_non_null(find_box(&tree, FLAME_CALL, limit));
	assert_null(find_box(&tree, FLAME_CALL, below));
	flame_tree_release(&tree);
	flame_leaves_release(&leaves);
}

static void test_the_widest_calls_are_kept(void **state)
{
	const struct flame_limits limits = {.calls = 11, .share = 1000000, .depth = 512};
	struct fixture *f = *state;
	struct flame_leaves leaves;
	struct flame_tree tree;
	size_t calls = 0;

	for (uint32_t i = 1; i <= 101; i++) {
		uint32_t node = STACK_NONE;

		for (uint32_t k = 0; k < 7; k++)
			node = CALL(f, node, "f", i * (k > 2 ? 1 : 0) + k);
		add(f, 1, node, 0, 1000);
	}
	build(f, &limits, &tree, &leaves);
	for (size_t i = 0; i < tree.boxes.count; i++)
		calls += tree.boxes.items[i].kind == FLAME_CALL;
	assert_int_equal(calls, 11); /* three common ones and eight of the equal ones above */
	assert_int_equal(tree.narrow, 101 - 8 + 8);
	flame_tree_release(&tree);
	flame_leaves_release(&leaves);
}

static void test_narrow_processes_and_deep_stacks(void **state)
{
	const struct flame_limits limits = {.calls = 1000, .share = 100, .depth = 13};
	struct fixture *f = *state;
	struct flame_leaves leaves;
	struct flame_tree tree;
	uint32_t node = STACK_NONE;

	for (uint32_t i = 0; i < 10007; i++)
		node = CALL(f, node, "recurse", i);
	add(f, 1, node, 1, 1000000);
	add(f, 2, node, 0, 30);
	add(f, 3, STACK_NONE, 0, 40);
	build(f, &limits, &tree, &leaves);
	assert_int_equal(tree.boxes.items[0].kind, FLAME_ALL);
	assert_int_equal(find_box(&tree, FLAME_NARROW, 2)->ns, 70);
	assert_int_equal(find_box(&tree, FLAME_DEEPER, 0)->ns, 1000000);
	assert_int_equal(tree.depth, 1 + 1 + 13 + 1 + 1);
	flame_tree_release(&tree);
	flame_leaves_release(&leaves);
}

/* Pause time of @origin at and above @node. */
static uint64_t recount(const struct fixture *f, const struct flame_origin *origin, uint32_t node)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < f->pauses.count; i++) {
		const struct pause *pause = &f->pauses.items[i];
		uint32_t n = pause->stack;

		while (n > node)
			n = f->stacks.nodes[n].parent;
		if (n == node && pause->runtime == origin->runtime)
			ns += pause_duration(pause);
	}
	return ns;
}

/* That @tree has a box for exactly those calls that weigh @least_ns or more, and counts the others. */
static void check_against_recount(const struct fixture *f, const struct flame_tree *tree,
	const struct flame_leaves *leaves, uint64_t least_ns)
{
	size_t boxes = 0, wide = 0, narrow = 0;

	for (size_t i = 0; i < tree->boxes.count; i++) {
		const struct flame_box *box = &tree->boxes.items[i], *origin = box;

		if (box->kind != FLAME_CALL)
			continue;
		while (origin->kind != FLAME_ORIGIN)
			origin = &tree->boxes.items[origin->parent];
		assert_int_equal(box->ns, recount(f, &leaves->origins.items[origin->id], box->id));
		boxes++;
	}
	for (size_t o = 0; o < leaves->origins.count; o++)
		for (uint32_t n = 1; n < f->stacks.node_count; n++) {
			const struct flame_origin *origin = &leaves->origins.items[o];
			uint32_t parent = f->stacks.nodes[n].parent;
			uint64_t ns = recount(f, origin, n);

			wide += ns >= least_ns;
			narrow += ns && ns < least_ns &&
				  (!parent || recount(f, origin, parent) >= least_ns);
		}
	assert_int_equal(boxes, wide);
	assert_int_equal(tree->narrow, narrow);
}

/* A random tree and random pauses, of which none is 0 ns long. */
static void add_random(struct fixture *f, uint32_t nodes, int pauses)
{
	uint64_t random = 42;

	for (uint32_t i = 1; i < nodes; i++)
		CALL(f, (uint32_t)(u64_mix(++random) % i), "f", i);
	for (int i = 0; i < pauses; i++) {
		random = u64_mix(random + 1);
		add(f, 1 + random % 3, (random >> 8) % nodes, (int)((random >> 40) % 4) - 1,
			1 + (random >> 44));
	}
}

static void test_agrees_with_a_recount(void **state)
{
	/* With many pauses by node the builder sweeps, with few it walks: both have to agree. */
	static const struct {
		uint32_t nodes, share;
		int pauses;
	} cases[] = {{503, 1000000000, 1009}, {503, 100, 1009}, {1009, 1000000000, 101},
		{1009, 50, 101}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct flame_limits limits = {100000, cases[i].share, 512};
		struct flame_leaves leaves;
		struct flame_tree tree;

		assert_int_equal(setup(state), 0);
		add_random(*state, cases[i].nodes, cases[i].pauses);
		build(*state, &limits, &tree, &leaves);
		check_against_recount(*state, &tree, &leaves, (leaves.ns - 1) / limits.share + 1);
		flame_tree_release(&tree);
		flame_leaves_release(&leaves);
		teardown(state);
	}
}

static size_t count_of(const char *text, const char *what)
{
	size_t found = 0;

	for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
		found++;
	return found;
}

static void test_names_cannot_leave_their_place(void **state)
{
	static char longest[65536];
	struct fixture *f = *state;
	_cleanup_free_ char *text = NULL;
	const char *names[] = {
		"<script>alert(1)</script>", "</title><x y=\"1\">", "a&b]]>", "\xff\x01"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		add(f, 1, CALL(f, 0, names[i], 1), 1, 1000000);
	memset(longest, 'x', sizeof(longest));
	add(f, 1, call(f, 0, longest, sizeof(longest), "<&>", 1), 1, 1000000);
	f->input.title = "<b>&\"";
	text = write_report(f, &report_flamegraph);
	assert_non_null(strstr(text, "&lt;script&gt;alert(1)&lt;/script&gt;"));
	assert_non_null(strstr(text, "&lt;b&gt;&amp;&quot;"));
	assert_non_null(strstr(text, "… [65296 bytes more]"));
	assert_null(strstr(text, "<script>alert"));
	assert_null(strstr(text, "<x y"));
	assert_null(strstr(text, "<b>"));
	assert_null(strstr(text, "a&b"));
	assert_null(strchr(text, '\x01'));
	assert_int_equal(count_of(text, "<script"), 1);
	assert_int_equal(count_of(text, "<title>"), count_of(text, "</title>"));
	assert_true(strlen(text) < 40000);
}

static void test_nothing_to_draw(void **state)
{
	struct fixture *f = *state;
	_cleanup_free_ char *none = write_report(f, &report_flamegraph), *zero = NULL,
			    *folded = NULL;

	assert_non_null(strstr(none, "No pauses: nothing to draw."));
	assert_non_null(strstr(none, "</svg>"));
	assert_null(strstr(none, "Incomplete"));
	folded = write_report(f, &report_folded);
	assert_string_equal(folded, "");
	add(f, 1, STACK_NONE, 0, 0);
	zero = write_report(f, &report_flamegraph);
	assert_non_null(strstr(zero, "The pauses took no measurable time"));
}

static void test_incomplete_is_said(void **state)
{
	struct fixture *f = *state;
	struct drop drop = {.cause = "ring-full", .count = 1009};
	_cleanup_free_ char *text = NULL;

	f->recording.drops.items = &drop;
	f->recording.drops.count = 1;
	f->recording.complete = false;
	add(f, 1, STACK_NONE, 0, 1000);
	text = write_report(f, &report_flamegraph);
	assert_non_null(strstr(text, "Incomplete, 1,009 events lost"));
}

static void test_damage_is_an_error(void **state)
{
	struct fixture *f = *state;
	uint32_t node = CALL(f, 0, "f", 1), inner = CALL(f, node, "g", 1);
	_cleanup_fclose_ FILE *out = fopen("/dev/null", "w");
	struct err err = {};

	add(f, 1, inner, 0, 1000);
	f->stacks.nodes[node].parent = inner;
	assert_int_equal(report_flamegraph.write(&f->input, out, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "damaged"));
	assert_int_equal(report_folded.write(&f->input, out, &err), -EBADMSG);
	f->stacks.nodes[node].parent = 0;
	f->pauses.items[0].stack = 23000; /* not in the table: drawn as no stack */
	assert_int_equal(report_flamegraph.write(&f->input, out, &err), 0);
	add(f, 1, 0, 0, INT64_MAX);
	assert_int_equal(report_flamegraph.write(&f->input, out, &err), -EBADMSG);
	f->pauses.items[1].start_ns = 2; /* ends before it starts: 0 ns long */
	f->pauses.items[1].end_ns = 1;
	assert_int_equal(report_flamegraph.write(&f->input, out, &err), 0);
}

static void test_a_full_disk_is_an_error(void **state)
{
	struct fixture *f = *state;
	_cleanup_fclose_ FILE *out = fopen("/dev/full", "w");
	struct err err = {};

	assert_non_null(out);
	add(f, 1, CALL(f, 0, "f", 1), 0, 1000);
	assert_int_equal(report_folded.write(&f->input, out, &err), -ENOSPC);
	assert_int_equal(report_flamegraph.write(&f->input, out, &err), -ENOSPC);
	assert_non_null(strstr(err.text, "No space left"));
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(test_folded_lines),
		EACH(test_folded_weights_add_up),
		EACH(test_control_characters_stay_on_their_line),
		EACH(test_one_process_is_the_bottom),
		EACH(test_narrow_frames_are_merged_not_lost),
		EACH(test_exactly_the_limit_is_wide_enough),
		EACH(test_the_widest_calls_are_kept),
		EACH(test_narrow_processes_and_deep_stacks),
		cmocka_unit_test(test_agrees_with_a_recount),
		EACH(test_names_cannot_leave_their_place),
		EACH(test_nothing_to_draw),
		EACH(test_incomplete_is_said),
		EACH(test_damage_is_an_error),
		EACH(test_a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
