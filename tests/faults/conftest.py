"""The faults' tests have the fixtures, harness and runtimes of the root tests."""

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "root"
sys.path.insert(0, str(ROOT))


def load(path):
    spec = importlib.util.spec_from_file_location("root_conftest", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return vars(module)


# Under this file's own name, by which the modules of tests/root ask for it.
globals().update((n, v) for n, v in load(ROOT / "conftest.py").items() if not n.startswith("__"))
