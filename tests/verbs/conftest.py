"""The verbs that read recordings need no root and no runtime."""

import os

import pytest


def pytest_configure(config):
    if not os.access(os.environ.get("GCTRACE", ""), os.X_OK):
        raise pytest.UsageError("GCTRACE must name the gctrace binary to test")
