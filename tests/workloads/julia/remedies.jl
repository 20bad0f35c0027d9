# A training loop with one fault of memory at a time, and what gctrace advises against it.
#   julia [-t 2] remedies.jl FAULT STEPS [EVERY]
# FAULT: old         a ring that is old is written to in each step, so that each collection marks all of it again
#        asked       GC.gc() each step
#        finalizers  each sample has a finalizer
#        busy        thread 2 computes for 100 ms at a time without a safepoint
#        memory      GC.gc(false) and GC.gc(true) each 20 steps, as CUDA.jl calls when a GPU's memory is short
# EVERY: the remedy: as "old" and "asked", each so many steps; of the others 1, but for "memory".
# Commands, a line each: "go" runs the steps and answers with a line of JSON: what its own books (Base.gc_num()) counted.
# A step begins with a call of getppid(), which --step libc:getppid takes for its mark.
const WIDTH = 8
const SAMPLES = 300_000
const TIMES = 10 # that each sample is in the ring of "old"
const REPLACED = 64 # each step
const SEEN = 512

mutable struct Sample
    x::NTuple{WIDTH,Float64}
    y::Float64
end

mutable struct Random # xorshift: the same numbers on every version
    state::UInt64
end

function draw!(r::Random)
    r.state ⊻= r.state << 13
    r.state ⊻= r.state >> 7
    r.state ⊻= r.state << 17
end

uniform!(r) = Float64(draw!(r) >> 11) / 2.0^53 - 0.5
index!(r, v) = 1 + Int(draw!(r) % UInt64(length(v)))

function Sample(r::Random)
    x = ntuple(i -> uniform!(r), WIDTH)
    Sample(x, sum(i * x[i] for i in 1:WIDTH))
end

const released = Ref(0)

# What a binding to a library does when it frees what an object stands for.
function release(sample)
    for i in 1:40
        released[] += sample.y > i ? 1 : 2
    end
end

function take_samples!(fault, every, ring, r)
    for i in 1:REPLACED
        ring[index!(r, ring)] = Sample(r)
    end
    for i in 1:(fault == "finalizers" ? 4000 : 0)
        sample = Sample(r)
        every > 0 ? release(sample) : finalizer(release, sample)
    end
end

function learn!(w, ring, r)
    errors = Any[] # boxed on purpose, as in untyped code
    for i in 1:SEEN
        s = ring[index!(r, ring)]
        x = collect(s.x)
        e = sum(w .* x) - s.y
        w .-= 0.05 .* e .* x
        push!(errors, e)
    end
    sum(abs, errors) / length(errors)
end

function collect_as_told(fault, every, step)
    if fault == "old" && every > 0 && step % every == 0
        GC.enable(true)
        GC.gc(false)
        GC.enable(false)
    elseif fault == "asked" && every == 0
        GC.gc()
    elseif fault == "asked" && step % every == 0
        GC.gc(false)
    elseif fault == "memory" && step % (every > 0 ? every : 20) == 0
        GC.gc(false)
        GC.gc(true)
    end
end

function train(fault, steps, every, ring, w, r)
    fault == "old" && every > 0 && GC.enable(false)
    for step in 1:steps
        ccall(:getppid, Cint, ())
        take_samples!(fault, every, ring, r)
        learn!(w, ring, r)
        collect_as_told(fault, every, step)
    end
    fault == "old" && GC.enable(true)
end

# 100 ms of it have no safepoint, unless one is put there.
function compute(stop, safepoints)
    x = 1.0
    while stop[] == 0
        until = time_ns() + 100_000_000
        while time_ns() < until
            x = x * 1.0000001 + 1e-9
            safepoints && GC.safepoint()
        end
        GC.safepoint()
    end
    x
end

function train_beside(fault, steps, every, ring, w, r)
    stop = Threads.Atomic{Int}(0)
    Threads.@threads for t in 1:2
        if t == 1
            train(fault, steps, every, ring, w, r)
            stop[] = 1
        else
            compute(stop, every > 0)
        end
    end
end

function run(fault, steps, every, ring, w, r)
    fault == "busy" ? train_beside(fault, steps, every, ring, w, r) : train(fault, steps, every, ring, w, r)
end

function main(fault, steps, every)
    r = Random(0x9e3779b97f4a7c15)
    samples = Any[Sample(r) for i in 1:SAMPLES]
    ring = Any[samples[index!(r, samples)] for i in 1:(fault == "old" ? TIMES : 1)*SAMPLES]
    w = zeros(WIDTH)
    run(fault, 3, every, ring, w, r) # compiled
    GC.gc()
    GC.gc()
    println("{\"event\": \"ready\", \"pid\": ", getpid(), "}")
    flush(stdout)
    readline()
    before, t0 = Base.gc_num(), time_ns()
    run(fault, steps, every, ring, w, r)
    t1, after = time_ns(), Base.gc_num()
    println("{\"event\": \"go\", \"ns\": ", t1 - t0, ", \"pauses\": ", after.pause - before.pause, ", \"full\": ",
        after.full_sweep - before.full_sweep, ", \"total_ns\": ", after.total_time - before.total_time,
        ", \"rss_bytes\": ", Sys.maxrss(), "}")
    flush(stdout)
    readline()
end

main(ARGS[1], parse(Int, ARGS[2]), length(ARGS) > 2 ? parse(Int, ARGS[3]) : 0)
