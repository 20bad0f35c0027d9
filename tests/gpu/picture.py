"""Draws docs/pictures/gpu.png: the page of a training on the mock of CUDA, whose collections return a device's memory.

In: $GCTRACE, Chromium, root. Out: the picture in the file named. No GPU is needed, and none is in the picture.
"""

import argparse
import base64
import os
import sys
import tempfile
from pathlib import Path

import programs

sys.path.insert(0, str(programs.HERE.parent / "browser"))
import chromium  # noqa: E402

# From the figures of the training's steps to the legend of their timeline.
CLIP = """
    const box = css => document.querySelector(css).getBoundingClientRect(), whole = box(".track");
    const bottom = box(".track .plot").bottom;
    return {x: whole.left + scrollX - 12, y: whole.top + scrollY - 12, width: whole.width + 24,
            height: Math.max(bottom, box(".track .legend").bottom) - whole.top + 24, scale: 1};"""

# A step is eight kernels, and keeps 64 MiB in a cycle, as a graph that refers to itself does; two steps may be ahead.
TRAINING = """
from collections import deque

class Tensor:
    def __init__(self):
        self.itself, self.address = self, allocate(64 << 20)

    def __del__(self):
        cuda.cuMemFree_v2(u64(self.address))

class Trainer:
    def step(self):
        Tensor()
        for _ in range(8):
            launch(1000000)
        ahead.append(event())
        if len(ahead) > 2:
            wait_for(ahead.popleft())

    def validate(self):
        gc.collect()

    def fit(self):
        for number in range(400):
            self.step()
            if number % 53 == 52:
                self.validate()

gc.disable()
alive, ahead = [Node(None) for _ in range(150000)], deque()
time.sleep(2)  # until all is recorded
Trainer().fit()
sync()
"""


def screenshot(page, path, profile):
    browser = chromium.open_browser(profile)
    try:
        browser.get(page.as_uri())
        clip = browser.execute_script(CLIP)
        taken = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "clip": clip, "captureBeyondViewport": True})
        path.write_bytes(base64.b64decode(taken["data"]))
    finally:
        browser.quit()


def draw(path, gctrace):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        out = Path(folder)
        framework = programs.mocked(gctrace, gctrace.parent / "cupti" / "libgctrace_cupti.so", out)
        framework.env["SUBJECT_BOOK"] = str(out / "book")
        (out / "train.py").write_text(TRAINING)
        code = "exec(compile(open(%r).read(), 'train.py', 'exec'))" % str(out / "train.py")
        recorded = framework.recorded(what="picture", argv=[framework.argv[0], programs.CUPTI / "subject.py", code])
        page = out / "page.html"
        page.write_text(recorded.report("html"), encoding="utf-8")
        print(recorded.summary["verdict"])
        screenshot(page, path, out / "profile")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", type=Path)
    draw(parser.parse_args().picture, Path(os.environ["GCTRACE"]).resolve())
