"""Turns text files into one C file of string constants: flame_embed.py OUTPUT NAME=FILE..."""
import sys


def literal(line):
    return '\t"' + line.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t") + '\\n"'


def main():
    output, *pairs = sys.argv[1:]
    parts = ["/* Made by flame_embed.py. */", '#include "flame_assets.h"']
    for pair in pairs:
        name, path = pair.split("=", 1)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if "]]>" in text:
            sys.exit(f"{path}: must not hold the three characters that end a CDATA section")
        parts.append(f"\nconst char {name}[] =")
        parts.append("\n".join(literal(line) for line in text.splitlines()) + ";")
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(parts) + "\n")


main()
