"""What the documents name exists, and they name what they must."""

import re
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent.parent
PAGE = SOURCE / "docs/reliability.md"
ROW = re.compile(r"^\| (?!Fault|---)(.*) \|$", re.M)


def rows():
    """The rows of the tables of faults: fault, what holds, since, tests."""
    text = PAGE.read_text().split("## Faults, all that were tried", 1)[1].split("\n## ", 1)[0]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)] for row in ROW.findall(text)]


def named(cell):
    """`room/module::test` and `::test` of the same module → (room/module, test)."""
    module = None
    for word in re.findall(r"`([^`]+)`", cell):
        head, _, test = word.partition("::")
        module = head or module
        yield module, test


def source_of(module):
    for suffix in (".py", ".c"):
        if (SOURCE / "tests" / (module + suffix)).exists():
            return (SOURCE / "tests" / (module + suffix)).read_text()
    raise AssertionError("there is no tests/%s" % module)


def test_the_tests_of_faults_exist():
    found = rows()
    assert len(found) > 100
    for fault, _, since, tests in found:
        assert since or "**no**" in _, fault
        for module, test in named(tests):
            text = source_of(module)
            assert not test or re.search(r"\b%s\(" % test, text), (fault, module, test)


def test_every_module_of_faults_is_named():
    modules = {"faults/" + path.stem for path in (SOURCE / "tests/faults").glob("test_*.py")}
    assert modules <= {module for row in rows() for module, _ in named(row[3])}


def test_the_commits_of_faults_exist():
    hashes = {word for row in rows() for word in re.findall(r"\b[0-9a-f]{7}\b", row[2])}
    assert len(hashes) > 30
    git = ["git", "-C", str(SOURCE)]
    shallow = subprocess.run([*git, "rev-parse", "--is-shallow-repository"], stdout=subprocess.PIPE)
    if shallow.stdout != b"false\n":
        pytest.skip("the history is not all here")
    for commit in sorted(hashes):
        done = subprocess.run([*git, "merge-base", "--is-ancestor", commit, "HEAD"], stderr=subprocess.PIPE)
        assert done.returncode == 0, (commit, done.stderr)
