"""The sources are formatted as scripts/format would."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_format():
    done = subprocess.run([ROOT / "scripts/format", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
