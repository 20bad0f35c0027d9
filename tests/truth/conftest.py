"""Simulated training loops through the real binary: no root, no runtime, no clock."""

import os

import pytest


def pytest_configure(config):
    if not os.access(os.environ.get("GCTRACE", ""), os.X_OK):
        raise pytest.UsageError("GCTRACE must name the gctrace binary to test")
