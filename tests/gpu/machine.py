"""What GPUs are here, by nvidia-smi, and how much of the time they say they work."""

import os
import shutil
import statistics
import subprocess
import sys
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
QUERY = "--query-gpu=index,name,driver_version,memory.total"


class Cannot(Exception):
    """Why nothing can be checked, in one sentence."""


class Machine:
    def __init__(self, smi):
        self.smi = smi
        try:
            done = subprocess.run(smi + [QUERY, "--format=csv,noheader"], capture_output=True, text=True, timeout=60)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Cannot("there is no NVIDIA GPU here: %s cannot be run (%s)" % (smi[0], error)) from error
        rows = [line.split(", ") for line in done.stdout.splitlines() if line]
        if done.returncode or not rows:
            what = (done.stdout + done.stderr).strip().splitlines() or ["nvidia-smi lists none"]
            raise Cannot("there is no NVIDIA GPU here: %s" % what[0])
        self.name, self.driver = rows[0][1], rows[0][2]
        self.count = len(rows)

    def describe(self):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            models = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
        return {
            "gpu": self.name,
            "gpus": self.count,
            "driver": self.driver,
            "kernel": os.uname().release,
            "processor": "%d × %s" % (os.cpu_count(), models[0] if models else os.uname().machine),
        }


def real():
    return Machine([shutil.which("nvidia-smi") or "nvidia-smi"])


def mocked():
    return Machine([sys.executable, str(HERE / "mock_smi.py")])


class Utilisation:
    """NVML's figure of the first GPU, ten times a second, for as long as the context lasts."""

    def __init__(self, machine, env=None):
        self.argv = machine.smi + ["-i", "0", "--query-gpu=index,utilization.gpu", "--format=csv,noheader,nounits", "--loop-ms=100"]
        self.env, self.samples = env, []

    def __enter__(self):
        self.process = subprocess.Popen(self.argv, stdout=subprocess.PIPE, text=True, env=self.env)
        self.thread = threading.Thread(target=self.read)
        self.thread.start()
        return self

    def read(self):
        for line in self.process.stdout:
            field = line.split(", ")[-1].strip()
            if field.isdigit():
                self.samples.append(int(field))

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.thread.join()

    def share(self):
        """The median of the middle of the run, where all is steady; None: it said nothing."""
        middle = self.samples[len(self.samples) // 3:-len(self.samples) // 3 or None]
        return statistics.median(middle) / 100 if middle else None
