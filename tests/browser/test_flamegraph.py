#!/usr/bin/python3
"""The flame graph in a real browser: zoom, search, tooltips, keys, themes and hostile names.

usage: test_flamegraph.py RENDER_FLAME

Renders recordings described here with RENDER_FLAME (render_flame.c), opens them from disk in headless
Chromium and compares what is shown with figures computed from the same description. Exit status 77:
there is no browser to drive, with the reason.
"""
import os
import random
import subprocess
import sys
import xml.etree.ElementTree

from chromium import browser, main

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

TRAIN, ENGINE = "/srv/train/train.py", "/srv/train/engine.py"
OUTER = [("<module>", TRAIN, 310), ("Trainer.fit", TRAIN, 201)]
STEP = OUTER + [("Trainer.step", TRAIN, 131)]
BACKWARD = STEP + [("Value.backward", ENGINE, 96), ("Value.backward.<locals>.build", ENGINE, 91),
                   ("Value.backward.<locals>.build", ENGINE, 91)]
CAUSES = ["unknown", "automatic", "manual", "shutdown"]


def pause(ns, generation=0, stack=BACKWARD, cause=1, pid=1234):
    return {"ns": ns, "generation": generation, "stack": stack, "cause": cause, "pid": pid}


def training():
    """Pauses of one process: 23 + 11 + 7 + 3, as many as tell a wrong sum from a right one."""
    rng = random.Random(23)
    pauses = [pause(rng.randrange(40000, 90000), 0, BACKWARD) for _ in range(23)]
    pauses += [pause(rng.randrange(300000, 500000), 1, STEP) for _ in range(11)]
    pauses += [pause(rng.randrange(2000000, 9000000), 2, OUTER + [("evaluate", TRAIN, 222)])
               for _ in range(7)]
    pauses += [pause(5000000, 2, [], 2) for _ in range(3)]
    return pauses


def hexed(text):
    return (text if isinstance(text, bytes) else text.encode()).hex() or "-"


def duration(ns):
    """As format_duration() says it."""
    for at_least, factor, unit in ((999950000, 1e9, "s"), (999950, 1e6, "ms"), (1000, 1e3, "µs")):
        if ns >= at_least:
            value = ns / factor
            digits = 3 if value < 9.9995 else 2 if value < 99.995 else 1 if value < 999.95 else 0
            return f"{value:.{digits}f} {unit}"
    return f"{ns} ns"


def total(pauses):
    return sum(p["ns"] for p in pauses)


class Page:
    """One flame graph in the browser, and what the tests do to it."""

    def __init__(self, browser, path):
        self.browser = browser
        browser.get(path.as_uri())

    def find(self, css):
        return self.browser.find_element(By.CSS_SELECTOR, css)

    def all(self, css):
        return self.browser.find_elements(By.CSS_SELECTOR, css)

    def frame(self, start):
        """The first frame whose tooltip starts with @start, and is shown."""
        for g in self.all(".frames g:not(.off)"):
            if g.get_attribute("aria-label").startswith(start):
                return g
        raise AssertionError(f"no frame {start!r}")

    def shown(self):
        return len(self.all(".frames g:not(.off)"))

    def share(self, g):
        return (g.find_element(By.CSS_SELECTOR, "rect").rect["width"] /
                self.find(".frames g rect").rect["width"])

    def search(self, text):
        self.find(".tools input").click()
        ActionChains(self.browser).key_down(Keys.CONTROL).send_keys("a").key_up(
            Keys.CONTROL).send_keys(text).perform()
        return self.find(".matched").text

    def hover(self, g):
        ActionChains(self.browser).move_to_element(g.find_element(By.CSS_SELECTOR, "rect")).perform()
        WebDriverWait(self.browser, 10).until(lambda _: self.find(".tip").is_displayed())
        return self.find(".tip").text.split("\n")

    def theme(self, name):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": name}]})

    def press(self, *keys):
        ActionChains(self.browser).send_keys(*keys).perform()


@pytest.fixture
def draw(browser, tmp_path):
    """Draws pauses and opens the picture; fails if it logs, loads or asks for anything."""
    def draw(pauses, title="run.gct", extra=()):
        lines = "".join(
            "{} {} {} {} {}\n".format(p["pid"], p["ns"], p["generation"], p["cause"], " ".join(
                f"{hexed(function)}:{hexed(file)}:{line}" for function, file, line in p["stack"]))
            for p in pauses)
        path = tmp_path / "gc.svg"
        with open(path, "wb") as out:
            subprocess.run([os.environ["RENDER_FLAME"], "flamegraph", title, *extra], stdout=out,
                           input=lines.encode(), check=True, timeout=60)
        xml.etree.ElementTree.parse(path)
        browser.get_log("browser")
        return Page(browser, path)
    yield draw
    assert browser.get_log("browser") == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_heading_and_legend(draw):
    pauses = training()
    page = draw(pauses, "run <23> & more.gct")
    full = [p for p in pauses if p["generation"] == 2]
    assert page.find(".title").text == "GC pause time · run <23> & more.gct"
    assert page.find(".totals").text.startswith(
        f"44 pauses, {duration(total(pauses))} of pause time, 2.00 % of ")
    legend = page.find(".legend").text
    assert (f"{duration(total(full))} · {100 * total(full) / total(pauses):.2f} % · 10 pauses"
            in legend)
    assert "gen 0" in legend and "gen 1" in legend and "gen 2 (full)" in legend
    assert not page.all(".warning")


def test_widths_are_pause_time(draw):
    pauses = training()
    page = draw(pauses)
    for name, matching in {
        "python3 (1234)": pauses,
        "Trainer.step": [p for p in pauses if p["stack"][:3] == STEP],
        "Value.backward,": [p for p in pauses if p["stack"] == BACKWARD],
        "evaluate": [p for p in pauses if ("evaluate", TRAIN, 222) in p["stack"]],
        "[no stack]": [p for p in pauses if not p["stack"]],
        "gen 2 (full), manual": [p for p in pauses if p["cause"] == 2],
    }.items():
        assert page.share(page.frame(name)) == pytest.approx(
            total(matching) / total(pauses), abs=0.001), name


def test_zoom_and_reset(draw):
    page = draw(training())
    everything = page.shown()
    reset = page.find(".tools .reset")
    assert not reset.is_displayed()
    before = page.share(page.frame("Trainer.step"))
    page.frame("Trainer.step").click()
    assert before < 0.5
    assert page.share(page.frame("Trainer.step")) == pytest.approx(1, abs=0.001)
    assert page.share(page.frame("Trainer.fit")) == pytest.approx(1, abs=0.001)
    assert "passed" in page.frame("Trainer.fit").get_attribute("class")
    assert page.shown() < everything
    with pytest.raises(AssertionError):
        page.frame("evaluate")
    label = page.frame("Trainer.step").find_element(By.CSS_SELECTOR, "text")
    assert label.text == "Trainer.step (train.py:131)"
    reset.click()
    assert page.shown() == everything
    assert page.share(page.frame("Trainer.step")) == pytest.approx(before, abs=0.0001)
    assert not reset.is_displayed()


def test_clicking_a_caller_zooms_out(draw):
    page = draw(training())
    page.frame("Value.backward,").click()
    page.frame("Trainer.fit").click()
    page.frame("evaluate")
    assert page.share(page.frame("Trainer.fit")) == pytest.approx(1, abs=0.001)
    with pytest.raises(AssertionError):
        page.frame("[no stack]")


@pytest.mark.parametrize("text,matches", [
    ("value.BACKWARD", lambda p: p["stack"] == BACKWARD),  # nested in itself: counted once
    ("engine.py:91", lambda p: p["stack"] == BACKWARD),
    ("Trainer.step (train.py:131)", lambda p: p["stack"][:3] == STEP),
    ("gen 2", lambda p: p["generation"] == 2),
    ("manual", lambda p: p["cause"] == 2),
    ("[no stack]", lambda p: not p["stack"]),
    ("/srv/train/", lambda p: p["stack"]),
    ("nowhere", lambda p: False),
])
def test_search_shows_the_matched_share(draw, text, matches):
    pauses = training()
    page = draw(pauses)
    ns = total(p for p in pauses if matches(p))
    assert page.search(text) == (
        f"Matched: {100 * ns / total(pauses):.2f} % ({duration(ns)})")
    assert bool(page.all(".frames .hit")) == bool(ns)
    page.press(Keys.ESCAPE)
    assert page.find(".matched").text == ""
    assert not page.all(".frames .hit")


def test_ctrl_f_and_the_legend_search(draw):
    pauses = training()
    page = draw(pauses)
    ActionChains(page.browser).key_down(Keys.CONTROL).send_keys("f").key_up(Keys.CONTROL).perform()
    page.press("evaluate")
    ns = total(p for p in pauses if ("evaluate", TRAIN, 222) in p["stack"])
    assert f"({duration(ns)})" in page.find(".matched").text
    page.press(Keys.ESCAPE)
    page.find('.key[data-search="gen 1"]').click()
    ns = total(p for p in pauses if p["generation"] == 1)
    assert page.find(".matched").text == f"Matched: {100 * ns / total(pauses):.2f} % ({duration(ns)})"


def test_tooltip(draw):
    pauses = training()
    page = draw(pauses)
    step = [p for p in pauses if p["stack"][:3] == STEP]
    share = f"{100 * total(step) / total(pauses):.2f} %"
    assert page.hover(page.frame("Trainer.step")) == [
        "Trainer.step", f"{TRAIN}:131",
        f"{duration(total(step))} · {share} of the pause time · 34 pauses"]
    page.frame("Trainer.step").click()
    backward = [p for p in pauses if p["stack"] == BACKWARD]
    lines = page.hover(page.frame("Value.backward,"))
    assert lines[-1] == f"{100 * total(backward) / total(step):.2f} % of the zoomed frame"
    lines = page.hover(page.frame("gen 0, automatic"))
    assert lines[0] == "gen 0, automatic"
    tip = page.find(".tip").rect
    assert tip["x"] >= 0 and tip["x"] + tip["width"] <= 1400


def test_keyboard(draw):
    page = draw(training())
    everything = page.shown()
    focused = "return document.activeElement.getAttribute('aria-label') || ''"
    for _ in range(20):
        page.press(Keys.TAB)
        if page.browser.execute_script(focused).startswith("python3 (1234)"):
            break
    page.press(Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_RIGHT)
    assert page.browser.execute_script(focused).startswith("Trainer.step")
    assert page.find(".tip").is_displayed()
    page.press(Keys.ENTER)
    assert page.share(page.frame("Trainer.step")) == pytest.approx(1, abs=0.001)
    page.press(Keys.ARROW_DOWN)
    assert page.browser.execute_script(focused).startswith("Trainer.fit")
    page.press(Keys.ESCAPE)
    assert page.shown() == everything


HOSTILE = ["<script>document.title='owned'</script>", '"><img src=x onerror="document.title=1">',
           "</title></svg><script>document.title='owned'</script>", "a&b;c]]>d&lt;e",
           "javascript:document.title=1", "${document.title=1}", "naïve_学習ステップ関数"]


def test_hostile_names_are_text(draw):
    page = draw([pause(1000003 * (i + 1), i % 3, OUTER + [(name, name, 7)])
                 for i, name in enumerate(HOSTILE)], title=HOSTILE[2])
    for name in HOSTILE:
        g = page.frame(name)
        assert page.hover(g)[0] == name
        g.click()
        assert page.share(page.frame(name)) == pytest.approx(1, abs=0.001)
        shown = page.frame(name).find_element(By.CSS_SELECTOR, "text").text
        assert shown.startswith(name)
        page.press(Keys.ESCAPE)
        assert page.search(name).startswith("Matched: ")
        assert page.all(".frames .hit")
        page.search(Keys.BACKSPACE)
    assert page.browser.title == "GC pause time by stack (gctrace)"
    assert len(page.all("script")) == 1 and not page.all("img")


def test_unshowable_names(draw):
    names = {b"\xff\xfebad\xc3": "��bad�", b"\x1b[31mred\x07\nline": "\\x1b[31mred\\x07\\x0aline",
             "\u202egnp.exe".encode(): "�gnp.exe", b"nul\x00byte": "nul\\x00byte"}
    page = draw([pause(1000003, 1, [(name, "f.py", 1)]) for name in names])
    for shown in names.values():
        assert page.hover(page.frame(shown))[0] == shown


def test_a_name_of_64_kb_is_cut_and_says_so(draw):
    page = draw([pause(1000003, 1, [("x" * 65536, "f.py", 1)])])
    g = page.frame("xxx")
    label = g.find_element(By.CSS_SELECTOR, "text")
    assert label.text.endswith("…")
    assert label.rect["width"] <= g.find_element(By.CSS_SELECTOR, "rect").rect["width"]
    lines = page.hover(g)
    assert "".join(lines).count("x") == 240 and "… [65296 bytes more]" in "".join(lines)


def luminance(color):
    channels = [int(c) / 255 for c in color[color.index("(") + 1:-1].split(",")[:3]]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_is_readable_in_both_themes(draw, theme):
    pauses = training() + [pause(9000000 + 1000003 * i, g, OUTER + [(f"function_{i}", "f.py", i)])
                           for i in range(3) for g in (-1, 0, 1)]
    pauses += [pause(9000000, 3, OUTER + [(f"unknown_{i}", "f.py", i)], pid=1235) for i in range(3)]
    page = draw(pauses, extra=["incomplete"])
    page.theme(theme)
    back = page.find(".back").value_of_css_property("fill")
    assert (luminance(back) > 0.8) == (theme == "light")
    seen = set()
    for g in page.all(".frames g"):
        rect, text = g.find_elements(By.CSS_SELECTOR, "rect"), g.find_elements(By.CSS_SELECTOR, "text")
        if text:
            seen.add(g.get_attribute("class").split()[0])
            assert contrast(rect[0].value_of_css_property("fill"),
                            text[0].value_of_css_property("fill")) >= 4.5, g.get_attribute("class")
    assert {"gen0", "gen1", "gen2", "gen3", "genx", "origin", "merged"} <= seen
    for css in (".title", ".totals", ".warning", ".hint", ".key"):
        assert contrast(page.find(css).value_of_css_property("fill"), back) >= 4.5, css
    page.theme("")


def test_generations_have_different_colours(draw):
    page = draw(training())
    fills = {page.frame(name).find_element(By.CSS_SELECTOR, "rect").value_of_css_property("fill")
             for name in ("gen 0", "gen 1", "gen 2", "Trainer.step")}
    assert len(fills) == 4


def test_several_processes(draw):
    pauses = training() + [pause(23000003, 2, STEP, pid=1301)]
    page = draw(pauses)
    assert page.share(page.frame("all processes")) == pytest.approx(1)
    assert page.share(page.frame("python3 (1301)")) == pytest.approx(23000003 / total(pauses),
                                                                      abs=0.001)


def test_many_stacks(draw):
    rng = random.Random(11)
    pauses = [pause(rng.randrange(50000, 90000), rng.randrange(3), OUTER + [
        (f"function_{rng.randrange(97)}", "m.py", rng.randrange(97)) for _ in range(13)])
        for _ in range(10007)]
    page = draw(pauses)
    merged = page.frame("[")
    assert "narrow frame" in merged.get_attribute("aria-label")
    assert page.find(".totals").text.startswith("10,007 pauses")
    ns = total(p for p in pauses if p["generation"] == 1)
    assert f"({duration(ns)})" in page.search("gen 1")  # merged frames keep their generations
    page.search(Keys.BACKSPACE)
    bottom = page.find(".frames g rect").rect
    assert bottom["width"] > 1000
    assert page.browser.execute_script(
        "return document.querySelectorAll('.frames g').length") < 40000


def test_deep_stacks_start_at_the_bottom(draw):
    page = draw([pause(1000003, 2, [(f"f{i}", "f.py", i + 1) for i in range(127)])])
    top = page.browser.execute_script("return document.querySelector('.frames g rect')"
                                      ".getBoundingClientRect().bottom")
    assert 0 < top <= 800
    head = page.browser.execute_script(
        "return document.querySelector('.head').getBoundingClientRect().top")
    assert -10 <= head <= 10  # stays in view
    page.frame("f3").click()
    assert page.share(page.frame("f3")) == pytest.approx(1)


def test_a_narrow_window(draw):
    page = draw(training())
    try:
        page.browser.set_window_size(700, 600)
        WebDriverWait(page.browser, 10).until(
            lambda _: page.find(".frames g rect").rect["width"] < 700)
        assert page.find(".tools input").rect["x"] + page.find(".tools input").rect["width"] <= 700
    finally:
        page.browser.set_window_size(1400, 800)


def test_no_pauses(draw):
    page = draw([])
    assert page.find(".empty").text == "No pauses: nothing to draw."
    assert page.find(".totals").text.startswith("0 pauses")


def test_as_a_picture_without_script(draw, tmp_path):
    page = draw(training())
    html = tmp_path / "page.html"
    html.write_text("<img src='gc.svg'>")
    page.browser.get(html.as_uri())
    size = page.browser.execute_script("const i = document.images[0];"
                                       "return [i.naturalWidth, i.naturalHeight]")
    assert size[0] == 1200 and size[1] > 200
    page.browser.get("about:blank")


if __name__ == "__main__":
    sys.exit(main(__doc__, "RENDER_FLAME", __file__))
