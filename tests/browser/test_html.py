#!/usr/bin/python3
"""The HTML report in a real browser: figures, timeline, keys, tables; test_html_page.py and its like have the rest.

usage: test_html.py RENDER_HTML

Renders recordings described by html_recordings.py with RENDER_HTML (render_html.c), opens them from disk in
headless Chromium and compares what is shown with figures computed from the same description. Runs the other
test_html_*.py too, some of which need the gctrace that was built beside RENDER_HTML. Exit status 77: there is no
browser to drive, with the reason.
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import chromium  # noqa: E402, before pytest: it says what is missing
import html_recordings as recordings  # noqa: E402
import pytest  # noqa: E402
from chromium import browser  # noqa: E402, F401
from html_browser import duration, share, show, us  # noqa: E402, F401
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

START = recordings.START


def test_figures_at_the_top_are_the_data(show):
    recording = recordings.training(steps=1009, odd=611)
    track = recording.tracks[0]
    page = show(recording)
    durations, without = track.durations(), track.without()
    assert page.find("h1").text == "gctrace run.gct"
    assert page.find(".verdict").text.startswith(f"GC stopped training for {duration(track.overlap)} ({share(track.overlap, track.time)} of its time)")
    assert not page.all(".banner")
    assert page.texts(".track .lead")[0] == (
        f"1,009 steps, marked by torch:record Optimizer.step#Adam.step; period "
        f"{duration(recordings.quantile(durations, 0.5))} ± 2.1 %, confidence 0.97; measured.")
    assert page.tiles() == {
        "Stopped in GC": share(track.overlap, track.time), "Lost": share(track.cost, track.time),
        "Median step": duration(recordings.quantile(durations, 0.5)),
        "p99 step": duration(recordings.quantile(durations,
                                                 0.99)), "Worst step": duration(max(durations)),
        "Outside any step": duration(track.outside_ns)}
    assert dict((row[0], row[1:3]) for row in page.rows("In figures"))["p95"] == [
        duration(recordings.quantile(durations, 0.95)), duration(recordings.quantile(without,
                                                                                     0.95))]


def test_every_step_is_in_the_page_to_the_microsecond(show):
    recording = recordings.training(steps=2003, odd=611)
    steps = recording.tracks[0].steps
    got = show(recording).figures()
    assert got["perBin"] == 1
    assert got["start"] == [us(s[0] - START) for s in steps]
    assert got["sum"] == got["max"] == [us(s[1] - s[0]) for s in steps]
    assert got["overlap"] == [us(s[3]) for s in steps]
    assert got["cost"] == [us(s[4]) for s in steps]
    assert got["pauses"] == [s[6] for s in steps]
    assert got["rss"] == [s[2] >> 10 << 10 for s in steps]
    by_generation = [[0] * len(steps) for _ in range(4)]
    for _start, _end, _process, generation, *_, step, overlap, _cost, _worker in recording.pauses:
        if step != recordings.NONE:
            by_generation[generation][step] += overlap
    assert got["g"] == [[us(ns) for ns in line] for line in by_generation]


def test_every_pause_is_in_the_page_to_the_microsecond(show):
    recording = recordings.training(steps=503)
    page = show(recording)
    got = page.run("""const p = readPauses(page.data.tracks[0].kept), a = x => Array.from(x);
        return [a(p.start), a(p.end), a(p.class), a(p.collected), a(p.cost), p.count];""")
    pauses = sorted(recording.pauses)
    assert got[5] == len(pauses)
    assert got[0] == [us(p[0] - START) for p in pauses]
    assert [end - start for start, end in zip(got[0], got[1])] == [us(p[1] - p[0]) for p in pauses]
    assert got[2] == [p[3] for p in pauses]
    assert got[3] == [p[6] for p in pauses]
    assert got[4] == [us(p[13]) for p in pauses]


def test_the_distribution_counts_every_step_twice(show):
    recording = recordings.training(steps=1009, odd=611)
    track = recording.tracks[0]
    page = show(recording)
    d = page.run("return page.data.tracks[0].distribution")
    assert sum(d["with"]) == sum(d["without"]) == 1009
    edges = [d["low_ns"] * (d["high_ns"] / d["low_ns"]) ** (i / len(d["with"])) for i in range(len(d["with"]) + 1)]
    for name, values in (("with", track.durations()), ("without", track.without())):
        for limit in range(0, 240, 31):
            below = sum(value < edges[limit] for value in values)
            assert abs(sum(d[name][:limit]) - below) <= 1, (name,
                                                            limit)  # on an edge it may round either way
    page.focus(".histogram .plot")
    page.press(Keys.HOME)
    first = next(i for i in range(240) if d["with"][i] or d["without"][i])
    assert f"{d['with'][first]} step" in page.find(".histogram .readout").text
    page.press(Keys.END)
    assert page.find(".histogram .plot").get_attribute("aria-valuenow") == "239"


def test_keys_zoom_and_pan(show):
    page = show(recordings.training(steps=1009))
    page.focus()
    assert page.span() == (0, 1009)
    page.press("+")
    low, high = page.span()
    assert high - low == pytest.approx(1009 / 1.6)
    page.press("-")
    assert page.span() == (0, 1009)
    page.press("+", "+", "+", "+")
    low, high = page.span()
    page.press(Keys.PAGE_DOWN)
    assert page.span() == pytest.approx((low + 0.9 * (high - low), high + 0.9 * (high - low)))
    page.press(Keys.PAGE_UP)
    assert page.span() == pytest.approx((low, high))
    ActionChains(page.browser).key_down(Keys.SHIFT).send_keys(Keys.ARROW_RIGHT).key_up(Keys.SHIFT).perform()
    assert page.span() == pytest.approx((low + (high - low) / 4, high + (high - low) / 4))
    page.press(Keys.END)  # the view follows the cursor
    assert page.span()[1] == 1009
    assert page.readout().startswith("step 1,008 ")
    page.press(Keys.HOME)
    assert page.span()[0] == 0
    assert page.readout().startswith("step 0 ")
    for _ in range(20):
        page.press("+")
    low, high = page.span()
    assert low < 0.5 and high - low == pytest.approx(4)  # not narrower than four steps
    page.press("0")
    assert page.span() == (0, 1009)


def test_the_cursor_reads_out_a_step(show):
    recording = recordings.training(steps=311)
    steps = recording.tracks[0].steps
    page = show(recording)
    page.focus()
    page.press(Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    start, end, rss, overlap, cost, *_ = steps[2]
    text = page.readout()
    assert text.startswith(f"step 2 took {duration(1000 * us(end - start))} pauses 1, {duration(1000 * us(overlap))}")
    assert f"lost {duration(1000 * us(cost))}" in text and "gen 0" in text
    assert f"RSS {float(f'{rss / 2**30:.4g}'):g} GiB" in text
    assert f"at +{(start - START) / 1e9:.3f} s" in text
    page.press(Keys.ARROW_LEFT)
    assert "pauses none" in page.readout()
    page.press("n")  # the next slow step
    assert page.readout().startswith("step 96 ")
    plot = page.find(".track .plot")
    assert plot.get_attribute("aria-valuenow") == "96"
    assert plot.get_attribute("aria-valuetext").startswith("step 96; took ")
    assert "gen 2 (full)" in plot.get_attribute("aria-valuetext")
    page.press("n")
    assert page.readout().startswith("step 193 ")
    page.press("p")
    assert page.readout().startswith("step 96 ")


def test_dragging_zooms_and_the_overview_pans(show):
    page = show(recordings.training(steps=1009))
    page.focus()
    plot = page.find(".track .plot")
    left, width = page.run("const p = document.querySelector('.plot').getBoundingClientRect(), right = 8;"
                           "return [70, p.width - 70 - right]")
    page.drag(plot, 0.5, 0.75)
    whole = plot.rect["width"]
    low, high = page.span()
    assert low == pytest.approx((0.5 * whole - left) / width * 1009, abs=4)
    assert high == pytest.approx((0.75 * whole - left) / width * 1009, abs=4)
    assert "showing" in page.find(".track .zoomed").text
    overview = page.find(".track .overview")
    page.drag(overview, 0.6, 0.3)
    moved = page.span()
    assert moved[1] - moved[0] == pytest.approx(high - low)
    assert moved[0] == pytest.approx(low - 0.3 * whole / width * 1009, abs=6)
    page.click(page.find(".track .whole"))
    assert page.span() == (0, 1009)
    page.drag(overview, 0.2, 0.4)
    low, high = page.span()
    assert high - low == pytest.approx(0.2 * whole / width * 1009, abs=6)
    page.run("arguments[0].dispatchEvent(new WheelEvent('wheel', {deltaY: -200, ctrlKey: true, cancelable: true,"
             "clientX: 700, clientY: 100}))", plot)
    closer = page.span()
    assert closer[1] - closer[0] == pytest.approx((high - low) / 1.0015 ** 200)
    page.run("arguments[0].dispatchEvent(new WheelEvent('wheel', {deltaY: 200, cancelable: true}))",
             plot)
    assert page.span() == closer  # scrolling the page does not zoom


def test_clicking_a_step_shows_its_pauses_with_stacks(show):
    recording = recordings.training(steps=211)
    page = show(recording)
    page.focus()
    for _ in range(6):
        page.press("n", "+") if _ == 0 else page.press("+")
    low, high = page.span()
    plot, step = page.find(".track .plot"), 95
    width = plot.rect["width"]
    x = 70 + (step + 0.5 - low) / (high - low) * (width - 78)
    ActionChains(page.browser).move_to_element_with_offset(plot, int(x - width / 2),
                                                           0).click().perform()
    assert page.find(".detail h3").text == "Step 95"
    mine = [p for p in recording.pauses if p[11] == step]
    assert len(mine) == 1 and len(page.rows("Its pauses")) == 1
    page.click(page.all(".detail-head button")[1])  # the next
    assert page.find(".detail h3").text == "Step 96"
    start, end, _rss, overlap, cost, *_ = recording.tracks[0].steps[96]
    assert page.find(".detail p").text == (
        f"It took {duration(1000 * us(end - start))}, {duration(1000 * us(overlap))} ({share(overlap, end - start)}) "
        f"of it in 1 pause; without, it would have taken about {duration(1000 * (us(end - start) - us(cost)))} (estimated).")
    assert page.texts(".detail .stack .name") == [f[0] for f in reversed(recordings.STACKS[2])]
    assert page.texts(".detail .stack .place") == ["graph.py:41", "train.py:131", "train.py:201",
                                                   "train.py:310"]
    assert page.texts(".detail .stack .stands .name") == ["Node.link"]
    piece = page.run("return document.querySelector('.strip i').getBoundingClientRect().width /"
                     "document.querySelector('.strip').getBoundingClientRect().width")
    assert piece == pytest.approx(overlap / (end - start), abs=0.002)


def test_enter_opens_and_escape_closes(show):
    recording = recordings.training(steps=211, odd=101)
    page = show(recording)
    page.focus()
    page.press(Keys.HOME, "n", Keys.ENTER, "+", "+")
    assert page.find(".detail h3").text == "Step 96"
    page.press("n", Keys.ENTER)
    assert page.find(".detail h3").text == "Step 101"
    assert ("GC did not" in page.find(".detail").text) == (recording.tracks[0].steps[101][6] == 0)
    page.press(Keys.ESCAPE)
    assert not page.find(".detail").is_displayed()
    assert page.span() != (0, 211)
    page.press(Keys.ESCAPE)
    assert page.span() == (0, 211)


def test_by_time_there_are_gaps_between_steps(show):
    recording = recordings.training(steps=1009)  # an evaluation after step 502 and one after 1005
    page = show(recording)
    page.click(page.all(".track .choice button")[1])
    low, high = page.span()
    assert low == 0 and high == us(recording.tracks[0].steps[-1][1] - START)
    shown = page.run("""const t = new TimeLine(document.createElement('div'), readSteps(page.data.tracks[0]),
        readPauses(page.data.tracks[0].kept), {}); t.setAxis('time');
        return [t.binAt(arguments[0]), t.binAt(arguments[1]), t.place(503)]""",
        us(recording.tracks[0].steps[502][1] - START) + 400_000, us(recording.tracks[0].steps[503][0] - START))
    assert shown[0] == 502 and shown[1] == 503
    assert shown[2] == [us(t - START) for t in recording.tracks[0].steps[503][:2]]
    page.focus()
    page.press("+", "+")
    page.click(page.all(".track .choice button")[0])  # the same part, by step
    low, high = page.span()
    assert 1009 * 0.3 < high - low < 1009 * 0.5


def test_linear_and_logarithmic(show):
    page = show(recordings.training(steps=211, odd=101))
    pressed = ".track .choice [aria-pressed='true']"
    assert page.texts(pressed) == ["By step", "Log"]  # one step is 85 × the median
    page.click(page.all(".track .choice button")[2])
    assert page.texts(pressed) == ["By step", "Linear"]
    page.settle()
    assert page.texts(pressed)[1] == "Linear"
    assert page.run("return new TimeLine(document.createElement('div'), readSteps({...page.data.tracks[0],"
                    "with: {...page.data.tracks[0].with, p50_ns: 1e9}}), readPauses(page.data.tracks[0].kept), {})"
                    ".scale") == "linear"


def test_bars_have_the_height_of_their_steps(show):
    """Reads pixels: the tallest bar of one colour, against the scale."""
    recording = recordings.training(steps=40, every=23)
    page = show(recording)
    page.settle()
    got = page.run("""
        const c = document.querySelector('.plot canvas'), g = c.getContext('2d');
        const hex = theme.colours.gen2, want = [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2),
                                                                           16));
        const ratio = c.height / c.getBoundingClientRect().height, x0 = 70 * ratio;
        const step = (c.width - 78 * ratio) / 40, x = Math.round(x0 + 22.5 * step);
        const data = g.getImageData(x, 0, 1, Math.round(196 * ratio)).data;
        let top = -1, bottom = -1;
        for (let y = 0; y < data.length / 4; y++)
            if (want.every((v, i) => Math.abs(data[4 * y + i] - v) < 6)) {
                top = top < 0 ? y : top;
                bottom = y;
            }
        return [top / ratio, (bottom + 1) / ratio];""")
    start, end, _rss, overlap, *_ = recording.tracks[0].steps[22]
    most = max(recording.tracks[0].durations()) * 1.04
    assert got[0] == pytest.approx(8 + 188 * (1 - (end - start) / most), abs=1.5)
    assert got[1] == pytest.approx(8 + 188 * (1 - (end - start - overlap) / most), abs=2.5)


def numbers(cells):
    units = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "%": 1}
    values = []
    for cell in cells:
        match = re.match(r"[+−]?([\d.,]+)(?: (ns|µs|ms|s|%))?", cell)
        values.append(float(match[1].replace(",", "")) * units.get(match[2], 1))
    return values


def test_tables_sort(show):
    recording = recordings.training(steps=1009, odd=611)
    page = show(recording)
    longest = sorted(range(1009), key=lambda i: -recording.tracks[0].durations()[i])
    assert [int(row[0].replace(",", "")) for row in page.rows("Worst steps")] == longest[:10]
    table = page.table("Worst steps")
    heads = table.find_elements(By.CSS_SELECTOR, "th")
    assert [h.get_attribute("aria-sort") for h in heads[:2]] == ["none", "none"]
    assert heads[2].get_attribute("aria-sort") == "descending"
    for column in (0, 4, 5, 6):
        for order in ("descending", "ascending"):
            page.click(heads[column].find_element(By.CSS_SELECTOR, "button"))
            assert heads[column].get_attribute("aria-sort") == order
            values = numbers(row[column] for row in page.rows("Worst steps"))
            assert values == sorted(values, reverse=order == "descending"), (column, order)
    page.click(heads[9].find_element(By.CSS_SELECTOR, "button"))  # names go up first
    assert heads[9].get_attribute("aria-sort") == "ascending"
    names = [row[9] for row in page.rows("Worst steps")]
    assert names == sorted(names)
    more = page.run("return arguments[0].closest('.table').querySelector('.more')", table)
    page.click(more)
    shown = page.rows("Worst steps")
    assert more.text == "Show 10" and 100 <= len(shown) <= 200
    dearest = max(range(1009), key=lambda i: recording.tracks[0].steps[i][4])
    assert dearest in [int(row[0].replace(",", "")) for row in shown]
    heads[0].find_element(By.CSS_SELECTOR, "button").send_keys(Keys.ENTER)  # by key too
    assert heads[0].get_attribute("aria-sort") == "descending"


def test_worst_steps_have_the_time_of_day(show, monkeypatch):
    """As a log of the training has it, in the zone of who reads; in order past midnight, too."""
    monkeypatch.setenv("TZ", "ODD-9:46:38")  # the recording begins at 14:13:20 UTC: two seconds before midnight here
    recording = recordings.training(steps=1009, odd=611)
    page = show(recording)
    heads = page.table("Worst steps").find_elements(By.CSS_SELECTOR, "th")
    assert heads[1].text == "Time (ODD)"

    def clock(step):
        ms = (23 * 3600 + 59 * 60 + 58) * 1000 + (recording.tracks[0].steps[step][0] - START) // 10**6
        seconds = ms // 1000 % 86400
        return "%02d:%02d:%02d.%03d" % (seconds // 3600, seconds // 60 % 60, seconds % 60, ms % 1000)

    page.click(page.run("return arguments[0].closest('.table').querySelector('.more')", page.table("Worst steps")))
    shown = [(int(row[0].replace(",", "")), row[1]) for row in page.rows("Worst steps")]
    assert shown == [(step, clock(step)) for step, _ in shown]
    assert {time[:2] for _, time in shown} == {"23", "00"}
    page.click(heads[1].find_element(By.CSS_SELECTOR, "button"))
    assert [int(row[0].replace(",", "")) for row in page.rows("Worst steps")] == sorted(step for step, _ in shown)


def test_a_worst_step_leads_to_the_timeline(show):
    page = show(recordings.training(steps=1009, odd=611))
    page.click(page.table("Worst steps").find_element(By.CSS_SELECTOR, "td button"))
    assert page.find(".detail h3").text == "Step 611"
    low, high = page.span()
    assert low < 611 < high and high - low < 80


def test_totals_by_generation_cause_and_line(show):
    recording = recordings.training(steps=1009)
    page = show(recording)
    for generation, row in zip((2, 0, 1), page.rows("Pauses by generation")):
        mine = [p[1] - p[0] for p in recording.pauses if p[3] == generation]
        assert row[0].startswith(f"gen {generation}")
        assert row[1:3] == [str(len(mine)), duration(sum(mine))]
        assert row[6] == duration(max(mine))
        assert row[7] == f"{sum(p[6] for p in recording.pauses if p[3] == generation):,}"
    whole = sum(p[1] - p[0] for p in recording.pauses)
    assert page.rows("Pauses by cause")[0][:3] == ["automatic", str(len(recording.pauses)),
                                                   duration(whole)]
    lines = page.rows("Lost by the line that triggered the collection")
    cost = sum(p[13] for p in recording.pauses if p[3] == 2)
    assert lines[0][:3] == ["Node.linkgraph.py:41", duration(cost),
                            share(cost, recording.tracks[0].time)]
    assert [row[0] for row in lines[1:]] == ["Trainer.steptrain.py:131", "Trainer.steptrain.py:133"]


def test_longest_pauses_unfold(show):
    recording = recordings.training(steps=1009)
    page = show(recording)
    longest = sorted((p[1] - p[0] for p in recording.pauses), reverse=True)
    rows = page.rows("Longest pauses")
    assert [row[1] for row in rows] == [duration(ns) for ns in longest[:10]]
    table = page.table("Longest pauses")
    fold = table.find_element(By.CSS_SELECTOR, "button.fold")
    assert fold.get_attribute("aria-expanded") == "false"
    page.click(fold)
    assert fold.get_attribute("aria-expanded") == "true"
    names = [e.text for e in table.find_elements(By.CSS_SELECTOR, ".stack .name")]
    assert names == ["Node.link", "Trainer.step", "Trainer.fit", "<module>"]
    page.click(fold)
    assert not table.find_element(By.CSS_SELECTOR, ".stack").is_displayed()


def test_advice_can_be_copied(show):
    recording = recordings.training(steps=211)
    page = show(recording)
    page.browser.execute_cdp_cmd("Browser.grantPermissions",
                                 {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
    assert page.texts(".card h3") == [advice[6] for advice in recording.advices]
    assert page.texts(".card code") == [advice[7] for advice in recording.advices]
    saves = recording.advices[0]
    assert page.all(".card .saves")[0].text == (
        f"−{100 * saves[5]:.1f}\u202f% of training time: {duration(saves[2])} "
        f"(range: {duration(saves[3])} to {duration(saves[4])}) estimated")
    copy = page.find(".card .copy")
    page.click(copy)
    WebDriverWait(page.browser, 10).until(lambda _: copy.text == "Copied")
    assert page.browser.execute_async_script(
        "navigator.clipboard.readText().then(arguments[0], e => arguments[0](String(e)))") == saves[7]


if __name__ == "__main__":
    sys.exit(chromium.main(__doc__, "RENDER_HTML", str(HERE / "test_html.py"),
                           str(HERE / "test_html_page.py"), str(HERE / "test_html_jvm.py"),
                           str(HERE / "test_html_gpu.py"), str(HERE / "test_html_paper.py"),
                           str(HERE / "test_html_diff.py"), str(HERE / "test_html_lines.py")))
