# julia -p N: its workers collect as told. Commands as those of Books.jl:
#   collect N   each worker calls GC.gc() N times; tells its pid, and its pauses before and after
#   quit
using Distributed

@everywhere function collect_times(n)
    before = Base.gc_num().pause
    for i in 1:n
        GC.gc(true)
    end
    (getpid(), before, Base.gc_num().pause)
end

println("{\"event\": \"ready\", \"pid\": ", getpid(), "}")
flush(stdout)
while true
    words = split(readline())
    (isempty(words) || words[1] == "quit") && break
    told = [remotecall_fetch(collect_times, w, parse(Int, words[2])) for w in workers()]
    println("{\"event\": \"collect\", \"workers\": [", join(("[$(a), $(b), $(c)]" for (a, b, c) in told), ", "), "]}")
    flush(stdout)
end
