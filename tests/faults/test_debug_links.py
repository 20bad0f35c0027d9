"""Debug files of a target with a root of its own, behind a link that only it can follow."""

import conftest
import harness
from test_counts import check_clean, check_sums

# As harness.ENTER, but /usr/lib/debug/.build-id is an absolute link: out here it leads nowhere.
ENTER = (
    'mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && debug="$0/usr/lib/debug" && '
    'mkdir -p "$debug" && mount -t tmpfs none "$debug" && mkdir "$debug/real" && '
    'mount --bind "$1" "$debug/real" && ln -s /usr/lib/debug/real/.build-id "$debug/.build-id" && '
    'root=$0 && shift && exec chroot "$root" "$@"'
)


def with_debug_files():
    return [r for r in conftest.PLAIN if r.in_root and r.debug != "-"][-1:]


@conftest.each("contained", with_debug_files(), "CPython in a root with debug files is here")
def test_absolute_link(bench, contained):
    bench.need_unshare()
    line = ["unshare", "-m", "sh", "-c", ENTER, contained.root, contained.debug]
    target = bench.keep(harness.Oracle(line + [contained.exe, bench.script(contained)]))
    tracer = bench.record(target, tier="debugfile")
    books = target.ask("collect 23 11 7")
    assert target.quit() == 0
    tracer.finish()

    records = bench.report()
    check_clean(records)
    check_sums(records.of_pid(target.pid), books)
    assert records.process(target.pid)["tier"] == "debugfile"
