"""The faults' tests have the fixtures, harness and runtimes of the root tests."""

import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "root"
sys.path.insert(0, str(ROOT))

# Under this file's own name, by which the modules of tests/root ask for it.
globals().update(
    (name, value)
    for name, value in vars(SourceFileLoader("root_conftest", str(ROOT / "conftest.py")).load_module()).items()
    if not name.startswith("__")
)
