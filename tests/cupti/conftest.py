"""The shim needs no root and no GPU: a mock of CUDA, or NVIDIA's real libraries on a machine without a device."""

import os

import mock
import pytest

LACKING = f"{mock.BUILD} has no CUPTI shim: run scripts/cuda and configure it again"


def pytest_configure(config):
    if not mock.have_mock() and "cupti" in os.environ.get("GCTRACE_TEST_REQUIRE", "").split():
        raise pytest.UsageError(LACKING)


def pytest_collection_modifyitems(items):
    if not mock.have_mock():
        for item in items:
            item.add_marker(pytest.mark.skip(reason=LACKING))
