"""What the shim hands over, against the book of a mock of CUDA: to the nanosecond, whatever CUPTI's double does to its records."""

import collections

import mock
import pytest

VARIANTS = ("old", "12", "13")


def waits(book, records):
    said = sorted((r.start, r.end, r.tid) for r in records if r.kind == mock.WAIT)
    return said, sorted((e.call, e.returned, e.tid) for e in book if e.waited)


def check_exact(book, records, in_order=True):
    """All runs, waits and launches are there, and known to be all."""
    assert mock.same_runs(mock.runs_said(records), book)
    said, true = waits(book, records)
    assert said == true
    work = [e for e in book if e.kind < mock.WAITED]
    assert {r.tid: r.count for r in records if r.kind == mock.LAUNCHER} == collections.Counter(e.tid for e in work)
    mock.check_complete(book, records)
    spans = mock.complete(records)
    for device in {e.device for e in work}:
        start, end = spans[device]
        starts = [e.start for e in work if e.device == device]
        assert start == min(starts) or (not in_order and start in starts)
        assert end >= max(e.end for e in work if e.device == device)
    assert not [r for r in records if r.kind in (mock.LOST, mock.ASIDE, mock.REFUSED)]
    assert [r.value for r in records if r.kind == mock.CLOCK] == [0]


@pytest.mark.parametrize("variant", VARIANTS)
def test_collections_stall_launches(tmp_path, variant):
    _, book, records = mock.run(tmp_path, variant, "attach(); train(53, 7, 300000, 2, nodes=200000)")
    assert len([e for e in book if e.kind == mock.KERNEL]) == 53 * 7
    check_exact(book, records)
    assert len(mock.runs_said(records)[0]) > 7, "no collection left the device idle"


@pytest.mark.parametrize("depth", range(9))
def test_queue_depths(tmp_path, depth):
    _, book, records = mock.run(tmp_path, "12", f"attach(); train(23, 5, 90000, {depth}, host_ns=20000, nodes=3000)", MOCK_GAP_NS=1300)
    check_exact(book, records)


@pytest.mark.parametrize("variant", VARIANTS)
def test_everything_that_keeps_a_device_busy(tmp_path, variant):
    code = """
attach()
one, other = stream(0), stream(1)
here = (ctypes.c_char * 64)()
for i in range(11):
    cuda.mock_runtime_launch(100000, one)
    cuda.cuGraphLaunch(pointer(200000), one)
    cuda.cuMemsetD8Async(None, 0, 70000, other)
    cuda.cuMemcpyHtoDAsync_v2(None, here, 80000, one)
    cuda.cuMemcpyPeerAsync(None, None, None, None, 90000, other)
    cuda.cuMemcpyDtoHAsync_v2(here, None, 60000, one)
    time.sleep(0.001)
cuda.cuCtxSynchronize()
"""
    _, book, records = mock.run(tmp_path, variant, code, MOCK_DEVICES=2)
    assert {e.kind for e in book} == set(range(1, 7))
    check_exact(book, records)
    copies = {(r.start, r.value, r.device) for r in records if r.kind == mock.WAIT and r.flags == mock.COPIES}
    assert all(r.flags == 0 for r in records if r.kind == mock.WAIT and not r.value)
    assert copies == {(e.call, e.end, e.device) for e in book if e.kind == mock.COPY and e.waited}


def test_threads(tmp_path):
    """Each has its own launches, and the one before them."""
    code = """
attach()
streams = [stream() for _ in range(5)]
[launch(1000, on) for on in streams]  # from here on it is known that there are several
time.sleep(0.01)
threads = [threading.Thread(target=train, args=(11, 7, 60000 + i * 10000, 1, streams[i])) for i in range(5)]
[t.start() for t in threads]
[t.join() for t in threads]
"""
    _, book, records = mock.run(tmp_path, "13", code)
    check_exact(book, records)
    assert len({r.tid for r in records if r.kind == mock.LAUNCHER}) == 5 + 1


def test_a_million_a_second(tmp_path):
    """64 streams on each of 8 devices; few records leave the process."""
    code = """
attach()
streams = [stream(device) for device in range(8) for _ in range(64)]
handles = (pointer * len(streams))(*(s.value for s in streams))
cuda.mock_burst(1000003, 5000, 1000, handles, len(streams))
"""
    _, book, records = mock.run(tmp_path, "13", code, MOCK_DEVICES=8)
    assert len(book) == 1000003
    check_exact(book, records)


@pytest.mark.parametrize("how", ("backwards=1", "late_ms=150", "after=1", "slow_flush_ms=300", "backwards=1,late_ms=70"))
def test_buffers_come_as_they_like(tmp_path, how):
    code = "attach(); train(53, 7, 300000, 2, nodes=20000); time.sleep(0.7)"
    _, book, records = mock.run(tmp_path, "12", code, MOCK_CUPTI=how)
    check_exact(book, records)


@pytest.mark.parametrize("how", ("", "backwards=1", "late_ms=70"))
def test_long_kernels_hold_their_buffers_back(tmp_path, how):
    """Others come meanwhile, with later work: what is said to be complete ends before the long one."""
    code = """
attach()
one, other = stream(), stream()
for i in range(3):
    launch(700000000, one)
    for _ in range(7):
        launch(300000, other)
        time.sleep(0.1)
"""
    _, book, records = mock.run(tmp_path, "13", code + "sync(one)\ntime.sleep(0.3)\n", MOCK_CUPTI=how)
    check_exact(book, records, in_order=False)  # the first to come is not the first to have begun


@pytest.mark.parametrize("late_ms", (70, 130))
def test_a_shim_that_has_to_wait_for_a_processor(tmp_path, late_ms):
    """Before its own calls, which say until when records are complete. Meanwhile long kernels hold back what shows when they
    were made."""
    code = """
attach()
one, other = stream(), stream()
for i in range(5):
    launch(300000000, one)
    for _ in range(101):
        launch(300000, other)
        time.sleep(0.003)
sync(one)
time.sleep(0.7)
"""
    _, book, records = mock.run(tmp_path, "13", code, MOCK_LATE_CALL_MS=late_ms)
    check_exact(book, records, in_order=False)


def test_buffers_after_the_end(tmp_path):
    """CUPTI asks for buffers and returns some, with rubbish in them, when nothing is recorded any more."""
    code = """
attach()
train(11, 7, 300000, 2)
time.sleep(0.4)
detach()
enabled = cupti().mock_enabled()
time.sleep(0.1)
print(enabled)
attach()
train(11, 7, 300000, 2)
"""
    out, book, records = mock.run(tmp_path, "12", code, MOCK_CUPTI="after=1")
    assert out == "0\n"
    assert len([r for r in records if r.kind == mock.DEVICE]) == 2
    said, true = mock.runs_said(records)[0], mock.runs_of(book)[0]
    for run in said + true:
        run.pop("previous")  # of the first after the interruption it is not known
        run.pop("whole", None)
    assert said == true


def test_dropped_records_are_unknown(tmp_path):
    code = "attach(); train(101, 7, 300000, 2, nodes=20000); complete(); print(cupti().mock_dropped())"
    out, book, records = mock.run(tmp_path, "12", code, MOCK_CUPTI="drop=97")
    lost = [r for r in records if r.kind == mock.LOST]
    assert sum(r.count for r in lost) >= int(out) > 5
    known = [e for e in book if e.kind < mock.WAITED and not any(r.start < e.end and e.start < r.end for r in lost)]
    said = [r for r in records if r.kind == mock.BUSY]
    for entry in known:
        assert any(r.start <= entry.start and entry.end <= r.end for r in said), "a dropped kernel looks idle"
    for run in said:
        assert any(e.start == run.start for e in book) and any(e.end == run.end for e in book)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_clock_of_its_own(tmp_path, variant):
    """Off by hours, and drifting: all times are as far off as is said, at most."""
    code = "attach(); train(101, 7, 300000, 2, nodes=20000)"
    how = "refuse_clock=1,skew_ns=7000000000000,drift_ppm=200"
    _, book, records = mock.run(tmp_path, variant, code, MOCK_CUPTI=how)
    error = max(r.value for r in records if r.kind == mock.CLOCK)
    assert 0 < error < 1000000
    said = sorted((r.start, r.end) for r in records if r.kind == mock.BUSY)
    for start, end in said:
        assert min(abs(e.start - start) for e in book) <= error
        assert min(abs(e.end - end) for e in book) <= error


def test_a_device_whose_clock_is_off(tmp_path):
    """A kernel that began before its launch shows by how much, at least."""
    _, _, records = mock.run(tmp_path, "12", "attach(); train(11, 7, 300000, 2)", MOCK_CUPTI="device_skew_ns=-300000")
    assert 290000 < max(r.value for r in records if r.kind == mock.CLOCK) <= 300000


REFUSALS = {
    "no CUPTI": (None, "", mock.NO_CUPTI, 0),
    "older": ("12", "version=17", mock.NO_VERSION, 17),
    "newer": ("13", "version=130600", mock.NO_VERSION, 130600),
    "newer than 12": ("12", "version=29", mock.NO_VERSION, 29),
    "no driver": ("12", "no_driver=1", mock.NO_DRIVER, 999),
    "never awake": ("12", "asleep_ms=60000", mock.NO_DRIVER, 15),
    "no kernels": ("12", "refuse_kind=10", mock.NO_ENABLE, 14),
    "no calls": ("old", "refuse_kind=4", mock.NO_ENABLE, 14),
    "no callbacks": ("12", "refuse_callbacks=1", mock.NO_DRIVER, 14),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(tmp_path, name):
    variant, how, reason, detail = REFUSALS[name]
    code = """
attach(wait=False)
time.sleep(3)
train(5, 3, 100000, 1)
print(collected().collect_recording(), cupti().mock_enabled() if cupti() else 0)
"""
    out, _, records = mock.run(tmp_path, variant, code, MOCK_CUPTI=how)
    assert [(r.kind, r.value, r.count) for r in records if r.kind != mock.DEVICE] == [(mock.REFUSED, reason, detail)]
    assert out.split()[0] == "0"


def test_a_driver_that_wakes_up_late(tmp_path):
    _, book, records = mock.run(tmp_path, "12", "attach(); train(11, 7, 300000, 2)", MOCK_CUPTI="asleep_ms=700")
    check_exact(book, records)


def test_a_driver_that_wakes_up_after_it_was_given_up(tmp_path):
    _, book, records = mock.run(tmp_path, "13", "attach(); train(11, 7, 300000, 2)", MOCK_CUPTI="asleep_ms=4100")
    assert (records[0].kind, records[0].value) == (mock.REFUSED, mock.NO_DRIVER)
    check_exact(book, records[1:])


def test_flush_never_returns(tmp_path):
    """The program goes on and ends; what is not known is not said."""
    code = "attach(wait=False); train(11, 7, 300000, 2); time.sleep(4); train(11, 7, 300000, 2); detach_only()"
    code = code.replace("detach_only()", "collected().collect_attach(os.environ['SUBJECT_OUT'].encode())")
    _, book, records = mock.run(tmp_path, "12", code, MOCK_CUPTI="stuck_flush=2")
    assert [r.value for r in records if r.kind == mock.REFUSED] == [mock.NO_ANSWER]
    for _, end in mock.complete(records).values():
        assert end < max(e.start for e in book)


def test_on_and_off(tmp_path):
    """Nothing is recorded but while a tracer is attached, again and again."""
    code = """
for i in range(3):
    train(5, 3, 100000, 1)
    attach()
    train(11, 7, 300000, 2)
    complete()
    assert cupti().mock_thread_ids() == 1 and not cupti().mock_clock_as_found()
    detach()
    time.sleep(0.2)
    assert cupti().mock_enabled() == cupti().mock_thread_ids() == 0 and cupti().mock_clock_as_found()
"""
    for variant in VARIANTS:
        _, book, records = mock.run(tmp_path / variant, variant, code)
        assert len({r.start for r in records if r.kind == mock.BEGIN}) == 3
        assert {r.kind for r in records} <= {mock.BUSY, mock.WAIT, mock.LAUNCHER, mock.DEVICE, mock.CLOCK, mock.BEGIN}


def test_memory(tmp_path):
    code = """
attach()
blocks = []
for i in range(23):
    made = u64()
    cuda.cuMemAlloc_v2(ctypes.byref(made), 1 << 20)
    blocks.append(made)
    time.sleep(0.002)
for made in blocks[:11]:
    cuda.mock_free(made, 1 << 20)
"""
    _, _, records = mock.run(tmp_path, "13", code)
    sums = [r.value for r in sorted((r for r in records if r.kind == mock.MEMORY), key=lambda r: r.start)]
    assert max(sums) == 23 << 20 and sums[-1] == 12 << 20
    assert len([r for r in records if r.kind == mock.ALLOCATE]) == 23 + 11


def calls_of(book):
    """As ALLOCATE records say them."""
    return sorted((e.call, e.returned, e.tid, mock.FREES * (e.kind == mock.FREED) | mock.FAILED * (e.stream != 0))
                  for e in book if e.kind in (mock.ALLOCATED, mock.FREED))


@pytest.mark.parametrize("variant", VARIANTS)
def test_an_allocator_that_retries(tmp_path, variant):
    """It keeps what it is given back until there is no room; freeing waits for the device."""
    code = """
attach()
cache, blocks = Cache(), []
for i in range(101):
    blocks.append(cache.allocate((1 + i // 13) << 20))  # ever larger ones: what is kept is of no use
    launch(300000)
    if len(blocks) > 7:
        cache.release(blocks.pop(0))
assert cache.retries > 2, cache.retries
"""
    _, book, records = mock.run(tmp_path, variant, code, MOCK_MEMORY=67 << 20)
    check_exact(book, records)
    assert sorted((r.start, r.end, r.tid, r.flags) for r in records if r.kind == mock.ALLOCATE) == calls_of(book)
    assert {r[3] for r in calls_of(book)} == {0, mock.FREES, mock.FAILED}
    level, levels = 0, []
    for e in sorted((e for e in book if e.kind in (mock.ALLOCATED, mock.FREED) and not e.stream), key=lambda e: e.call):
        level += e.start if e.kind == mock.ALLOCATED else -e.start
        levels.append(level)
    said = [r.value for r in sorted((r for r in records if r.kind == mock.MEMORY), key=lambda r: r.start)]
    assert said == levels


PROFILER = """
other = cupti() or ctypes.CDLL("libcupti.so.{major}")
"""


@pytest.mark.parametrize("variant", ("12", "13"))
def test_a_profiler_that_comes_later(tmp_path, variant):
    """It gets all of its records, and the recording says that there are none from then on."""
    code = "attach(); train(11, 7, 300000, 2); time.sleep(0.3)" + PROFILER.format(major=variant)
    code += "print(profile(other, 23)); time.sleep(4); print(profile(other, 23), other.mock_clock_as_found())"
    out, book, records = mock.run(tmp_path, variant, code)
    first, second, found = out.split()
    assert first == second == "23"
    aside = [r for r in records if r.kind == mock.ASIDE]
    assert len(aside) == 1
    assert found == "1", "its times are those of the shim"
    first = sorted(e.start for e in book if e.kind == mock.KERNEL)[77]
    for _, end in mock.complete(records).values():
        assert end <= first + 1000000


@pytest.mark.parametrize("variant", ("12", "13"))
def test_a_profiler_that_was_there(tmp_path, variant):
    code = PROFILER.format(major=variant)
    code += """
before = other.mock_other(1)
attach(wait=False)
time.sleep(0.5)
for _ in range(23):
    launch(100000)
sync()
time.sleep(0.3)
print(other.mock_other(0) - before)
time.sleep(2)
print(collected().collect_recording())
"""
    out, _, records = mock.run(tmp_path, variant, code)
    assert out.split()[0] == "23"
    assert records[0].kind == mock.ASIDE
    # CUDA 13's CUPTI says that the other has gone
    assert out.split()[1] == ("1" if variant == "13" else "0")


def test_children_are_silent(tmp_path):
    """The child of a recorded program, which launches itself, ends as it does without a shim, and hands nothing over."""
    code = """
attach()
train(11, 7, 300000, 2)
for end in (os._exit, sys.exit):
    child = os.fork()
    if not child:
        launch(1000)
        time.sleep(0.3)
        end(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
train(11, 7, 300000, 2)
"""
    _, book, records = mock.run(tmp_path, "12", code)
    check_exact(book, records)
