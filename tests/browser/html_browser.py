"""What the tests of the HTML report do to a page in the browser of chromium.py."""
import os

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By


def duration(ns):
    """As format_duration() says it."""
    for at_least, factor, unit in ((999950000, 1e9, "s"), (999950, 1e6, "ms"), (1000, 1e3, "µs")):
        if ns >= at_least:
            value = ns / factor
            digits = 3 if value < 9.9995 else 2 if value < 99.995 else 1 if value < 999.95 else 0
            return f"{value:.{digits}f} {unit}"
    return f"{ns} ns"


def share(part, whole):
    percent = 100 * part / whole
    return "<0.01 %" if percent < 0.005 else f"{percent:.{2 if percent < 1 else 1}f} %"


def us(ns):
    return (ns + 500) // 1000


class Page:
    """One report in the browser, and what the tests do to it."""

    def __init__(self, browser, path):
        self.browser, self.path = browser, path
        browser.get(path.as_uri())

    def find(self, css):
        return self.browser.find_element(By.CSS_SELECTOR, css)

    def all(self, css):
        return self.browser.find_elements(By.CSS_SELECTOR, css)

    def run(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def texts(self, css):
        return self.run("return Array.from(document.querySelectorAll(arguments[0]), e => e.textContent)", css)

    def press(self, *keys):
        ActionChains(self.browser).send_keys(*keys).perform()

    def focus(self, css=".track .plot"):
        self.run("const e = document.querySelector(arguments[0]); e.scrollIntoView({block: 'center'}); e.focus()", css)

    def settle(self):
        """Waits for the frame after the next, by when everything asked for is drawn."""
        self.browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def span(self, css=".track .plot"):
        self.settle()
        return tuple(self.run("const d = document.querySelector(arguments[0]).dataset;"
                              "return [Number(d.low), Number(d.high)]", css))

    def readout(self):
        return self.find(".track .readout").text.replace("\n", " ")

    def tiles(self, css=".track"):
        return dict(zip(self.texts(f"{css} .tile dt"), self.texts(f"{css} .tile .figure")))

    def table(self, caption):
        for table in self.all("table"):
            if table.find_element(By.CSS_SELECTOR,
                                  "caption span").get_attribute("textContent") == caption:
                return table
        raise AssertionError(f"no table {caption!r}")

    def rows(self, caption):
        return self.run("return Array.from(arguments[0].tBodies[0].rows).filter(r => !r.classList.contains('below'))"
                        ".map(r => Array.from(r.cells, c => c.textContent))", self.table(caption))

    def click(self, element):
        self.run("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def theme(self, name):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": name}]})

    def size(self, width, height, mobile=False):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile})
        self.settle()

    def normal(self):
        self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})

    def drag(self, element, from_x, to_x):
        """From and to as parts of the element's width, at its middle."""
        width = element.rect["width"]
        ActionChains(self.browser).move_to_element_with_offset(
            element, int((from_x - 0.5) * width), 0).click_and_hold().move_by_offset(
            int((to_x - from_x) * width / 2), 0).move_by_offset(
            int((to_x - from_x) * width / 2), 0).release().perform()

    def figures(self, track=0):
        """What the page's own code reads from the data block."""
        return self.run("""
            const s = readSteps(page.data.tracks[arguments[0]]), a = x => Array.from(x);
            return {start: a(s.start), sum: a(s.sum), max: a(s.max), maxAt: a(s.maxAt),
                    overlap: a(s.overlap),
                cost: a(s.cost), pauses: a(s.pauses), rss: a(s.rss), g: s.byGeneration.map(a),
                perBin: s.perBin};""", track)


def luminance(color):
    channels = [float(c) / 255 for c in color[color.index("(") + 1:-1].split(",")[:3]]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


# Every ink on every ground, and one element that has it.
TEXTS = """
const found = {}, walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !e.checkVisibility() || e.matches('script, noscript, button:disabled'))
        continue;
    let back = e;
    while (back && getComputedStyle(back).backgroundColor === 'rgba(0, 0, 0, 0)')
        back = back.parentElement;
    const pair = [getComputedStyle(e).color,
                  getComputedStyle(back || document.documentElement).backgroundColor];
    found[pair.join(' on ')] = [...pair, e.tagName + '.' + e.className];
}
return Object.values(found);"""


@pytest.fixture
def show(browser, tmp_path):
    """Renders and opens a recording; fails if the page logs, loads or asks for anything."""
    def show(recording):
        path = recording.render(os.environ["RENDER_HTML"], tmp_path / "page.html")
        browser.get_log("browser")
        page = Page(browser, path)
        assert page.run("return document.documentElement.dataset.readyMs") is not None
        return page
    yield show
    assert browser.get_log("browser") == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
