"""The reader of a JVM's own log, on lines that JVMs of each version wrote."""

import pytest

import jvmlog

JDK_11 = """\
[23967107726512ns][22195][safepoint        ] Application time: 0.0069034 seconds
[23967107730127ns][22195][safepoint        ] Entering safepoint region: G1CollectForAllocation
[23967107770444ns][22195][safepoint,cleanup] safepoint cleanup tasks, 0.0000304 secs
[23967107779409ns][22195][gc,heap          ] GC(5) Heap before GC invocations=5 (full 0): garbage-first heap   total 131072K, used 70608K [0x00000000f8000000, 0x0000000100000000)
[23967107794444ns][22195][gc,start         ] GC(5) Pause Young (Normal) (G1 Evacuation Pause)
[23967112705516ns][22195][gc,heap          ] GC(5) Heap after GC invocations=6 (full 0): garbage-first heap   total 131072K, used 45505K [0x00000000f8000000, 0x0000000100000000)
[23967112725854ns][22195][gc               ] GC(5) Pause Young (Normal) (G1 Evacuation Pause) 69M->44M(128M) 4.930ms
[23967112737001ns][22195][safepoint        ] Leaving safepoint region
[23967112739462ns][22195][safepoint        ] Total time for which application threads were stopped: 0.0050444 seconds, Stopping threads took: 0.0000060 seconds
[23967117095431ns][22195][safepoint        ] Application time: 0.0043516 seconds
[23967117098000ns][22195][safepoint        ] Entering safepoint region: RevokeBias
[23967117147080ns][22195][safepoint        ] Total time for which application threads were stopped: 0.0000368 seconds, Stopping threads took: 0.0000037 seconds
"""

JDK_17 = """\
[23970909304353ns][22417][gc,heap          ] GC(5) Heap before GC invocations=6 (full 0):
[23970909307612ns][22417][gc,heap          ] GC(5)  PSYoungGen      total 38400K, used 38382K [0x00000000fd580000, 0x0000000100000000, 0x0000000100000000)
[23970909309000ns][22417][gc,heap          ] GC(5)   eden space 33280K, 99% used [0x00000000fd580000,0x00000000ff5fea90,0x00000000ff600000)
[23970909314483ns][22417][gc,heap          ] GC(5)  ParOldGen       total 87552K, used 36794K [0x00000000f8000000, 0x00000000fd580000, 0x00000000fd580000)
[23970909343651ns][22417][gc,start         ] GC(5) Pause Young (System.gc())
[23970914708275ns][22417][gc,heap          ] GC(5) ParOldGen: 36794K(87552K)->45026K(87552K)
[23970914720186ns][22417][gc               ] GC(5) Pause Young (System.gc()) 73M->48M(116M) 5.375ms
[23970914727728ns][22417][gc,heap          ] GC(5) Heap after GC invocations=6 (full 0):
[23970914730310ns][22417][gc,heap          ] GC(5)  PSYoungGen      total 31232K, used 5108K [0x00000000fd580000, 0x0000000100000000, 0x0000000100000000)
[23970914736934ns][22417][gc,heap          ] GC(5)  ParOldGen       total 87552K, used 45026K [0x00000000f8000000, 0x00000000fd580000, 0x00000000fd580000)
[23970914743651ns][22417][gc,start         ] GC(6) Pause Full (System.gc())
[23970914750186ns][22417][gc               ] GC(6) Pause Full (System.gc()) 48M->33M(116M) 9.001ms
[23970914756000ns][22417][safepoint,stats  ] ParallelGCSystemGC          [             12               0 ][             2683      24804    5451621    5479108 ]               0
[23970914756086ns][22417][safepoint        ] Safepoint "ParallelGCSystemGC", Time since last: 3342262 ns, Reaching safepoint: 2683 ns, Cleanup: 24804 ns, At safepoint: 5451621 ns, Total: 5479108 ns
[23970914760000ns][22400][gc,jni           ] Allocation failed. Thread stalled by JNI critical section. Thread "allocator-1" 1 locked.
[23970914770000ns][22401][gc,stats         ] Allocation pacing accrued:
[23970914770001ns][22401][gc,stats         ]      46 of   106 ms ( 43.6%): allocator-0
[23970914770002ns][22401][gc,stats         ]     140 of   106 ms (132.1%): <total>
"""

JDK_21 = """\
[23976229082324ns][22763][gc          ] GC(0) Major Collection (Warmup)
[23976229330046ns][22768][gc,phases   ] GC(0) Y: Pause Mark Start (Major) 0.012ms
[23976229363230ns][22768][safepoint   ] Safepoint "ZMarkStartYoungAndOld", Time since last: 44337424 ns, Reaching safepoint: 113253 ns, Cleanup: 31471 ns, At safepoint: 17277 ns, Leaving safepoint: 24035 ns, Total: 186036 ns
[23976231000000ns][22763][gc,phases   ] GC(0) Y: Concurrent Mark 2.838ms
[23976234671732ns][22768][safepoint   ] Safepoint "ZMarkEndYoung", Time since last: 5120599 ns, Reaching safepoint: 120769 ns, Cleanup: 12808 ns, At safepoint: 15761 ns, Leaving safepoint: 22066 ns, Total: 171404 ns
[23976234771732ns][22733][gc          ] Allocation Stall (main) 3.924ms
[23976234781732ns][22734][gc          ] GC(0) Y: Relocation Stall (ZWorkerYoung#0) 0.055ms
[23976272000000ns][22763][gc          ] GC(0) Major Collection (Warmup) 46M(36%)->56M(44%) 0.043s
"""

JDK_25 = """\
[23985879000000ns][23431][gc,start    ] GC(7) Pause Young (Normal) (G1 Evacuation Pause)
[23985879500000ns][23431][gc          ] GC(7) Pause Young (Normal) (G1 Evacuation Pause) (Evacuation Failure: Pinned) 94M->62M(128M) 5.901ms
[23985880910602ns][23431][safepoint   ] Safepoint "G1CollectForAllocation", Time since last: 1146990 ns, Reaching safepoint: 102206 ns, At safepoint: 35537 ns, Leaving safepoint: 19147 ns, Total: 156890 ns, Threads: 1 runnable, 12 total
[23985880950000ns][23430][gc          ] GC(8) Concurrent Mark Cycle
[23985881950000ns][23430][gc,marking  ] GC(8) Concurrent Mark From Roots
[23985882950000ns][23430][gc,marking  ] GC(8) Concurrent Mark From Roots 1.000ms
[23985883950000ns][23430][gc          ] GC(8) Concurrent Mark Cycle 3.000ms
[23985890630000ns][23440][gc,jni      ] Thread blocked to enter critical region. Resumed after 14ms. Thread "critical-holder".
[23985890640000ns][23441][gc,jni      ] Thread blocked to start GC. Resumed after 0ms. Thread "allocator-0".
"""

JDK_26 = """\
[23983740174270ns][23273][gc,start    ] GC(2) Pause Degenerated GC (Update Refs)
[23983740455948ns][23273][gc          ] GC(2) Pause Degenerated GC (Update Refs) 122M->97M(128M) 0.280ms
[23983740465606ns][23273][safepoint   ] Safepoint "ShenandoahDegeneratedGC", Time since last: 21131138 ns, Reaching safepoint: 4587 ns, At safepoint: 290590 ns, Leaving safepoint: 1506 ns, Total: 296683 ns, Threads: 0 runnable, 12 total
[23983741100000ns][23270][gc,start    ] GC(3) Concurrent cleanup (unload classes)
[23983741200000ns][23270][gc          ] GC(3) Concurrent cleanup (unload classes) 28M->28M(128M) 0.016ms
"""

JDK_8 = """\
0.385: Application time: 0.0083353 seconds
0.385: [GC (Allocation Failure) 0.385: [DefNew: 39280K->39280K(39296K), 0.0000117 secs]0.385: [Tenured: 83083K->34516K(87424K), 0.0367344 secs] 122363K->34516K(126720K), [Metaspace: 3840K->3840K(1056768K)], 0.0368270 secs] [Times: user=0.01 sys=0.00, real=0.03 secs] 
0.422: Total time for which application threads were stopped: 0.0369562 seconds, Stopping threads took: 0.0000190 seconds
0.431: Application time: 0.0083612 seconds
0.431: [GC (System.gc()) [PSYoungGen: 14844K->3667K(29184K)] 49354K->38177K(116736K), 0.0012417 secs] [Times: user=0.00 sys=0.00, real=0.00 secs] 
0.432: [Full GC (System.gc()) [PSYoungGen: 3667K->0K(29184K)] [ParOldGen: 34510K->34511K(87552K)] 38177K->34511K(116736K), [Metaspace: 3835K->3835K(1056768K)], 0.0146244 secs] [Times: user=0.01 sys=0.00, real=0.01 secs] 
0.433: Total time for which application threads were stopped: 0.0158661 seconds, Stopping threads took: 0.0001037 seconds
0.440: Application time: 0.0064069 seconds
0.468: [GC pause (G1 Evacuation Pause) (young) (initial-mark), 0.0046059 secs]
   [Eden: 7168.0K(7168.0K)->0.0B(7168.0K) Survivors: 0.0B->1024.0K Heap: 8192.0K(128.0M)->2961.0K(128.0M)]
0.469: [GC concurrent-root-region-scan-start]
0.470: Total time for which application threads were stopped: 0.0047562 seconds, Stopping threads took: 0.0000190 seconds
0.471: [GC concurrent-root-region-scan-end, 0.0012000 secs]
0.472: Application time: 0.0064069 seconds
0.472: [GC cleanup 44M->44M(128M), 0.0004123 secs]
0.473: Total time for which application threads were stopped: 0.0005562 seconds, Stopping threads took: 0.0000190 seconds
"""

JDK_8_OPERATIONS = """\
         vmop                    [threads: total initially_running wait_to_block]    [time: spin block sync cleanup vmop] page_trap_count
0.385: GenCollectForAllocation          [       9          0              1    ]      [     0     0     0     0    36    ]  0   
         vmop                    [threads: total initially_running wait_to_block]    [time: spin block sync cleanup vmop] page_trap_count
0.431: ParallelGCSystemGC               [       9          0              1    ]      [     0     0     0     0    15    ]  0   
0.468: G1IncCollectionPause             [       9          0              1    ]      [     0     0     0     0     4    ]  0   
0.496: no vm operation                  [       6          0              0    ]      [     0     0     0     0     0    ]  0   
"""


def parts(point):
    return (point.reaching_ns, point.cleanup_ns, point.at_ns, point.leaving_ns)


def test_11():
    log = jvmlog.parse(JDK_11)
    first, second = log.safepoints
    assert first.operation == "G1CollectForAllocation"
    assert (first.since_last_ns, first.total_ns) == (6903400, 5044400)
    assert parts(first) == (6000, 30400, None, None)
    assert first.resolution_ns == 100
    assert first.entering_ns == 23967107730127
    assert first.logged_ns == 23967112739462
    assert (second.operation, second.total_ns) == ("RevokeBias", 36800)
    assert second.cleanup_ns is None
    assert second.collections == []
    (young,) = first.collections
    assert (young.what, young.cause) == ("Pause Young (Normal)", "G1 Evacuation Pause")
    assert young.generation == "young"
    assert (young.before_bytes, young.after_bytes) == (70608 << 10, 45505 << 10)
    assert (young.capacity_bytes, young.heap_resolution) == (128 << 20, 1024)
    assert (young.duration_ns, young.started_ns) == (4930000, 23967107794444)


def test_17():
    log = jvmlog.parse(JDK_17)
    (point,) = log.safepoints
    assert parts(point) == (2683, 24804, 5451621, None)
    assert sum(parts(point)[:3]) == point.total_ns == 5479108
    assert (point.since_last_ns, point.resolution_ns) == (3342262, 1)
    young, full = point.collections
    assert (young.generation, young.cause) == ("young", "System.gc()")
    assert young.before_bytes == (38382 + 36794) << 10
    assert young.after_bytes == (5108 + 45026) << 10
    assert (full.generation, full.cause) == ("full", "System.gc()")
    assert (full.before_bytes, full.heap_resolution) == (48 << 20, 1 << 20)
    assert full.safepoint == 0
    locked, paced = log.stalls
    assert (locked.kind, locked.thread) == ("gclocker-gc", "allocator-1")
    assert (locked.duration_ns, locked.tid) == (None, 22400)
    assert (paced.kind, paced.thread, paced.duration_ns) == ("pacing", "allocator-0", 46000000)


def test_21():
    log = jvmlog.parse(JDK_21)
    first, second = log.safepoints
    assert parts(first) == (113253, 31471, 17277, 24035)
    assert sum(parts(first)) == first.total_ns
    (mark,) = first.collections
    assert (mark.what, mark.notes) == ("Pause Mark Start", ["Major"])
    assert (mark.cause, mark.generation, mark.before_bytes) == (None, None, None)
    assert second.collections == []
    phase, cycle = log.phases
    assert (phase.name, phase.duration_ns, phase.cycle) == ("Concurrent Mark", 2838000, False)
    assert (cycle.name, cycle.cause, cycle.cycle) == ("Major Collection", "Warmup", True)
    assert (cycle.duration_ns, cycle.started_ns) == (43000000, 23976229082324)
    assert [(s.kind, s.thread, s.duration_ns) for s in log.stalls] == [
        ("allocation", "main", 3924000),
        ("relocation", "ZWorkerYoung#0", 55000),
    ]


def test_25():
    log = jvmlog.parse(JDK_25)
    (point,) = log.safepoints
    assert parts(point) == (102206, None, 35537, 19147)
    (young,) = point.collections
    assert young.notes == ["Evacuation Failure: Pinned"]
    assert [(p.name, p.cycle, p.duration_ns) for p in log.phases] == [
        ("Concurrent Mark From Roots", False, 1000000),
        ("Concurrent Mark Cycle", True, 3000000),
    ]
    assert [(s.kind, s.thread, s.duration_ns) for s in log.stalls] == [
        ("gclocker-enter", "critical-holder", 14000000),
        ("gclocker-gc", "allocator-0", 0),
    ]


def test_26():
    log = jvmlog.parse(JDK_26)
    (point,) = log.safepoints
    (degenerated,) = point.collections
    assert (degenerated.what, degenerated.notes) == ("Pause Degenerated GC", ["Update Refs"])
    assert (degenerated.generation, degenerated.after_bytes) == (None, 97 << 20)
    (cleanup,) = log.phases
    assert (cleanup.name, cleanup.duration_ns) == ("Concurrent cleanup", 16000)


def test_padded_tid():
    """A log's columns only widen: once thread ids wrap around, short ones are padded."""
    padded = JDK_21.replace("[22733]", "[301  ]").replace("[22768]", "[302  ]")
    log = jvmlog.parse(padded)
    assert [p.tid for p in log.safepoints] == [302, 302]
    assert log.stalls[0].tid == 301


def test_8():
    log = jvmlog.parse_8(JDK_8, JDK_8_OPERATIONS)
    assert [s.operation for s in log.safepoints] == [
        "GenCollectForAllocation",
        "ParallelGCSystemGC",
        "G1IncCollectionPause",
        "no vm operation",
    ]
    assert [s.total_ns for s in log.safepoints] == [36956200, 15866100, 4756200, 556200]
    hidden, young, full, first_of_cycle, cleanup = log.collections
    assert (hidden.generation, hidden.cause) == ("full", "Allocation Failure")
    assert hidden.notes == [jvmlog.ATTEMPTED]
    assert (hidden.before_bytes, hidden.after_bytes) == (122363 << 10, 34516 << 10)
    assert hidden.duration_ns == 36827000
    assert (young.generation, full.generation) == ("young", "full")
    assert full.notes == []
    assert young.safepoint == full.safepoint == 1
    assert (full.before_bytes, full.cause) == (38177 << 10, "System.gc()")
    assert (first_of_cycle.cause, first_of_cycle.notes) == (
        "G1 Evacuation Pause",
        ["young", "initial-mark"],
    )
    assert (first_of_cycle.before_bytes, first_of_cycle.capacity_bytes) == (8 << 20, 128 << 20)
    assert (cleanup.what, cleanup.cause) == ("Pause Cleanup", None)
    (scan,) = log.phases
    assert (scan.name, scan.duration_ns) == ("concurrent-root-region-scan", 1200000)


def test_8_without_operations():
    log = jvmlog.parse_8(JDK_8)
    assert [s.operation for s in log.safepoints] == [None] * 4


def test_8_torn():
    """A marking thread's stamp may stand before the VM thread's message, or between its pieces."""
    whole = "0.470: Total time"
    phase = "0.471: [GC concurrent-root-region-scan-end, 0.0012000 secs]\n"
    assert whole in JDK_8 and phase in JDK_8
    message = phase.partition(": ")[2]
    for torn in ("0.4710.470: : Total time", "0.471: 0.470: Total time", ": Total time", "Total time"):
        text = JDK_8.replace(phase, message).replace(whole, torn)
        assert jvmlog.parse_8(text) == jvmlog.parse_8(JDK_8), torn


def test_unread_line_is_not_passed_over():
    with pytest.raises(ValueError):
        jvmlog.parse(JDK_17.replace("Reaching safepoint", "Nearing safepoint"))
    with pytest.raises(ValueError):
        jvmlog.parse(JDK_11.replace("Stopping threads took", "Stopping them took"))


def test_cut_off_log():
    """A JVM that is killed leaves a last line without its end; nothing else may be lost."""
    cut = JDK_21[: JDK_21.rindex("Leaving safepoint")]
    assert [p.operation for p in jvmlog.parse(cut).safepoints] == ["ZMarkStartYoungAndOld"]
    assert jvmlog.parse("").safepoints == []


def test_starts():
    points = jvmlog.parse(JDK_21).safepoints
    first, second = jvmlog.starts(points, 1000)
    assert (first, second) == (1000, 1000 + 186036 + 5120599)
    bound = jvmlog.latest_first_start(points)
    ends = [s + p.total_ns for s, p in zip(jvmlog.starts(points, bound), points)]
    lags = [p.logged_ns - end for p, end in zip(points, ends)]
    assert min(lags) == 0 and max(lags) < 50000


def test_phase_without_concurrent():
    """Generational Shenandoah's own phase of the old part."""
    log = jvmlog.parse(
        """\
[1824992527169ns][4515][gc,start       ] GC(7) Coalescing and filling (Old)
[1824992527170ns][4515][gc,task        ] GC(7) Using 1 of 1 workers for concurrent coalesce and fill
[1824992823267ns][4515][gc             ] GC(7) Coalescing and filling (Old) 0.296ms
[1824994134318ns][4515][gc,stats       ] Concurrent Coalesce and Fill        330 us, parallelism: 0.79x
"""
    )
    (phase,) = log.phases
    assert (phase.name, phase.duration_ns) == ("Coalescing and filling", 296000)
    assert (phase.started_ns, phase.logged_ns) == (1824992527169, 1824992823267)
