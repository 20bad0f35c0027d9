"""A Python under test that runs what it is told, piece by piece, and collects only when told to."""

import json
import os

import harness

LOOP = """
import gc, json, os, sys, threading, time
gc.disable()
class Cycle:
    def __init__(self):
        self.me = self
class Stop(Cycle):
    # Its finalizer says "inside" and waits for a line.
    def __del__(self):
        print("inside", flush=True)
        sys.stdin.readline()
print("ready", flush=True)
while True:
    line = sys.stdin.readline()
    if not line:
        break
    exec(json.loads(line), globals())
    print("done", flush=True)
os._exit(0)
"""


class Snippets(harness.Process):
    def __init__(self, runtime, env=None, debug=False, prefix=()):
        line = list(prefix) + runtime.start_line("-c", debug=debug) + [LOOP]
        full = dict(runtime.environment)
        full.update(env or {})
        super().__init__(line, env=full)
        try:
            self.expect("ready")
        except BaseException:
            self.kill()
            raise

    def expect(self, wanted):
        line = self.out.next()
        assert line == wanted, "%s said %r, not %r:\n%s" % (
            self.argv[:2],
            line,
            wanted,
            self.err.text(),
        )

    def begin(self, code):
        """Starts @code, without waiting for what it prints."""
        self.send(json.dumps(code))

    def run(self, code):
        self.begin(code)
        self.expect("done")

    def value(self, code):
        """The value of an expression."""
        self.begin("print(json.dumps(%s), flush=True)" % code)
        line = self.out.next()
        assert line is not None, self.err.text()
        self.expect("done")
        return json.loads(line)

    def enter(self, generation=2):
        """Begins a collection, which waits in a finalizer until leave()."""
        self.begin("Stop(); gc.collect(%d)" % generation)
        self.expect("inside")

    def leave(self):
        self.send("")
        self.expect("done")

    def quit(self):
        self.popen.stdin.close()
        status = self.wait()
        assert status == 0, self.err.text()


def start(bench, runtime, env=None, debug=False, prefix=()):
    return bench.keep(Snippets(runtime, env, debug, prefix))


def books(target):
    return target.value("[s['collections'] for s in gc.get_stats()]")
