"""Under sudo, gctrace makes files with the caller's rights, and nobody gets root's."""

import contextlib
import os
import pathlib
import stat
import subprocess

import pytest

import harness
from harness import gctrace

NOBODY = 65534
STRANGER = 61013  # has no passwd entry
PYTHON = "/usr/bin/python3"
COLLECT = "import gc\ngc.collect()\nopen('groups', 'w').write(open('/proc/self/status').read())\n"


def sudo(uid):
    return {"SUDO_UID": str(uid), "SUDO_GID": str(uid)}


def called_by(uid, *args, **options):
    return gctrace(*args, env=dict(os.environ, **sudo(uid)), **options)


@pytest.fixture
def place(bench):
    """A folder owned by nobody that everybody may enter."""
    folder = bench.public_folder()
    os.chown(folder, NOBODY, NOBODY)
    (folder / "work.py").write_text(COLLECT)
    return folder


@pytest.fixture
def recording(place):
    """Made as nobody, and readable by all."""
    done = called_by(NOBODY, "run", "-o", place / "made.gct", "--", PYTHON, "work.py", cwd=place)
    assert done.returncode == 0, done.stderr.decode()
    (place / "made.gct").chmod(0o644)
    return place / "made.gct"


@pytest.fixture
def precious(bench):
    """A file of root's in a folder that only root may enter, and one in a public folder."""
    files = [bench.scratch / "precious", bench.public_folder() / "precious"]
    for file in files:
        file.write_text("precious")
        file.chmod(0o600)
    yield files
    for file in files:
        assert file.read_text() == "precious"
        info = file.stat()
        assert (info.st_uid, stat.S_IMODE(info.st_mode)) == (0, 0o600)


@pytest.mark.parametrize("uid", [NOBODY, STRANGER])
def test_groups(bench, uid):
    """Even a uid without a passwd entry keeps none of root's groups."""
    folder = bench.public_folder()
    folder.chmod(0o777)
    (folder / "work.py").write_text(COLLECT)
    line = [os.environ["GCTRACE"], "run", "-o", folder / "run.gct", "--", PYTHON, "work.py"]
    done = subprocess.run(
        ["setpriv", "--groups", "0,6,42"] + line,  # disk, shadow
        cwd=folder,
        env=dict(os.environ, **sudo(uid)),
        stderr=subprocess.PIPE,
    )
    assert done.returncode == 0, done.stderr.decode()
    status = dict(l.split(":", 1) for l in (folder / "groups").read_text().splitlines())
    assert status["Groups"].split() in ([], [str(uid)])
    assert set(status["Uid"].split()) == set(status["Gid"].split()) == {str(uid)}
    info = (folder / "run.gct").stat()
    assert (info.st_uid, info.st_gid) == (uid, uid)


GETENT = """#!/bin/sh
case "$*" in
"passwd 61013") echo "far:x:61013:61013:Ada:/home/far:/bin/sh" ;;
"initgroups far") echo "far                   61013 5003 7001" ;;
*) exit 2 ;;
esac
"""


def test_a_user_who_is_not_in_passwd(bench):
    """One of LDAP's, say: getent knows them, and is no process of the workload's."""
    bench.need_unshare()
    folder = bench.public_folder()
    folder.chmod(0o777)
    (folder / "getent").write_text(GETENT)
    (folder / "getent").chmod(0o755)
    (folder / "work.py").write_text(COLLECT + "import os\nopen('home', 'w').write(os.environ['HOME'])\n")
    inside = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /usr/bin/getent && exec "$@"', folder / "getent"]
    line = [os.environ["GCTRACE"], "run", "-o", folder / "run.gct", "--", PYTHON, "work.py"]
    done = subprocess.run(inside + line, cwd=folder, env=dict(os.environ, **sudo(STRANGER)), stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr.decode()
    status = dict(l.split(":", 1) for l in (folder / "groups").read_text().splitlines())
    assert set(status["Groups"].split()) == {"5003", "7001", "61013"}
    assert (folder / "home").read_text() == "/home/far"
    assert [process["comm"] for process in harness.report(folder / "run.gct").processes] == ["python3"]


def test_no_tracer_is_left_with_its_callers_rights(bench, place):
    """The caller's rights are dropped again after making files: probes come and go with root's."""
    target = bench.process([PYTHON, "-c", "input()"])
    tracer = bench.tracer("record", "-p", target.pid, "-o", place / "run.gct", env=sudo(NOBODY))
    status = pathlib.Path("/proc/%d/status" % tracer.pid).read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines())
    assert set(fields["Uid"].split()) == set(fields["Gid"].split()) == {"0"}
    target.send("")
    tracer.finish()


@pytest.mark.parametrize("what", ["-o", "--junit", "report"])
@pytest.mark.parametrize("trap", ["link", "folder", "link to a folder"])
def test_traps(bench, place, recording, precious, what, trap):
    """A path that a workload's user has redirected leads nowhere that this user could not write."""
    hidden, seen = precious
    if trap == "link":
        path = place / "out"
        path.symlink_to(seen)
    elif trap == "folder":
        path = hidden.parent / "out"
    else:
        (place / "bent").symlink_to(hidden.parent)
        path = place / "bent" / "out"
    words = {
        "-o": ["run", "-o", path, "--", PYTHON, "work.py"],
        "--junit": ["check", recording, "--budget", "pause.max<1h", "--junit", path],
        "report": ["report", recording, "-f", "html", "-o", path],
    }[what]
    before = sorted(os.listdir(hidden.parent))
    done = called_by(NOBODY, *words, cwd=place)
    assert done.returncode == 1, done.stderr.decode()
    assert str(path) in done.stderr.decode()
    assert "link" in done.stderr.decode() or "uid 65534, who called sudo" in done.stderr.decode()
    assert sorted(os.listdir(hidden.parent)) == before


@pytest.mark.parametrize("words", [
    ["report", "made.gct", "-f", "html", "-o", "out"],
    ["check", "made.gct", "--budget", "pause.max<1h", "--junit", "out"],
    ["run", "-o", "out", "--", PYTHON, "work.py"],
], ids=lambda words: words[0])  # fmt: skip
def test_owner(place, recording, words):
    done = called_by(NOBODY, *words, cwd=place)
    assert done.returncode == 0, done.stderr.decode()
    assert (place / "out").stat().st_uid == NOBODY
    assert {p.stat().st_uid for p in place.iterdir() if p.name != "work.py"} == {NOBODY}


def test_a_link_is_not_followed_by_root_either(bench, recording, precious):
    """Without sudo too: a link in somebody else's folder is theirs."""
    for path in precious:
        link = bench.scratch / ("to-" + path.parent.name)
        link.symlink_to(path)
        for words in (["report", recording, "-o", link], ["record", "-p", os.getpid(), "-o", link]):
            done = gctrace(*words)
            assert done.returncode == 1 and b"symbolic link" in done.stderr


def test_owner_while_it_is_written(bench, place):
    """The WAL, which SQLite makes, exists before the first pause and belongs to the caller."""
    target = bench.process([PYTHON, "-c", "import gc\ngc.collect()\ninput()"])
    tracer = bench.tracer("record", "-p", target.pid, "-o", place / "run.gct", env=sudo(NOBODY))
    found = {p.name: (p.stat().st_uid, stat.S_IMODE(p.stat().st_mode)) for p in place.glob("run*")}
    assert found == {"run.gct": (NOBODY, 0o600), "run.gct-wal": (NOBODY, 0o600)}
    target.send("")
    tracer.finish()


@pytest.mark.parametrize("umask, mode", [(0o000, 0o600), (0o022, 0o600), (0o277, 0o400)])
def test_recordings_are_private(bench, umask, mode):
    file = bench.scratch / "run.gct"
    script = "import gc\ngc.collect()\ninput()"
    tracer = bench.tracer("run", "-o", file, "--", PYTHON, "-c", script, umask=umask, ready=False)
    tracer.wait_ready()
    wal = pathlib.Path(str(file) + "-wal")
    harness.wait_until(wal.exists, what="the WAL")
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in bench.scratch.iterdir()}
    assert modes == {"run.gct": mode, "run.gct-wal": mode}
    tracer.send("")
    tracer.finish()
    assert stat.S_IMODE(file.stat().st_mode) == mode
    assert gctrace("report", file).returncode == 0


SECRETS = ["--token=hx_4711", "--password", "hx_4712", "WANDB_API_KEY=hx_4713", "ftp://a:hx_4714@h"]


def test_secrets(bench, some_runtime):
    """Secrets in a workload's arguments are not shown to whoever gets the recording."""
    script = bench.scratch / "work.py"
    script.write_text("import gc\ngc.collect()\n")
    line = [some_runtime.exe, script] + SECRETS + ["--lr", "0.25"]
    done = gctrace("run", "-o", bench.file, "--stack-min", "0", "--", *line)
    assert done.returncode == 0, done.stderr.decode()
    assert b"hx_47" not in bench.file.read_bytes()
    records = bench.report()
    assert records.processes[0]["cmdline"][2:] == [
        "--token=***", "--password", "***", "WANDB_API_KEY=***", "ftp://a:***@h", "--lr", "0.25",
    ]  # fmt: skip


def names_in(folder):
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("end", ["quit", "interrupt", "kill"])
@pytest.mark.parametrize("uid", [0, NOBODY])
def test_temporary_recording(bench, some_runtime, end, uid):
    """It has no name in any folder: nobody can open it, and nothing is left even after SIGKILL."""
    temporary = bench.public_folder()
    temporary.chmod(0o1777)
    env = dict(sudo(uid) if uid else {}, TMPDIR=str(temporary))
    target = bench.oracle(some_runtime)
    tracer = bench.tracer("-p", target.pid, env=env)
    assert names_in(temporary) == []
    opened = []
    for fd in pathlib.Path("/proc/%d/fd" % tracer.pid).iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            if os.readlink(str(fd)).startswith(str(temporary)):
                opened.append(fd.stat())
    assert opened and {(s.st_nlink, stat.S_IMODE(s.st_mode), s.st_uid) for s in opened} == {(0, 0o600, uid)}
    target.ask("collect 23 11 7")
    if end == "kill":
        tracer.popen.kill()
        tracer.wait()
    elif end == "interrupt":
        assert tracer.interrupt() == 0
    assert target.quit() == 0
    if end != "kill":
        assert tracer.wait() == 0
        assert ": 41 pauses" in tracer.out.text()
    assert names_in(temporary) == []


def test_temporary_place_is_missing(bench, some_runtime):
    target = bench.oracle(some_runtime)
    done = gctrace("-p", target.pid, env=dict(os.environ, TMPDIR="/nonexistent"))
    assert done.returncode == 1
    assert b"/nonexistent" in done.stderr and b"TMPDIR" in done.stderr
