/* Marks of connections → requests, and what of them is not told. */
#include "step_fixture.h"

#include "requests.h"

/* One after the other, on connection @number: c it begins, q a request, r a response. */
static void play_marks(struct scene *scene, int64_t number, const char *marks)
{
	for (; *marks; marks++) {
		const char *signal = *marks == 'c'   ? "http:connection"
				     : *marks == 'q' ? "http:request"
						     : "http:response";

		scene->now_ns += 1000;
		add_mark(scene, series_of(scene, signal, NULL, number), scene->now_ns, 0);
	}
}

static void test_connections(void **state)
{
	static const struct {
		const char *marks;
		uint64_t told, unanswered, untold;
	} connections[] = {
		{"cqrqrqr", 3, 0, 0},
		{"qrqr", 2, 0, 0},  /* it began before the probes */
		{"rqrqr", 2, 0, 0}, /* so did its first request */
		{"cq", 0, 1, 0},
		{"cqrq", 1, 1, 0},
		{"cqcqrqr", 2, 1, 0}, /* given up, and the descriptor is another connection's */
		{"cqqrr", 0, 0, 2},   /* one sent before the other was answered */
		{"cqrqqrrqr", 0, 0, 4},
		{"cqrr", 0, 0, 2},	  /* two that came together */
		{"cqrqrqqrcqr", 1, 0, 3}, /* what is like a request within a body */
		{"cr", 0, 0, 1},	  /* an answer to what was no request */
		{"c", 0, 0, 0},
		{"", 0, 0, 0},
	};

	for (size_t i = 0; i < sizeof(connections) / sizeof(*connections); i++) {
		struct scene *scene = set_up();
		const struct request_rest *rest;
		struct requests got;

		play_marks(scene, 11, "cqrqr"); /* another one, before it and beside it */
		play_marks(scene, 7, connections[i].marks);
		play_marks(scene, 11, "qr");
		assert_int_equal(requests_find(&scene->recording, &scene->marks, &got), 0);
		assert_int_equal(got.items.count, 3 + connections[i].told);
		for (size_t j = 0; j < got.items.count; j++)
			assert_int_equal(got.items.items[j].end_ns - got.items.items[j].start_ns,
				1000);
		rest = requests_rest(&got, 1);
		assert_int_equal(rest ? rest->unanswered : 0, connections[i].unanswered);
		assert_int_equal(rest ? rest->untold : 0, connections[i].untold);
		requests_release(&got);
		tear_down(scene);
	}
}

static void test_what_cannot_be_read(void **state)
{
	struct scene *scene = set_up();
	const struct request_rest *rest;
	struct requests got;

	play_marks(scene, UNKNOWN, "cqrcqr"); /* connections beyond those that are told apart */
	add_mark(scene, series_of(scene, "http:untold", NULL, 2), scene->now_ns, 0);
	assert_int_equal(requests_find(&scene->recording, &scene->marks, &got), 0);
	assert_int_equal(got.items.count, 0);
	rest = requests_rest(&got, 1);
	assert_non_null(rest);
	assert_int_equal(rest->untold, 2);
	assert_true(rest->http2 && !rest->encrypted);
	requests_release(&got);
	tear_down(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_connections),
		cmocka_unit_test(test_what_cannot_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
