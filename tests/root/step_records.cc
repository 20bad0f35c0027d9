// PyTorch's functions that mark steps, by their signatures: names reach the tracer as std::string.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#define CALLED __attribute__((noinline, visibility("default")))

namespace torch::autograd
{

struct Edge {
	int function;
};

struct Engine {
	CALLED virtual std::vector<int> execute(const std::vector<Edge> &roots, bool keep);
	CALLED std::vector<int> execute_other(const std::vector<Edge> &roots) const;
	virtual ~Engine() = default;
};

std::vector<int> Engine::execute(const std::vector<Edge> &roots, bool keep)
{
	return std::vector<int>(roots.size() + keep);
}

std::vector<int> Engine::execute_other(const std::vector<Edge> &roots) const
{
	return std::vector<int>(roots.size());
}

namespace profiler
{

CALLED std::shared_ptr<int> record_function_enter_new(const std::string &name,
	const std::optional<std::string> &arguments = std::nullopt)
{
	return std::make_shared<int>((int)name.size() + (arguments ? 1 : 0));
}

} // namespace profiler
} // namespace torch::autograd

namespace at::_ops
{

struct mse_loss {
	CALLED static long call(const long &input, const long &target, long reduction);
};

long mse_loss::call(const long &input, const long &target, long reduction)
{
	return (input - target) * (input - target) + reduction;
}

} // namespace at::_ops

static volatile long work;

extern "C" CALLED void record_many(long calls, const char *bytes, size_t length)
{
	std::string name(bytes, length);

	while (calls--)
		work += *torch::autograd::profiler::record_function_enter_new(name);
}

extern "C" CALLED void backward_many(long calls)
{
	torch::autograd::Engine engine;

	while (calls--)
		work += (long)engine.execute({{1}, {2}}, true).size() +
			(long)engine.execute_other({{1}}).size();
}

extern "C" CALLED void loss_many(long calls)
{
	while (calls--)
		work += at::_ops::mse_loss::call(calls, 3, 1);
}

static void busy(long ns)
{
	auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(ns);

	while (std::chrono::steady_clock::now() < end)
		work++;
}

// Not a step: losses alone, each after @ns of work.
extern "C" CALLED void evaluate(long passes, long ns)
{
	while (passes--) {
		busy(ns);
		loss_many(1);
	}
}

extern "C" CALLED void train(long steps, long passes, long ns)
{
	while (steps--) {
		record_many(1, "Optimizer.zero_grad#Adam.zero_grad", 34);
		for (long i = 0; i < passes; i++) {
			evaluate(1, ns);
			backward_many(1);
		}
		record_many(1, "Optimizer.step#Adam.step", 24);
	}
}
