/* Figures of the summary against a plain sort of the same pauses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "summary.h"

#define PAUSES 10007

static int ascending(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return (one > other) - (one < other);
}

static uint64_t nearest_rank(uint64_t *sorted, size_t count, double q)
{
	size_t rank = 0;

	while ((double)rank < q * (double)count)
		rank++;
	return sorted[rank ? rank - 1 : 0];
}

static void add(struct summary *summary, uint64_t duration, int generation)
{
	struct pause pause = {
		.id = summary->count + 1,
		.start_ns = 1000,
		.end_ns = 1000 + duration,
		.runtime = 1 + duration % 3,
		.generation = generation,
		.cause = duration % 5,
		.collected = duration % 7 ? (int64_t)(duration % 100) : UNKNOWN,
		.uncollectable = UNKNOWN,
		.stack = duration % 13,
	};

	assert_int_equal(summary_add(summary, &pause), 0);
}

/* Every quantile of @durations, in all and per generation. */
static void check(const uint64_t *durations, size_t count)
{
	static const double quantiles[] = {0, 0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1};
	uint64_t *sorted = malloc(count * sizeof(*sorted));
	struct summary summary = {0};
	uint64_t total = 0;

	for (size_t i = 0; i < count; i++) {
		add(&summary, durations[i], (int)(i % 4) - 1);
		if (__builtin_add_overflow(total, durations[i], &total))
			total = UINT64_MAX; /* saturated, like the summary's */
	}
	assert_int_equal(summary.count, count);
	assert_int_equal(summary.total_ns, total);
	memcpy(sorted, durations, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), ascending);
	assert_int_equal(summary.max_ns, sorted[count - 1]);
	for (size_t q = 0; q < sizeof(quantiles) / sizeof(*quantiles); q++)
		assert_int_equal(summary_quantile_all(&summary, quantiles[q]),
			nearest_rank(sorted, count, quantiles[q]));
	for (int g = -1; g < 3; g++) {
		struct sums *class = &summary.generations[g < 0 ? 3 : g];
		size_t n = 0;

		for (size_t i = 0; i < count; i++)
			if ((int)(i % 4) - 1 == g)
				sorted[n++] = durations[i];
		assert_int_equal(class->count, n);
		qsort(sorted, n, sizeof(*sorted), ascending);
		for (size_t q = 0; n && q < sizeof(quantiles) / sizeof(*quantiles); q++)
			assert_int_equal(sums_quantile(class, quantiles[q]),
				nearest_rank(sorted, n, quantiles[q]));
	}
	free(sorted);
	summary_release(&summary);
}

static void test_quantiles(void **state)
{
	static uint64_t durations[PAUSES];
	static const unsigned shifts[] = {60, 52, 40, 34, 20, 2};

	for (size_t s = 0; s < sizeof(shifts) / sizeof(*shifts); s++) {
		for (uint64_t i = 0; i < PAUSES; i++)
			durations[i] = u64_mix(i + s) >> shifts[s] >> i % 11;
		check(durations, PAUSES);
	}
	for (uint64_t i = 0; i < PAUSES; i++)
		durations[i] = 4096; /* all equal, on a digit's boundary */
	check(durations, PAUSES);
	for (size_t count = 1; count < 13; count++)
		check((uint64_t[]){0, 5, 4295, 5, 4294967296, 1, 4095, 0, 7, 8, 9, 16777216},
			count);
}

static void test_nothing(void **state)
{
	struct summary summary = {0};

	assert_int_equal(summary_quantile_all(&summary, 0.5), 0);
	assert_int_equal(sums_quantile(&summary.generations[1], 0.99), 0);
	assert_int_equal(summary_of_runtime(&summary, 7).count, 0);
	summary_release(&summary);
	summary_release(NULL);
}

static void test_sums(void **state)
{
	struct summary summary = {0};
	uint64_t bars = 0, stacks = 0, causes = 0;

	for (uint64_t i = 0; i < PAUSES; i++)
		add(&summary, i, 0);
	for (int i = 0; i < SUMMARY_BUCKETS; i++)
		bars += summary.histogram[i];
	for (int i = 0; i < SUMMARY_CAUSES; i++)
		causes += summary.causes[i].count;
	for (size_t i = 0; i < summary.stacks.count; i++)
		stacks += summary.stacks.items[i].total_ns;
	assert_int_equal(bars, PAUSES);
	assert_int_equal(summary.histogram[0], 2); /* 0 and 1 ns */
	assert_int_equal(summary.histogram[13], PAUSES - 8192);
	assert_int_equal(causes, PAUSES);
	assert_int_equal(summary.stacks.count, 13);
	assert_int_equal(stacks, summary.total_ns);
	assert_int_equal(summary.runtimes.count, 3);
	assert_int_equal(summary_of_runtime(&summary, 2).count, 3336);
	assert_int_equal(summary_of_runtime(&summary, 9).count, 0);
	assert_int_equal(summary.yields[0].uncollectable, UNKNOWN);
	assert_true(summary.yields[0].collected > 0);
	assert_int_equal(summary.last_end_ns, 1000 + PAUSES - 1);
	summary_release(&summary);
}

static void test_worst(void **state)
{
	static const uint64_t durations[] = {5, 90, 3, 90, 17, 1, 200, 17, 8, 90, 4};
	struct summary summary = {0};

	for (size_t i = 0; i < sizeof(durations) / sizeof(*durations); i++)
		add(&summary, durations[i], 2);
	assert_int_equal(summary.worst_count, 5);
	assert_int_equal(summary.worst[0].id, 7);
	assert_int_equal(summary.worst[1].id, 2); /* the earlier among equals */
	assert_int_equal(summary.worst[2].id, 4);
	assert_int_equal(summary.worst[3].id, 10);
	assert_int_equal(summary.worst[4].id, 5);
	summary_release(&summary);
}

static void test_overflow(void **state)
{
	struct summary summary = {0};

	for (int i = 0; i < 3; i++)
		add(&summary, INT64_MAX - 1000, 1);
	assert_true(summary.total_ns == UINT64_MAX);
	assert_int_equal(summary_add_known(INT64_MAX, 1), INT64_MAX);
	assert_int_equal(summary_quantile_all(&summary, 0.99), INT64_MAX - 1000);
	summary_release(&summary);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_worst),
		cmocka_unit_test(test_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
