"""Trains a perceptron with PyTorch on the first GPU; options in loop.py."""

import contextlib

import torch

import loop


class Torch:
    name = "PyTorch " + torch.__version__
    library = "libtorch_cpu.so"

    def __init__(self, args):
        self.device = "cpu" if args.cpu else "cuda"
        layers = []
        for _ in range(6):
            layers += [torch.nn.Linear(args.width, args.width), torch.nn.ReLU()]
        self.model = torch.nn.Sequential(*layers).to(self.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-6)
        self.data = torch.randn(args.width, args.width, device=self.device)
        self.one = torch.zeros(1, device=self.device)

    def step(self):
        self.optimizer.zero_grad()
        self.model(self.data).square().mean().backward()
        self.optimizer.step()

    def small(self):
        self.one.add_(1)

    def event(self):
        if self.device == "cpu":
            return None  # all is done when its call returns
        event = torch.cuda.Event(blocking=True)
        event.record()
        return event

    def wait(self, event):
        if event:
            event.synchronize()

    @contextlib.contextmanager
    def profile(self, path):
        kinds = [torch.profiler.ProfilerActivity.CPU]
        if self.device != "cpu":
            kinds.append(torch.profiler.ProfilerActivity.CUDA)
        with torch.profiler.profile(activities=kinds) as profiler:
            yield
        profiler.export_chrome_trace(path)


loop.main(Torch)
