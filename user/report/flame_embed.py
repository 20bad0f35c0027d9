"""Turns text files into one C file of string constants: flame_embed.py OUTPUT NAME=FILE...

Files of one name are joined in order. OUTPUT x.c includes x.h, which declares them. NAME_hash is the SHA-256 of a newline and the text, as a
Content-Security-Policy names an element that holds just that.
"""
import base64
import hashlib
import pathlib
import sys


def literal(line):
    return '\t"' + line.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t") + '\\n"'


def main():
    output, *pairs = sys.argv[1:]
    texts = {}
    for pair in pairs:
        name, path = pair.split("=", 1)
        text = pathlib.Path(path).read_text(encoding="utf-8")
        for end in ("]]>", "</", "<!--"):
            if end in text:
                sys.exit(f"{path}: must not hold {end}, which can end the element it is put in")
        texts[name] = texts.get(name, "") + text
    parts = ["/* Made by flame_embed.py. */", f'#include "{pathlib.Path(output).stem}.h"']
    for name, text in texts.items():
        digest = base64.b64encode(hashlib.sha256(b"\n" + text.encode()).digest()).decode()
        parts.append(f"\nconst char {name}[] =")
        parts.append("\n".join(literal(line) for line in text.splitlines()) + ";")
        parts.append(f'const char {name}_hash[] = "sha256-{digest}";')
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(parts) + "\n")


main()
