"""The .deb, the .rpm and the archive: the same bytes twice, installed into fresh systems, run, removed."""

import hashlib
import os
import re
import tarfile
from pathlib import Path

import pytest

from conftest import PLAIN, SOURCE
from system import check_exact, run
from test_wheel import check_shim

EVERYWHERE = {"/bin/gctrace", "/lib/gctrace/libgctrace_cupti.so", "/share/bash-completion/completions/gctrace",
              "/share/fish/vendor_completions.d/gctrace.fish"}  # fmt: skip


def plain():
    """The system's CPython, for roots that have none."""
    found = [r for r in PLAIN if r.base.startswith("system")]
    if not found:
        pytest.skip("the system's CPython is not of those asked for")
    return found[0]


@pytest.mark.parametrize("kind", ["wheel", "deb", "rpm", "tar"])
def test_reproducible(made, build, tmp_path, kind):
    said = run(SOURCE / "scripts/package", "-b", build, "-o", tmp_path, kind).splitlines()
    assert len(said) == (2 if kind == "wheel" else 1)
    for again in map(Path, said):
        (first,) = [path for path in made.values() if path.name == again.name]
        assert hashlib.sha256(first.read_bytes()).digest() == hashlib.sha256(again.read_bytes()).digest(), again.name


def test_refuses_an_ordinary_build(build, tmp_path):
    """A file that needs libraries of this system would run nowhere else."""
    ordinary = Path(os.environ.get("GCTRACE", "")).parent
    if not (ordinary / "build.ninja").exists() or ordinary == build:
        pytest.skip("GCTRACE is not in the folder of an ordinary build")
    with pytest.raises(AssertionError, match="is an ordinary build: configure it with -Dportable=true"):
        run(SOURCE / "scripts/package", "-b", ordinary, "-o", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_all_versions_agree(made, build, machine):
    """Of meson.build, of the program, and in the names of the files; so do the machines."""
    (version,) = re.findall(r"version: '([0-9.]+)'", (SOURCE / "meson.build").read_text())
    emulator = [] if machine == os.uname().machine else ["qemu-%s-static" % machine]
    said = run(*emulator, build / "gctrace", "version", "--verbose")
    assert said.split()[1] == version and re.findall(r"^machine +(\S+)$", said, re.M) == [machine]
    assert {re.split("[-_]", path.name)[1] for path in made.values()} == {version}
    debian = {"x86_64": "amd64", "aarch64": "arm64"}[machine]
    assert run("dpkg-deb", "-f", made["deb"], "Architecture").split() == [debian]
    assert run("rpm", "-qp", "--qf", "%{ARCH}", made["rpm"]) == machine
    for described in (["dpkg-deb", "-f", made["deb"], "Description"], ["rpm", "-qp", "--qf", "%{DESCRIPTION}", made["rpm"]]):
        assert ("JVM" in run(*described)) == (machine == "x86_64")  # docs/arm64.md
    for kind, path in made.items():
        assert re.search(r"[-_.]%s\.[a-z.]+$" % (debian if kind == "deb" else machine), path.name), path.name


@pytest.mark.parametrize("suite", ["bookworm", "trixie"])
def test_deb(made, system, bench, monkeypatch, suite):
    fresh = system(suite)
    before = fresh.files()
    fresh.run("dpkg", "-i", fresh.put(made["deb"]))
    added = fresh.files() - before
    assert {"/usr" + path for path in EVERYWHERE} <= added
    # minimal images leave out manuals and documents: dpkg has them on its list all the same
    listed = set(fresh.run("dpkg", "-L", "gctrace").splitlines())
    assert {"/usr/share/man/man1/gctrace.1.gz", "/usr/share/doc/gctrace/copyright",
            "/usr/share/zsh/vendor-completions/_gctrace"} <= listed  # fmt: skip
    assert "Depends" not in fresh.run("dpkg", "-s", "gctrace")
    check_shim(fresh, "/usr")
    fresh.use("/usr/bin/gctrace", monkeypatch)
    check_exact(bench, bench.oracle(fresh.python()))
    fresh.run("dpkg", "-P", "gctrace")
    assert {path for path in fresh.files() - before if "gctrace" in path} == set()


def test_rpm(made, system, bench, monkeypatch):
    """Into a root in which there is nothing else: no C library, no shell."""
    fresh = system()
    rpm = ["rpm", "--root", str(fresh.root), "--dbpath", "/var/lib/rpm"]
    run(*rpm, "--initdb")
    run(*rpm, "--force-debian", "--nosignature", "-i", made["rpm"])
    listed = set(run(*rpm, "-ql", "gctrace").splitlines())
    assert {"/usr" + path for path in EVERYWHERE} <= listed
    assert {"/usr/share/man/man1/gctrace.1.gz", "/usr/share/licenses/gctrace/LICENSE",
            "/usr/share/zsh/site-functions/_gctrace"} <= listed  # fmt: skip
    assert "blessing" in run(*rpm, "-q", "--qf", "%{LICENSE}", "gctrace").split(" AND ")  # SQLite's, which is linked in
    asked = run(*rpm, "-q", "--requires", "gctrace").splitlines()
    assert [line for line in asked if not line.startswith("rpmlib(")] == []
    fresh.use("/usr/bin/gctrace", monkeypatch)
    check_exact(bench, bench.oracle(plain()))
    run(*rpm, "--force-debian", "-e", "gctrace")
    assert fresh.files() == {"/var/tmp/run.gct"}


def test_tar(made, system, bench, monkeypatch):
    """As docs/install.md says, which is in it."""
    fresh = system("bookworm")
    (line,) = re.findall(r"^sudo (tar .*)$", (SOURCE / "docs/install.md").read_text(), re.M)
    archive = fresh.put(made["tar"])
    line = re.sub(r"\S+\.tar\.gz", archive, line)
    fresh.run("sh", "-c", line)
    for path in EVERYWHERE | {"/share/doc/gctrace/install.md", "/share/licenses/gctrace/LICENSE", "/share/man/man1/gctrace.1"}:
        assert (fresh.root / "usr/local" / path[1:]).is_file(), path
    check_shim(fresh, "/usr/local")
    fresh.use("/usr/local/bin/gctrace", monkeypatch)
    check_exact(bench, bench.oracle(fresh.python()))


def test_tar_has_one_folder(made):
    with tarfile.open(made["tar"]) as archive:
        names = archive.getnames()
    assert {name.split("/")[0] for name in names} == {made["tar"].name[: -len(".tar.gz")]}
