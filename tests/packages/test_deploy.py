"""The container image and the pod of docs/deploy: what is in the image, and that the pod's capabilities are those it takes."""

import json
import shutil
import sys
from pathlib import Path

import pytest
import yaml

from conftest import SOURCE
from harness import Oracle, gctrace
from system import check_exact, run
from test_packages import plain

POD = yaml.safe_load((SOURCE / "docs/deploy/pod.yaml").read_text())
CONTAINER = POD["spec"]["containers"][0]
HELD = CONTAINER["securityContext"]["capabilities"]["add"]
CONTAINED = Path(__file__).with_name("contained.py")
OTHER = 61002
PARSE = """import json, sys, dockerfile_parse
print(json.dumps([[i["instruction"], i["value"]] for i in dockerfile_parse.DockerfileParser(fileobj=open(sys.argv[1], "rb")).structure]))"""


@pytest.fixture
def image(made, checker, system, bench):
    """The file system that the Containerfile makes of the unpacked archive, and its entry point."""
    run("tar", "-xzf", made["tar"], "-C", bench.scratch)
    (context,) = bench.scratch.glob("gctrace-*")
    fresh, entry = system(), None
    for instruction, value in json.loads(checker("python", "-c", PARSE, context / "share/doc/gctrace/Containerfile")):
        if instruction == "COPY":
            origin, to = value.split()
            path = fresh.root / to.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if (context / origin).is_dir() else shutil.copy)(context / origin, path)
        elif instruction == "WORKDIR":
            (fresh.root / value.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif instruction == "ENTRYPOINT":
            (entry,) = json.loads(value)
        else:
            assert (instruction, value) == ("FROM", "scratch") or instruction == "COMMENT"
    fresh.entry = entry
    return fresh


def contained(image, capabilities):
    """The command that runs one as the root of the pod's container, with these capabilities."""
    return [sys.executable, CONTAINED, image.root, ",".join(capabilities)]


@pytest.fixture
def hidden(bench):
    """A CPython of another user's that nobody else may read, and that was deleted: the hardest to reach."""
    runtime = plain()
    folder = bench.public_folder()
    exe = folder / "python3"
    shutil.copy(runtime.exe, exe)
    script = Path(bench.script(runtime))
    shutil.copy(script, folder)
    exe.chmod(0o700)
    for path in (folder, exe, folder / script.name):
        shutil.chown(path, OTHER, OTHER)
    user = ["setpriv", "--reuid", str(OTHER), "--regid", str(OTHER), "--clear-groups"]
    target = bench.keep(Oracle(user + [exe, folder / script.name], env={"PYTHONHOME": "/usr"}))
    exe.unlink()
    return target


def test_image_is_one_file(image):
    programs = [path for path in image.files() if not path.startswith("/usr/share/licenses/")]
    assert programs == [image.entry]
    assert "/usr/share/licenses/gctrace/LICENSE" in image.files()


def test_pod_fits_the_schema(checker):
    """Of Kubernetes 1.30, the first with appArmorProfile, and of the newest that the checker has; nothing unknown in it."""
    path = SOURCE / "docs/deploy/pod.yaml"
    for version in ("1.30", "1.37"):
        checker("kubernetes-validate", "--strict", "-k", version, path)


def test_schema_check_can_fail(checker, tmp_path):
    path = tmp_path / "pod.yaml"
    path.write_text((SOURCE / "docs/deploy/pod.yaml").read_text().replace("hostPID: true", "hostPid: true"))
    with pytest.raises(AssertionError, match="hostPid"):
        checker("kubernetes-validate", "--strict", "-k", "1.30", path)


def test_pod_asks_for_no_more():
    asked = CONTAINER["securityContext"]
    assert asked["capabilities"]["drop"] == ["ALL"] and not asked["privileged"] and not asked["allowPrivilegeEscalation"]
    assert POD["spec"]["hostPID"] and not {"hostNetwork", "hostIPC"} & set(POD["spec"])


def test_with_exactly_these(image, bench, monkeypatch, hidden):
    """As the pod's container runs it; its root may not be written to, its volume may."""
    where = "/" + CONTAINER["volumeMounts"][0]["mountPath"].lstrip("/")
    run("mount", "-t", "tmpfs", "tmpfs", str(image.root) + where)
    run("mount", "-o", "remount,bind,ro", image.root)
    image.use(image.entry, monkeypatch, contained(image, HELD))
    check_exact(bench, hidden)


@pytest.mark.parametrize("missing", HELD)
def test_without_one(image, bench, monkeypatch, hidden, missing):
    """Each is needed: without it the same process is refused, and the missing one is named."""
    image.use(image.entry, monkeypatch, contained(image, [name for name in HELD if name != missing]))
    done = gctrace("-p", hidden.pid, "-d", "1s")
    said = done.stderr.decode()
    assert done.returncode == 3, said
    assert "CAP_" + missing in said, said
    (finding,) = [line for line in doctor() if line["question"] == "privileges"]
    assert finding["answer"] == "missing: CAP_" + missing


def doctor():
    return [json.loads(line) for line in gctrace("doctor", "--json").stdout.decode().splitlines()]
