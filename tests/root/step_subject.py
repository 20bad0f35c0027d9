"""Calls functions of step_calls.c and step_records.cc as told: a JSON line in, a JSON line out.

    ["load", NAME, PATH]             loads a library
    ["call", NAME, FUNCTION, ARG…]   calls FUNCTION(ARG…) of it in this thread
    ["threads", COUNT, NAME, FUNCTION, ARG…]   the same in COUNT threads at once
    ["fork", NAME, FUNCTION, ARG…]   the same in a forked child
    ["collect", COUNT]               gc.collect()
    ["quit"]
Each answer holds the pid and tids that did it.
"""

import ctypes
import gc
import json
import os
import sys
import threading

gc.disable()
LIBRARIES = {}


def convert(argument):
    if isinstance(argument, str):
        return argument.encode()
    return ctypes.c_long(argument)


def call(name, function, *arguments):
    arguments = [convert(a) for a in arguments]
    if arguments and isinstance(arguments[-1], bytes):
        arguments.append(ctypes.c_long(len(arguments[-1])))
    LIBRARIES[name][function](*arguments)
    return [threading.get_native_id()]


def in_threads(count, *what):
    tids, gate = [], threading.Barrier(count)

    def run():
        gate.wait()
        tids.extend(call(*what))

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return tids


def in_child(*what):
    pid = os.fork()
    if not pid:
        call(*what)
        os._exit(0)
    os.waitpid(pid, 0)
    return [pid]


def load(name, path):
    LIBRARIES[name] = ctypes.CDLL(path)


def collect(count):
    for _ in range(count):
        gc.collect()


COMMANDS = {"load": load, "call": call, "threads": in_threads, "fork": in_child, "collect": collect}

print(json.dumps({"pid": os.getpid()}), flush=True)
for line in sys.stdin:
    command, *rest = json.loads(line)
    if command == "quit":
        break
    print(json.dumps({"pid": os.getpid(), "tids": COMMANDS[command](*rest)}), flush=True)
