# A Julia that collects as it is told. Commands, a line each, answered by a line of JSON with its own books
# (Base.gc_num()) by then; what the answer allocates is far from the next collection, as one has just been made:
#   state            no more than that
#   work N           allocates N small vectors
#   collect KIND N   GC.gc(), N times: 0 GC.gc(false), 1 GC.gc(true)
#   finalize N D     N objects with finalizers, collected at once; each D-th finalizer collects, too (0: none)
#   enable 0|1       GC.enable()
#   threads N        each thread allocates N small vectors
#   slow N MS        N times thread 1 collects, and thread 2 reaches no safepoint for MS from then on
#   exit_in_finalizer
#   quit
const FINALIZER_NS = 30_000_000 # of the first object's

mutable struct Held
    x::Int
end

const ran = Ref(0)

function work(n)
    s = 0
    for i in 1:n
        v = [Ref(j) for j in 1:100]
        s += length(v)
    end
    s
end

function finalize_many(n, d)
    ran[] = 0
    for i in 1:n
        h = Held(i)
        finalizer(h) do x
            ran[] += 1
            x.x == 1 && spin_for(FINALIZER_NS)
            d > 0 && x.x % d == 0 && ccall(:jl_gc_collect, Cvoid, (Cint,), 2)
        end
    end
    nothing
end

@noinline function hold_exit()
    finalizer(x -> ccall(:_exit, Cvoid, (Cint,), 0), Held(0))
    nothing
end

function work_in_threads(n)
    Threads.@threads for t in 1:Threads.nthreads()
        work(n)
    end
end

# Without a call or an allocation: no safepoint is in it.
function spin(go, i, ns)
    while go[] != -i
    end
    spin_for(ns)
    time_ns()
end

function spin_for(ns)
    s = time_ns()
    while time_ns() - s < ns
    end
end

safepoint() = ccall(:jl_gc_safepoint, Cvoid, ())

# Of each collection: when it was called for, until when the other thread reached no safepoint, when it was over.
function slow(n, ms)
    go = Threads.Atomic{Int}(0)
    times = zeros(UInt64, 3, n)
    Threads.@threads for t in 1:2
        if t == 2
            for i in 1:n
                go[] = i
                times[2, i] = spin(go, i, ms * 1_000_000)
                while go[] == -i
                    safepoint()
                end
            end
        else
            for i in 1:n
                while go[] != i
                    safepoint()
                end
                times[1, i] = time_ns()
                go[] = -i
                GC.gc(false)
                times[3, i] = time_ns()
                go[] = 0
            end
        end
    end
    times
end

function collect_times(kind, n)
    for i in 1:n
        GC.gc(kind == 1)
    end
end

tids() = (t = zeros(Int, Threads.nthreads()); Threads.@threads(for i in 1:length(t); t[i] = ccall(:syscall, Clong, (Clong,), 186); end); t)

function answer(event, more)
    GC.gc(false)
    n = Base.gc_num()
    live = ccall(:jl_gc_live_bytes, Int64, ())
    println("{\"event\": \"", event, "\", \"pauses\": ", n.pause, ", \"full\": ", n.full_sweep, ", \"total_ns\": ", n.total_time,
        ", \"allocated\": ", n.total_allocd, ", \"live\": ", live, ", \"finalized\": ", ran[], more, "}")
    flush(stdout)
end

function command(words)
    name = words[1]
    more = ""
    number(i) = parse(Int, words[i])
    if name == "work"
        work(number(2))
    elseif name == "collect"
        collect_times(number(2), number(3))
    elseif name == "finalize"
        finalize_many(number(2), number(3))
        GC.gc(true)
    elseif name == "enable"
        GC.enable(number(2) == 1)
    elseif name == "threads"
        work_in_threads(number(2))
    elseif name == "slow"
        times = slow(number(2), number(3))
        more = string(", \"slow\": [", join(("[$(join(times[:, i], ", "))]" for i in 1:number(2)), ", "), "]")
    elseif name == "exit_in_finalizer"
        hold_exit()
        GC.gc(true)
    end
    answer(name, more)
end

println("{\"event\": \"ready\", \"pid\": ", getpid(), ", \"tids\": ", tids(), "}")
flush(stdout)
while true
    words = split(readline())
    (isempty(words) || words[1] == "quit") && break
    command(words)
end
