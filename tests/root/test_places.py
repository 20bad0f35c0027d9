"""Targets in other places: chroots, namespaces, files deleted from under them."""

import os
import shutil
import subprocess

import pytest

import conftest
import harness
from harness import Oracle, descendants, wait_until
from test_counts import check_clean, check_sums

PIVOT = (
    'mount --bind "$0" "$0" && mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && '
    'mkdir -p "$0/.old" && cd "$0" && pivot_root . .old && exec "$@"'
)


def roots():
    return [r for r in conftest.RUNTIMES if r.in_root]


def namespaced(bench, runtime, line):
    """Starts an oracle as pid 1 of a pid namespace; returns it with its pid out here."""
    bench.need_unshare()
    oracle = bench.keep(Oracle(line, env=runtime.environment))
    (outer,) = descendants(oracle.pid)
    assert oracle.ready["pid"] == 1
    return oracle, outer


def check_namespaced(bench, oracle, outer):
    tracer = bench.record(outer, "--stack-min", "0")
    books = oracle.ask("collect 23 11 7")
    assert oracle.quit() == 0
    tracer.finish()

    records = bench.report()
    check_clean(records)
    check_sums(records.of_pid(outer), books)
    process = records.process(outer)
    assert (process["pid"], process["ns_pid"]) == (outer, 1)
    assert records.pauses[0]["stack"][0]["function"] == "collect_all"


def test_pid_and_mount_namespace(bench, runtime):
    prefix = ["unshare", "-p", "-m", "--fork", "--kill-child", "--mount-proc"]
    line = prefix + runtime.start_line(bench.script(runtime))
    check_namespaced(bench, *namespaced(bench, runtime, line))


@conftest.each("contained", roots(), "CPython in a root of its own is here")
def test_container(bench, contained):
    """A root of its own by pivot_root, as container runtimes make it."""
    line = ["unshare", "-p", "-m", "--fork", "--kill-child", "sh", "-c", PIVOT, contained.root]
    line += [contained.exe, bench.script(contained)]
    check_namespaced(bench, *namespaced(bench, contained, line))


def copied(bench, runtime):
    """The runtime with the file that holds its code copied, so that a test may delete it."""
    folder = bench.scratch / "copy"
    folder.mkdir()
    copy = folder / os.path.basename(runtime.elf)
    shutil.copy(runtime.elf, copy)
    if runtime.linkage == "shared":
        return copy, [runtime.exe], {"LD_LIBRARY_PATH": str(folder)}
    return copy, [str(copy)], {}


def local():
    return [r for r in conftest.RUNTIMES if not r.in_root]


@pytest.mark.parametrize("how", ["deleted", "replaced"])
@conftest.each("owned", local(), "CPython outside a root of its own is here")
def test_file_gone(bench, owned, how):
    copy, start, env = copied(bench, owned)
    target = bench.keep(Oracle(start + [bench.script(owned)], env=env))
    if how == "deleted":
        copy.unlink()
    else:
        fresh = copy.with_suffix(".new")
        fresh.write_bytes(b"not the file that runs\n")
        os.replace(fresh, copy)
    tracer = bench.record(target)
    books = target.ask("collect 23 11 7")
    assert target.quit() == 0
    tracer.finish()

    records = bench.report()
    check_clean(records)
    check_sums(records.of_pid(target.pid), books)


def test_report_without_root(bench, some_runtime, tmp_path_factory):
    target = bench.oracle(some_runtime)
    tracer = bench.record(target)
    target.ask("collect 5 3 2")
    assert target.quit() == 0
    tracer.finish()
    wait_until(bench.file.exists, what="the recording")

    folder = bench.public_folder()
    shutil.copy(bench.file, folder / "run.gct")
    shutil.copy(os.environ["GCTRACE"], folder / "gctrace")
    os.chmod(folder / "run.gct", 0o444)
    os.chmod(folder, 0o555)
    for form in ("text", "json", "folded", "flamegraph"):
        done = subprocess.run(
            [folder / "gctrace", "report", folder / "run.gct", "-f", form],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            user=65534,
            group=65534,
            extra_groups=[],
            timeout=30,
        )
        assert done.returncode == 0, done.stderr.decode()
        assert len(done.stdout) > 100


def test_beside_another_session(bench, runtime):
    """A file that another session probes is read as it is, not with that session's breakpoints in it."""
    first, second = bench.oracle(runtime), bench.oracle(runtime)
    other = bench.tracer("record", "-p", first.pid, "-o", bench.scratch / "other.gct")
    tracer = bench.record(second)
    second.quit()
    tracer.finish()
    first.quit()
    other.finish()
    mine = bench.report().process(second.pid)
    theirs = harness.report(bench.scratch / "other.gct").process(first.pid)
    assert (mine["tier"], mine["probe"]) == (theirs["tier"], theirs["probe"])
