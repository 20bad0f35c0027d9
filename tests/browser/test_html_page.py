"""The HTML report as a page: hostile strings, odd recordings, themes, keys, narrow windows, size."""
import pathlib
import random
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import html_recordings as recordings  # noqa: E402
import pytest  # noqa: E402
from chromium import browser  # noqa: E402, F401
from html_browser import TEXTS, contrast, duration, luminance, show, us  # noqa: E402, F401
from selenium.common.exceptions import NoAlertPresentException  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

START = recordings.START


HOSTILE = ["<script>window.owned=1;document.title='owned'</script>",
           '"><img src=x onerror="window.owned=1">',
           "</script><script>window.owned=1</script>", "</title></style><script>window.owned=1</script>",
           "<!--<script>", "']]><svg onload=window.owned=1>", "javascript:window.owned=1", "${window.owned=1}",
           "&lt;b&gt;&#39;", "naïve_学習ステップ関数", "<iframe src=//example.org>", "\\u003cscript\\u003e"]


def hostile():
    recording = recordings.Recording(title=HOSTILE[2])
    process = recording.process(23, HOSTILE[4], missed=7)
    recordings.add_training(recording, process, steps=211)
    for i, text in enumerate(HOSTILE):
        recording.pause(recording.end, 10**8 + i * 1000003, process, 2,
                        recording.stack([(text, text, 7)]),
                        track=0)
    for text in HOSTILE:
        recording.drops.append((3, text, text))
        recording.signals.append((text, text, 5, 0))
        recording.candidates.append((process, 1, 1.0, 1, 0.1, 0.1, 0, text, text))
        recording.advices.append((1, process, 10**6, 10**5, 10**7, 0.01, text, text, text, text))
        recording.triggers.append((recording.frame(text, text, 7), 1, 2, 3, 4))
    recording.tracks[0].signal = recording.tracks[0].note = HOSTILE[0]
    recording.note, recording.damage, recording.host = HOSTILE[1], HOSTILE[5], HOSTILE[0][:60]
    recording.complete, recording.cut_off, recording.fails = False, True, True
    return recording


def test_hostile_strings_are_text(show):
    page = show(hostile())
    for fold in page.all("button.fold")[:12]:
        page.run("arguments[0].click()", fold)
    for more in page.all(".more"):
        if more.is_displayed():
            page.run("arguments[0].click()", more)
    shown = page.run("return document.body.textContent")
    body = shown.replace(page.run("return document.getElementById('data').textContent"), "")
    for text in HOSTILE:
        assert body.count(text) >= 6, text
    assert page.browser.title == "GC report · " + HOSTILE[2]
    assert page.texts(".track code") == [HOSTILE[0]] and HOSTILE[0] in page.texts(".track .note")
    assert "page 23 is <b>malformed</b>" in page.find(".banner").text
    assert page.run("return [window.owned, document.scripts.length, document.images.length,"
                    "document.querySelectorAll('iframe, svg, b[onclick], [onerror], [onload]').length]") == [
        None, 2, 0, 1 if page.all("iframe") else 0]
    with pytest.raises(NoAlertPresentException):
        page.browser.switch_to.alert  # noqa: B018


def test_hostile_names_in_the_flame_graph(show):
    recording = hostile()
    recording.fails = False
    page = show(recording)
    page.browser.switch_to.frame(page.find("#flame-graph"))
    names = page.run("return Array.from(document.querySelectorAll('.frames g'), g => g.getAttribute('aria-label'))")
    for text in HOSTILE:
        assert any(name.startswith(text) for name in names), text
    assert page.run("return [window.owned, document.querySelectorAll('script').length, document.images.length]") == [
        None, 1, 0]
    page.browser.switch_to.default_content()
    assert page.run("return window.owned") is None


def test_unshowable_names(show):
    names = {b"\xff\xfebad\xc3": "��bad�", b"\x1b[31mred\x07\nline": "\\x1b[31mred\\x07\\x0aline",
             "\u202egnp.exe".encode(): "�gnp.exe", "a\u2028b\u2029c".encode(): "a�b�c"}
    recording = recordings.training(steps=53)
    for name in names:
        recording.pause(recording.end, 10**8, 1, 1, recording.stack([(name, "f.py", 1)]), track=0)
    page = show(recording)
    shown = " ".join(row[-1] for row in page.rows("Longest pauses"))
    for text in names.values():
        assert text in shown


def test_nothing_can_leave_the_page_or_run_in_it(show):
    page = show(recordings.training(steps=53))
    text = page.path.read_text(encoding="utf-8")
    policy = page.find("meta[http-equiv]").get_attribute("content")
    assert policy.startswith("default-src 'none'; script-src 'sha256-") and "unsafe" not in policy
    assert not re.search(r"\b(?:src|href|action|data)\s*=\s*[\"']", text.split("<script", 1)[0])
    assert "http://" not in re.sub(r"http://www\.w3\.org/\S+", "", text) and "https://" not in text
    blocked = page.browser.execute_async_script("""
        const done = arguments[0], seen = [];
        document.addEventListener('securitypolicyviolation', e => seen.push(e.effectiveDirective));
        const script = document.createElement('script');
        script.textContent = 'window.owned = 1';
        document.body.append(script);
        const image = document.createElement('img');
        image.src = 'http://127.0.0.1:9/x.png';
        document.body.append(image);
        document.body.insertAdjacentHTML('beforeend', '<b onclick="window.owned=1">x</b>');
        document.body.lastChild.click();
        fetch('http://127.0.0.1:9/').catch(() => setTimeout(() => done([seen.sort(), window.owned]),
                                                            200));""")
    assert blocked == [["connect-src", "img-src", "script-src-attr", "script-src-elem"], None]
    page.browser.get_log("browser")
    page.browser.get("about:blank")


def test_incomplete_says_so_first(show):
    recording = recordings.training(steps=211)
    recording.complete, recording.cut_off, recording.damage = False, True, "page 5 is malformed"
    recording.drops = [(23, "ring-full", "raise --ring to 16M")]
    recording.processes[0] = (1234, "python3", 7)
    page = show(recording)
    banner = page.find(".banner").text
    assert banner.startswith("INCOMPLETE")
    for text in ("cut off", "page 5 is malformed",
                 "23 events lost (ring-full): raise --ring to 16M.",
                 "7 collections of python3 (1234)"):
        assert text in banner, text
    assert page.find(".banner").rect["y"] < 300
    assert page.texts(".facts dd")[3] == "23 events (ring-full)"


def test_several_processes(show):
    recording = recordings.Recording()
    for i, pid in enumerate((1234, 1235, 1236)):
        recordings.add_training(recording, recording.process(pid), steps=101 + i,
                                every=53 if i == 0 else 0, seed=pid)
    loader = recording.process(1301, "loader")
    stack = recording.stack(recordings.STACKS[0])
    for i in range(23):
        recording.pause(START + i * 10**8, 10**6 * (i + 1), loader, i % 3, stack)
    recording.elsewhere, recording.elsewhere_ns = 23, 276 * 10**6
    recording.tracks[2].confidence, recording.tracks[2].note = 0.61, "2 threads call it."
    page = show(recording)
    assert page.texts(".track h2") == ["Steps of python3 (1234)", "Steps of python3 (1235)",
                                       "What may be steps of python3 (1236)",
                                       "Pauses of processes without steps"]
    for i in range(2):
        assert page.figures(i)["max"] == [us(ns) for ns in recording.tracks[i].durations()]
    sections = page.all("details.track")
    assert [bool(s.get_attribute("open")) for s in sections] == [True, True, False]
    guessed = [end - start for start, end, *_, track, _step, _overlap, _cost, _worker in recording.pauses if track == 2]
    assert (f"{23 + len(guessed)} pauses, {duration(276 * 10**6 + sum(guessed))}, charged to no step."
            in page.texts(".lead"))
    notes = sections[2].get_attribute("textContent")
    assert "2 threads call it." in notes and "Below confidence 0.7" in notes
    assert not sections[2].find_elements(By.CSS_SELECTOR, ".tile, .plot")  # nothing is claimed of a guess
    page.run("arguments[0].querySelector('.plot').focus()", sections[1])
    page.press(Keys.END)
    assert sections[1].find_element(By.CSS_SELECTOR, ".readout").text.startswith("step 101")
    assert {row[0] for row in page.rows("Processes")} == {"1234", "1235", "1236", "1301"}


def test_without_steps(show):
    recording = recordings.without_steps()
    recording.triggers.append((recording.frame("load", "data.py", 7), 23, 10**8, 0, 4))
    page = show(recording)
    assert page.texts(".track h2") == ["Pauses over time"]
    sentence = recording.note[0].upper() + recording.note[1:]
    assert page.texts(".track .lead")[0] == sentence
    assert sentence.rstrip(".") in page.find(".verdict").text
    assert page.rows("Paused by the line that triggered the collection")[0][1:3] == ["100.0 ms", "23"]  # nothing is "lost"
    assert page.run("return page.data.other.kept.count") == 743
    page.focus()
    page.press(Keys.HOME, Keys.ARROW_RIGHT)
    second = sorted(recording.pauses)[1]
    assert page.readout().startswith(f"pause {duration(1000 * us(second[1] - second[0]))} gen {second[3]}")
    page.press(Keys.ENTER)
    assert page.find(".detail h3").text.startswith(f"Pause of {duration(1000 * us(second[1] - second[0]))} at +")
    assert page.texts(".detail .stack .name") == [f[0] for f in reversed(recordings.STACKS[second[3]])]
    page.press("+", "+")
    low, high = page.span()
    assert high - low == pytest.approx(us(recording.end - START) / 1.6 ** 2, rel=0.001)
    assert "Lost" not in page.texts("th button")


def test_without_a_pause(show):
    recording = recordings.Recording()
    recordings.add_training(recording, recording.process(1), steps=31, every=0)
    recording.pauses.clear()
    track = recording.tracks[0]
    track.steps = [(s, e - o, rss, 0, 0, b, 0, recordings.NONE, -1) for s, e, rss, o, _c, b,
                   *_ in track.steps]
    page = show(recording)
    assert page.tiles()["Stopped in GC"] == page.tiles()["Lost"] == "0 %"
    assert not page.run("return Array.from(document.querySelectorAll('h2'), e => e.textContent)").count("The pauses")
    page.focus()
    page.press(Keys.HOME, Keys.ENTER)
    assert "whatever made it slow, GC did not" in page.find(".detail").text


ABOUT = """return Array.from(document.querySelectorAll('.tile'), tile => [tile.querySelector('dt').textContent,
    tile.querySelector('.aside')?.textContent ?? '']);"""


@pytest.mark.parametrize("source, name", [(0, "measured"), (1, "estimated")])
def test_a_cost_says_how_it_is_known(show, source, name):
    recording = recordings.training(steps=97)
    track = recording.tracks[0]
    track.source = source
    page = show(recording)
    about = dict(page.run(ABOUT))["Lost"]
    low, high = (100 * int(track.cost * factor) / track.time for factor in (0.97, 1.04))
    assert about == f"{duration(track.cost)}, 95 % interval {low:.1f}–{high:.1f} %"
    assert "Lost" in page.texts(".track th button")
    assert "without" in page.find(".distribution").text


def test_an_untold_cost_is_not_shown(show):
    recording = recordings.training(steps=97)
    track = recording.tracks[0]
    track.source = 2
    page = show(recording)
    assert page.tiles()["Lost"] == "cannot be told"
    assert dict(page.run(ABOUT))["Lost"] == "the recording does not say"
    assert all("without" not in text for _, text in page.run(ABOUT))
    assert "without" not in page.find(".distribution").text
    page.focus()
    page.press(Keys.END)
    assert "lost cannot be told" in page.readout()
    page.press(Keys.ENTER)
    assert page.find(".detail p").text.endswith("; how much was lost cannot be told.")
    assert page.rows("Its pauses") and "Lost" not in page.texts(".detail th button")
    got = page.figures()
    assert got["cost"] == got["overlap"]  # the picture draws no part of a pause as not lost


# Of each tile and each table: what it is, how its figures are known, and in a table how those of columns are that differ.
KNOWN = """
const text = (e, css) => e.querySelector(css)?.textContent ?? '';
return [Array.from(document.querySelectorAll('.tile'), tile => [text(tile, 'dt'), text(tile, '.source')]),
    Array.from(document.querySelectorAll('table'), table => [text(table, 'caption span'), text(table, 'caption .source'),
        Array.from(table.querySelectorAll('th')).filter(th => th.querySelector('.source'))
            .map(th => [text(th, 'button'), text(th, '.source')])])];"""


@pytest.mark.parametrize("source, name", [(0, "measured"), (1, "estimated"), (2, "cannot be told")])
def test_every_figure_says_how_it_is_known(show, source, name):
    recording = recordings.training(steps=97)
    recording.tracks[0].source = source
    page = show(recording)
    tiles, tables = page.run(KNOWN)
    told, differ = source < 2, name != "measured"
    lost = [["Lost", name]] if differ else []
    assert dict(tiles) == {"Stopped in GC": "measured", "Median step": "measured", "p99 step": "measured",
                           "Worst step": "measured", "Lost": name if told else ""}  # whose figure says it
    assert page.tiles()["Lost"].endswith("%" if told else "cannot be told")
    assert {caption: known for caption, known, _ in tables} == {
        "In figures": "measured", "Worst steps": "measured", "Lost by the line that triggered the collection": "measured",
        "Longest pauses": "measured", "Pauses by generation": "measured", "Pauses by cause": "measured",
        "Processes": "measured", "Step signals considered": "", "Functions probed for them": ""}
    heads = {caption: heads for caption, _, heads in tables if heads}
    assert heads.pop("In figures", []) == ([["Without", name], ["Saved", name]] if told and differ else [])
    assert heads.pop("Worst steps", []) == lost
    assert heads.pop("Lost by the line that triggered the collection", []) == lost + [
        ["of training", name]] * differ
    assert heads.pop("Longest pauses", []) == (lost if told else [])
    assert not heads
    assert page.texts(".card .saves .source") == ["estimated"] * 2
    track, note = recording.tracks[0], page.find(".distribution").text
    mean = [sum(track.durations()) // 97 - int(track.cost * factor) // 97 for factor in (1.04, 0.97)]
    assert (f"The mean without pauses: 95 % interval {duration(mean[0])} … {duration(mean[1])}. The others have none."
            in note) == told
    page.focus()
    page.press(Keys.END, "p", Keys.ENTER)
    assert ("(estimated)" in page.readout(), "(measured)" in page.readout()) == (source == 1, source == 0)
    assert page.find(".detail p").text.endswith("cannot be told." if not told else f"({name}).")
    assert page.texts(".detail caption .source") == ["measured"]
    assert page.texts(".detail th .source") == (["estimated"] if source == 1 else [])


def test_an_incomplete_recording_gives_lower_bounds(show):
    recording = recordings.training(steps=97)
    recording.advices.append((0, 1, 0, 0, 0, 0, "No setting would help", "", "", ""))
    recording.complete, recording.drops = False, [(23, "ring-full", "more")]
    page = show(recording)
    assert dict(page.run(KNOWN)[0])["Stopped in GC"] == "measured, at least"
    assert [card.text.count("estimated") for card in page.all(".card")] == [1, 1, 0]  # the last has no figure


def test_one_step_and_no_step_and_nothing(show):
    recording = recordings.training(steps=1)
    page = show(recording)
    assert page.texts(".track .lead")[0].startswith("1 step, marked by")
    page.focus()
    page.press(Keys.HOME, "+", Keys.END, Keys.ARROW_RIGHT, Keys.ENTER, "n", "p", Keys.ESCAPE,
               Keys.ESCAPE)
    assert page.readout().startswith("step 0 took ")
    assert page.span() == (0, 1)
    page = show(recordings.training(steps=0))
    assert page.texts(".track .lead")[0].startswith("0 steps, marked by")
    page = show(recordings.Recording())
    assert page.find(".verdict").text.startswith("BLIND")
    assert page.texts(".track .note") == ["There was no pause."] or page.find(".track").text


def test_windows_are_inferred(show):
    recording = recordings.training(steps=23)
    recording.tracks[0].measured = False
    page = show(recording)
    assert page.texts(".track .lead")[0].startswith("23 steps: windows of time, not steps;")
    assert page.texts(".track .lead")[0].endswith("inferred.")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_is_readable_in_both_themes(show, theme):
    recording = recordings.training(steps=311)
    recording.complete, recording.drops = False, [(23, "ring-full", "more")]
    recording.tracks[0].confidence = 0.3
    page = show(recording)
    page.theme(theme)
    page.focus()
    page.press(Keys.HOME, "n", Keys.ENTER)
    pairs = page.run(TEXTS)
    assert len(pairs) > 8
    for ink, back, where in pairs:
        assert contrast(ink, back) >= 4.5, (where, ink, back)
    surface = page.run("return getComputedStyle(document.querySelector('.view')).backgroundColor")
    assert (luminance(surface) > 0.8) == (theme == "light")
    rgb = page.run("""const e = document.createElement('i'); document.body.append(e);
        return ['gen0', 'gen1', 'gen2', 'gen3', 'rss', 'bar', 'ink-2'].map(name => {
            e.style.color = theme.colours[name];
            return [name, getComputedStyle(e).color];
        })""")
    for name, colour in rgb:  # graphics: 3, the words on a canvas: 4.5; a bar's edge also shows by its neighbours
        wanted = {"ink-2": 4.5, "bar": 2, "gen1": 2.7}.get(name, 3)
        assert contrast(colour, surface) >= wanted, (name, contrast(colour, surface))


def test_the_theme_can_be_chosen(show):
    page = show(recordings.training(steps=53))
    page.theme("light")
    back = "return getComputedStyle(document.documentElement).backgroundColor"
    inside = ("return getComputedStyle(document.getElementById('flame-graph').contentDocument"
              ".querySelector('.back')).fill")
    WebDriverWait(page.browser, 10).until(lambda _: page.run(inside))
    assert luminance(page.run(back)) > 0.8 and luminance(page.run(inside)) > 0.8
    page.click(page.find(".tools button"))
    assert luminance(page.run(back)) < 0.1 and luminance(page.run(inside)) < 0.1
    page.press("t")
    assert luminance(page.run(back)) > 0.8 and luminance(page.run(inside)) > 0.8
    page.theme("dark")  # nothing is chosen now: the system's is followed
    assert luminance(page.run(back)) < 0.1 and luminance(page.run(inside)) < 0.1
    style = (pathlib.Path(__file__).parents[2] / "user/report/html_style.css").read_text()
    blocks = re.findall(r"color-scheme: dark;([^}]*)}", style)
    assert len(blocks) == 2 and blocks[0].split() == blocks[1].split()  # both ways lead to the same dark theme


def test_tab_reaches_everything_and_shows_where(show):
    page = show(recordings.training(steps=211))
    page.run("window.scrollTo(0, 0)")
    seen, outlined = [], 0
    for _ in range(150):
        page.press(Keys.TAB)
        what, outline = page.run("""const e = document.activeElement, s = getComputedStyle(e);
            return [e.tagName + '.' + e.className + '#' + e.id,
                    s.outlineStyle + ' ' + s.outlineWidth]""")
        if what.startswith("BODY") and seen:
            break
        seen.append(what)
        outlined += outline == "solid 2px" or what.startswith("IFRAME")
    for wanted in ("BUTTON.tool#", "BUTTON.copy#", "DIV.plot#", "BUTTON.zoom-in#", "BUTTON.sort#",
                   "BUTTON.link#",
                   "BUTTON.more#", "BUTTON.fold#", "IFRAME.#flame-graph"):
        assert wanted in seen, wanted
    assert seen.count("DIV.plot#") == 2  # timeline and distribution
    assert outlined == len(seen)


def test_the_keys_are_listed(show):
    page = show(recordings.training(steps=53))
    page.press("?")
    dialog = page.find("dialog")
    assert dialog.is_displayed() and "Enter" in dialog.text
    page.press(Keys.ESCAPE)
    assert not dialog.is_displayed()
    page.click(page.all(".tools button")[1])
    assert dialog.is_displayed()
    page.press("?")
    assert not dialog.is_displayed()


def test_the_flame_graph_works_inside(show):
    recording = recordings.training(steps=311)
    page = show(recording)
    frame = page.find("#flame-graph")
    page.run("arguments[0].scrollIntoView({block: 'center'})", frame)
    page.browser.switch_to.frame(frame)
    try:
        whole = sum(p[1] - p[0] for p in recording.pauses)
        assert page.find(".totals").text.startswith(f"{len(recording.pauses)} pauses, {duration(whole)} of pause time")
        box = next(g for g in page.all(".frames g") if g.get_attribute("aria-label").startswith("Node.link"))
        before = box.find_element(By.CSS_SELECTOR, "rect").rect["width"]
        box.find_element(By.CSS_SELECTOR, "rect").click()
        assert box.find_element(By.CSS_SELECTOR, "rect").rect["width"] > before
        assert page.find(".tools .reset").is_displayed()
    finally:
        page.browser.switch_to.default_content()


@pytest.mark.parametrize("width", [400, 700])
def test_narrow_windows(show, width):
    page = show(recordings.training(steps=311))
    page.size(width, 800, mobile=True)
    assert page.run("return document.documentElement.scrollWidth") <= width
    plot = page.find(".track .plot").rect
    assert plot["x"] >= 0 and plot["x"] + plot["width"] <= width and plot["width"] > width * 0.85
    page.focus()
    page.press(Keys.HOME, "n")
    assert page.readout().startswith("step 96 ")


COUNT_DRAWING = """
    const context = CanvasRenderingContext2D.prototype;
    for (const [name, {value}] of Object.entries(Object.getOwnPropertyDescriptors(context)))
        if (typeof value === 'function')
            context[name] = function(...rest) {
                drawn[name] = (drawn[name] || 0) + 1;
                return value.apply(this, rest);
            };"""
# Bars of a column: of the slowest step 3 pieces, of the mean 6, one of the lane of pauses, one of the RSS.
PIECES = 11
FIXED = 100  # grid, axis, labels: at most


def nodes(page):
    return page.run("return document.querySelectorAll('*').length")


def drawn(page, key):
    """How often each of the canvas' functions was called for a key."""
    page.run("window.drawn = {}")
    page.press(key)
    page.settle()
    return page.run("return window.drawn")


def test_100_003_steps_are_usable(show):
    """What the page holds and draws follows from its width, not from how many steps there are."""
    few = nodes(show(recordings.training(steps=1009)))
    recording = recordings.training(steps=100003)
    page = show(recording)
    assert nodes(page) == few
    page.run(COUNT_DRAWING)
    page.focus()
    for key in "+-+-++0+-+0":
        calls = drawn(page, key)
        columns = calls["lineTo"]  # of the RSS, which has a point in each
        assert calls.pop("clearRect") == 1
        assert columns <= calls.pop("fillRect") <= PIECES * columns + FIXED, columns
        assert sum(calls.values()) <= columns + FIXED, calls
    assert page.path.stat().st_size < 3_000_000
    got = page.figures()
    assert got["max"] == [us(ns) for ns in recording.tracks[0].durations()]
    assert sum(got["pauses"]) == sum(s[6] for s in recording.tracks[0].steps)


def dense(steps):
    """As many pauses as steps, of all generations, under many stacks, and 7 very slow steps among them."""
    rng = random.Random(7)
    recording = recordings.Recording()
    process = recording.process(1234)
    track = recordings.Track(process, "torch:backward/2")
    recording.tracks.append(track)
    stacks = [recording.stack(recordings.STACKS[0] + [(f"function_{i}", f"/srv/module_{i % 97}.py",
                                                       i)] * 3)
              for i in range(4001)]
    at, slow = START, {steps * i // 8 + i for i in range(1, 8)}
    for i in range(steps):
        plain, ns = rng.randrange(900_000, 1_100_000), rng.randrange(20_000, 900_000)
        plain += 10**9 if i in slow else 0
        recording.pause(at + 1000, ns, process, i % 3, stacks[rng.randrange(4001)], i % 9973, 0, i,
                        ns)
        track.steps.append((at, at + plain + ns, rng.randrange(1 << 30, 9 << 30), ns, ns, plain, 1,
                            i, i % 3))
        at += plain + ns
    recording.end = at
    return recording, slow


def test_1_000_003_steps_fit_and_lose_no_slow_step(show):
    recording, slow = dense(1000003)
    track = recording.tracks[0]
    page = show(recording)
    assert page.path.stat().st_size < 5_000_000
    got = page.figures()
    per_bin, durations = got["perBin"], track.durations()
    assert per_bin == 17 and len(got["max"]) == -(-1000003 // per_bin)
    assert {at for at, longest in zip(got["maxAt"], got["max"]) if longest > 900_000} == slow
    for bin in [0, 1, 23, len(got["max"]) - 1] + [i // per_bin for i in slow]:
        mine = durations[bin * per_bin:(bin + 1) * per_bin]
        assert got["max"][bin] == us(max(mine)) and got["sum"][bin] == us(sum(mine))
        assert got["pauses"][bin] == len(mine)
    assert sum(got["sum"]) * 1000 == pytest.approx(track.time, abs=500 * len(got["sum"]))
    assert sum(got["overlap"]) * 1000 == pytest.approx(track.overlap, abs=500 * len(got["sum"]))
    assert {int(row[0].replace(",", "")) for row in page.rows("Worst steps")} >= slow
    assert page.run("return [page.data.left_out.pauses, page.held]") == [900003, 100000]
    longest = sorted((p[1] - p[0] for p in recording.pauses), reverse=True)
    assert page.run("return page.data.left_out.max_ns") == longest[100000]
    assert page.run("return page.data.left_out.pause_ns") == sum(longest[100000:])
    assert "900,003 shorter ones" in page.find("#recorded .facts").text
    assert page.run("return page.data.summary.total_ns") == sum(longest)
    page.focus()
    page.press("0", Keys.HOME)
    assert page.readout().startswith("steps 0–16 mean ")
