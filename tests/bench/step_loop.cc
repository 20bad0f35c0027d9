// A loop of steps of a known length that calls what PyTorch calls, as often. Built as libtorch_cpu.so,
// whose functions are step signals, as libcuda.so.1, where one of them is a call that waits, and as libother.so, whose
// same functions are nothing; with -DMAIN as the program that runs the loop with two of them. Commands on stdin, an answer a line on stdout.
//
//   pairs N STEPS      N times STEPS steps with each of the two: [[other, torch], …], ns a step
//   calls NAME N       N calls of NAME (record, backward, loss, wait), ns a call: [other, torch]
#ifndef MAIN

#include <memory>
#include <optional>
#include <string>
#include <vector>

#define CALLED __attribute__((noinline, visibility("default")))

struct Tensor {
	long value;
};

namespace torch::autograd
{
struct Engine {
	CALLED std::vector<long> execute(const std::vector<Tensor> &roots, bool keep);
};

std::vector<long> Engine::execute(const std::vector<Tensor> &roots, bool keep)
{
	return {roots[0].value + keep};
}

namespace profiler
{
CALLED std::shared_ptr<long> record_function_enter_new(const std::string &name,
	const std::optional<std::string> &arguments = std::nullopt)
{
	return std::make_shared<long>((long)name.size() + arguments.has_value());
}
} // namespace profiler
} // namespace torch::autograd

namespace at::_ops
{
struct cross_entropy_loss {
	CALLED static Tensor call(const Tensor &input, const Tensor &target);
};

Tensor cross_entropy_loss::call(const Tensor &input, const Tensor &target)
{
	return {input.value + *std::make_shared<long>(target.value)};
}
} // namespace at::_ops

extern "C" CALLED long cuEventSynchronize(long value)
{
	return *std::make_shared<long>(value);
}

extern "C" CALLED long bench_call(int which)
{
	static const std::string name = "Optimizer.step#Adam.step";
	static const std::vector<Tensor> roots(3);
	static torch::autograd::Engine engine;

	if (which == 'r')
		return *torch::autograd::profiler::record_function_enter_new(name);
	if (which == 'b')
		return engine.execute(roots, true)[0];
	if (which == 'w')
		return cuEventSynchronize(which);
	return at::_ops::cross_entropy_loss::call(roots[0], roots[1]).value;
}

#else

#include <cstdio>
#include <ctime>
#include <dlfcn.h>

typedef long (*bench_fn)(int which);

static volatile long sink;
static long turns = 100000; // of the busy loop: a step

static double cpu_ns()
{
	timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double steps(bench_fn call, long count)
{
	static const char hits[] = "rbrr"; // next, backward, step, zero_grad
	double start = cpu_ns();

	for (long i = 0; i < count; i++)
		for (int hit = 0; hit < 4; hit++) {
			for (long turn = 0; turn < turns / 4; turn++)
				sink = sink + turn;
			sink = sink + call(hits[hit]);
		}
	return (cpu_ns() - start) / (double)count;
}

static double calls(bench_fn call, int which, long count)
{
	double start = cpu_ns();

	for (long i = 0; i < count; i++)
		sink = sink + call(which);
	return (cpu_ns() - start) / (double)count;
}

// Each is first in every other pair.
static void pairs(const bench_fn *both, long count, long length)
{
	double cost[2];

	for (long i = 0; i < count; i++) {
		for (int j = 0; j < 2; j++)
			cost[(i + j) % 2] = steps(both[(i + j) % 2], length);
		printf("%s[%f, %f]", i ? ", " : "[", cost[0], cost[1]);
	}
	puts("]");
}

int main(int argc, char **argv)
{
	char line[64], name[16];
	bench_fn both[2];
	long count, length;

	for (int i = 0; i < 2; i++) {
		void *library = argc == 3 ? dlopen(argv[1 + i], RTLD_NOW | RTLD_LOCAL) : nullptr;

		both[i] = library ? (bench_fn)dlsym(library, "bench_call") : nullptr;
		if (!both[i]) {
			fprintf(stderr, "usage: loop OTHER TORCH\n");
			return 2;
		}
	}
	turns = (long)((double)turns * 1e6 / steps(both[0], 100)); // a millisecond
	puts("\"ready\"");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "pairs %ld %ld", &count, &length) == 2)
			pairs(both, count, length);
		else if (sscanf(line, "calls %15s %ld", name, &count) == 2)
			printf("[%f, %f]\n", calls(both[0], *name, count),
				calls(both[1], *name, count));
		fflush(stdout);
	}
	return 0;
}

#endif
