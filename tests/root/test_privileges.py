"""What privileges, sandboxes and the machine's settings leave of tracing: where something is
missing both record and doctor say what, and what helps; and where doctor says yes, record works.

What changes the whole machine is done only where GCTRACE_TEST_VM says that it is ours alone.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import pytest

import conftest
import harness
import jvm_check
import test_children
import test_hotspot_places
import test_signals
from harness import gctrace
from test_counts import check_clean, check_sums

OWN, OTHER = 61001, 61002
SECCOMP = pathlib.Path(__file__).with_name("seccomp.py")
PARANOID = pathlib.Path("/proc/sys/kernel/perf_event_paranoid")
LOCKDOWN = pathlib.Path("/sys/kernel/security/lockdown")
MASK_BTF = "mount -t tmpfs none /sys/kernel/btf"
WITHOUT_TRACEFS = (
    "for f in /sys/kernel/tracing /sys/kernel/debug/tracing /sys/kernel/debug; do"
    " umount -l $f 2>/dev/null; done; ! ls /sys/kernel/tracing/* 2>/dev/null"
)

machine_is_ours = pytest.mark.skipif(
    not os.environ.get("GCTRACE_TEST_VM"), reason="changes the whole machine: for a virtual one"
)


def user(uid, *capabilities):
    """The command that runs another as @uid with these capabilities alone."""
    sets = ",".join(["-all"] + ["+" + name for name in capabilities])
    ids = ["--reuid", str(uid), "--regid", str(uid), "--clear-groups"]
    return ["setpriv"] + ids + ["--inh-caps", sets, "--ambient-caps", sets]


def refusing(call):
    return [sys.executable, str(SECCOMP), call]


def in_mounts(commands):
    """Starts it in a mount namespace in which shell @commands were run."""
    return ["unshare", "-m", "sh", "-c", commands + ' && exec "$@"', "sh"]


class Place:
    """Where gctrace runs: a folder that any user may enter, and by which command it is started."""

    def __init__(self, bench, monkeypatch):
        self.bench, self.monkeypatch = bench, monkeypatch
        self.folder = bench.public_folder()
        self.folder.chmod(0o777)
        bench.scratch, bench.file = self.folder, self.folder / "run.gct"
        self.program = self.folder / "gctrace"
        shutil.copy(os.environ["GCTRACE"], self.program)

    def start_by(self, command, refuse=None):
        """From here on gctrace is what @command starts; with @refuse as without those features."""
        wrapper = self.folder / "start"
        line = " ".join(shlex.quote(str(word)) for word in command + [self.program])
        wrapper.write_text('#!/bin/sh\nexec %s "$@"\n' % line)
        wrapper.chmod(0o755)
        self.monkeypatch.setenv("GCTRACE", str(wrapper))
        if refuse:
            self.monkeypatch.setenv("GCTRACE_REFUSE", refuse)

    def doctor(self, *args):
        """The exit status, and its findings by question."""
        done = gctrace("doctor", "--json", *args)
        assert done.stderr == b"" or done.returncode == 3, done.stderr.decode()
        findings = [json.loads(line) for line in done.stdout.decode().splitlines()]
        assert (done.returncode == 3) == any(f["fatal"] for f in findings), findings
        for finding in findings:
            remedy = finding["remedy"] or ""
            assert "doctor" not in remedy and (remedy or finding["ok"]), finding
        return done.returncode, {f["question"]: f for f in findings}

    def check_exact(self, runtime, uid=OWN):
        """doctor says yes, and record misses none."""
        status, findings = self.doctor()
        assert status == 0, findings
        target = self.bench.oracle(runtime, prefix=user(uid) if uid else ())
        tracer = self.bench.record(target)
        books = target.ask("collect 23 11 7")
        assert target.quit() == 0
        tracer.finish()
        records = self.bench.report()
        check_clean(records)
        check_sums(records.of_pid(target.pid), books)

    def check_refused(self, *words):
        """doctor says no, record ends with status 3, and both say @words and no more than is so."""
        status, findings = self.doctor()
        assert status == 3, findings
        fatal = [f for f in findings.values() if f["fatal"]]
        target = self.bench.process(user(OWN) + ["/usr/bin/python3", "-c", "input()"])
        done = gctrace("record", "-p", target.pid, "-o", self.bench.file, "-d", "1s")
        said = done.stderr.decode()
        assert done.returncode == 3, said
        assert fatal[0]["answer"] in said and fatal[0]["remedy"] in said, (fatal, said)
        assert "doctor" not in said
        for word in words:
            assert re.search(word, said), said
        assert len(said.splitlines()) == 1, said


@pytest.fixture
def place(bench, monkeypatch):
    return Place(bench, monkeypatch)


@pytest.fixture(scope="module")
def has_multi():
    """Whether this kernel has uprobes that need no perf events, by doctor's word."""
    done = gctrace("doctor", "--json")
    rows = [json.loads(line) for line in done.stdout.decode().splitlines()]
    (way,) = [row["answer"] for row in rows if row["question"] == "functions probed by"]
    return way != "perf uprobes"


@pytest.fixture
def plain():
    """A CPython that any user may run, unmodified."""
    found = [r for r in conftest.PLAIN if r.base.startswith("system")]
    if not found:
        pytest.skip("the system's CPython is not of those asked for")
    return found[0]


@pytest.fixture
def shared():
    found = test_children.shared_runtimes()
    if not found:
        pytest.skip("no shared libpython here (pyenv builds one)")
    return found[-1]


def test_root(place, plain):
    place.check_exact(plain)


def test_own_process(place, plain, has_multi):
    place.start_by(user(OWN, "bpf", "perfmon"))
    if has_multi:
        place.check_exact(plain)
    else:
        place.check_refused("CAP_SYS_ADMIN", "perf_event_paranoid", "sudo")


@pytest.fixture
def modest(place, has_multi):
    """The command of a user whose gctrace has what suffices from 6.6 on, and no more."""
    if not has_multi:
        pytest.skip("perf uprobes want CAP_SYS_ADMIN")
    place.start_by(user(OWN, "bpf", "perfmon"))
    return user(OWN)


def test_own_steps(place, plain, modest):
    """Marks of steps in a library that comes later: the linker's hook, and the step's probe."""
    bench, library = place.bench, place.folder / "libsteps.so"
    test_signals.build_calls(library)
    subject = bench.keep(test_signals.Subject(modest + [plain.exe, test_signals.SUBJECT]))
    tracer = bench.record(subject, "--step", "libsteps:step_once", "--wait", "-v")
    subject.ask("load", "steps", str(library))
    tracer.attached("step_once", "libsteps.so")
    subject.ask("call", "steps", "once_many", 701)
    marks = test_signals.finish(bench, subject, tracer)
    assert marks.total("user:libsteps:step_once") == 701


@jvm_check.each("jdk", jvm_check.newest([r for r in jvm_check.PLAIN if r.feature == 17]))
def test_own_jvm(place, jdk, modest):
    bench = place.bench
    jvm = test_hotspot_places.train(bench, jdk, prefix=modest)
    watched = jvm_check.run(bench, jvm)
    check_clean(watched.records)
    jvm_check.check_exact(watched.pairs())


def test_own_process_by_perf(place, plain):
    """CAP_PERFMON gets no perf uprobe, CAP_SYS_ADMIN does."""
    place.start_by(user(OWN, "bpf", "perfmon"), refuse="session,multi")
    place.check_refused("CAP_SYS_ADMIN", "sudo")
    place.start_by(user(OWN, "bpf", "perfmon", "sys_admin"), refuse="session,multi")
    place.check_exact(plain)


@pytest.mark.parametrize("held, missing", [
    (["bpf"], ["CAP_PERFMON"]),
    (["perfmon"], ["CAP_BPF"]),
    ([], ["CAP_BPF", "CAP_PERFMON"]),
], ids=["bpf", "perfmon", "none"])  # fmt: skip
def test_missing_capability(place, held, missing):
    place.start_by(user(OWN, *held))
    place.check_refused("missing: %s, CAP_SYS_PTRACE" % ", ".join(missing), "sudo")


def test_root_without_capabilities(place):
    place.start_by(["setpriv", "--bounding-set", "-bpf,-sys_admin"])
    place.check_refused("missing: CAP_BPF", "--cap-add BPF", "on the host")


def test_root_of_a_user_namespace(place):
    tried = subprocess.run(["unshare", "-Ur", "true"], stderr=subprocess.PIPE)
    conftest.need("unshare", tried.returncode == 0, "user namespaces are refused here")
    place.start_by(["unshare", "-Ur"])
    place.check_refused("user namespace", "on the host", "sudo")


def test_process_of_another(place, plain, has_multi):
    """Newer kernels let CAP_PERFMON read who maps what; others want CAP_SYS_PTRACE, and say so."""
    held = ["bpf", "perfmon"] + ([] if has_multi else ["sys_admin"])
    place.start_by(user(OWN, *held))
    target = place.bench.oracle(plain, prefix=user(OTHER))
    done = gctrace("record", "-p", target.pid, "-o", place.bench.file, "-d", "1s")
    status, findings = place.doctor("-p", target.pid)
    assert "CAP_SYS_PTRACE" in findings["privileges"]["answer"]
    assert done.returncode == status
    if status:
        assert status == 3
        said = done.stderr.decode()
        assert str(target.pid) in said and re.search("CAP_SYS_PTRACE|sudo", said), said
    place.bench.file.unlink(missing_ok=True)
    place.start_by(user(OWN, "sys_ptrace", *held))
    place.check_exact(plain, OTHER)


def test_little_locked_memory(place, plain, has_multi):
    held = ["bpf", "perfmon"] + ([] if has_multi else ["sys_admin"])
    place.start_by(["prlimit", "--memlock=65536"] + user(OWN, *held))
    place.check_exact(plain)


@pytest.mark.parametrize("refuse", [None, "session,multi"], ids=["best", "perf"])
def test_bpf_filtered(place, refuse):
    place.start_by(refusing("bpf"), refuse)
    place.check_refused(r"bpf\(2\)", "seccomp", "seccomp=unconfined")


def test_perf_filtered(place, shared, has_multi):
    """A linker that could not be probed once made a shared CPython blind, and nobody said so."""
    place.start_by(refusing("perf_event_open"))
    if not has_multi:
        place.check_refused(r"perf_event_open\(2\)", "seccomp", "seccomp=unconfined")
        return
    place.check_exact(shared, uid=None)
    test_children.test_late_dlopen(place.bench)
    finding = place.doctor()[1]["perf events"]
    assert not finding["ok"] and not finding["fatal"] and "seccomp" in finding["remedy"]


def test_perf_filtered_without_other_uprobes(place):
    place.start_by(refusing("perf_event_open"), refuse="session,multi")
    place.check_refused(r"perf_event_open\(2\)", "seccomp", "seccomp=unconfined")


@pytest.mark.parametrize("refuse", [None, "session,multi"], ids=["best", "perf"])
def test_no_tracefs(place, plain, refuse):
    place.start_by(in_mounts(WITHOUT_TRACEFS), refuse)
    place.check_exact(plain)


def test_masked_btf(place):
    place.start_by(in_mounts(MASK_BTF))
    place.check_refused("/sys/kernel/btf/vmlinux", "CONFIG_DEBUG_INFO_BTF", "container")


def test_proc_of_another_namespace(place):
    place.bench.need_unshare()
    place.start_by(["unshare", "-pf", "--kill-child"])
    place.check_refused("/proc", "--mount-proc", "--pid=container")


@pytest.fixture
def paranoid():
    """Sets kernel.perf_event_paranoid, which gets its value back."""
    before = PARANOID.read_text()
    yield PARANOID.write_text
    PARANOID.write_text(before)


@machine_is_ours
@pytest.mark.parametrize("level", ["2", "3", "4"])
@pytest.mark.parametrize("refuse", [None, "session,multi"], ids=["best", "perf"])
def test_paranoid(place, plain, paranoid, has_multi, level, refuse):
    """It denies CAP_PERFMON only what it was always denied, or watchpoints, which few need."""
    paranoid(level)
    place.start_by(user(OWN, "bpf", "perfmon"), refuse)
    if refuse or not has_multi:
        place.check_refused("perf_event_paranoid is " + level, "CAP_SYS_ADMIN", "sudo")
    else:
        place.check_exact(plain)
        finding = place.doctor()[1]["perf events"]
        assert level in finding["answer"] and not finding["fatal"]
        if not finding["ok"]:
            assert "kernel.perf_event_paranoid=2" in finding["remedy"]
            paranoid("2")
            assert place.doctor()[1]["perf events"]["ok"]
            paranoid(level)
    place.bench.file.unlink(missing_ok=True)
    place.start_by(user(OWN, "bpf", "perfmon", "sys_admin"), refuse)
    place.check_exact(plain)


@machine_is_ours
@pytest.mark.skipif(not LOCKDOWN.exists(), reason="this kernel has no lockdown, or no securityfs")
def test_lockdown(place, plain):
    """Cannot be undone, so it is the last test of this file."""
    LOCKDOWN.write_text("integrity")
    place.check_exact(plain)
    place.bench.file.unlink()
    LOCKDOWN.write_text("confidentiality")
    place.check_refused("lockdown", "confidentiality", "lockdown=integrity")
    place.start_by(in_mounts("umount -l /sys/kernel/security"))
    place.check_refused("lockdown", "confidentiality", "lockdown=integrity")
