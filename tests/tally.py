"""Adds up JUnit files: names what failed and what was skipped and why, ends with the totals.

usage: tally.py FILE.xml[=NAME:STATUS]... where STATUS is the runner's exit status; a runner that
failed without a failed case (a crash, nothing collected) counts as one failure, one that ended
with 77 and left no file as one skip. Exits 1 on any failure.
"""

import os
import sys
import xml.etree.ElementTree as ElementTree


def cases(path):
    """Yields (name, outcome, reason) of each case in the file."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = "%s::%s" % (case.get("classname") or "", case.get("name"))
        outcome, reason = "passed", ""
        for kind, means in (("skipped", "skipped"), ("failure", "failed"), ("error", "failed")):
            found = case.find(kind)
            if found is not None:
                outcome = means
                text = (found.get("message") or found.text or "").strip()
                reason = text.splitlines()[0] if text else ""
        yield name.lstrip(":"), outcome, reason


def tally(path, name, status):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    if status == 77 and not os.path.exists(path):
        print("skipped: %s: all of it, see above" % name)
        counts["skipped"] += 1
        return counts
    try:
        for case, outcome, reason in cases(path):
            counts[outcome] += 1
            if outcome != "passed":
                print("%s: %s: %s: %s" % (outcome, name, case, reason))
    except (OSError, ElementTree.ParseError) as problem:
        print("failed: %s: no results: %s" % (name, problem))
        counts["failed"] += 1
    if status != 0 and counts["failed"] == 0:
        print("failed: %s: ended with status %d though no case failed" % (name, status))
        counts["failed"] += 1
    return counts


def main(arguments):
    total = {"passed": 0, "failed": 0, "skipped": 0}
    for argument in arguments:
        path, _, rest = argument.partition("=")
        name, _, status = rest.partition(":")
        for key, count in tally(path, name or path, int(status or 0)).items():
            total[key] += count
    print("%(passed)d passed, %(failed)d failed, %(skipped)d skipped" % total)
    return 1 if total["failed"] or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
