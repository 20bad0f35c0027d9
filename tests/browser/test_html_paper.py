"""The HTML report read without a pointer: words that lie clear of each other, and the page on paper."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import html_recordings as recordings  # noqa: E402
import pytest  # noqa: E402
from chromium import browser  # noqa: E402, F401
from html_browser import TEXTS, contrast, luminance, show  # noqa: E402, F401
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

START = recordings.START


WRITTEN = """
    const at = document.querySelector('.histogram canvas').getContext('2d'), write = at.fillText;
    const texts = [];
    at.fillText = (text, x, y) => {
        const {actualBoundingBoxLeft: left, actualBoundingBoxRight: right, actualBoundingBoxAscent: above,
               actualBoundingBoxDescent: below} = at.measureText(text);
        texts.push([text, x - left, x + right, y - above, y + below]);
        write.call(at, text, x, y);
    };
    theme.refresh();
    at.fillText = write;
    return texts;"""


def durations(*steps):
    """One track whose steps take @steps; a pause of i µs lies in the i-th, from 0."""
    recording = recordings.Recording()
    track = recordings.Track(recording.process(1), "torch:record Optimizer.step#Adam.step")
    recording.tracks.append(track)
    stack, at = recording.stack(recordings.STACKS[2]), START
    for i, ns in enumerate(steps):
        pause = recording.pause(at, 1000 * i, 1, 2, stack, 0, 0, i, 1000 * i) if i else recordings.NONE
        track.steps.append((at, at + ns, -1, 1000 * i, 1000 * i, ns, int(i > 0), pause, 2 if i else -1))
        at += ns
    recording.end = at
    return recording


@pytest.mark.parametrize("width", [400, 700, 1400])
@pytest.mark.parametrize("steps", [
    [10**7] * 101,  # all are one
    [10**7] * 50 + [10_050_000] * 45 + [10_100_000] * 4 + [10_150_000] * 2,  # near each other
    [10**7] * 99 + [10**9] * 2,  # three are one, at the left edge; the worst at the right
    [10**6] + [10**9 - i for i in range(100)],  # all at the right edge
], ids=["equal", "close", "left", "right"])
def test_percentiles_can_be_read(show, steps, width):
    page = show(durations(*steps))
    page.size(width, 800, mobile=width < 1000)
    written = page.run(WRITTEN)
    plot = page.run("return document.querySelector('.histogram .plot').clientWidth")
    for name in ("p50", "p95", "p99", "worst"):  # with pauses and without
        assert sum(text.split()[0] == name for text, *_ in written) == 2, written
    for i, (text, left, right, top, bottom) in enumerate(written):
        assert 0 <= left and right <= plot, (text, left, right, plot)
        for other, *box in written[:i]:
            assert right <= box[0] or box[1] <= left or bottom <= box[2] or box[3] <= top, (text, other)


def for_paper(page, width):
    """The page as the browser lays it out to print it in the dark on paper that has @width px between its margins."""
    page.run("window.dispatchEvent(new Event('beforeprint'))")
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
        "media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]})
    page.size(width, 1000)


STATE = """return [document.querySelectorAll('details[open]').length,
    document.querySelectorAll('button.fold[aria-expanded=true]').length, theme.colours.surface,
    Array.from(document.querySelectorAll('canvas')).filter(canvas => canvas.checkVisibility())
        .map(canvas => [canvas.width, canvas.height]),
    document.getElementById('flame-graph').getBoundingClientRect().height, document.documentElement.scrollWidth];"""


def shown_on(page, css):
    return page.run("""return Array.from(document.querySelectorAll(arguments[0])).filter(e => e.checkVisibility())
        .map(e => { const {left, right, width, height} = e.getBoundingClientRect(); return {left, right, width, height}; })""",
                    css)


@pytest.mark.parametrize("width", [660, 718, 1046])  # upright with wide margins and with narrow ones, and across
def test_paper_has_all_of_it(show, width):
    recording = recordings.Recording()
    for pid in (1234, 1235, 1236):
        recordings.add_training(recording, recording.process(pid), steps=211, seed=pid)
    page = show(recording)
    page.theme("dark")
    WebDriverWait(page.browser, 10).until(lambda _: page.run(
        "return document.getElementById('flame-graph').contentDocument.querySelector('.tools') !== null"))
    page.settle()
    before = page.run(STATE)
    assert before[0] == 2
    for_paper(page, width)
    assert page.run("return document.querySelectorAll('details:not([open])').length") == 0
    folds = page.run("return Array.from(document.querySelectorAll('button.fold'), e => e.ariaExpanded)")
    assert folds == ["true"] * 10 and len(shown_on(page, ".below .stack")) == 10
    assert not shown_on(page, "button:not(.sort):not(.link), .readout, .controls, .overview, .hair, .brush")
    longest = page.run("return page.data.longest[0].rows.length")
    rest = page.table("Longest pauses").find_element(By.XPATH, "ancestor::div[@class='table']/p")
    assert longest > 10 and rest.text == f"… and {longest - 10} more."
    # Nothing is wider than the paper; pictures are drawn sharply and not stretched.
    assert page.run("return document.documentElement.scrollWidth") <= width
    for table in shown_on(page, "table, .view, .card, .tiles, .stack, iframe, canvas"):
        assert 0 <= table["left"] and table["right"] <= width
    canvases = shown_on(page, ".plot canvas")
    assert len(canvases) == 6
    for canvas, (wide, high) in zip(canvases, page.run(
            "return Array.from(document.querySelectorAll('.plot canvas'), canvas => [canvas.width, canvas.height])")):
        assert canvas["width"] / canvas["height"] == pytest.approx(wide / high, rel=0.01)
        assert wide >= 1.9 * canvas["width"]
    # All of the flame graph.
    assert page.run("""const inside = document.getElementById('flame-graph').contentDocument, root = inside.documentElement;
        return [root.scrollHeight <= root.clientHeight, root.scrollWidth <= root.clientWidth,
                Array.from(inside.querySelectorAll('text, rect')).filter(e => e.checkVisibility())
                    .every(e => e.getBoundingClientRect().right <= root.clientWidth + 1)];""") == [True, True, True]
    page.run("window.dispatchEvent(new Event('afterprint'))")
    page.normal()
    page.theme("dark")
    page.settle()
    assert page.run(STATE) == before


def test_paper_is_light(show):
    page = show(recordings.training(steps=53))
    page.theme("dark")
    page.press("t", "t")  # chosen
    page.run("""window.events = [];
        for (const name of ['beforeprint', 'afterprint'])
            window.addEventListener(name, () => window.events.push([name, theme.colours.surface]));""")
    for_paper(page, 718)
    for ink, back, where in page.run(TEXTS):
        assert contrast(ink, back) >= 4.5 and (luminance(back) > 0.8 or where == "SPAN.badge"), (where, ink, back)
    page.run("window.dispatchEvent(new Event('afterprint'))")
    page.normal()
    page.theme("dark")
    pdf = page.browser.execute_cdp_cmd("Page.printToPDF", {})["data"]
    assert len(pdf) > 10000
    light, dark = "#ffffff", "#1b1d21"  # the browser says that it prints, too
    assert page.run("return window.events") == [["beforeprint", light], ["afterprint", dark]] * 2
