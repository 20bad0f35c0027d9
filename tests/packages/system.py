"""A fresh system: a copy-on-write root over one that scripts/roots fetched, or an empty one, with /proc and /sys."""

import os
import shlex
import subprocess
from pathlib import Path

import harness
from test_counts import check_clean, check_sums

CACHE = Path(os.environ.get("GCTRACE_CACHE") or Path("~/.cache/gctrace").expanduser())
TIMEOUT_S = 80


def run(*argv, **options):
    """What a command prints; a failure shows it."""
    done = subprocess.run([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=TIMEOUT_S * harness.SLOWNESS, **options)  # fmt: skip
    text = done.stdout.decode()
    assert done.returncode == 0, "%s\n%s" % (argv, text)
    return text


class System:
    def __init__(self, bench, base):
        self.bench, self.root = bench, bench.scratch / "system"
        self.root.mkdir()
        lower = base or bench.scratch / "nothing"
        folders = [bench.scratch / name for name in ("upper", "work")]
        for folder in [lower] + folders:
            folder.mkdir(exist_ok=True)
        run("mount", "-t", "overlay", "overlay", "-o", "lowerdir=%s,upperdir=%s,workdir=%s" % (lower, *folders), self.root)
        bench.mounted.append(self.root)
        self.root.chmod(0o755)
        for name in ("proc", "sys"):
            (self.root / name).mkdir(exist_ok=True)
            run("mount", "-t", name + ("fs" if name == "sys" else ""), name, self.root / name)
        (self.root / "var/tmp").mkdir(parents=True, exist_ok=True)

    def run(self, *argv, **options):
        return run("chroot", self.root, *argv, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}, **options)

    def put(self, path):
        """A copy of a file: its path in here."""
        (self.root / "tmp").mkdir(exist_ok=True)
        (self.root / "tmp" / path.name).write_bytes(path.read_bytes())
        return "/tmp/" + path.name

    def files(self):
        """All that is there, less what moves by itself."""
        found = run("find", self.root, "-xdev", "!", "-type", "d", "-printf", "/%P\n").splitlines()
        passing = ("/tmp/", "/var/log/", "/var/cache/", "/var/lib/dpkg/", "/var/lib/rpm/", "/root/.cache/", "/etc/ld.so.cache")
        return {path for path in found if not path.startswith(passing)}

    def python(self):
        """Its CPython, for the harness."""
        exe, version = self.run("/usr/bin/python3", "-c", "import os, sys; print(os.path.realpath(sys.executable),"
                                " '%d.%d.%d' % sys.version_info[:3])").split()  # fmt: skip
        return harness.Runtime({"name": "python" + version, "base": "fresh", "kind": "cpython", "version": version,
                                "variant": "asis", "linkage": "static", "root": str(self.root), "exe": exe, "env": "-",
                                "elf": exe, "debug": "-"})  # fmt: skip

    def use(self, program, monkeypatch, prefix=()):
        """From here on gctrace is @program in here, and recordings are written in here."""
        wrapper = self.bench.scratch / "start"
        line = [*map(str, prefix)] or ["chroot", str(self.root)]
        wrapper.write_text('#!/bin/sh\nexec %s "$@"\n' % " ".join(map(shlex.quote, line + [program])))
        wrapper.chmod(0o755)
        monkeypatch.setenv("GCTRACE", str(wrapper))
        self.bench.file = "/var/tmp/run.gct"


def check_exact(bench, target):
    """`gctrace -p PID` on a program that collects: counts as CPython has them, and none where there are none."""
    live = bench.tracer("-p", target.pid, "-o", bench.file)
    books = target.ask("collect 23 11 7")
    quiet = target.ask("disabled 30011")
    assert quiet["collections"] == [0, 0, 0]
    assert target.quit() == 0
    live.finish()
    assert "41 pauses" in live.out.text(), live.out.text()
    records = bench.report()
    check_clean(records)
    check_sums(records.of_pid(target.pid), books)
    assert len(records.pauses) == 41
