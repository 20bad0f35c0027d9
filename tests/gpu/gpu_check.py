"""scripts/gpu-check: what gctrace says of a GPU, held against everything else that knows of it. See --help."""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import checks
import machine
import programs

SOURCE = Path(__file__).resolve().parents[2]
KEPT, MISSED, CANNOT = 0, 1, 4
WORDS = {True: "as it should be", False: "missed", None: "cannot be judged"}
BLOCKS = 4  # pairs of them for each pair of runs: they are short
HELP = """Runs PyTorch and JAX/Equinox training on an NVIDIA GPU under gctrace and checks what it says:

  overhead      wall time beside a dormant shim and traced, against none: medians of pairs
  busy, reading when the device worked: by the shim, by PyTorch's profiler, and by a reading of its file
  utilisation   the busy share, against NVML's
  cost          what collections cost, with a queue of 0 to 8 steps, against blocks of the same loop without them (3 points)
  spike         a training whose own collections make slow steps, with the device's idle time: page and pictures

A report goes into the folder: report.md, results.json, each recording with its pages. Needs root.
Exit status: 0 all as it should be, 1 some check missed, 4 nothing could be checked here, or not all of it judged, and why."""


def options():
    parser = argparse.ArgumentParser(prog="gpu-check", description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=Path("gpu-check-out"), help="folder (gpu-check-out)")
    parser.add_argument("--gctrace", type=Path, default=SOURCE / "build" / "gctrace", help="the binary (build/gctrace); one that was "
                        "built elsewhere will do, with cupti/libgctrace_cupti.so beside it")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has the frameworks")
    parser.add_argument("--only", help="checks, separated by commas (all): busy includes reading")
    parser.add_argument("--steps", type=int, default=1000, help="of a run (1000)")
    parser.add_argument("--pairs", type=int, default=7, help="of runs that are compared (7)")
    parser.add_argument("--depth", type=int, default=8, help="the longest queue (8)")
    parser.add_argument("--mock", action="store_true", help="on the mock of CUDA of tests/cupti: tries this program, not gctrace")
    return parser.parse_args()


def make_able(args):
    """The shim's path. What stands in the way of tracing is said now."""
    shim = args.gctrace.resolve().parent / "cupti" / "libgctrace_cupti.so"
    if not os.access(args.gctrace, os.X_OK):
        raise machine.Cannot("%s is not there: build gctrace, or name one with --gctrace" % args.gctrace)
    if not shim.exists():
        raise machine.Cannot("%s is not there: run scripts/cuda and build again" % shim)
    try:
        programs.run([args.gctrace, "run", "-o", args.output / "try.gct", "--", sys.executable, "-c", "pass"], None, args.output / "try.err")
    except programs.Failed as error:
        raise machine.Cannot("gctrace cannot trace here: %s" % error) from error
    return shim


def git(*args):
    done = subprocess.run(["git", "-C", str(SOURCE), *args], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def about(args, here):
    """What a figure of this run has to be given with."""
    version = programs.run([args.gctrace, "--version"], None, args.output / "try.err").strip()
    commit = git("rev-parse", "--short", "HEAD") + (" and changes" if git("status", "--porcelain", "-uno") else "")
    return {"date": time.strftime("%Y-%m-%d %H:%M"), "gctrace": version, "commit": commit, "python": platform.python_version(),
            **here.describe()}


def spike_of(framework, args):
    """Of JAX: the Equinox training of tests/workloads, as it is."""
    if framework.name != "jax":
        return checks.spike(framework, None)
    return checks.spike(framework, [args.python, SOURCE / "tests" / "workloads" / "equinox_train.py"])


def plan(framework, here, args):
    """(name, call) of each check that this framework can have."""
    yield "overhead", lambda: [checks.overhead(framework, args.steps, args.pairs, 0),
                               checks.overhead(framework, args.steps, args.pairs, 400)]
    if framework.profiler:
        yield "busy", lambda: checks.busy_idle(framework, args.steps, max(1, args.pairs // 2))
    yield "utilisation", lambda: [checks.utilisation(framework, here, 3 * args.steps)]
    yield "cost", lambda: [checks.depths(framework, BLOCKS * args.pairs, args.depth)]
    yield "spike", lambda: [spike_of(framework, args)]


def run_checks(frameworks, here, args):
    only = args.only.split(",") if args.only else None
    results = []
    for framework in frameworks:
        for name, call in plan(framework, here, args):
            if only and name not in only:
                continue
            print("%s: %s …" % (framework.name, name), file=sys.stderr, flush=True)
            try:
                results += call()
            except programs.Failed as error:
                results.append(checks.Result(name, framework.name, False, str(error)))
    return results


def table(result):
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in [result.columns] + result.rows]
    return "\n".join(lines[:1] + ["|" + "---|" * len(result.columns)] + lines[1:]) if result.rows else ""


def write(args, facts, results, lacking):
    text = ["# gctrace on a GPU", "", "%s; driver %s; %s; kernel %s; gctrace %s at %s; %s." % (
        facts["gpu"], facts["driver"], facts["processor"], facts["kernel"], facts["gctrace"].split()[-1], facts["commit"], facts["date"])]
    if args.mock:
        text += ["", "**No GPU was here: driver, CUPTI and nvidia-smi are mocks, and the device is a clock.** "
                 "What follows says that this program works, and nothing of any GPU."]
    text += ["", *("- " + sentence for sentence in lacking)]
    for result in results:
        text += ["", "## %s, %s: %s" % (result.check, result.framework, WORDS[result.ok]), "",
                 result.sentence, "", table(result)]
    (args.output / "report.md").write_text("\n".join(text).rstrip() + "\n", encoding="utf-8")
    told = {"about": facts, "mock": args.mock, "lacking": lacking, "results": [asdict(result) for result in results]}
    (args.output / "results.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def check(args):
    here = machine.mocked() if args.mock else machine.real()
    args.output.mkdir(parents=True, exist_ok=True)
    shim = make_able(args)
    if args.mock:
        frameworks, lacking = [programs.mocked(args.gctrace, shim, args.output)], []
    else:
        frameworks, lacking = programs.real(args.python, args.gctrace, shim, args.output)
    if not frameworks:
        raise machine.Cannot("%s has neither PyTorch nor JAX with Equinox for its GPU: %s" % (args.python, "; ".join(lacking)))
    results = run_checks(frameworks, here, args)
    write(args, about(args, here), results, lacking)
    for result in results:
        print("%-6s %s, %s: %s" % ({True: "ok", False: "MISSED", None: "?"}[result.ok], result.check, result.framework, result.sentence))
    print("%s" % (args.output / "report.md"))
    return status_of([result.ok for result in results])


def status_of(verdicts):
    if not verdicts or False in verdicts:
        return MISSED
    return CANNOT if None in verdicts else KEPT


def main():
    args = options()
    args.gctrace, args.output = args.gctrace.resolve(), args.output.resolve()
    try:
        return check(args)
    except machine.Cannot as why:
        print("gpu-check: %s" % why, file=sys.stderr)
        return CANNOT


if __name__ == "__main__":
    sys.exit(main())
