"""The tests of packages have the fixtures and the harness of the root tests, packages, and fresh roots to put them into."""

import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
ROOT = HERE.parent / "root"
sys.path.insert(0, str(ROOT))

import borrowed  # noqa: E402

# Under this file's own name, by which the modules of tests/root ask for it.
globals().update(borrowed.fixtures())

from system import CACHE, System, run  # noqa: E402

PACKAGES = {"deb": "gctrace_*.deb", "rpm": "gctrace-*.rpm", "tar": "gctrace-*.tar.gz",
            "wheel": "gctrace-*manylinux*.whl", "musl": "gctrace-*musllinux*.whl"}  # fmt: skip


def pytest_configure(config):
    config.addinivalue_line("markers", "realtime: see tests/root")
    for name, what in (("GCTRACE_PORTABLE", "a portable gctrace"), ("GCTRACE_PACKAGES", "a folder of its packages")):
        if not os.path.exists(os.environ.get(name, "")):
            raise pytest.UsageError("%s must name %s: scripts/test packages" % (name, what))


@pytest.fixture(scope="session")
def build():
    return Path(os.environ["GCTRACE_PORTABLE"]).parent


@pytest.fixture(scope="session")
def machine(build):
    """That the build is for, as the kernel names it; QEMU runs what is for another one."""
    return "aarch64" if "AArch64" in run("readelf", "-hW", build / "gctrace") else "x86_64"


@pytest.fixture(scope="session")
def made():
    """The packages of that build, by kind."""
    folder = Path(os.environ["GCTRACE_PACKAGES"])
    found = {kind: list(folder.glob(pattern)) for kind, pattern in PACKAGES.items()}
    assert sorted(sum(found.values(), [])) == sorted(folder.iterdir())
    return {kind: path for kind, (path,) in found.items()}


@pytest.fixture(scope="session")
def checker():
    """A tool of scripts/roots' virtual environment, run on some arguments: its output."""
    folder = CACHE / "checkers/bin"
    globals()["need"]("roots", folder.exists(), "scripts/roots has fetched no checkers")
    return lambda tool, *args: run(folder / tool, *args)


@pytest.fixture
def system(bench, machine):
    """Makes a fresh system of a suite, or an empty one, which is gone after the test."""
    if machine != os.uname().machine:
        pytest.skip("no system of %s runs here" % machine)

    def make(suite=None):
        base = CACHE / "roots" / suite if suite else None
        globals()["need"]("roots", not base or base.exists(), "scripts/roots could not fetch %s" % suite)
        return System(bench, base)

    return make
