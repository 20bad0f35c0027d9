"""The wheels: what PyPA's specifications ask of them, and as users get them, by pip in a virtual environment."""

import base64
import csv
import email
import hashlib
import io
import re
import zipfile

import pytest

from conftest import SOURCE
from system import check_exact, run

KINDS = ["wheel", "musl"]
SUITES = ["bullseye", "bookworm", "trixie"]


def inside(path, pattern):
    """The one member whose name ends like this."""
    with zipfile.ZipFile(path) as archive:
        (name,) = [name for name in archive.namelist() if re.search(pattern + "$", name)]
        return archive.read(name)


@pytest.mark.parametrize("kind", KINDS)
def test_record(made, kind):
    """Every file with its hash and size; the programs may run, and nothing else."""
    rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(inside(made[kind], "RECORD").decode()))}
    with zipfile.ZipFile(made[kind]) as archive:
        assert list(rows) == archive.namelist()
        for info in archive.infolist():
            digest, size = rows[info.filename]
            if info.filename.endswith("/RECORD"):
                assert (digest, size) == ("", "")
                continue
            data = archive.read(info)
            wanted = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            assert digest == "sha256=" + wanted and size == str(len(data))
            assert bool(info.external_attr >> 16 & 0o111) == (".data/scripts/" in info.filename)


@pytest.mark.parametrize("kind", KINDS)
def test_metadata(made, kind):
    (version,) = re.findall(r"version: '([0-9.]+)'", (SOURCE / "meson.build").read_text())
    head = email.message_from_bytes(inside(made[kind], "METADATA"))
    assert (head["Name"], head["Version"]) == ("gctrace", version)
    assert head.get_payload(decode=True).decode() == (SOURCE / "README.md").read_text()
    licences = head.get_all("License-File")
    assert licences == ["LICENSE", "THIRD-PARTY"]
    expression = head["License-Expression"]
    assert expression.startswith("BSD-2-Clause AND ")
    for name in ("LGPL-2.1-or-later", "(LGPL-3.0-or-later OR GPL-2.0-or-later)", "blessing", "MIT"):  # glibc, elfutils, …
        assert name in expression.split(" AND "), expression
    for name in licences:
        assert inside(made[kind], "dist-info/licenses/" + re.escape(name))
    tags = email.message_from_bytes(inside(made[kind], "/WHEEL")).get_all("Tag")
    platforms = made[kind].stem.split("-")[-1].split(".")
    assert tags == ["py3-none-" + platform for platform in platforms]


def test_tags_are_true(made, machine, tmp_path):
    """The program is static. The shim is for glibc, and needs none newer than the tag says; for arm64 none is built."""
    for kind in KINDS:
        with zipfile.ZipFile(made[kind]) as archive:
            archive.extractall(tmp_path / kind)
        (program,) = (tmp_path / kind).glob("*.data/scripts/gctrace")
        assert "INTERP" not in run("readelf", "-lW", program) and "NEEDED" not in run("readelf", "-dW", program)
        libraries = list((tmp_path / kind).rglob("*.so"))
        assert [path.name for path in libraries] == (["libgctrace_cupti.so"] if kind == "wheel" and machine == "x86_64" else [])
        for path in libraries:
            needed = re.findall(r"GLIBC_([0-9]+)\.([0-9]+)", run("readelf", "-VW", path))
            assert needed and max((int(a), int(b)) for a, b in needed) <= (2, 17)


def test_tools_accept_them(made, machine, checker):
    both = [made[kind] for kind in KINDS]
    said = checker("twine", "check", "--strict", *both)
    assert said.count("PASSED") == 2, said
    assert '"manylinux_2_17_%s"' % machine in checker("auditwheel", "show", made["wheel"])
    # they hold no library for Python
    checker("check-wheel-contents", "--ignore", "W007,W009,W010", *both)


@pytest.mark.parametrize("kind, platform", [
    ("wheel", "manylinux_2_17"), ("wheel", "manylinux2014"), ("musl", "musllinux_1_1"),
])  # fmt: skip
def test_pip_chooses(made, checker, tmp_path, kind, platform):
    machine = made[kind].stem.split("-")[-1].split(".")[0].split("_", 3)[3]
    checker("pip", "download", "-q", "--no-index", "--find-links", made[kind].parent, "--only-binary", ":all:", "--no-deps",
            "--dest", tmp_path, "--platform", "%s_%s" % (platform, machine), "gctrace")  # fmt: skip
    assert [path.name for path in tmp_path.glob("*.whl")] == [made[kind].name]


@pytest.mark.parametrize("suite", SUITES)
def test_installed_by_pip(made, system, bench, monkeypatch, suite):
    """On bullseye by pip 20.3, beside glibc 2.31."""
    fresh = system(suite)
    fresh.run("python3", "-m", "venv", "/venv")
    before = fresh.files()
    wheel = fresh.put(made["wheel"])
    fresh.run("/venv/bin/pip", "--disable-pip-version-check", "install", "--no-index", wheel)
    added = {path for path in fresh.files() - before if "/dist-info/" not in path and ".dist-info/" not in path}
    assert {"/venv/bin/gctrace", "/venv/share/man/man1/gctrace.1", "/venv/lib/gctrace/libgctrace_cupti.so"} <= added
    assert not [path for path in added if path.endswith((".py", ".pyc"))]
    check_shim(fresh, "/venv")
    fresh.use("/venv/bin/gctrace", monkeypatch)
    check_exact(bench, bench.oracle(fresh.python()))
    fresh.run("/venv/bin/pip", "uninstall", "-y", "gctrace")
    assert {path for path in fresh.files() - before if "gctrace" in path} == set()


def check_shim(fresh, prefix):
    """`gctrace run` names it to CUDA, and an old glibc loads it."""
    said = fresh.run(prefix + "/bin/gctrace", "run", "--", "/usr/bin/env")
    (path,) = re.findall(r"^CUDA_INJECTION64_PATH=(.*)$", said, re.M)
    assert path.endswith("/lib/gctrace/libgctrace_cupti.so")
    fresh.run("/usr/bin/python3", "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])", path)
