"""GPUs in the HTML report: their lanes' figures, their colours at any zoom, the curve of their memory; run by test_html.py."""
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
    assert f"{duration(idle)} of {duration(time)}, {duration(caused)} because of pauses, not known of 1 step" \
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


MEMORY = """
    const track = page.data.tracks[0];
    return Array.from(readGpuMemory(track, readSteps(track).bins), v => Number.isNaN(v) ? null : v);"""


def height(page):
    return page.run("return document.querySelector('.track .plot canvas').clientHeight")


def test_memory_is_the_data(show):
    """In whole KiB of each step that is known: more and less than when the records began."""
    recording = with_gpus()
    before = height(show(recording))
    steps = len(recording.tracks[0].steps)
    recording.gpu_memory = {i: (i * 7919 << 17) % (5 << 30) - (1 << 30) + i for i in range(7, steps) if i % 53}
    page = show(recording)
    known = [recording.gpu_memory.get(i) for i in range(steps)]
    assert page.run(MEMORY) == [None if v is None else v >> 10 << 10 for v in known]
    assert height(page) == before + 78
    assert "GPU memory at the end of a step, from when its records begin" in page.texts(".legend span")
    page.focus()
    page.press(Keys.HOME)
    assert "GPU memory" not in page.readout()
    for at in range(1, 61):
        page.press(Keys.ARROW_RIGHT)
        if known[at] is None:
            assert "GPU memory" not in page.readout()
    size = abs(known[60] >> 10 << 10) / 2**30
    assert f"GPU memory {'−' if known[60] < 0 else ''}{float(f'{size:.4g}'):g} GiB" in page.readout()


def curve_at(page, moment):
    """How far below the top of its panel of 62 px the curve is at @moment µs: the pixel that comes closest to its colour."""
    return page.run("""
        const canvas = document.querySelector(".track canvas"), plot = document.querySelector(".track .plot");
        const [low, high] = [Number(plot.dataset.low), Number(plot.dataset.high)], ratio = canvas.width / canvas.clientWidth;
        const x = 70 + (arguments[0] - low) / (high - low) * (canvas.clientWidth - 78);
        const lanes = readGpus(page.data.tracks[0].gpus);
        const top = PANEL.top + PANEL.steps + PANEL.gap + PANEL.lane + gpuHeight(lanes) + PANEL.gap + 10;
        const tall = Math.round((PANEL.curve + 2) * ratio), copy = document.createElement("canvas");
        copy.width = 1;
        copy.height = tall;
        const context = copy.getContext("2d", {willReadFrequently: true});
        context.drawImage(canvas, -Math.floor(x * ratio), -Math.floor(top * ratio));
        const data = context.getImageData(0, 0, 1, tall).data;
        const want = [1, 3, 5].map(i => parseInt(theme.colours["gpu-memory"].slice(i, i + 2), 16));
        const off = y => want.reduce((most, value, i) => Math.max(most, Math.abs(value - data[4 * y + i])), 0);
        let best = 0;
        for (let y = 1; y < tall; y++)
            if (off(y) < off(best))
                best = y;
        return off(best) < 60 ? best / ratio : null;""", moment)


def test_the_curve_of_memory_is_where_it_should_be(show):
    """Of three levels: at the bottom, in the middle, at the top; nothing where it is not known."""
    recording = with_gpus()
    recording.gpu_memory_total = True
    steps = recording.tracks[0].steps
    levels = {range(0, 60): 4 << 30, range(60, 110): 2 << 30, range(110, 170): 6 << 30}
    recording.gpu_memory = {i: level for steps_of, level in levels.items() for i in steps_of}
    page = show(recording)
    page.theme("light")
    page.click(next(b for b in page.all(".choice button") if b.text == "By time"))
    page.settle()
    assert "GPU memory at the end of a step" in page.texts(".legend span")
    places = [curve_at(page, us(steps[i][1] - START)) for i in (30, 85, 140, 190)]
    assert places[3] is None
    assert places[:3] == pytest.approx([31, 62, 2], abs=2)


def test_memory_of_several_steps_is_the_most(show):
    recording = recordings.training(steps=110013)
    recording.gpus = [(1, 0, START, recording.end, [], [])]
    recording.gpu_memory = {i: (i * 7919 % 10007) << 10 for i in range(110013) if i % 17 > 2}
    page = show(recording)
    bins = [[recording.gpu_memory.get(i) for i in (at, at + 1)] for at in range(0, 110013, 2)]
    assert page.run(MEMORY) == [max((v for v in two if v is not None), default=None) for two in bins]


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
