"""The lines that lead the HTML report are those of the text, and all of them are in view."""
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "verbs")]
os.environ.setdefault("GCTRACE", str(pathlib.Path(os.environ["RENDER_HTML"]).parents[2] / "gctrace"))
import pytest  # noqa: E402
from chromium import browser  # noqa: E402, F401
from html_browser import show  # noqa: E402, F401
from recording import MS, Recording, gctrace, training  # noqa: E402


class Report:
    """What the fixture `show` opens."""

    def __init__(self, recording):
        self.recording = recording

    def render(self, _program, path):
        assert gctrace("report", self.recording, "-f", "html", "-o", path).returncode == 0
        return path

    def lines(self):
        """The first paragraph of the text: its first line, then a label and a text each."""
        first, *rest = gctrace("report", self.recording).stdout.split("\n\n")[0].splitlines()
        return first, [tuple(line.split(None, 1)) for line in rest]


def shown(page):
    return page.find(".verdict > p").text, list(zip(page.texts(".verdict dt"), page.texts(".verdict dd")))


@pytest.mark.parametrize("width", [400, 1400])
def test_they_lead_the_page(show, tmp_path, width):
    report = Report(training(tmp_path / "run.gct", every=23))
    page = show(report)
    page.size(width, 900, mobile=width < 1000)
    first, rest = report.lines()
    assert shown(page) == (first, rest)
    assert [label for label, _ in rest][:4] == ["felt", "cause", "where", "sure"]
    places = page.run("""return Array.from(document.querySelectorAll('.verdict > p, .verdict dd, #main > section:nth-child(2)'),
        e => { const {top, bottom, right} = e.getBoundingClientRect(); return [top, bottom, right]; })""")
    for (_, bottom, right), (below, _, _) in zip(places, places[1:]):
        assert bottom <= below and right <= width
    if width == 1400:
        assert places[-2][1] <= 450  # the advice is in view below them


def test_without_steps_too(show, tmp_path):
    made = Recording(tmp_path / "run.gct")
    for i in range(7):
        made.pause(i * 100 * MS, 40 * MS, generation=2)
    report = Report(made.close(10**9))
    assert shown(show(report)) == report.lines()


def test_one_line_is_no_list(show, tmp_path):
    report = Report(Recording(tmp_path / "blind.gct", runtime=False).close(10**9))
    page = show(report)
    first, rest = report.lines()
    assert first.startswith("BLIND") and shown(page) == (first, rest)
    assert len(page.all(".verdict dl")) == (1 if rest else 0)
