#!/usr/bin/env python3
"""A text file in, a C file out that holds it as a string: embed.py INPUT OUTPUT NAME."""
import sys

source, target, name = sys.argv[1:]
with open(source, encoding="utf-8") as text, open(target, "w", encoding="utf-8") as out:
    out.write(f"extern const char {name}[];\nconst char {name}[] =\n")
    for line in text:
        line = line.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").rstrip("\n")
        out.write(f'"{line}\\n"\n')
    out.write(";\n")
