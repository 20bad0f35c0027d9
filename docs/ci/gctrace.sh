#!/bin/sh
# Traces a training smoke test and judges it: for any CI server.
# In: the command to run as arguments, the environment below. Out: a folder with the recording and its
# reports; the exit status: 0 within budget, 99 a budget is broken, 3 gctrace saw nothing, 4 not everything,
# 2 wrong usage, else the training's own.
set -u

usage() {
	cat <<-'USAGE'
	usage: gctrace.sh COMMAND [ARGUMENT]...
	environment:
	  GCTRACE_BUDGETS  separated by commas (stopped.share<1%,pause.max<100ms)
	  GCTRACE_STEP     what marks a training step (auto)
	  GCTRACE_OUT      folder for what is written (gctrace-out)
	  GCTRACE          the binary (gctrace)
	USAGE
}

[ $# -gt 0 ] || { usage >&2; exit 2; }

gctrace=${GCTRACE:-gctrace}
budgets=${GCTRACE_BUDGETS:-stopped.share<1%,pause.max<100ms}
step=${GCTRACE_STEP:-auto}
out=${GCTRACE_OUT:-gctrace-out}

# Capturing needs root; the training itself runs as the user who called sudo. Reports need no root.
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		sudo -E env "PATH=$PATH" "$@"
	fi
}

mkdir -p "$out" || exit 1
as_root "$gctrace" run --step "$step" -o "$out/run.gct" -- "$@"
status=$?
if [ $status -ne 0 ]; then
	echo "gctrace.sh: the training or its tracing ended with $status: nothing was judged" >&2
	exit $status
fi

# What a person wants to see first, even when a budget is broken.
"$gctrace" report "$out/run.gct" --step "$step" -o "$out/report.txt" || exit
"$gctrace" report "$out/run.gct" --step "$step" -f html -o "$out/report.html" || exit
cat "$out/report.txt"

"$gctrace" check "$out/run.gct" --step "$step" --budget "$budgets" --junit "$out/junit.xml"
