#!/usr/bin/env python3
"""What tracing costs on other kernels: instructions, counted by an emulated machine.

usage: kernels.py GCTRACE [ROW]...     rows of tests/kernels/table (6.1 6.12-oldest 6.12 6.18 7); GCTRACE is a portable one

Each kernel is booted with one CPU and a clock that advances by one nanosecond an instruction, so
that thread CPU time is a count of instructions, the same on every machine that emulates it. Seconds
these are not: a trap costs more of them than its instructions say. The kernels are those that
scripts/kernels has fetched.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import bench

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = ("6.1", "6.12-oldest", "6.12", "6.18", "7")
LIMIT_S = 300


def kernels(rows):
    """Name → folder of the kernels of these rows."""
    listed = subprocess.run([ROOT / "scripts/kernels", "--list", *rows], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    fields = [line.split("|") for line in listed.splitlines()]
    return {f[0]: f[2] for f in fields if f[2]}


def image():
    return subprocess.run([ROOT / "scripts/kernels", "--image"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()


def measure(gctrace, folder, disk):
    """What kernels_guest.py said on this kernel; Skip if it did not get so far."""
    with tempfile.TemporaryDirectory() as out:
        script = pathlib.Path(out, "script")
        script.write_text("exec /usr/bin/python3 /work/kernels_guest.py\n", encoding="ascii")
        subprocess.run(
            [ROOT / "tests/kernels/boot", folder, out + "/guest", script, gctrace,
             bench.HERE / "kernels_guest.py"],
            env=dict(os.environ, KERNELS_IMAGE=disk, KERNELS_COUNT="1",
                     KERNELS_LIMIT_S=str(LIMIT_S)), check=False)
        said = pathlib.Path(out, "guest/console.log").read_text(errors="replace")
    for line in said.splitlines():
        if line.startswith("{"):
            return json.loads(line)
    raise bench.Skip(bench.last_line(said))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    rows = []
    for name, folder in kernels(sys.argv[2:] or ROWS).items():
        try:
            found = measure(os.path.abspath(sys.argv[1]), folder, image())
        except bench.Skip as reason:
            print("%s: not measured: %s" % (name, reason))
            continue
        for way, cost in found.items():
            rows.append((os.path.basename(folder), way, "%.0f" % cost["untraced"],
                         "+%.0f" % cost["added"], "%.0f" % cost["bpf"],
                         "%.0f" % (cost["attach"] / 1e6), "%.1f" % (cost["rss_kib"] / 1024)))
    print(bench.versions(sys.argv[1]))
    bench.table(("kernel", "probed", "untraced", "added", "of BPF", "attach, millions", "RSS, MB"),
                rows)


if __name__ == "__main__":
    main()
