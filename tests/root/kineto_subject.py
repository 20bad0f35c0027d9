"""Trains under PyTorch's profiler and writes its trace, with work of a GPU that is not there.

usage: kineto_subject.py TRACE STEPS; prints a JSON list of [before, after, number] on CLOCK_MONOTONIC, in ns: between which
times the call that launched kernel NUMBER was entered.

With Kineto the trace is what the profiler exports; without (Debian's build) its events are written as Kineto would, except
that nothing says from when their times count. A kernel begins 100 µs after the event that marks its launch, and takes 60.
"""
import json
import os
import sys
import time

import torch
from torch.autograd import profiler

LAUNCH = "launch"


def train(steps):
    model, data = torch.nn.Linear(64, 64), torch.randn(256, 64)
    optimizer = torch.optim.Adam(model.parameters())
    moments = []
    for step in range(steps):
        model(data).pow(2).sum().backward()
        time.sleep(step * 7919 % 11 / 10000)  # no two steps are alike
        if step % 3 == 0:
            before = time.monotonic_ns()
            with torch.autograd.profiler.record_function(LAUNCH):
                moments.append((before, time.monotonic_ns(), step))
        optimizer.step()
        optimizer.zero_grad()
    return moments


def exported(trained):
    trained.export_chrome_trace(sys.argv[1])
    with open(sys.argv[1], encoding="utf-8") as file:
        return json.load(file)


def written(trained):
    events = [{"ph": "X", "cat": "user_annotation", "name": event.name, "pid": os.getpid(), "tid": os.getpid(),
               "ts": event.time_range.start, "dur": event.time_range.end - event.time_range.start}
              for event in trained.function_events]
    return {"schemaVersion": 1, "traceEvents": events}


def add_work(trace):
    launches = sorted((e for e in trace["traceEvents"] if e.get("name") == LAUNCH), key=lambda e: e["ts"])
    for number, launch in enumerate(launches):
        args = {"device": 0, "stream": 7, "correlation": 1009 + number}
        trace["traceEvents"] += [
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": os.getpid(), "tid": os.getpid(),
             "ts": launch["ts"], "dur": 5, "args": {"correlation": 1009 + number}},
            {"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": launch["ts"] + 100, "dur": 60,
             "args": args}]


def main():
    kineto = profiler.kineto_available()
    with profiler.profile(use_kineto=kineto) as trained:
        moments = train(int(sys.argv[2]))
    trace = (exported if kineto else written)(trained)
    add_work(trace)
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(trace, file)
    print(json.dumps(moments))


main()
