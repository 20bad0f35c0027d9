"""What runs Java and is not HotSpot is named for what it is."""

import subprocess

import conftest
import harness
from test_strangers import check_named

# What an image of GraalVM exports, and how OpenJ9's library is called.
IMAGE = "const char *__svm_version_info = \"GraalVM 21\"; int graal_create_isolate(void) { return 0; }"
WAIT = '#include <stdio.h>\nint main(void) { puts("up"); fflush(stdout); getchar(); return 0; }\n'


def build(bench, name, source, *flags):
    path = bench.scratch / (name + ".c")
    path.write_text(source)
    made = bench.scratch / name
    done = subprocess.run(["gcc", "-o", made, path] + list(flags), stderr=subprocess.PIPE)
    conftest.need("gcc", done.returncode == 0, "gcc does not build: %s" % done.stderr.decode())
    return made


def waiting(bench, *argv):
    target = bench.process(argv)
    assert target.out.next() == "up", target.err.text()
    return target


def test_native_image(bench):
    """A stripped program: its exported symbols remain."""
    program = build(bench, "wait", IMAGE + "\n" + WAIT, "-rdynamic", "-s")
    check_named(bench, waiting(bench, program).pid, "a GraalVM native image", "-XX:+PrintGC")


def test_native_image_as_a_library(bench):
    library = build(bench, "libimage.so", IMAGE, "-shared", "-fPIC", "-s")
    program = build(
        bench, "wait", WAIT, "-Wl,--no-as-needed", library, "-Wl,-rpath,%s" % bench.scratch
    )
    check_named(bench, waiting(bench, program).pid, "a GraalVM native image")


def test_openj9(bench):
    library = build(bench, "libj9vm29.so", "int J9_CreateJavaVM(void) { return 0; }", "-shared", "-fPIC")
    program = build(
        bench, "wait", WAIT, "-Wl,--no-as-needed", library, "-Wl,-rpath,%s" % bench.scratch
    )
    check_named(bench, waiting(bench, program).pid, "OpenJ9", "-verbose:gc")


def test_library_of_a_python(bench, some_runtime):
    """Python's collections are traced as usual; doctor says that the library has its own."""
    library = build(bench, "libimage.so", IMAGE, "-shared", "-fPIC")
    target = bench.oracle(some_runtime, env={"LD_PRELOAD": str(library)})
    if some_runtime.in_root:
        return
    done = harness.gctrace("doctor", "-p", target.pid)
    assert done.returncode == 0, done.stdout.decode()
    assert "libimage.so is a GraalVM native image" in done.stdout.decode()
    tracer = bench.record(target)
    target.ask("collect 5 3 2")
    target.quit()
    tracer.finish()
    assert len(bench.report().of_pid(target.pid, cause="manual")) == 10
