"""Real PyTorch beside the shim, with NVIDIA's real driver library and no device: it trains to the same numbers, bit by bit.

Debian's PyTorch knows no CUDA; the program loads the driver, which loads the shim, as a library that it uses would."""

import os
import subprocess

import mock
import pytest
from test_real import DRIVER

PYTHON = "/usr/bin/python3"
STEPS = 53

PROGRAM = """
import ctypes, gc, hashlib, os, sys, time
if os.environ["HOW"] == "driver":
    assert ctypes.CDLL("libcuda.so.1").cuInit(0) == 100  # CUDA_ERROR_NO_DEVICE
elif os.environ["HOW"] == "dlopen":
    assert ctypes.CDLL(os.environ["SHIM"]).InitializeInjection() == 1
if os.environ["HOW"] == "awake":
    ctypes.CDLL("libcuda.so.1").cuInit(0)
    ctypes.CDLL(os.environ["SHIM"]).collect_attach(os.environ["OUT"].encode())
import torch
torch.manual_seed(7)
torch.set_num_threads(1)
data = torch.utils.data.TensorDataset(torch.randn(%d, 64, 32))
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters())
collections = []
gc.callbacks.append(lambda phase, info: collections.append(info["generation"]))
digest = hashlib.sha256()
for number, (batch,) in enumerate(torch.utils.data.DataLoader(data, num_workers=2)):
    optimizer.zero_grad()
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
    digest.update(loss.detach().numpy().tobytes())
    if number %% 7 == 6:
        gc.collect()
assert number == %d
while os.environ["HOW"] == "awake" and not os.path.getsize(os.environ["OUT"]):
    time.sleep(0.01)
print(digest.hexdigest(), len(collections) > 0, torch.cuda.is_available())
print("cupti", "libcupti" in open("/proc/self/maps").read())
""" % (STEPS, STEPS - 1)


def run(tmp_path, how, shim=None, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("CUDA_", "NVTX_", "LD_"))}
    env |= {"HOW": how, "SHIM": str(shim or ""), "OUT": str(tmp_path / "out"), "LD_LIBRARY_PATH": str(DRIVER)} | more
    return subprocess.run([PYTHON, "-c", PROGRAM], env=env, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What the training says by itself."""
    found = subprocess.run([PYTHON, "-c", "import torch"], capture_output=True, check=False).returncode == 0
    if not found and "torch" in os.environ.get("GCTRACE_TEST_REQUIRE", "").split():
        pytest.fail("PyTorch is not there: run scripts/workloads torch-debian")
    if not found or not (DRIVER / "libcuda.so.1").exists():
        pytest.skip("PyTorch or Debian's libcuda1 is not there: run scripts/workloads torch-debian and scripts/cuda")
    done = run(tmp_path_factory.mktemp("alone"), "driver")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert "cupti False" in done.stdout
    return done.stdout


@pytest.mark.parametrize("how", ("driver", "dlopen", "preload"))
def test_dormant(tmp_path, alone, how):
    """Loaded by the driver, by hand, by the dynamic loader: nothing else is loaded, and every loss is the same."""
    more = {"driver": {"CUDA_INJECTION64_PATH": str(mock.SHIM), "NVTX_INJECTION64_PATH": str(mock.SHIM)},
            "preload": {"LD_PRELOAD": str(mock.SHIM)}}
    done = run(tmp_path, how, mock.SHIM, **more.get(how, {}))
    assert (done.returncode, done.stderr, done.stdout) == (0, "", alone)


def test_awake(tmp_path, alone):
    """A tracer listens all the while: the shim finds no CUPTI for a driver without a device, says so once, and that is all."""
    done = run(tmp_path, "awake", mock.COLLECTED, CUDA_INJECTION64_PATH=str(mock.COLLECTED))
    assert (done.returncode, done.stderr, done.stdout) == (0, "", alone)
    assert [(r.kind, r.value) for r in mock.read_records(tmp_path / "out")] == [(mock.REFUSED, mock.NO_CUPTI)]
