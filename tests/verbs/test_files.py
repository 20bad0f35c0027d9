"""Files that verbs read and write: recordings stay what they are, results are whole or absent."""

import os
import stat
import subprocess

import pytest

from recording import gctrace, training

FORMATS = ["text", "html", "json", "folded", "flamegraph"]
LARGE = 3 << 20  # of a stream, more than a pipe holds


@pytest.fixture
def recording(tmp_path):
    return training(tmp_path / "run.gct", every=53)


def writers(recording, out):
    """Every command line that writes @out."""
    yield from (["report", recording, "-f", name, "-o", out] for name in FORMATS)
    yield ["check", recording, "--budget", "pause.max<1h", "--junit", out]


@pytest.mark.parametrize("way", ["itself", "another", "hard link", "symbolic link", "in another folder"])
def test_no_recording_is_overwritten(tmp_path, recording, way):
    out = tmp_path / "out"
    if way == "itself":
        out = recording
    elif way == "another":
        training(out, steps=53)
    elif way == "hard link":
        os.link(str(recording), str(out))
    elif way == "symbolic link":
        out.symlink_to(recording)
    else:
        (tmp_path / "folder").mkdir()
        out = tmp_path / "folder" / ".." / recording.name
    before = {p: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
    for words in writers(recording, out):
        done = gctrace(*words)
        assert done.returncode == 1, words
        assert str(out) in done.stderr
        assert "is a recording" in done.stderr or "is a symbolic link" in done.stderr
    assert {p: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()} == before


def test_replaced_whole(tmp_path, recording):
    """The new file replaces the old one by its name: whoever reads the old one reads on."""
    out = tmp_path / "out"
    out.write_text("old")
    out.chmod(0o640)
    with out.open() as old:
        for words in writers(recording, out):
            assert gctrace(*words).returncode == 0
        assert old.read() == "old"
    assert out.read_text().startswith("<?xml")
    assert stat.S_IMODE(out.stat().st_mode) == 0o640
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "run.gct"]


@pytest.mark.parametrize("limit", ["0", "1"])
def test_not_written_in_full(tmp_path, recording, limit):
    """An output that does not fit leaves the old file, nothing else, and status 1."""
    out = tmp_path / "out"
    out.write_text("old")
    for words in writers(recording, out):
        line = " ".join(["ulimit -f %s; exec" % limit, '"$@"'])
        argv = ["sh", "-c", line, "sh", os.environ["GCTRACE"]] + [str(w) for w in words]
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if limit == "1" and done.returncode == 0:  # half a KiB does for the short ones
            assert out.stat().st_size <= 512
            out.write_text("old")
            continue
        assert done.returncode == 1, (words, done.stderr)
        assert b"File too large" in done.stderr
        assert out.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "run.gct"]


@pytest.mark.parametrize("place", ["nowhere/out", "", "out\n" + "x" * 300])
def test_no_such_place(tmp_path, recording, place):
    for words in writers(recording, str(tmp_path) + "/" + place):
        done = gctrace(*words)
        assert done.returncode == 1, words
        assert str(tmp_path) in done.stderr
    assert os.listdir(str(tmp_path)) == ["run.gct"]


def test_devices(recording):
    for words in writers(recording, "/dev/null"):
        assert gctrace(*words).returncode == 0
    for words in writers(recording, "/dev/full"):
        done = gctrace(*words)
        assert done.returncode == 1 and "No space left" in done.stderr, (words, done.stderr)


def test_dash_is_stdout(recording):
    for words in writers(recording, "-"):
        plain = gctrace(*words[:-2]).stdout if words[0] == "report" else "<?xml"
        for out in ("-", "/dev/stdout"):
            done = gctrace(*(words[:-1] + [out]))
            assert done.returncode == 0, done.stderr
            assert plain in done.stdout


def test_a_file_that_is_stdout(tmp_path, recording):
    with (tmp_path / "out").open("w") as out:
        line = [os.environ["GCTRACE"], "report", str(recording), "-o", "/dev/stdout"]
        assert subprocess.run(line, stdout=out).returncode == 0
    assert (tmp_path / "out").read_text() == gctrace("report", recording).stdout


@pytest.mark.parametrize("words", [["record", "-p", "1"], ["-p", "1"], ["run", "--", "true"]], ids=" ".join)
def test_a_recording_is_no_stream(words):
    words = words[:1] + ["-o", "-"] + words[1:] if words[0] == "run" else words + ["-o", "-"]
    done = gctrace(*words)
    assert done.returncode == 2 and "name a file" in done.stderr


VERBS = [
    ["--help"],
    ["--version"],
    ["report", "--help"],
    ["schema"],
    ["schema", "sql"],
    ["doctor"],
    ["doctor", "--json"],
    ["report", "{}"],
    ["report", "{}", "-o", "-"],
    ["report", "{}", "-f", "html"],
    ["report", "{}", "-f", "json"],
    ["report", "{}", "-f", "folded"],
    ["report", "{}", "-f", "flamegraph"],
    ["doctor", "--steps", "{}"],
    ["check", "{}", "--budget", "pause.max<1h"],
    ["check", "{}", "--budget", "pause.max<1h", "--json"],
    ["diff", "{}", "{}"],
    ["diff", "{}", "{}", "--json"],
]


@pytest.mark.parametrize("closed", ["/dev/full", "&-"])
@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_stdout_is_full(recording, words, closed):
    argv = [os.environ["GCTRACE"]] + [w.replace("{}", str(recording)) for w in words]
    line = ["sh", "-c", '"$@" >%s' % closed, "sh"] + argv
    done = subprocess.run(line, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)
    allowed = (1, 3) if words[0] == "doctor" else (1,)  # without root, little can be traced
    assert done.returncode in allowed, done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


def test_the_reader_has_left(recording):
    """`| head` is not an error: SIGPIPE, as with any other program."""
    line = '"$0" report "$1" -f html; echo $? >&2'
    done = subprocess.run(
        ["bash", "-c", "(%s) | true" % line, os.environ["GCTRACE"], str(recording)],
        stderr=subprocess.PIPE,
    )
    assert done.stderr in (b"141\n", b"0\n")  # 0: all of it fitted into the pipe


def from_stdin(path, *words, folder=None):
    env = dict(os.environ, **({"TMPDIR": str(folder)} if folder else {}))
    with open(str(path), "rb") as stream:
        # through a pipe, which cannot be sought in
        cat = subprocess.Popen(["cat"], stdin=stream, stdout=subprocess.PIPE)
        argv = [os.environ["GCTRACE"]] + list(words)
        done = subprocess.run(argv, stdin=cat.stdout, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        cat.stdout.close()
        cat.wait()
    return done


@pytest.mark.parametrize("words", [
    ["report", "{}"],
    ["report", "{}", "-f", "json"],
    ["report", "{}", "-f", "folded"],
    ["check", "{}", "--budget", "pause.max<1h"],
    ["doctor", "--steps", "{}"],
], ids=" ".join)  # fmt: skip
def test_from_stdin(tmp_path, recording, words):
    folder = tmp_path / "tmp"
    folder.mkdir()
    piped = from_stdin(recording, *(w.replace("{}", "-") for w in words), folder=folder)
    named = gctrace(*(w.replace("{}", str(recording)) for w in words))
    assert piped.returncode == named.returncode == 0, piped.stderr
    assert piped.stdout.decode() == named.stdout
    assert os.listdir(str(folder)) == []


def test_diff_of_one_from_stdin(recording):
    done = from_stdin(recording, "diff", "-", str(recording))
    assert done.returncode == 0 and b"BEFORE" in done.stdout


@pytest.mark.parametrize("what", ["nothing", "text", "half", "closed", "no room"])
def test_no_recording_on_stdin(tmp_path, recording, what):
    folder = tmp_path / "tmp"
    folder.mkdir()
    path = tmp_path / "in"
    long = training(tmp_path / "long.gct", every=53, steps=20011).read_bytes()  # its tables are in its first half
    content = {"text": b"hello, world\n" * 1000, "half": long[: len(long) // 2]}
    path.write_bytes(content.get(what, b""))
    if what == "closed":
        line = ["sh", "-c", 'TMPDIR="$1" "$0" report - <&-', os.environ["GCTRACE"], str(folder)]
        done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    else:
        done = from_stdin(path, "report", "-", folder="/nonexistent" if what == "no room" else folder)
    assert done.returncode == 1
    assert (b"INCOMPLETE" in done.stdout) if what == "half" else (b"stdin" in done.stderr)
    if what in ("nothing", "text"):
        assert str(folder).encode() not in done.stderr  # the copy's path helps nobody
    assert os.listdir(str(folder)) == []


def test_stdin_is_interrupted(tmp_path):
    """Nothing is left of what was copied."""
    line = [os.environ["GCTRACE"], "report", "-"]
    reader = subprocess.Popen(line, stdin=subprocess.PIPE, env=dict(os.environ, TMPDIR=str(tmp_path)))
    reader.stdin.write(b"x" * LARGE)  # most of it has been taken once this returns
    reader.stdin.flush()
    reader.kill()
    reader.wait()
    assert os.listdir(str(tmp_path)) == []
