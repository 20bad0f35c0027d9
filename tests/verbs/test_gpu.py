"""What every verb says of GPUs: recordings of a loop whose device, queue and pauses are known to the nanosecond."""
import json
import sqlite3

import pytest

from recording import BEGIN, MS, Recording, gctrace, training

STEPS, EVERY, STEP, PAUSE, WORK = 211, 53, 20 * MS, 50 * MS, 18 * MS
PAUSES = STEPS // EVERY
TIME = STEPS * STEP + PAUSES * PAUSE
# A pause begins 10 ms into its step, the device runs dry at 18, and the next step's launch comes at 70.
HIDDEN, EXPOSED, RECOVERY = 8 * MS, 42 * MS, 10 * MS
CAUSED = PAUSES * (EXPOSED + RECOVERY)
IDLE = (STEPS - PAUSES) * (STEP - WORK) + CAUSED


def make(path, gpu=True, lost=()):
    """A loop that launches 18 ms of work as each step begins, and @lost: when records of it are missing."""
    training(path, steps=STEPS, step=STEP, every=EVERY, pause=PAUSE, jitter=False)
    if not gpu:
        return path
    now, before = BEGIN, None
    with sqlite3.connect(str(path)) as db:
        db.execute("INSERT INTO gpu_device VALUES (1, 0, 'NVIDIA H100', NULL, ?, ?, 3000)", (BEGIN, BEGIN + TIME))
        db.execute("INSERT INTO gpu_launcher VALUES (1, 4711, ?, ?)", (STEPS, STEP))
        for i in range(STEPS):
            db.execute("INSERT INTO gpu_busy (process, device, start_ns, duration_ns, launch_ns, previous_ns, tid, gaps_ns,"
                       " starved_ns) VALUES (1, 0, ?, ?, ?, ?, 4711, 0, 0)", (now, WORK, now, before))
            now, before = now + STEP + PAUSE * (i % EVERY == EVERY - 1), now
        for start, end in lost:
            db.execute("INSERT INTO gpu_unknown (process, device, start_ns, end_ns, records, why) VALUES (1, 0, ?, ?, 23, 1)",
                       (BEGIN + start, BEGIN + end))
    return path


@pytest.fixture
def run(tmp_path):
    return make(tmp_path / "run.gct")


def said(*words, status=0):
    done = gctrace(*words)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return done.stdout if status in (0, 99) else done.stdout + done.stderr


def records(*words):
    return [json.loads(line) for line in said("report", *words, "-f", "json").splitlines()]


def test_figures(run):
    found = records(run)
    (device,) = found[-1]["gpu"]
    assert (device["seen_ns"], device["idle_ns"], device["busy_ns"]) == (TIME, IDLE, TIME - IDLE)
    assert (device["idle_pause_ns"], device["idle_host_ns"], device["idle_other_ns"]) == (CAUSED, IDLE - CAUSED, 0)
    assert (device["source"], device["clock_error_ns"], device["unknown_ns"]) == ("measured", 3000, 0)
    for pause in (r for r in found if r["type"] == "pause"):
        assert (pause["gpu_hidden_ns"], pause["gpu_exposed_ns"], pause["gpu_recovery_ns"]) == (HIDDEN, EXPOSED, RECOVERY)
        assert pause["gpu_idle_ns"] == EXPOSED + RECOVERY
        assert pause["gpu_lost_ns"] == PAUSE
    steps = [r for r in found if r["type"] == "step"]
    assert sum(s["gpu_idle_ns"] for s in steps) == IDLE
    assert sum(s["gpu_idle_pause_ns"] for s in steps) == CAUSED


def test_idle_records_name_their_pauses(run):
    found = records(run)
    idles = [r for r in found if r["type"] == "gpu_idle"]
    pauses = {r["id"]: r for r in found if r["type"] == "pause"}
    assert sum(r["duration_ns"] for r in idles) == IDLE
    assert sum(r["pause_ns"] for r in idles) == CAUSED
    charged = [r for r in idles if r["cause"] == "pause"]
    assert [r["pause"] for r in charged] == sorted(pauses)
    for r in charged:
        assert r["start_ns"] == pauses[r["pause"]]["start_ns"] + HIDDEN
    assert {r["cause"] for r in idles if r["pause"] is None} == {"host"}
    order = [r.get("end_ns") for r in found if r["type"] in ("pause", "gpu_idle")]
    assert order == sorted(order)


def test_ids_are_those_of_the_recording_whatever_is_left_out(run):
    with sqlite3.connect(str(run)) as db:
        db.execute("UPDATE pause SET id = id + 100")
    charged = [r for r in records(run, "--gc-only") if r["type"] == "gpu_idle" and r["pause"]]
    assert [r["pause"] for r in charged] == [101, 102, 103]


def test_text(run):
    text = said("report", run)
    verdict = text.split("\n\n")[0]
    assert verdict.endswith("\n  gpu    GPU 0 stood idle 572.0 ms of 4.370 s (13.1 %, measured); 27.3 % of that was caused by GC.")
    assert "GPU: hidden 8.000 ms, exposed 42.00 ms, recovery 10.00 ms; 50.00 ms" in text
    assert "From the CUPTI shim." in text


def test_stacks_by_gpu_idle_time(run):
    assert said("report", run, "-f", "folded", "--weight", "gpu-idle") == \
        "python3 (4711);Trainer.step (train.py:41);[gen 2] %d\n" % (CAUSED // 1000)
    svg = said("report", run, "-f", "flamegraph", "--weight", "gpu-idle")
    assert ">GPU idle time because of GC (measured) · run.gct<" in svg
    assert said("report", run, "-f", "folded") == said("report", run, "-f", "folded", "--weight", "time")


def test_weights_that_are_refused(run, tmp_path):
    assert "there is no weight \"cost\": time, gpu-idle" in said("report", run, "--weight", "cost", status=2)
    assert "-f text does not weight stacks" in said("report", run, "--weight", "gpu-idle", status=2)
    without = make(tmp_path / "without.gct", gpu=False)
    text = said("report", without, "-f", "folded", "--weight", "gpu-idle", status=1)
    assert "this recording has no records of GPUs" in text


def test_budgets(run):
    assert "kept     gpu.idle.share<14%" in said("check", run, "--budget", "gpu.idle.share<14%,gpu.gc.share<4%")
    text = said("check", run, "--budget", "gpu.gc.share<3%", status=99)
    assert "gpu.gc.share is 3.6 %, not below 3.0 %: 156.0 ms of 4.370 s of GPU 0, measured" in text


def test_missing_records_pass_no_budget(tmp_path):
    """They are missing for 30 ms, from within the second pause on: nobody knows whether the device worked."""
    second = (2 * EVERY - 1) * STEP + PAUSE + STEP // 2
    lost = make(tmp_path / "lost.gct", lost=[(second + 25 * MS, second + 55 * MS)])
    found = records(lost)
    assert [r["gpu_idle_ns"] for r in found if r["type"] == "pause"] == [EXPOSED + RECOVERY, None, EXPOSED + RECOVERY]
    assert found[-1]["gpu"][0]["unknown_ns"] == 30 * MS
    assert "GPU: not known" in said("report", lost)
    assert "of another 30.00 ms its records are missing." in said("report", lost).split("\n\n")[0]
    assert "broken" in said("check", lost, "--budget", "gpu.gc.share<2%", status=99)
    assert "as records are missing" in said("check", lost, "--budget", "gpu.gc.share<3%", status=4)
    assert "kept" in said("check", lost, "--budget", "gpu.gc.share<4%")
    folded = said("report", lost, "-f", "folded", "--weight", "gpu-idle")
    assert folded.endswith(" %d\n" % (2 * (EXPOSED + RECOVERY) // 1000))
    assert "1 pause left out: not known" in said("report", lost, "-f", "flamegraph", "--weight", "gpu-idle")


def test_no_records_pass_no_budget(tmp_path):
    without = make(tmp_path / "without.gct", gpu=False)
    text = said("check", without, "--budget", "gpu.idle.share<99%", status=4)
    assert "gpu.idle.share needs the records of a GPU" in text
    assert "broken" in said("check", without, "--budget", "gpu.idle.share<99%,pause.max<1ms", status=99)
    assert "GPU" not in said("report", without)


def test_advice_saves_what_gpus_lost(tmp_path):
    """A host that is at most one step ahead of a busy device: only what that does not hide is there to save."""
    path = tmp_path / "ahead.gct"
    made = Recording(path)
    series = made.signal("torch:record", "Optimizer.step#Adam.step")
    now, before, ends, rows, waits = 0, None, [0, 0], [], []
    for i in range(STEPS):
        made.mark(series, now, rss=10**8)
        begin = max(now, ends[-1])
        rows.append((BEGIN + begin, STEP, BEGIN + now, before))
        before = BEGIN + now
        ends.append(begin + STEP)
        now += 5 * MS
        if i % EVERY == EVERY - 1:
            made.pause(now, PAUSE, generation=2, cause=2, collected=97)
            now += PAUSE
        done = max(now + MS, ends[-2])
        waits.append((BEGIN + now, done - now, BEGIN + ends[-2]))
        now = done
    made.close(now)
    with sqlite3.connect(str(path)) as db:
        db.execute("INSERT INTO gpu_device VALUES (1, 0, 'NVIDIA H100', NULL, ?, ?, 0)", (BEGIN, BEGIN + ends[-1]))
        db.executemany("INSERT INTO gpu_busy (process, device, start_ns, duration_ns, launch_ns, previous_ns, tid, gaps_ns,"
                       " starved_ns) VALUES (1, 0, ?, ?, ?, ?, 4711, 0, 0)", rows)
        db.executemany("INSERT INTO gpu_call (process, device, tid, kind, start_ns, duration_ns, done_ns)"
                       " VALUES (1, 0, 4711, 1, ?, ?, ?)", waits)
    found = records(path)
    (track,) = found[-1]["tracks"]
    advice = [r for r in found if r["type"] == "advice"]
    assert track["cost_by_gpu"] and 0 < track["cost_ns"] < track["overlap_ns"]
    assert advice and all(r["saves_high_ns"] <= track["cost_ns"] for r in advice)
    assert "what GPUs lost to pauses falls from " in said("report", path)


def test_diff(run, tmp_path):
    without = make(tmp_path / "without.gct", gpu=False)
    rows = {r["name"]: r for r in map(json.loads, said("diff", run, run, "--json").splitlines()) if "name" in r}
    assert rows["gpu.idle.share"]["before"] == pytest.approx(IDLE / TIME)
    assert rows["gpu.gc.share"]["after"] == pytest.approx(CAUSED / TIME)
    rows = {r["name"]: r for r in map(json.loads, said("diff", run, without, "--json").splitlines()) if "name" in r}
    assert rows["gpu.idle.share"]["before"] is None and rows["gpu.idle.share"]["after"] is None
    assert "gpu." not in said("diff", without, without)
