/*
 * Idle intervals and what is charged of them, against a table of every moment: timelines at random on a grid of 10 µs, and
 * the definitions of docs/gpu.md taken word by word. Then single rules by hand.
 */
#include "gpu_fixture.h"

#define UNIT   (10 * US)
#define LENGTH 701 /* units */
#define LEAST  (GPU_IDLE_NS / UNIT)
#define SEEDS  997

enum moment { NOTHING, BUSY, MISSING };

struct table {
	struct gpu_busy raw[64];
	size_t raw_count;
	struct gpu_pause pauses[16];
	size_t pause_count;
	struct gpu_span unknown[4];
	size_t unknown_count;
	uint64_t gap; /* units */
	enum moment moments[LENGTH];
	bool idle[LENGTH], dropped[LENGTH];
};

static uint64_t draw(struct stats_random *random, uint64_t from, uint64_t to)
{
	return from + stats_draw(random, to - from);
}

static void draw_table(struct stats_random *random, bool drops, struct table *ret)
{
	uint64_t at = draw(random, 0, 20);

	*ret = (struct table){.gap = draw(random, 1, 9)};
	while (at < LENGTH - 20 && ret->raw_count < ARRAY_SIZE(ret->raw)) {
		uint64_t launch = draw(random, at > 12 ? at - 12 : 0, at + 1);
		uint64_t end = at + draw(random, 1, 15);

		ret->raw[ret->raw_count++] = (struct gpu_busy){.start_ns = at * UNIT,
			.end_ns = end * UNIT,
			.launch_ns = launch * UNIT,
			.previous_ns = launch * UNIT - draw(random, 0, launch + 1) * UNIT,
			.tid = (uint32_t)draw(random, 1, 4)};
		at = draw(random, 0, 3) ? end + draw(random, 0, 25) : draw(random, at, end + 1);
	}
	at = draw(random, 0, 40);
	while (at < LENGTH && ret->pause_count < ARRAY_SIZE(ret->pauses)) {
		uint64_t length = draw(random, 1, 60);

		ret->pauses[ret->pause_count++] = (struct gpu_pause){at * UNIT,
			(at + length) * UNIT, draw(random, 0, 9) ? PROCESS : PROCESS + 1,
			(uint32_t)draw(random, 1, 4), draw(random, 0, 2)};
		at += draw(random, 0, 2) ? length + draw(random, 1, 60) : draw(random, 0, length);
	}
	for (int i = 0; drops && i < 3; i++) {
		uint64_t from = draw(random, 0, LENGTH - 40);

		ret->unknown[ret->unknown_count++] =
			(struct gpu_span){from * UNIT, (from + draw(random, 1, 30)) * UNIT};
	}
}

static void fill(struct table *table)
{
	for (size_t i = 0; i < table->unknown_count; i++)
		for (uint64_t t = table->unknown[i].start_ns / UNIT;
			t < table->unknown[i].end_ns / UNIT; t++)
			table->moments[t] = MISSING;
	/* Spans closer than an idle interval are one. */
	for (uint64_t t = 0, last = LENGTH; t < LENGTH; t++) {
		if (table->moments[t] != MISSING)
			continue;
		for (uint64_t u = last + 1; last < t && t - last - 1 < LEAST && u < t; u++)
			table->moments[u] = MISSING;
		last = t;
	}
	for (uint64_t t = 0; t < LENGTH; t++)
		table->dropped[t] = table->moments[t] == MISSING;
	for (size_t i = 0; i < table->raw_count; i++)
		for (uint64_t t = table->raw[i].start_ns / UNIT; t < table->raw[i].end_ns / UNIT;
			t++)
			table->moments[t] = BUSY;
}

/* What starts there: the earliest launched; of those the first to end; of those the thread with the lowest number. */
static const struct gpu_busy *starting(const struct table *table, uint64_t t)
{
	const struct gpu_busy *found = NULL;

	for (size_t i = 0; i < table->raw_count; i++) {
		const struct gpu_busy *raw = &table->raw[i];

		if (raw->start_ns != t * UNIT)
			continue;
		if (!found || raw->launch_ns - 1 < found->launch_ns - 1 ||
			(raw->launch_ns == found->launch_ns &&
				(raw->end_ns < found->end_ns ||
					(raw->end_ns == found->end_ns && raw->tid < found->tid))))
			found = raw;
	}
	return found;
}

struct answer {
	uint64_t hidden[16], exposed[16], recovery[16];
	bool seen[16];
	struct gpu_figures figures;
	uint64_t charged_to[LENGTH]; /* index of the first pause + 1, at the start of an interval */
};

static bool is_charged(const struct table *table, const struct gpu_pause *pause, uint64_t a,
	const struct gpu_busy *next)
{
	uint64_t g0 = pause->start_ns, g1 = pause->end_ns, launch = LENGTH * UNIT, gap = 0;

	if (next) {
		launch = next->launch_ns;
		gap = table->gap * UNIT;
	}
	if (pause->process != PROCESS || launch < a * UNIT)
		return false;
	if (!pause->stops_all && (!next || pause->tid != next->tid))
		return false;
	if (a * UNIT < g1)
		return g0 <= launch && launch <= g1 + gap;
	return launch <= g1 + gap && next && next->previous_ns && next->previous_ns < g1;
}

/* The idle interval [a, b) that @next ended. */
static void answer_idle(struct table *table, uint64_t a, uint64_t b, const struct gpu_busy *next,
	struct answer *ret)
{
	bool charged[16] = {};
	uint64_t first = 16, sum = 0;

	for (size_t i = table->pause_count; i--;) {
		charged[i] = is_charged(table, &table->pauses[i], a, next);
		if (charged[i])
			first = i;
	}
	for (uint64_t t = a; t < b; t++) {
		size_t owner = 16, over = 16;

		for (size_t i = 16; i--;) {
			if (!charged[i] || table->pauses[i].start_ns > t * UNIT)
				continue;
			if (table->pauses[i].end_ns > t * UNIT)
				owner = i;
			else if (over == 16 ||
				 table->pauses[i].end_ns >= table->pauses[over].end_ns)
				over = i;
		}
		if (owner < 16)
			ret->exposed[owner] += UNIT;
		else if (over < 16)
			ret->recovery[over] += UNIT;
		sum += owner < 16 || over < 16;
		table->idle[t] = true;
	}
	ret->charged_to[a] = first < 16 ? first + 1 : 0;
	ret->figures.idle_ns += (b - a) * UNIT;
	ret->figures.cause_ns[GPU_CAUSE_PAUSE] += sum * UNIT;
}

static void answer(struct table *table, struct answer *ret)
{
	struct gpu_figures *figures = &ret->figures;

	for (uint64_t t = 0, end; t < LENGTH; t = end) {
		const struct gpu_busy *next;
		bool last, host;

		for (end = t; end < LENGTH && table->moments[end] == table->moments[t];)
			end++;
		if (table->moments[t] == BUSY)
			figures->busy_ns += (end - t) * UNIT;
		if (table->moments[t] == MISSING)
			figures->unknown_ns += (end - t) * UNIT;
		if (table->moments[t] != NOTHING)
			continue;
		last = end == LENGTH;
		next = last || table->moments[end] == MISSING ? NULL : starting(table, end);
		host = last || (next && next->launch_ns && next->launch_ns >= t * UNIT);
		if (end - t < LEAST) {
			figures->busy_ns += (end - t) * UNIT;
			figures->gaps_ns += (end - t) * UNIT;
			figures->starved_ns += next && host ? (end - t) * UNIT : 0;
			continue;
		}
		if (host)
			answer_idle(table, t, end, next, ret);
		for (uint64_t u = t; u < end; u++)
			table->idle[u] = true;
		figures->idle_ns += host ? 0 : (end - t) * UNIT;
		figures->cause_ns[GPU_CAUSE_OTHER] += host ? 0 : (end - t) * UNIT;
	}
	figures->seen_ns = figures->busy_ns + figures->idle_ns;
	figures->cause_ns[GPU_CAUSE_HOST] = figures->idle_ns - figures->cause_ns[GPU_CAUSE_PAUSE] -
					    figures->cause_ns[GPU_CAUSE_OTHER];
	for (size_t i = 0; i < table->pause_count; i++) {
		uint64_t from = table->pauses[i].start_ns / UNIT,
			 to = table->pauses[i].end_ns / UNIT;
		uint64_t t = from;

		while (t < to && (t >= LENGTH || !table->idle[t]))
			t++;
		ret->hidden[i] = (t - from) * UNIT;
		ret->seen[i] = from < LENGTH && table->pauses[i].process == PROCESS;
		for (t = from; t < to + ret->recovery[i] / UNIT && t < LENGTH; t++)
			ret->seen[i] &= !table->dropped[t];
	}
}

static void make_timeline(const struct table *table, struct gpu_timeline *ret)
{
	struct gpu_device *device = gpu_device(ret, PROCESS, 3);

	device->until_ns = LENGTH * UNIT;
	for (size_t i = table->raw_count; i--;)
		*vec_add(&device->busy) = table->raw[i];
	for (size_t i = 0; i < table->unknown_count; i++)
		*vec_add(&device->unknown) = table->unknown[i];
	for (uint32_t tid = 1; tid < 4; tid++)
		gpu_launcher(ret, PROCESS, tid)->gap_ns = table->gap * UNIT;
	gpu_settle(ret);
}

static void check(const struct table *table, const struct answer *right,
	const struct gpu_timeline *timeline, const struct gpu_charges *got)
{
	const struct gpu_figures *figures = &got->devices.items[0];

	for (size_t i = 0; i < table->pause_count; i++) {
		const struct gpu_cost *cost = &got->pauses.items[i];

		if (!table->unknown_count)
			assert_int_equal(cost->known, right->seen[i]);
		if (!cost->known)
			continue;
		assert_true(right->seen[i]);
		assert_int_equal(cost->hidden_ns, right->hidden[i]);
		assert_int_equal(cost->exposed_ns, right->exposed[i]);
		assert_int_equal(cost->recovery_ns, right->recovery[i]);
		assert_in_range(cost->lost_ns, cost->lost_low_ns, cost->lost_high_ns);
		assert_true(cost->lost_high_ns <=
			    table->pauses[i].end_ns - table->pauses[i].start_ns);
	}
	for (size_t i = 0; i < got->idles.count; i++) {
		const struct gpu_idle *idle = &got->idles.items[i];

		assert_int_equal(idle->pause + 1, right->charged_to[idle->start_ns / UNIT]);
		assert_int_equal(idle->cause == GPU_CAUSE_PAUSE, idle->pause != GPU_NO_PAUSE);
	}
	assert_memory_equal(figures, &right->figures, sizeof(*figures));
	(void)timeline;
}

/* The table again, over any stretch of time. */
static void check_within(struct stats_random *random, const struct table *table,
	const struct gpu_timeline *timeline, const struct gpu_charges *got)
{
	uint64_t from = draw(random, 0, LENGTH), to = draw(random, from, LENGTH) + 1, idle = 0;
	bool known = true;
	struct gpu_share share = gpu_idle_within(timeline, got, 0, from * UNIT, to * UNIT);
	uint64_t charged = 0;

	for (uint64_t t = from; t < to; t++) {
		known &= !table->dropped[t];
		idle += table->idle[t];
	}
	for (size_t i = 0; i < got->idles.count; i++)
		for (uint64_t t = from * UNIT; t < to * UNIT; t += UNIT)
			charged += t < got->idles.items[i].end_ns &&
				   t + got->idles.items[i].pause_ns >= got->idles.items[i].end_ns;
	assert_int_equal(share.known, known);
	assert_int_equal(share.idle_ns, known ? idle * UNIT : 0);
	assert_int_equal(share.pause_ns, known ? charged * UNIT : 0);
}

static void run(uint64_t seed, bool drops)
{
	struct stats_random random = {seed};
	struct gpu_timeline timeline = {};
	struct gpu_charges got = {};
	struct answer right = {};
	struct table table;

	draw_table(&random, drops, &table);
	fill(&table);
	answer(&table, &right);
	make_timeline(&table, &timeline);
	assert_int_equal(gpu_charge(&timeline, table.pauses, table.pause_count, &got), 0);
	check(&table, &right, &timeline, &got);
	for (int i = 0; i < 7; i++)
		check_within(&random, &table, &timeline, &got);
	gpu_charges_release(&got);
	gpu_release(&timeline);
}

static void test_every_moment(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		run(seed, false);
}

static void test_every_moment_with_drops(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		run(seed, true);
}

static struct gpu_busy busy(uint64_t start_us, uint64_t end_us, uint64_t launch_us,
	uint64_t previous_us)
{
	return (struct gpu_busy){.start_ns = start_us * US,
		.end_ns = end_us * US,
		.launch_ns = launch_us * US,
		.previous_ns = previous_us * US,
		.tid = THREAD};
}

/* One device, two kernels: the second starts at 900 µs, the first ends at 200. */
static void two_kernels(struct gpu_timeline *timeline, uint64_t launch_us, uint64_t previous_us)
{
	struct gpu_device *device = gpu_device(timeline, PROCESS, 0);

	*vec_add(&device->busy) = busy(900, 1000, launch_us, previous_us);
	*vec_add(&device->busy) = busy(100, 200, 90, 50);
	gpu_launcher(timeline, PROCESS, THREAD)->gap_ns = 10 * US;
	gpu_settle(timeline);
}

static struct gpu_cost one_pause(uint64_t launch_us, uint64_t previous_us, uint64_t from_us,
	uint64_t to_us, bool stops_all, uint32_t tid)
{
	struct gpu_pause pause = {from_us * US, to_us * US, PROCESS, tid, stops_all};
	struct gpu_timeline timeline = {};
	struct gpu_charges got = {};
	struct gpu_cost cost;

	two_kernels(&timeline, launch_us, previous_us);
	assert_int_equal(gpu_charge(&timeline, &pause, 1, &got), 0);
	cost = got.pauses.items[0];
	assert_true(cost.known);
	gpu_charges_release(&got);
	gpu_release(&timeline);
	return cost;
}

static void test_hidden_exposed_recovery(void **state)
{
	struct gpu_cost cost = one_pause(890, 90, 150, 885, true, 1);

	assert_int_equal(cost.hidden_ns, 50 * US);
	assert_int_equal(cost.exposed_ns, 685 * US);
	assert_int_equal(cost.recovery_ns, 15 * US);
	assert_int_equal(cost.lost_ns, 700 * US);
	/* It was over before the device ran dry, and nothing was launched in between. */
	cost = one_pause(210, 90, 150, 199, true, 1);
	assert_int_equal(cost.recovery_ns, 0); /* C3: too long after it */
	cost = one_pause(205, 90, 150, 199, true, 1);
	assert_int_equal(cost.exposed_ns, 0);
	assert_int_equal(cost.recovery_ns, 700 * US);
	assert_int_equal(cost.hidden_ns, 49 * US);
	assert_int_equal(cost.lost_ns, 49 * US); /* never more than its length */
}

static void test_what_is_not_charged(void **state)
{
	struct gpu_cost cost = one_pause(199, 90, 150, 885, true, 1);

	/* C1: launched before the device had run dry. */
	assert_int_equal(cost.exposed_ns + cost.recovery_ns + cost.lost_ns, 0);
	/* C2: another thread's pause that stops no other; its own. */
	cost = one_pause(890, 90, 150, 885, false, THREAD + 1);
	assert_int_equal(cost.exposed_ns + cost.recovery_ns + cost.lost_ns, 0);
	cost = one_pause(890, 90, 150, 885, false, THREAD);
	assert_int_equal(cost.exposed_ns, 685 * US);
	/* C3: launched before the pause; long after it; something else was launched since. */
	cost = one_pause(250, 90, 300, 800, true, 1);
	assert_int_equal(cost.exposed_ns + cost.recovery_ns, 0);
	cost = one_pause(890, 90, 150, 870, true, 1);
	assert_int_equal(cost.exposed_ns + cost.recovery_ns, 0);
	assert_int_equal(cost.lost_ns,
		700 * US); /* without it that launch would have come earlier */
	cost = one_pause(205, 200, 150, 199, true, 1);
	assert_int_equal(cost.exposed_ns + cost.recovery_ns, 0);
}

/* What the device was not seen doing, or another process did, is not known, and not nothing. */
static void test_not_known(void **state)
{
	struct gpu_pause pauses[] = {
		{50 * US, 60 * US, PROCESS, THREAD, true}, /* before the first record */
		{150 * US, 885 * US, PROCESS + 1, THREAD, true},
		{1000 * US, 1100 * US, PROCESS, THREAD, true}, /* after the last */
	};
	struct gpu_timeline timeline = {};
	struct gpu_charges got = {};

	two_kernels(&timeline, 890, 90);
	assert_int_equal(gpu_charge(&timeline, pauses, ARRAY_SIZE(pauses), &got), 0);
	for (size_t i = 0; i < ARRAY_SIZE(pauses); i++) {
		assert_false(got.pauses.items[i].known);
		assert_int_equal(got.pauses.items[i].hidden_ns, 0);
	}
	gpu_charges_release(&got);
	timeline.devices.items[0].busy.count = 0;
	assert_int_equal(gpu_charge(&timeline, pauses, ARRAY_SIZE(pauses), &got), 0);
	assert_false(got.pauses.items[0].known);
	assert_int_equal(got.devices.items[0].seen_ns, 0);
	gpu_charges_release(&got);
	gpu_release(&timeline);
}

/* A clock that may be 20 µs off leaves that much open, within what a pause can cost. */
static void test_the_clock(void **state)
{
	struct gpu_pause pause = {150 * US, 885 * US, PROCESS, THREAD, true};
	struct gpu_timeline timeline = {.clock_error_ns = 40 * US};
	struct gpu_charges got = {};

	two_kernels(&timeline, 890, 90);
	assert_int_equal(gpu_charge(&timeline, &pause, 1, &got), 0);
	assert_int_equal(got.pauses.items[0].lost_low_ns, 660 * US);
	assert_int_equal(got.pauses.items[0].lost_ns, 700 * US);
	assert_int_equal(got.pauses.items[0].lost_high_ns, 735 * US);
	gpu_charges_release(&got);
	gpu_release(&timeline);
}

/* Of two devices the one that lost more counts. */
static void test_the_worse_device(void **state)
{
	struct gpu_pause pause = {150 * US, 885 * US, PROCESS, THREAD, true};
	struct gpu_timeline timeline = {};
	struct gpu_charges got = {};
	struct gpu_device *other;

	two_kernels(&timeline, 890, 90);
	other = gpu_device(&timeline, PROCESS, 1);
	*vec_add(&other->busy) = busy(100, 700, 90, 50);
	*vec_add(&other->busy) = busy(895, 1000, 887, 90);
	gpu_settle(&timeline);
	assert_int_equal(gpu_charge(&timeline, &pause, 1, &got), 0);
	assert_int_equal(got.pauses.items[0].device, 0);
	assert_int_equal(got.pauses.items[0].lost_ns, 700 * US);
	assert_int_equal(got.devices.items[1].cause_ns[GPU_CAUSE_PAUSE], 195 * US);
	gpu_charges_release(&got);
	gpu_release(&timeline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_moment),
		cmocka_unit_test(test_every_moment_with_drops),
		cmocka_unit_test(test_hidden_exposed_recovery),
		cmocka_unit_test(test_what_is_not_charged),
		cmocka_unit_test(test_not_known),
		cmocka_unit_test(test_the_clock),
		cmocka_unit_test(test_the_worse_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
