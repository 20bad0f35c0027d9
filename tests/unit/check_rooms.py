#!/usr/bin/env python3
"""Rooms of user/ have no circles among their files, and none uses a room above it, or names a runtime.

usage: check_rooms.py BUILD

In: the object files of BUILD's static libraries, whose symbols say who needs whom, and the rooms' sources. Out: TAP, a
test a room. A circle is a set of files each of which needs all the others, directly or not.
"""
import collections
import pathlib
import re
import subprocess
import sys

# docs/architecture.md, "Rooms and floors": from the bottom up; what shares a floor is apart.
FLOORS = (
    ("base",),
    ("elf", "event", "pause"),
    ("stack", "kernel"),
    ("meaning", "gpu"),
    ("probe", "step"),
    ("trace", "store", "kineto", "attrib"),
    ("advice", "budget", "compare", "trial", "inject"),
    ("report",),
    ("cmd",),
)


# Words that belong into a runtime's own folder, in identifiers and strings; comments may give an example.
OF_RUNTIMES = re.compile(r"jvm|hotspot|java(?!script)|safepoint|system\.gc|cpython|python|julia", re.IGNORECASE)

# In every room: the field's term for a fact that any runtime may have (docs/architecture.md, "Words").
TERM = re.compile(r"times? to safepoint", re.IGNORECASE)

# What a file may say all the same, and why.
EXCEPTIONS = {
    "stack/stack_table.h": ("LANG_(PYTHON|JAVA|JULIA)", "the languages of frames have numbers in the store, for good"),
    "stack/stack_table.c": ("LANG_(PYTHON|JAVA|JULIA)|\"(python|java|julia)\"", "and names in JSON"),
    "store/reader_tables.c": ("\"safepoint\"", "a table of the schema, as old files have it"),
    "store/writer.c": ("FROM safepoint", "likewise"),
    "trace/drops.c": ("python3 train.py", "a command to type, as an example"),
    "cmd/run.c": ("python3 train.py", "likewise"),
    "report/json_schema.json": (".*", "the contract of all runtimes' records, which says whose a key is"),
    "store/schema.sql": (".*", "likewise, of tables"),
}


def without_comments(text):
    """C, JavaScript or CSS; strings stay."""
    token = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/', re.DOTALL)
    return token.sub(lambda m: m[0] if m[0][0] == '"' else "\n" * m[0].count("\n"), text)


def named_runtimes(source, room):
    """Where the sources of @room name a runtime, and exceptions that nothing needs any more."""
    found = []
    for path in sorted((source / "user" / room).iterdir()):
        if path.suffix not in (".c", ".h", ".js", ".css", ".json", ".sql"):
            continue
        name = f"{room}/{path.name}"
        allowed, _ = EXCEPTIONS.get(name, (None, None))
        text = path.read_text()
        code = text if path.suffix in (".json", ".sql") else without_comments(text)
        used = False
        for number, line in enumerate(code.splitlines(), 1):
            rest = TERM.sub("", line)
            if allowed and OF_RUNTIMES.search(rest):
                rest, count = re.subn(allowed, "", rest)
                used |= bool(count)
            found += [f"{name}:{number} says {word!r}" for word in OF_RUNTIMES.findall(rest)]
        if allowed and not used:
            found.append(f"{name} no longer needs its exception")
    return found


def symbols(path):
    """What @path defines for others, and what it needs of them."""
    text = subprocess.run(["nm", "-g", path], capture_output=True, text=True, check=True).stdout
    defined, needed = set(), set()
    for line in text.splitlines():
        kind, name = line.split()[-2:]
        (needed if kind in "Uw" else defined).add(name)
    return defined, needed


def circles(edges):
    """The strongly connected sets of more than one node (Tarjan's algorithm)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(edges[node]):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            group = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found


def main(build):
    user = pathlib.Path(build) / "user"
    objects, owner = {}, {}
    for library in sorted(user.rglob("lib*.a.p")):
        room = str(library.parent.relative_to(user))
        for path in sorted(library.glob("*.o")):
            objects[path] = (room, path.name[: -len(".o")], *symbols(path))
            for name in objects[path][2]:
                owner[name] = path
    uses = collections.defaultdict(lambda: collections.defaultdict(set))
    arrows = collections.defaultdict(set)
    rooms = set()
    floor = {room: at for at, names in enumerate(FLOORS) for room in names}
    for path, (room, name, _, needed) in objects.items():
        rooms.add(room)
        uses[room][name] |= set()
        for symbol in needed & owner.keys():
            other_room, other, *_ = objects[owner[symbol]]
            if other_room == room and other != name:
                uses[room][name].add(other)
            elif room in floor and (
                floor.get(other_room, len(FLOORS)) >= floor[room] and other_room != room
            ):
                arrows[room].add(f"{name} -> {other_room}/{other} ({symbol})")
    print(f"1..{len(rooms)}")
    failed = False
    for at, room in enumerate(sorted(rooms), 1):
        groups = circles(uses[room])
        wrong = [" <-> ".join(group) for group in groups] + sorted(
            # the build makes these two
            arrow for arrow in arrows[room] if "(probe_runtimes)" not in arrow
            and "(probe_refused)" not in arrow
            and "(runtime_meanings)" not in arrow
        )
        if room in floor:
            wrong += named_runtimes(pathlib.Path(__file__).resolve().parents[2], room)
        print("not ok" if wrong else "ok", at, "-", room)
        for line in wrong:
            print("#", line)
        failed |= bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
