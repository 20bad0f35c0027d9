"""What a portable build installs → wheels: one for glibc with the CUPTI shim (if built), one for musl, unknown to CUDA.

usage: wheel.py STAGE OUT VERSION MACHINE SUMMARY README; STAGE is the prefix (bin, lib, share), $SOURCE_DATE_EPOCH the
time of all files. A wheel holds programs and data and no Python code. Sources: PyPA's "binary distribution format" and
"core metadata" 2.4; platform tags are those of PEP 600 (manylinux) and PEP 656 (musllinux).
"""

import base64
import hashlib
import os
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path

OLDEST = (2, 17)  # of glibc: what aarch64 began with, and pip has known as manylinux2014 since 19.3
CLASSIFIERS = [
    "Environment :: Console",
    "Intended Audience :: Developers",
    "Operating System :: POSIX :: Linux",
    "Programming Language :: C",
    "Topic :: Software Development :: Debuggers",
    "Topic :: System :: Monitoring",
]


def dynamic(path):
    """Whether an ELF file asks for a loader or for libraries; nothing else does."""
    if path.read_bytes()[:4] != b"\x7fELF":
        return False
    return "(NEEDED)" in readelf("-d", path) or " INTERP " in readelf("-l", path)


def readelf(option, path):
    done = subprocess.run(["readelf", option, "-W", str(path)], stdout=subprocess.PIPE, check=True)
    return done.stdout.decode()


def glibc_of(paths):
    """The oldest glibc that has all that these files name."""
    found = [OLDEST]
    for path in paths:
        found += [tuple(map(int, word.split("."))) for word in re.findall(r"\bGLIBC_([0-9.]+)", readelf("-V", path))]
    return max(version[:2] for version in found)


def manylinux(glibc, machine):
    tags = ["manylinux_%d_%d_%s" % (*glibc, machine)]
    return tags + ["manylinux2014_" + machine] * (glibc == (2, 17))


# What is under no licence has an identifier of its own.
NO_IDENTIFIER = {("SQLite", "public domain"): "blessing"}


class Wheel:
    def __init__(self, folder, version, platforms):
        self.name, self.platforms, self.rows = "gctrace-" + version, platforms, []
        self.path = folder / ("%s-py3-none-%s.whl" % (self.name, ".".join(platforms)))
        self.when = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
        self.path.unlink(missing_ok=True)
        self.zip = zipfile.ZipFile(self.path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)

    def put(self, name, data, mode=0o644):
        info = zipfile.ZipInfo(name, self.when)
        info.create_system, info.external_attr = 3, (0o100000 | mode) << 16  # Unix
        self.zip.writestr(info, data, zipfile.ZIP_DEFLATED)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.rows.append("%s,sha256=%s,%d\n" % (name, digest, len(data)))

    def put_info(self, name, text):
        self.put("%s.dist-info/%s" % (self.name, name), text)

    def close(self):
        tags = "".join("Tag: py3-none-%s\n" % platform for platform in self.platforms)
        head = "Wheel-Version: 1.0\nGenerator: gctrace scripts/package\nRoot-Is-Purelib: false\n"
        self.put_info("WHEEL", (head + tags).encode())
        record = "%s.dist-info/RECORD" % self.name
        self.put(record, ("".join(self.rows) + record + ",,\n").encode())
        self.zip.close()


def licence_of(program, machine):
    """An SPDX expression: gctrace's licence and those of the libraries in it, as it says itself; QEMU runs another machine's."""
    line = [program, "version", "--verbose"]
    if machine != os.uname().machine:
        line.insert(0, "qemu-%s-static" % machine)
    said = subprocess.run(line, stdout=subprocess.PIPE, check=True).stdout.decode()
    rows = [re.split(r"  +", line.strip()) for line in said.splitlines() if line.startswith("  ")]
    named = [NO_IDENTIFIER.get((row[0], row[2]), row[2]) for row in rows]
    parts = ["BSD-2-Clause"] + sorted({"(%s)" % name if " OR " in name else name for name in named} - {"BSD-2-Clause"})
    return " AND ".join(parts)


def metadata(version, summary, expression, licences, readme):
    lines = ["Metadata-Version: 2.4", "Name: gctrace", "Version: " + version, "Summary: " + summary,
             "License-Expression: " + expression]  # fmt: skip
    lines += ["License-File: " + name for name in licences]
    lines += ["Classifier: " + text for text in CLASSIFIERS]
    lines += ["Keywords: garbage collection,profiler,tracing,training,eBPF",
              "Description-Content-Type: text/markdown; charset=UTF-8; variant=GFM", "", readme]  # fmt: skip
    return "\n".join(lines)


def make(stage, folder, version, machine, platforms, files, summary, readme):
    wheel = Wheel(folder, version, platforms)
    folder = stage / "share/licenses/gctrace"
    licences = {str(path.relative_to(folder)): path for path in files if folder in path.parents}
    for path in [path for path in files if path not in licences.values()]:
        inside = str(path.relative_to(stage))
        kind, name = ("scripts", inside[4:]) if inside.startswith("bin/") else ("data", inside)
        wheel.put("%s.data/%s/%s" % (wheel.name, kind, name), path.read_bytes(), 0o755 if kind == "scripts" else 0o644)
    expression = licence_of(stage / "bin/gctrace", machine)
    wheel.put_info("METADATA", metadata(version, summary, expression, licences, readme).encode())
    for name, path in licences.items():
        wheel.put_info("licenses/" + name, path.read_bytes())
    wheel.close()
    print(wheel.path)


def main(stage, out, version, machine, summary, readme):
    stage, out = Path(stage), Path(out)
    readme = Path(readme).read_text()
    files = sorted(path for path in stage.rglob("*") if path.is_file())
    libraries = [path for path in files if dynamic(path)]
    make(stage, out, version, machine, manylinux(glibc_of(libraries), machine), files, summary, readme)
    rest = [path for path in files if path not in libraries]
    make(stage, out, version, machine, ["musllinux_1_1_" + machine], rest, summary, readme)


if __name__ == "__main__":
    main(*sys.argv[1:])
