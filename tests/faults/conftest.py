"""The faults' tests have the fixtures, harness and runtimes of the root tests."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "root"
sys.path.insert(0, str(ROOT))

import borrowed  # noqa: E402

# Under this file's own name, by which the modules of tests/root ask for it.
globals().update(borrowed.fixtures())
