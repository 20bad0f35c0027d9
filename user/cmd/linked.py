#!/usr/bin/env python3
"""The libraries that gctrace is linked with → a C file for linked.h, and the licences as a text.

usage: linked.py OUTPUT TEXT LICENCE shared NAME=SPDX=VERSION...
       linked.py OUTPUT TEXT LICENCE static NAME=SPDX=ARCHIVE... -- COMPILER...

LICENCE is gctrace's own. Of archives it takes version and terms from the Debian packages that COMPILER finds them in:
what is linked in must be told exactly, and its licences must go with it.
"""

import pathlib
import re
import subprocess
import sys

COMMON = pathlib.Path("/usr/share/common-licenses")
# What copyright files refer to instead of quoting it: licence of a library → files of COMMON.
REFERRED = {"LGPL-2.1-or-later": ["LGPL-2.1"], "LGPL-3.0-or-later": ["LGPL-3", "GPL-3"], "GPL-3.0-or-later": ["GPL-3"]}


def said_by(*line):
    try:
        return subprocess.run(line, stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as why:
        sys.exit("linked.py: -Dportable=true needs Debian's packages, to tell what is linked in and by which licence: %s"
                 % why)  # fmt: skip


def packaged(archive, compiler):
    """Its package's version, source package, and copyright file; the package is one of this system, or of a sysroot."""
    path = pathlib.Path(said_by(*compiler, "-print-file-name=" + archive)).resolve()
    if not path.exists():
        sys.exit("linked.py: there is no %s: scripts/setup installs it" % archive)
    root = next((folder for folder in path.parents if (folder / "var/lib/dpkg/status").exists()), pathlib.Path("/"))
    query = ["dpkg-query", "--admindir=%s" % (root / "var/lib/dpkg")]
    package = said_by(*query, "-S", "/%s" % path.relative_to(root)).split(": ")[0]
    form = "${Version} ${source:Package} ${source:Version}"
    version, source, source_version = said_by(*query, "-W", "-f=" + form, package).split(" ")
    terms = root / "usr/share/doc" / package.split(":")[0] / "copyright"
    return version, "%s %s" % (source, source_version), terms.read_text(encoding="utf-8", errors="replace")


def upstream(version):
    """1:1.1.2-0+deb12u1 → 1.1.2"""
    return re.sub(r"-[^-]*$", "", version.split(":")[-1])


def quoted(text):
    """A C string, a line of it for each of the text's: compilers need not take long ones."""
    if text is None:
        return "NULL"
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\t", "\\t")):
        text = text.replace(plain, escaped)
    return '"%s"' % '\\n"\n"'.join(text.split("\n"))


def struct(*members):
    return "\t{" + ", ".join(quoted(member) for member in members) + "},\n"


def main():
    output, text, licence, how, *words = sys.argv[1:]
    end = words.index("--") if how == "static" else len(words)
    libraries, texts, referred = "", [("gctrace", pathlib.Path(licence).read_text(encoding="utf-8"))], []
    for entry in words[:end]:
        name, spdx, place = entry.split("=", 2)
        if how != "static":
            libraries += struct(name, place, None, spdx)
            continue
        version, source, terms = packaged(place, words[end + 1 :])
        libraries += struct(name, upstream(version), source, spdx)
        texts.append(("%s: %s" % (name, source), terms))
        referred += [file for term in re.split(" OR | AND | WITH ", spdx) for file in REFERRED.get(term, [])]
    texts += [(file, (COMMON / file).read_text(encoding="utf-8")) for file in sorted(set(referred))]
    licences = "\n".join("==== %s ====\n\n%s" % pair for pair in texts).replace("\f", "").replace("\r", "")
    pathlib.Path(text).write_text(licences, encoding="utf-8")
    with open(output, "w", encoding="utf-8") as out:
        out.write('#include <stddef.h>\n#include "linked.h"\n')
        out.write("const struct linked_library linked_libraries[] = {\n%s\t{},\n};\n" % libraries)
        out.write("const char linked_licences[] =\n%s;\n" % quoted(licences))


main()
