"""docs/gct-schema.md has every table, column, record and key that `gctrace schema` prints, and no other."""

import json
import re
import sqlite3
from pathlib import Path

from recording import gctrace

DOC = Path(__file__).resolve().parent.parent.parent / "docs/gct-schema.md"
TABLES, RECORDS = re.search(
    r"## Tables\n(.*)## JSON records\n(.*)## Examples", DOC.read_text(), re.S
).groups()


def sections(text, heading):
    """Name → text of each section, which begins at a line with such a heading."""
    parts = re.split(heading, text, flags=re.M)
    found = {}
    for name, body in zip(parts[1::2], parts[2::2]):
        found[name] = found.get(name, "") + body
    return found


def ticked(text):
    return set(re.findall(r"`(\w+)`", text))


def test_tables():
    db = sqlite3.connect(":memory:")
    db.executescript(gctrace("schema", "sql").stdout)
    names = [r[0] for r in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    told = sections(TABLES, r"^`(\w+)`: ")
    assert set(told) == set(names)
    # a comment behind another table says that columns came with a later version
    for name in names:
        columns = {r[1] for r in db.execute("SELECT * FROM pragma_table_info(?)", [name])}
        if name == "meta":  # one row per fact
            continue
        assert columns <= ticked(told[name]), (name, columns - ticked(told[name]))
        listed = re.findall(r"^\| (`.*?`) \|", told[name], re.M)
        for cell in listed:
            assert ticked(cell) <= columns, (name, cell)


def test_records():
    defined = json.loads(gctrace("schema", "json").stdout)["$defs"]
    told = sections(RECORDS, r"^(?:A )?\*\*(\w+)\*\*")
    assert set(told) == set(defined)
    for name, record in defined.items():
        keys = set(record["properties"])
        for part in ("tracks", "gpu", "gpu_launches") if name == "summary" else ():  # its section has the keys of these, too
            keys |= set(record["properties"][part]["items"]["properties"])
        lacking = keys - {"type"} - ticked(told[name])
        assert not lacking, (name, lacking)
        listed = re.findall(r"^\| (`.*?`) \|", told[name], re.M)
        for cell in listed:
            assert ticked(cell) <= keys, (name, cell)


def test_every_record_is_chosen_by_its_type():
    schema = json.loads(gctrace("schema", "json").stdout)
    chosen = {
        rule["if"]["properties"]["type"]["const"]: rule["then"]["$ref"] for rule in schema["allOf"]
    }
    assert chosen == {name: "#/$defs/" + name for name in schema["$defs"]}
    for name, record in schema["$defs"].items():
        assert record["properties"]["type"] == {"const": name}
