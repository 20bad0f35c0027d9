#!/usr/bin/env python3
"""Rooms of user/ have no circles among their files, and none uses a room above it, or a runtime by its name.

usage: check_rooms.py BUILD

In: the object files of BUILD's static libraries, whose symbols say who needs whom. Out: TAP, a test a room.
A circle is a set of files each of which needs all the others, directly or not.
"""
import collections
import pathlib
import subprocess
import sys

# docs/architecture.md, "Rooms and floors": from the bottom up; what shares a floor is apart.
FLOORS = (
    ("base",),
    ("elf", "event", "pause"),
    ("stack", "kernel"),
    ("meaning",),
    ("probe", "step"),
    ("trace", "store", "attrib"),
    ("advice", "budget", "compare"),
    ("report",),
    ("cmd",),
)


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
            and "(runtime_meanings)" not in arrow
        )
        print("not ok" if wrong else "ok", at, "-", room)
        for line in wrong:
            print("#", line)
        failed |= bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
