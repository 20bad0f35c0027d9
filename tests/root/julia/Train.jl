# A training loop without a package: linear regression by stochastic gradient descent on a ring of boxed samples, which
# is old and is written to in each step, so that every incremental collection marks all of it again.
#   julia Train.jl STEPS SAMPLES
# Commands: "go" runs the steps and answers with [begin, end, collections, full ones, ns of them] of each, by its own books.
const D = 8

struct Sample
    x::NTuple{D,Float64}
    y::Float64
end

mutable struct Random
    state::UInt64
end

function next!(r::Random)
    r.state ⊻= r.state << 13
    r.state ⊻= r.state >> 7
    r.state ⊻= r.state << 17
end

uniform!(r) = Float64(next!(r) >> 11) / 2.0^53 - 0.5
index!(r, v) = 1 + Int(next!(r) % UInt64(length(v)))

function Sample(r::Random)
    x = ntuple(i -> uniform!(r), D)
    Sample(x, sum(i * x[i] for i in 1:D))
end

# Boxed on purpose, as in untyped user code.
function train_step!(w, ring, r)
    errors = Any[]
    for i in 1:64
        ring[index!(r, ring)] = Sample(r)
    end
    for i in 1:512
        s = ring[index!(r, ring)]
        x = collect(s.x)
        e = sum(w .* x) - s.y
        w .-= 0.05 .* e .* x
        push!(errors, e)
    end
    sum(abs, errors) / length(errors)
end

function train(steps, w, ring, r)
    told = zeros(Int, 5, steps)
    for s in 1:steps
        before, t0 = Base.gc_num(), time_ns()
        train_step!(w, ring, r)
        t1, after = time_ns(), Base.gc_num()
        told[:, s] = [t0, t1, after.pause - before.pause, after.full_sweep - before.full_sweep,
            after.total_time - before.total_time]
    end
    told
end

const r = Random(0x9e3779b97f4a7c15)
const ring = Any[Sample(r) for i in 1:parse(Int, ARGS[2])]
const w = zeros(D)
train(3, w, ring, r)
GC.gc()
println("{\"event\": \"ready\", \"pid\": ", getpid(), "}")
flush(stdout)
readline()
told = train(parse(Int, ARGS[1]), w, ring, r)
println("{\"event\": \"go\", \"steps\": [", join(("[$(join(told[:, s], ", "))]" for s in 1:size(told, 2)), ", "), "]}")
flush(stdout)
readline()
