#!/usr/bin/env python3
"""The output of `gctrace --help` → completions for a shell.

usage: make.py GCTRACE bash|zsh|fish OUTPUT [EMULATOR...]
The help texts are the only table of verbs and options: a new option completes without a change here.
"""

import re
import subprocess
import sys

OPTION = re.compile(r"^  (?:(-\w), |    )(--[a-z-]+)(?: ([A-Z]+))?\s+(.*)((?:\n {20,}.*)*)$", re.M)
VERB = re.compile(r"^  ([a-z]+) {1,}(\S.*)$", re.M)
FILES = {"FILE", "OUTPUT"}
# Values that are one of some words: of these a verb takes those that its help names.
CHOICES = {
    "FORMAT": ["text", "html", "json", "folded", "flamegraph"],
    "WEIGHT": ["time", "gpu-idle"],
    "HOW": ["auto", "off", "infer", "measure", "inject"],
}
TAKES = {"schema": "sql json", "version": ""}  # words instead of files


class Option:
    def __init__(self, short, name, value, text, more):
        self.short, self.name, self.value, self.text = short, name, value, text
        named = re.findall(r"[a-z-]+", text + more)
        self.choices = " ".join(word for word in CHOICES.get(value, []) if word in named)
        # one clause, without a parenthesis that it would cut
        self.text = re.sub(r" \([^)]*$", "", re.sub(r"\([^()]*;[^()]*\)", "", text).split(";")[0]).rstrip(" :,")
        if value == "FORMAT":  # its text is a list
            self.text = "what to write"

    @property
    def names(self):
        return [self.short, self.name] if self.short else [self.name]


def help_of(gctrace, *words):
    line = [*gctrace, *words, "--help"]
    return subprocess.run(line, stdout=subprocess.PIPE, check=True).stdout.decode()


def read(gctrace):
    """The verbs with their summaries, and the options of each; "" is the live view."""
    top, live = help_of(gctrace).split("usage: gctrace -p", 1)
    verbs = VERB.findall(top.split("\n\n")[2])
    options = {"": [Option(*found) for found in OPTION.findall(live)]}
    for verb, _ in verbs:
        options[verb] = [Option(*found) for found in OPTION.findall(help_of(gctrace, verb))]
    return verbs, options


def prevs(options, wanted):
    """What stands before a value that @wanted(option) is true of: "report:-f | report:--format"; live: ":-p"."""
    return " | ".join("%s:%s" % (verb, name) for verb, some in options.items() for option in some
                      if option.value and wanted(option) for name in option.names)  # fmt: skip


def bash(verbs, options):
    cases, values = [], []
    for verb, _ in verbs:
        names = " ".join(name for option in options[verb] for name in option.names)
        cases.append('\t%s) words="%s" ;;' % (verb, " ".join([names, TAKES.get(verb, "")]).strip()))
    for choices in sorted({option.choices for some in options.values() for option in some} - {""}):
        values.append('\t%s) words="%s" files= ;;' % (prevs(options, lambda o: o.choices == choices), choices))
    return BASH % {
        "verbs": " ".join(verb for verb, _ in verbs),
        "live": " ".join(name for option in options[""] for name in option.names),
        "cases": "\n".join(cases),
        "values": "\n".join(values),
        "pids": prevs(options, lambda o: o.value == "PID"),
        "paths": prevs(options, lambda o: o.value in FILES),
        "free": prevs(options, lambda o: not o.choices and o.value not in FILES | {"PID"}),
    }


BASH = """# Completions of gctrace for bash.
_gctrace()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} verb= words files=1

	((COMP_CWORD == 1)) && files= || verb=${COMP_WORDS[1]}
	case $verb in
%(cases)s
	*) words="%(live)s"; [[ $verb ]] || words+=" %(verbs)s"; verb= ;;
	esac
	case $verb:$prev in
	%(pids)s) words=$(cd /proc && echo [0-9]*) files= ;;
%(values)s
	%(paths)s) words= ;;
	%(free)s) return ;;
	esac
	COMPREPLY=($(compgen -W "$words" -- "$cur"))
	[[ $cur == -* || ! $files ]] || COMPREPLY+=($(compgen -f -- "$cur"))
}
complete -o filenames -F _gctrace gctrace
"""


def zsh_option(option):
    text = re.sub(r"([\[\]:\\'])", r"\\\1", option.text.replace("'", "’"))
    value = ""
    if option.value:
        action = "_files" if option.value in FILES else ""
        action = "_pids" if option.value == "PID" else "(%s)" % option.choices if option.choices else action
        value = ":%s:%s" % (option.value.lower(), action)
    return ["'*%s[%s]%s'" % (name, text, value) for name in option.names]


def zsh(verbs, options):
    cases = []
    for verb, _ in verbs:
        lines = [line for option in options[verb] for line in zsh_option(option)]
        lines.append("'*: :(%s)'" % TAKES[verb] if TAKES.get(verb) else "'*: :_files'")
        cases.append("\t%s)\n\t\t_arguments -S \\\n\t\t\t%s ;;" % (verb, " \\\n\t\t\t".join(lines)))
    live = [line for option in options[""] for line in zsh_option(option)]
    named = "\n".join("\t\t'%s:%s'" % (v, s.replace(":", "\\:").replace("'", "’")) for v, s in verbs)
    return ZSH % {"verbs": named, "cases": "\n".join(cases), "live": " \\\n\t\t\t".join(live)}


ZSH = """#compdef gctrace
# Completions of gctrace for zsh.
_gctrace() {
	local -a verbs=(
%(verbs)s
	)

	if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then
		_describe verb verbs
		return
	fi
	case $words[2] in
%(cases)s
	*)
		_arguments -S \\
			%(live)s ;;
	esac
}
_gctrace "$@"
"""


def fish_option(verbs, verb, option):
    every = " ".join(name for name, _ in verbs)
    when = "__fish_seen_subcommand_from " + verb
    if not verb:
        when = "not __fish_seen_subcommand_from " + every
    line = "complete -c gctrace -n '%s' -l %s" % (when, option.name[2:])
    if option.short:
        line += " -s " + option.short[1:]
    if option.value in FILES:
        line += " -r -F"
    elif option.value == "PID":
        line += " -x -a '(__fish_complete_pids)'"
    elif option.choices:
        line += " -x -a '%s'" % option.choices
    elif option.value:
        line += " -x"
    return line + " -d '%s'" % option.text.replace("\\", "\\\\").replace("'", "\\'")


def fish(verbs, options):
    lines = ["# Completions of gctrace for fish.", "complete -c gctrace -n __fish_use_subcommand -f"]
    for verb, summary in verbs:
        summary = summary.replace("'", "\\'")
        lines.append("complete -c gctrace -n __fish_use_subcommand -a %s -d '%s'" % (verb, summary))
    for verb, some in options.items():
        lines += [fish_option(verbs, verb, option) for option in some]
    for verb, words in TAKES.items():
        when = "__fish_seen_subcommand_from " + verb
        lines.append("complete -c gctrace -n '%s' -f%s" % (when, " -a '%s'" % words if words else ""))
    return "\n".join(lines) + "\n"


def main():
    gctrace, shell, output, *emulator = sys.argv[1:]
    text = {"bash": bash, "zsh": zsh, "fish": fish}[shell](*read([*emulator, gctrace]))
    with open(output, "w", encoding="utf-8") as file:
        file.write(text)


main()
