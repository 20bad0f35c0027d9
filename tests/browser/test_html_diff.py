"""The page of `gctrace diff -f html`: figures, how they are known, intervals as pictures, two flame graphs, on paper too."""
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "verbs")]
os.environ.setdefault("GCTRACE", str(pathlib.Path(os.environ["RENDER_HTML"]).parents[2] / "gctrace"))
import pytest  # noqa: E402
from chromium import browser  # noqa: E402, F401
from html_browser import TEXTS, contrast, luminance, show  # noqa: E402, F401
from recording import MS, Recording, gctrace, training  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

HOSTILE = '"><img src=x onerror=window.owned=1>.gct'


class Diff:
    """What the fixture `show` opens."""

    def __init__(self, *args, status=0):
        self.args, self.status = args, status

    def render(self, _program, path):
        done = gctrace("diff", "-f", "html", "-o", path, *self.args)
        assert done.returncode == self.status, done.stderr
        return path

    def records(self):
        return [json.loads(line) for line in gctrace("diff", "-f", "json", *self.args).stdout.splitlines()]


@pytest.fixture
def spiky(tmp_path):
    return training(tmp_path / HOSTILE, every=23)


@pytest.fixture
def quiet(tmp_path):
    return training(tmp_path / "quiet.gct", every=101, pause=5 * MS)


def rows(page):
    """By label: the texts of its cells, and where its picture draws the interval and the change."""
    return {row[0]: (row[1:], picture) for row, picture in page.run("""
        return Array.from(document.querySelectorAll('.figures tbody tr'), tr => [
            Array.from(tr.cells, td => td.textContent),
            tr.querySelector('svg') && [tr.querySelector('path:not(.zero)')?.getAttribute('d'),
                Number(tr.querySelector('circle:not(.run)').getAttribute('cx')),
                tr.querySelector('svg').getAttribute('class'),
                Array.from(tr.querySelectorAll('.run'), e => [e.getAttribute('cx'), e.getAttribute('cy')].map(Number))]]);""")}


def flames(page):
    """The heading of each flame graph, and what its picture says in all."""
    WebDriverWait(page.browser, 10).until(lambda _: page.run(
        "return Array.from(document.querySelectorAll('iframe')).every(f => f.contentDocument.querySelector('.tools'))"))
    return page.run("""return Array.from(document.querySelectorAll('.flame'), e => [e.querySelector('h3').textContent,
        e.querySelector('iframe').contentDocument.querySelector('.totals').textContent]);""")


def test_figures_are_those_of_the_other_formats(show, spiky, quiet):
    diff = Diff(spiky, quiet)
    *records, last = diff.records()
    page = show(diff)
    assert page.find(".verdict").text == last["verdict"]
    assert page.texts(".facts dd") == [str(spiky), str(quiet)]
    got, text = rows(page), gctrace("diff", spiky, quiet).stdout
    assert list(got) == [r.get("of") or r["name"] for r in records]
    known = [r for r in records if r.get("low") is not None]
    assert len(known) >= 3
    reach = min(1, max(max(abs(r["low"]), abs(r["high"])) for r in known))
    for record in records:
        cells, picture = got[record.get("of") or record["name"]]
        for cell in cells[:3] + cells[4:5]:
            assert cell in text
        assert cells[6] == (record.get("judged") or "")
        assert (picture is not None) == (record in known or record.get("judged") is not None)
        if picture:
            place = [f"{90 * max(-1, min(1, record[key] / reach)):.1f}" for key in ("low", "high", "change")
                     if record.get(key) is not None]
            assert picture[0] == (f"M{place[0]} 0H{place[1]}" if record in known else None)
            assert picture[1] == float(place[-1])
            assert picture[2:] == [f"forest {record.get('judged') or 'unjudged'}", []]
    assert flames(page) == [
        [f"Before: {spiky}", "9 pauses, 450.0 ms of pause time, 17.58 % of 2.560 s recorded, 1 process"],
        [f"After: {quiet}", "2 pauses, 10.00 ms of pause time, 0.47 % of 2.120 s recorded, 1 process"]]
    assert page.run("return [window.owned, document.scripts.length, document.images.length]") == [None, 1, 0]


def test_each_of_several_runs_is_a_dot(show, spiky, quiet, tmp_path):
    other = training(tmp_path / "other.gct", every=29)
    diff = Diff(spiky, other, "--", quiet, quiet)
    means = [{r["name"]: r for r in Diff(path, quiet).records()[:-1]}["step.mean"] for path in (spiky, other)]
    before, after = [one["before"] for one in means], means[0]["after"]
    page = show(diff)
    known = [r for r in diff.records()[:-1] if r.get("low") is not None]
    reach = min(1, max(max(abs(r["low"]), abs(r["high"])) for r in known))
    wanted = [90 * max(-1, min(1, (one / (sum(before) / 2) - 1) / reach)) for one in before + [after] * 2]
    dots = rows(page)["step.mean"][1][3]
    assert [x for x, _ in dots] == pytest.approx(wanted, abs=0.06) and [y for _, y in dots] == [-5, -5, 5, 5]
    assert any("Small dots" in note for note in page.texts(".note"))
    assert [heading for heading, _ in flames(page)] == [f"Before: {spiky}, the first of 2", f"After: {quiet}, the first of 2"]


def test_every_figure_says_how_it_is_known(show, spiky, quiet):
    sources = []
    for path in (spiky, quiet):
        summary = [json.loads(line) for line in gctrace("report", path, "-f", "json").stdout.splitlines()][-1]
        source = summary["tracks"][0]["cost_source"]
        sources.append("cannot be told" if source == "untold" else source)
    page = show(Diff(spiky, quiet))
    known = {label: cells[5] for label, (cells, _) in rows(page).items()}
    assert known.pop("cost.share") == (sources[0] if sources[0] == sources[1] else " → ".join(sources))
    assert set(known.values()) <= {"measured", "not known"} and known["step.mean"] == "measured"


def test_what_is_missing_is_said(show, spiky, tmp_path):
    made = Recording(tmp_path / "cut.gct", complete=False)
    made.pause(0, 40 * MS, generation=2)
    made.drop("ring-full", 23)
    page = show(Diff(spiky, made.close(10**9), status=4))
    assert page.find(".banner").text.startswith("INCOMPLETE") and "23 events" in page.find(".banner").text


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_it_can_be_read(show, spiky, quiet, theme, width):
    page = show(Diff(spiky, quiet))
    page.theme(theme)
    page.size(width, 900, mobile=width < 1000)
    assert page.run("return document.documentElement.scrollWidth") <= width
    for ink, back, where in page.run(TEXTS):
        assert contrast(ink, back) >= 4.5, (where, ink, back)
    back = page.run("return getComputedStyle(document.documentElement).backgroundColor")
    assert (luminance(back) > 0.8) == (theme == "light")


def test_paper(show, spiky, quiet):
    page = show(Diff(spiky, quiet))
    flames(page)
    page.run("window.dispatchEvent(new Event('beforeprint'))")
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
        "media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]})
    page.size(718, 1000)
    for right in page.run("""return Array.from(document.querySelectorAll('table, iframe, svg, .verdict'),
                             e => e.getBoundingClientRect().right)"""):
        assert right <= 718
    assert page.run("""return Array.from(document.querySelectorAll('iframe'), f => f.contentDocument.documentElement)
        .map(e => [e.scrollHeight <= e.clientHeight, e.scrollWidth <= e.clientWidth])""") == [[True, True]] * 2
    for ink, back, where in page.run(TEXTS):
        assert contrast(ink, back) >= 4.5 and luminance(back) > 0.8, (where, ink, back)
    page.run("window.dispatchEvent(new Event('afterprint'))")
