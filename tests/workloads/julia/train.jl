# A training loop that does as it is told: commands, a line each, answered by a line of JSON.
#   train N       N steps of 32-bit numbers
#   train64 N     the same of 64-bit numbers, for which train_step! is compiled once more
#   redefine      train_step! is compiled anew
#   allocate N    N vectors, all on one line
#   special N     allocates and collects N times in what one function was compiled to for integers, N + 4 in that for floats
#   where         GC.gc(false), and Julia's own word on who called it
#   join N        N calls of joinpath(), a function of the system image
#   quit
# Each answer has the steps so far, and the calls of gemm that they made. No packages: an MLP with hand-written
# backpropagation, its matrix products by OpenBLAS, and a replay buffer of boxed samples, which collections mark.
using LinearAlgebra

const WIDTH, HIDDEN, BATCH = 24, 32, 40
const GEMMS = 5 # of a step
const LIVE = 20_000

mutable struct Sample
    input::Vector{Float32}
    target::Float32
end

struct Model{T}
    w1::Matrix{T}
    w2::Matrix{T}
end

mutable struct Random # xorshift: the same numbers on every version
    x::UInt64
end

function draw!(random::Random)
    x = random.x
    x ⊻= x << 13
    x ⊻= x >> 7
    x ⊻= x << 17
    random.x = x
    Float32((x >> 40) / 2^24) - 0.5f0
end

Sample(random::Random) = Sample(Float32[draw!(random) for _ in 1:WIDTH], draw!(random))

function Model{T}(random::Random) where {T}
    Model{T}(T[draw!(random) for _ in 1:HIDDEN, _ in 1:WIDTH], T[draw!(random) for _ in 1:1, _ in 1:HIDDEN])
end

@noinline function keep_samples!(buffer, random, count)
    for _ in 1:count
        buffer[1 + Int(random.x % UInt64(length(buffer)))] = Sample(random) # the line that allocates most
    end
end

function train_step!(model::Model{T}, buffer, random) where {T}
    keep_samples!(buffer, random, BATCH)
    x = Matrix{T}(undef, WIDTH, BATCH)
    y = Matrix{T}(undef, 1, BATCH)
    for i in 1:BATCH
        sample = buffer[1 + Int(random.x % UInt64(length(buffer) - i))]
        x[:, i] .= sample.input
        y[1, i] = sample.target
    end
    hidden = model.w1 * x
    active = max.(hidden, zero(T))
    error = model.w2 * active .- y
    w2 = error * permutedims(active)
    back = (permutedims(model.w2) * error) .* (hidden .> 0)
    w1 = back * permutedims(x)
    model.w2 .-= T(0.001) .* w2
    model.w1 .-= T(0.001) .* w1
    sum(abs2, error)
end

function train(model, buffer, random, count)
    for _ in 1:count
        train_step!(model, buffer, random)
    end
end

@noinline function allocate(count)
    kept = Vector{Any}(undef, 7)
    for i in 1:count
        kept[1 + i % 7] = Vector{Int}(undef, 100) # allocates
    end
    length(kept)
end

@noinline function specialised(x, count)
    kept = [x]
    for _ in 1:count
        kept = [x, kept[1]]
        GC.gc(false) # collects
    end
    kept
end

@noinline innermost() = (GC.gc(false); stacktrace())

@inline inlined() = innermost()

@noinline function where_am_i(depth)
    frames = depth > 0 ? where_am_i(depth - 1) : inlined()
    frames # nothing is a tail call
end

@noinline function join_paths(count)
    length = 0
    for _ in 1:count
        length += sizeof(joinpath("left", "right"))
    end
    length
end

text(word) = string('"', replace(string(word), r"[\"\\]" => x -> "\\" * x), '"')

function answer(event, steps, more = "")
    println("{\"event\": ", text(event), ", \"pid\": ", getpid(), ", \"steps\": ", steps, ", \"gemms\": ", GEMMS * steps, more, "}")
    flush(stdout)
end

# Innermost first, up to the loop that takes commands.
function told(frames)
    own = [f for f in frames if endswith(string(f.file), "train.jl")]
    ", \"frames\": [" * join(("[" * text(f.func) * ", " * string(f.line) * "]" for f in own), ", ") * "]"
end

function redefine()
    body = read(@__FILE__, String)
    first = findfirst("function train_step!", body)[1]
    last = findnext("\nend\n", body, first)[end]
    # on the lines that it had
    include_string(Main, "\n"^count(isequal('\n'), body[1:first]) * body[first:last], @__FILE__)
end

function main()
    random = Random(0x9e3779b97f4a7c15)
    buffer = [Sample(random) for _ in 1:LIVE]
    models = Dict("train" => Model{Float32}(random), "train64" => Model{Float64}(random))
    steps = 0
    LinearAlgebra.BLAS.set_num_threads(1)
    answer("ready", steps)
    for line in eachline(stdin)
        words = split(line)
        count = length(words) > 1 ? parse(Int, words[2]) : 0
        more = ""
        if haskey(models, words[1])
            Base.invokelatest(train, models[words[1]], buffer, random, count)
            steps += count
        elseif words[1] == "redefine"
            redefine()
        elseif words[1] == "allocate"
            allocate(count)
        elseif words[1] == "where"
            more = told(where_am_i(11))
        elseif words[1] == "special"
            specialised(1, count)
            specialised(1.0, count + 4)
        elseif words[1] == "join"
            join_paths(count)
        else
            break
        end
        answer(words[1], steps, more)
    end
end

main()
