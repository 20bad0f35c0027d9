"""The Python stack of each pause against the one that the collecting code saw itself."""

import pytest


def told(pause):
    return [{k: f[k] for k in ("function", "file", "line")} for f in pause["stack"]]


@pytest.mark.parametrize("tier", [None, "watchpoint"], ids=["best", "watchpoint"])
def test_stacks(bench, runtime, tier):
    target = bench.oracle(runtime)
    tracer = bench.record(target, "--stack-min", "0", tier=tier)
    expected = target.ask("stack")["stacks"]
    assert target.quit() == 0
    tracer.finish()

    pauses = bench.report().of_pid(target.pid)
    assert len(pauses) == len(expected) == 15
    for pause, frames in zip(pauses, expected):
        assert told(pause) == frames
        assert {f["lang"] for f in pause["stack"]} == {"python"}


def test_names(bench, runtime):
    """Names of every character width, with what the formats must escape, and far too long."""
    target = bench.oracle(runtime)
    tracer = bench.record(target, "--stack-min", "0")
    answer = target.ask("unicode")
    assert target.quit() == 0
    tracer.finish()

    pauses = bench.report().of_pid(target.pid)
    assert len(pauses) == len(answer["names"])
    for pause, name, frames in zip(pauses, answer["names"], answer["stacks"]):
        leaf, named, *rest = told(pause)
        assert leaf == frames[0] and rest == frames[2:]
        assert named["line"] == 2
        if not name:
            assert named["function"] in ("", "[unnamed]")
        elif len(name) > 1000:
            # cut at a limit, not mangled
            assert len(named["function"]) >= 100
            assert named["function"].rstrip(".\u2026") == "x" * len(
                named["function"].rstrip(".\u2026")
            )
        else:
            name = name.replace("\ud800", "\ufffd")
            assert named["function"].replace("\ufffd\ufffd\ufffd", "\ufffd") == name
            assert named["file"].replace("\ufffd\ufffd\ufffd", "\ufffd") == name + ".py"


def test_deep(bench, runtime):
    target = bench.oracle(runtime)
    tracer = bench.record(target, "--stack-min", "0")
    expected = target.ask("deep 300")["stacks"][0]
    assert target.quit() == 0
    tracer.finish()

    (pause,) = bench.report().of_pid(target.pid)
    assert told({"stack": pause["stack"][:127]}) == expected[:127]
    assert [f["function"] for f in pause["stack"][127:]] == ["[truncated]"]


def test_short_pauses_carry_none(bench, some_runtime):
    """Below --stack-min no stack is taken, and that is not the same as an empty one."""
    target = bench.oracle(some_runtime)
    tracer = bench.record(target, "--stack-min", "10s")
    target.ask("stack")
    assert target.quit() == 0
    tracer.finish()
    pauses = bench.report().of_pid(target.pid)
    assert len(pauses) == 15
    assert all(p.get("stack") is None for p in pauses)


def test_automatic_lines(bench, runtime):
    """An automatic collection names the function that allocated."""
    target = bench.oracle(runtime)
    tracer = bench.record(target, "--stack-min", "0")
    target.ask("auto 20011")
    assert target.quit() == 0
    tracer.finish()

    pauses = bench.report().of_pid(target.pid)
    assert pauses
    for pause in pauses:
        names = [f["function"] for f in pause["stack"]]
        # up to 3.11 the collector runs wherever an object is made, __init__ included
        assert names[-3:] == ["do_auto", "main", "<module>"]
