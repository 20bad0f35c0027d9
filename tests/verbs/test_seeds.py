"""The fuzzers' seeds fit the schema and the records of today: without them no fuzzer can be built."""

import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent
FUZZ = SOURCE / "tests/fuzz"


def test_seeds_can_be_made(tmp_path):
    schema, golden = SOURCE / "user/store/schema.sql", SOURCE / "tests/golden"
    done = subprocess.run([sys.executable, FUZZ / "seeds.py", tmp_path, schema, golden], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    made = {folder.name for folder in tmp_path.iterdir()}
    assert made == {path.stem.removeprefix("fuzz_") for path in FUZZ.glob("fuzz_*.c")}
