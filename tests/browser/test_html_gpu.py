"""Lanes of GPUs in the HTML report: their figures, their colours at any zoom; run by test_html.py."""
import html_recordings as recordings
import pytest
from chromium import browser  # noqa: F401
from html_browser import duration, share, show, us  # noqa: F401
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

START, MS = recordings.START, 10**6


def with_gpus(steps=211):
    """GPU 0 stands idle in each full collection from 11 ms on and 3 ms longer, and 7 ms after every 5th step."""
    recording = recordings.training(steps=steps)
    idles = [(start + 11 * MS, end + 3 * MS, end + 3 * MS - start - 11 * MS)
             for start, end, _, generation, *_ in recording.pauses if generation == 2]
    for start, end, *_ in recording.tracks[0].steps[::5]:
        if all(end + 8 * MS < a or b < end for a, b, _ in idles):
            idles.append((end, end + 7 * MS, 0))
    idles.sort()
    last = recording.tracks[0].steps[-1][1]
    unknown = [(START + 60 * MS, START + 67 * MS)]  # within the first step
    recording.gpus = [(1, 0, START + 23 * MS, last, idles, unknown), (1, 1, START + 23 * MS, last, [], [])]
    return recording


def test_lanes_are_the_data(show):
    recording = with_gpus()
    page = show(recording)
    got = page.run("""return readGpus(page.data.tracks[0].gpus).map(g =>
        [g.name, Array.from(g.start), Array.from(g.end), Array.from(g.pause), g.seen, g.unknown]);""")
    idles = recording.gpus[0][4]
    assert got[0][0] == "GPU 0"
    assert got[0][1] == [us(a - START) for a, _, _ in idles]
    assert got[0][2] == [us(b - START) for _, b, _ in idles]
    assert got[0][3] == [us(p) for _, _, p in idles]
    assert got[0][5] == [[60_000], [67_000]]
    assert got[1] == ["GPU 1", [], [], [], got[0][4], [[], []]]
    steps = [step[:2] for step in recording.tracks[0].steps[1:]]  # of the first, records are missing
    inside = [[max(0, min(b, end) - max(a, start)) for start, end in steps] for a, b, _ in idles]
    idle, time = sum(map(sum, inside)), sum(end - start for start, end in steps)
    caused = sum(sum(parts) for parts, (_, _, pause) in zip(inside, idles) if pause)
    assert page.tiles()["GPU 0 idle in steps"] == share(idle, time)
    assert f"{duration(idle)} of {duration(time)}, {duration(caused)} because of pauses, not known of 1 step; measured" \
        in page.texts(".tile .aside")
    legend = page.texts(".legend span")
    assert {"GPU busy (measured)", "GPU idle", "GPU idle because of a pause"} <= set(legend)
    rows = page.rows("GPUs")
    assert [row[0] for row in rows] == ["GPU 0", "GPU 1"]


@pytest.mark.parametrize("low, high", [(0, None), (1_900_000, 2_300_000)])
def test_columns_add_up(show, low, high):
    """Whatever is in view, each column has its own part of it."""
    recording = with_gpus()
    page = show(recording)
    last = us(recording.gpus[0][3] - START)
    high = high or last
    sums = page.run("""
        const lanes = readGpus(page.data.tracks[0].gpus), places = placeGpus(lanes, moments => moments);
        const parts = gatherGpu({low: arguments[0], high: arguments[1]}, lanes[0], places[0], 997);
        const sum = array => array.reduce((all, one) => all + one, 0) * (arguments[1] - arguments[0]) / 997;
        return [sum(parts.known), sum(parts.idle), sum(parts.pause)];""", low, high)
    inside = [max(0, min(us(b - START), high) - max(us(a - START), low)) for a, b, _ in recording.gpus[0][4]]
    caused = [part for part, (_, _, pause) in zip(inside, recording.gpus[0][4]) if pause]
    known = min(high, last) - max(low, 23_000) - (7_000 if low < 60_000 else 0)
    assert sums == pytest.approx([known, sum(inside), sum(caused)], abs=1)


def colour_at(page, moment):
    """Of the middle of the first lane, @moment µs after the start of the recording, by time."""
    return page.run("""
        const canvas = document.querySelector(".track canvas"), plot = document.querySelector(".track .plot");
        const [low, high] = [Number(plot.dataset.low), Number(plot.dataset.high)];
        const ratio = canvas.width / canvas.clientWidth;
        const x = 70 + (arguments[0] - low) / (high - low) * (canvas.clientWidth - 78);
        const y = PANEL.top + PANEL.steps + PANEL.gap + PANEL.lane + GPU_LANE.gap + GPU_LANE.height / 2;
        const copy = document.createElement("canvas");
        copy.width = copy.height = 1;
        const context = copy.getContext("2d", {willReadFrequently: true});
        context.drawImage(canvas, -Math.floor(x * ratio), -Math.floor(y * ratio));
        const [r, g, b] = context.getImageData(0, 0, 1, 1).data;
        const found = "#" + [r, g, b].map(c => c.toString(16).padStart(2, "0")).join("");
        return ["gpu", "gpu-idle", "gpu-pause"].find(name => theme.colours[name] === found) || found;""", moment)


def test_colours(show):
    recording = with_gpus()
    page = show(recording)
    page.theme("light")
    page.click(next(b for b in page.all(".choice button") if b.text == "By time"))
    page.focus()
    idles = recording.gpus[0][4]
    caused = next(idle for idle in idles if idle[2])
    host = next(idle for idle in idles if not idle[2])
    page.press(Keys.HOME)
    for _ in range(8):
        page.press("+")
    for (a, b, _), colour in ((host, "gpu-idle"), (caused, "gpu-pause")):
        page.run("document.querySelector('.track .plot').focus()")
        while page.span()[1] < us(b - START):
            page.press(Keys.PAGE_DOWN)
        assert colour_at(page, us((a + b) // 2 - START)) == colour
        assert colour_at(page, us(b - START) + 2_000) == "gpu"


def test_the_cursor_reads_out_what_gpus_did(show):
    recording = with_gpus()
    page = show(recording)
    page.focus()
    page.press(Keys.HOME)
    assert "GPU 0 idle not known" in page.readout()
    steps, idles = recording.tracks[0].steps, recording.gpus[0][4]
    at = next(i for i, step in enumerate(steps) if step[8] == 2)
    for _ in range(at):
        page.press(Keys.ARROW_RIGHT)
    start, end = (us(steps[at][i] - START) for i in (0, 1))
    inside = [max(0, min(us(b - START), end) - max(us(a - START), start)) for a, b, _ in idles]
    caused = [part for part, (_, _, pause) in zip(inside, idles) if pause]
    assert f"GPU 0 idle {duration(1000 * sum(inside))}, {duration(1000 * sum(caused))} because of pauses" in page.readout()
    assert "GPU 1 idle 0 ns" in page.readout()


def test_pauses_without_steps_have_lanes_too(show):
    recording = recordings.without_steps()
    recording.gpus = [(1, 0, START, recording.end, [(START + 50 * MS, START + 90 * MS, 0)], [])]
    page = show(recording)
    assert page.run("return readGpus(page.data.other.gpus).length") == 1
    assert "GPU idle" in page.texts(".legend span")
    heights = page.run("return Array.from(document.querySelectorAll('.plot canvas'), c => c.clientHeight)")
    recording.gpus = []
    page = show(recording)
    assert heights == [h + 24 for h in page.run(
        "return Array.from(document.querySelectorAll('.plot canvas'), c => c.clientHeight)")]
    assert not page.run("return 'gpus' in page.data.other")
    assert not page.browser.find_elements(By.XPATH, "//caption[text()='GPUs']")
