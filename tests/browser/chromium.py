"""Headless Chromium for the tests of pages; ends the test program with the reason where there is none.

Import it before selenium.
"""
import os
import pathlib
import sys
import tempfile

UNAVAILABLE = 1 if "browser" in os.environ.get("GCTRACE_TEST_REQUIRE", "").split() else 77

try:
    import pytest
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.chrome.service import Service
except ImportError as missing:
    print(f"skipped: {missing}: apt-get install python3-pytest python3-selenium chromium-driver")
    sys.exit(UNAVAILABLE)

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage", "--window-size=1400,900"]


def open_browser(profile):
    options = webdriver.ChromeOptions()
    for flag in FLAGS + [f"--user-data-dir={profile}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    browser.set_page_load_timeout(60)
    return browser


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    driver = open_browser(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


def main(usage, variable, *tests):
    """Runs the test files @tests with the program that sys.argv names, in the environment's @variable.

    Returns an exit status.
    """
    if len(sys.argv) != 2:
        sys.exit(usage)
    os.environ[variable] = str(pathlib.Path(sys.argv[1]).resolve())
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            open_browser(profile).quit()
    except WebDriverException as failure:
        reason = (failure.msg or str(failure)).splitlines()[0]
        print(f"skipped: no headless Chromium ({reason}): apt-get install chromium chromium-driver")
        return UNAVAILABLE
    return pytest.main(["-q", "-p", "no:cacheprovider", *tests])
