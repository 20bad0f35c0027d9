"""What the HTML report shows of JVMs: safepoints, their facts, System.gc(), stalls, phases; and beside CPython."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import html_recordings as recordings  # noqa: E402
from chromium import browser  # noqa: E402, F401
from html_browser import duration, show  # noqa: E402, F401


def by_operation(recording):
    """operation → durations of its safepoints"""
    found = {}
    for pause, facts in recording.safepoints.items():
        start, end = recording.pauses[pause][:2]
        found.setdefault(bytes.fromhex(facts.split()[0]).decode(), []).append(end - start)
    return found


def test_tables_are_the_data(show):
    recording = recordings.jvm()
    page = show(recording)
    assert page.find(".verdict").text.startswith("Safepoints stopped java (4711) for ")
    operations = by_operation(recording)
    rows = {row[0]: row for row in page.rows("Safepoints by operation")}
    assert set(rows) == set(operations) == {"ThreadDump", "G1CollectFull", "G1CollectForAllocation"}
    for name, lengths in operations.items():
        assert rows[name][1:3] == [str(len(lengths)), duration(sum(lengths))], name
        assert rows[name][6] == duration(max(lengths)), name
    assert rows["ThreadDump"][7] == "98.0 %"
    kinds = {row[0]: row[1:4] for row in page.rows("Collections (one safepoint may hold several)")}
    full, other = len(operations["G1CollectFull"]), len(operations["ThreadDump"])
    young = len(operations["G1CollectForAllocation"])
    assert kinds == {"full": [str(full)] * 3, "young": [str(young), str(young), "0"],
                     "not GC": [str(other), "-", "-"]}
    heaps = {row[1]: row[2:] for row in page.rows("Heap in use after collections")}
    assert heaps["full"] == [str(full)] + ["90 MiB"] * 4
    assert page.rows("Threads that safepoints had to wait for")[0][1:4] == ["<b>worker</b>", "23", str(other)]
    assert "Of 1 safepoint begin or length are those of probes" in page.find("#tables").text
    assert page.texts("#tables .generation") and not any("gen" in text for text in page.texts("#tables .generation"))


def test_system_gc_stalls_and_phases(show):
    page = show(recordings.jvm())
    caller = page.rows("Who called System.gc()")[0]
    assert "com.example.Main.main" in caller[0] and "com.example.Trainer.fit" in caller[1]
    assert caller[2:] == ["DeallocatorServ", "23", "19", "470.0 ms", "180.0 ms", "every 500.0 ms"]
    stalls = page.rows("Stalls: one thread waited for the collector; added to no total above, which have the pauses within")
    assert {row[0]: row[1] for row in stalls} == {"System.gc": "2", "allocation stall": "2", "pacing": "1"}
    phases = page.rows("Concurrent phases: the program ran meanwhile; one may hold others")
    assert [row[0] for row in phases] == ["Concurrent Mark", "<i>phase</i>"]


def test_a_safepoint_unfolds_all_that_is_known(show):
    page = show(recordings.jvm())
    table = page.table("Longest pauses")
    heads = [head.rstrip() for head in page.run(
        "return Array.from(arguments[0].tHead.rows[0].cells, c => c.textContent)", table)]
    assert heads[1:] == ["Duration", "GC", "Reason", "Reach", "At", "Heap", "Triggered in"]
    rows = page.rows("Longest pauses")
    assert rows[0][2:4] == ["full", "System.gc()"] and rows[0][6] == "200 MiB → 90 MiB"
    folds = page.all("#tables button.fold")
    first_dump = next(i for i, row in enumerate(rows) if row[3] == "ThreadDump")
    for i in (0, first_dump):
        page.run("arguments[0].click()", folds[i])
    facts = page.texts("#tables .facts div")
    assert "Collections1 young, 1 full" in facts and "OperationG1CollectFull" in facts
    assert "Late<b>worker</b> (23)" in facts and "Asked for bymain (7)" in facts
    assert "com.example.Kernel.loop" in page.find("#tables").text


def test_pauses_over_time_say_reason_and_reach(show):
    page = show(recordings.jvm())
    page.focus()
    page.press("\ue010")  # End
    readout = page.readout()
    assert "reach" in readout and ("G1 Evacuation Pause" in readout or "ThreadDump" in readout)
    page.press("\ue007")  # Enter
    assert "reached in" in page.find(".track .detail").text
    assert page.texts(".track > .legend .generation") == ["young", "full", "not GC"]


def test_beside_cpython_both_keep_their_words(show):
    page = show(recordings.jvm(mixed=True))
    assert page.find(".verdict").text.startswith("GC and safepoints stopped 2 processes for ")
    assert len(page.rows("Pauses by generation")) == 3
    assert sum(int(row[1]) for row in page.rows("Pauses by generation")) == 101
    assert sum(int(row[1]) for row in page.rows("Safepoints by operation")) == 101


def test_a_page_without_a_jvm_says_nothing_of_them(show):
    page = show(recordings.without_steps())
    captions = page.texts("caption span")
    assert not any("afepoint" in caption or "Stalls" in caption for caption in captions)
