-- The .gct file of gctrace, schema version 1: what one recording observed, and nothing derived from it.
--
-- Times are nanoseconds on CLOCK_MONOTONIC, durations are nanoseconds, pids and tids are those of the host.
-- NULL means "not known", never 0. Columns and tables may be added within a version; none is renamed,
-- removed or given another meaning. user_version is the version: a reader refuses a greater one.

PRAGMA application_id = 1195594834; -- "GCTR"
PRAGMA user_version = 1;

-- The recording itself. Keys: version (of gctrace), host, boot_id, start_ns; step: what --step said, if it was
-- given; at a clean end also end_ns, and complete ("1", or "0" when something is known to be missing). Without
-- end_ns the recording was cut off.
CREATE TABLE meta (
	key   TEXT PRIMARY KEY,
	value TEXT NOT NULL
) STRICT;

-- The same instant on two clocks, read together; the first row is from the start. A later one says that their
-- difference has become another.
CREATE TABLE clock (
	monotonic_ns INTEGER PRIMARY KEY,
	realtime_ns  INTEGER NOT NULL      -- since 1970-01-01 UTC
) STRICT;

-- Every process that was traced.
CREATE TABLE process (
	id      INTEGER PRIMARY KEY,       -- from 1, in the order they were seen
	pid     INTEGER NOT NULL,
	ns_pid  INTEGER NOT NULL,          -- as the process itself sees it; differs in a container
	ppid    INTEGER NOT NULL,
	comm    TEXT NOT NULL,
	cmdline BLOB,                      -- the arguments, separated by NUL bytes
	seen_ns INTEGER NOT NULL,
	exit_ns INTEGER                    -- NULL: alive when the recording ended
) STRICT;

-- How long the threads of a process were on a CPU, together, between two moments: of those that were looked at twice.
CREATE TABLE process_cpu (
	process  INTEGER PRIMARY KEY REFERENCES process (id),
	from_ns  INTEGER NOT NULL,
	until_ns INTEGER NOT NULL,
	used_ns  INTEGER NOT NULL
) STRICT;

-- Every managed runtime found in a process, and how it was probed.
CREATE TABLE runtime (
	id          INTEGER PRIMARY KEY,   -- from 1
	process     INTEGER NOT NULL REFERENCES process (id),
	kind        TEXT NOT NULL,         -- 'cpython', 'hotspot', 'julia'
	version     TEXT NOT NULL,         -- '' when not known
	tier        TEXT NOT NULL,         -- 'symbol', 'debugfile', 'usdt', 'call-target', 'watchpoint'
	path        TEXT,                  -- of the probed file, as the target sees it
	detail      TEXT,                  -- what exactly was probed, for people
	attached_ns INTEGER NOT NULL,
	missed      INTEGER NOT NULL,      -- collections (HotSpot: safepoints) in the runtime's own books that no probe saw
	collector   TEXT,                  -- HotSpot: 'G1', 'Parallel', 'Serial', 'ZGC', 'Shenandoah', …
	idle_calls  INTEGER,               -- of the collector, that collected nothing; NULL: not counted
	disabled_calls INTEGER             -- of these, that found it disabled as they began; NULL: not counted
) STRICT;

-- One row a pause.
CREATE TABLE pause (
	id            INTEGER PRIMARY KEY, -- from 1, in the order the pauses ended
	start_ns      INTEGER NOT NULL,
	duration_ns   INTEGER NOT NULL,
	runtime       INTEGER NOT NULL REFERENCES runtime (id),
	tid           INTEGER NOT NULL,    -- the thread that collected; 0: not known
	interpreter   INTEGER,             -- 0: the main one
	generation    INTEGER,
	cause         INTEGER NOT NULL,    -- 0 unknown, 1 automatic, 2 manual, 3 shutdown, 4 in the runtime's words (safepoint.cause)
	flags         INTEGER NOT NULL,    -- sum of: 1 the thread slept within, 2 collector called again within, 4 stack truncated,
	                                   -- 8 no collection, 16 a full one, 32 step of a concurrent cycle, 64 has a row in safepoint
	                                   -- (of HotSpot) or rows in fact (of others),
	                                   -- 128 times are the probes', not the runtime's own, 256 lasted at least so long:
	                                   -- the recording or its process ended in it, 512 likewise: the recording began in it
	collected     INTEGER,             -- objects
	uncollectable INTEGER,             -- objects
	stack         INTEGER REFERENCES stack (id), -- innermost frame; NULL: not taken
	heap_objects  INTEGER,             -- that had survived the last full collection when this one began
	heap_pending  INTEGER,             -- moved to the oldest generation since then
	rss_start     INTEGER,             -- bytes resident at the begin and at the end
	rss_end       INTEGER,
	waited_ns     INTEGER              -- of the pause, in which the parent's thread that forked this process slept
) STRICT;

-- What is known of those pauses that are safepoints of a JVM, one row each.
CREATE TABLE safepoint (
	pause       INTEGER PRIMARY KEY REFERENCES pause (id),
	operation   INTEGER REFERENCES string (id), -- 'G1CollectForAllocation'
	cause       INTEGER REFERENCES string (id), -- 'G1 Evacuation Pause'; NULL without a collection
	ttsp_ns     INTEGER,               -- time to safepoint: from the request until all threads stood still
	cleanup_ns  INTEGER,
	core_ns     INTEGER,               -- the operation itself
	leave_ns    INTEGER,               -- until the threads ran again
	heap_before INTEGER,               -- bytes used, around the collections within
	heap_after  INTEGER,
	young       INTEGER,               -- collections within, by kind
	full        INTEGER,
	late_tid    INTEGER,               -- the thread that came last, after a long ttsp_ns
	late_stack  INTEGER REFERENCES stack (id),
	late_ran_ns INTEGER                -- for how long of that it had a processor, at least
) STRICT;

-- What is known of the pauses of other runtimes, one row a fact. Which keys there are is the runtime's to say.
CREATE TABLE fact (
	id    INTEGER PRIMARY KEY,         -- in the order of pauses
	pause INTEGER NOT NULL REFERENCES pause (id),
	key   TEXT NOT NULL,               -- 'ttsp_ns', …
	value INTEGER NOT NULL             -- ns, bytes, a count, a tid, or a row of string or stack: by its key
) STRICT;

-- Times that one thread waited for the collector. Never part of a pause.
CREATE TABLE stall (
	id          INTEGER PRIMARY KEY,   -- from 1, in the order they ended
	start_ns    INTEGER NOT NULL,
	duration_ns INTEGER NOT NULL,
	runtime     INTEGER NOT NULL REFERENCES runtime (id),
	tid         INTEGER NOT NULL,
	kind        INTEGER NOT NULL,      -- 1 a call of System.gc(), 2 allocation stall, 3 pacing, 4 GC locker
	collections INTEGER,               -- of kind 1: that came within it
	stack       INTEGER REFERENCES stack (id)
) STRICT;

-- What a collector did while the program ran. Never part of a pause.
CREATE TABLE phase (
	id          INTEGER PRIMARY KEY,   -- from 1, in the order they ended
	start_ns    INTEGER NOT NULL,
	duration_ns INTEGER NOT NULL,
	runtime     INTEGER NOT NULL REFERENCES runtime (id),
	tid         INTEGER NOT NULL,
	name        INTEGER NOT NULL REFERENCES string (id)
) STRICT;

-- Names of threads that other tables mention.
CREATE TABLE thread (
	process INTEGER NOT NULL REFERENCES process (id),
	tid     INTEGER NOT NULL,
	name    TEXT NOT NULL,
	PRIMARY KEY (process, tid)
) STRICT, WITHOUT ROWID;

-- Probes that may mark the steps of a training loop. Which of them does is decided by who reads.
CREATE TABLE step_signal (
	id          INTEGER PRIMARY KEY,   -- from 1
	name        TEXT NOT NULL,         -- 'torch:backward', 'jax:execute', 'user:libfoo:bar'
	probe       TEXT,                  -- what exactly was probed, for people
	attached_ns INTEGER NOT NULL,      -- 0: it could not be probed
	hits        INTEGER NOT NULL,      -- in all traced processes, those too that are not in step_mark
	let_go_ns   INTEGER                -- when it proved too hot to keep; NULL: kept
) STRICT;

-- The marks of one signal in one thread that carry the same label and number.
CREATE TABLE step_series (
	id      INTEGER PRIMARY KEY,       -- from 1
	signal  INTEGER NOT NULL REFERENCES step_signal (id),
	process INTEGER NOT NULL REFERENCES process (id),
	tid     INTEGER NOT NULL,
	label   TEXT,                      -- 'Optimizer.step#Adam.step', a jitted function's name
	number  INTEGER                    -- inputs of an executable, a hash of dimensions
) STRICT;

-- One row a call; in a long row of calls of one series, one for several of them.
CREATE TABLE step_mark (
	id        INTEGER PRIMARY KEY,     -- from 1, by time within a series
	series    INTEGER NOT NULL REFERENCES step_series (id),
	time_ns   INTEGER NOT NULL,        -- of the call's entry
	rss_bytes INTEGER,                 -- resident in the process then
	skipped   INTEGER,                 -- calls of the series just before it that have no row; NULL: none
	work_ns   INTEGER                  -- CPU time of the thread until then, outside calls that wait, from an origin of its own;
	                                   -- less than at an earlier mark: the origin has become another
) STRICT;

-- GPUs, as the CUPTI shim saw them. Each device that a process used.
CREATE TABLE gpu_device (
	process        INTEGER NOT NULL REFERENCES process (id),
	device         INTEGER NOT NULL,   -- as CUDA numbers it in that process
	name           TEXT NOT NULL,      -- 'NVIDIA H100'; '' when not known
	memory_bytes   INTEGER,
	seen_ns        INTEGER,            -- what it did is known from then on, but for gpu_unknown; NULL: nothing of it is
	until_ns       INTEGER,            -- and until then
	clock_error_ns INTEGER NOT NULL,   -- the most by which its times differ from CLOCK_MONOTONIC
	PRIMARY KEY (process, device)
) STRICT, WITHOUT ROWID;

-- Times in which a device had work: kernels, copies, memsets, of all streams together. Rows may overlap, and need not
-- be in their order.
CREATE TABLE gpu_busy (
	id          INTEGER PRIMARY KEY,   -- from 1
	process     INTEGER NOT NULL REFERENCES process (id),
	device      INTEGER NOT NULL,
	start_ns    INTEGER NOT NULL,
	duration_ns INTEGER NOT NULL,
	launch_ns   INTEGER,               -- when the call was entered that launched the first of it
	previous_ns INTEGER,               -- when that call's thread had launched something before
	tid         INTEGER,               -- that thread
	gaps_ns     INTEGER NOT NULL,      -- of the duration, in gaps of less than 50 us
	starved_ns  INTEGER NOT NULL,      -- of these, in those that ended with what was launched within them
	unsure_ns   INTEGER                -- for so long it may have starved unseen besides; NULL: for none of it
) STRICT;

-- Calls of CUDA that take time.
CREATE TABLE gpu_call (
	id          INTEGER PRIMARY KEY,   -- from 1
	process     INTEGER NOT NULL REFERENCES process (id),
	device      INTEGER,
	tid         INTEGER NOT NULL,
	kind        INTEGER NOT NULL,      -- 1 waits for a device, 2 allocates or frees its memory
	start_ns    INTEGER NOT NULL,
	duration_ns INTEGER NOT NULL,
	done_ns     INTEGER,               -- of kind 1: when what it waited for was done; before start_ns: it did not have to wait
	flags       INTEGER                -- sum of: 1 a copy, 2 a launch into a full queue, 4 frees, 8 failed; NULL: none
) STRICT;

-- Threads that launch work.
CREATE TABLE gpu_launcher (
	process  INTEGER NOT NULL REFERENCES process (id),
	tid      INTEGER NOT NULL,
	launches INTEGER NOT NULL,
	gap_ns   INTEGER,                  -- 99th percentile of the time between two
	PRIMARY KEY (process, tid)
) STRICT, WITHOUT ROWID;

-- Memory allocated on a device, from a moment on.
CREATE TABLE gpu_memory (
	id      INTEGER PRIMARY KEY,       -- from 1
	process INTEGER NOT NULL REFERENCES process (id),
	device  INTEGER NOT NULL,
	time_ns INTEGER NOT NULL,
	bytes   INTEGER NOT NULL           -- more, or less, than when its records began
) STRICT;

-- Times in which it is not known what devices did: neither busy nor idle.
CREATE TABLE gpu_unknown (
	id       INTEGER PRIMARY KEY,      -- from 1
	process  INTEGER NOT NULL REFERENCES process (id),
	device   INTEGER,                  -- NULL: all that the process uses
	start_ns INTEGER,                  -- NULL: not known when, so that nothing is known at all
	end_ns   INTEGER,
	records  INTEGER NOT NULL,         -- that are missing
	why      INTEGER NOT NULL          -- 1 lost on the way, 2 dropped by CUPTI, 3 nothing was recorded, 4 from then on another
	                                   -- user of CUPTI was active; nothing can be recorded: 5 no libcupti was found, 6 it has
	                                   -- an unknown version, 7 it found no driver or device, 8 it refused, 9 it did not answer
) STRICT;

-- Processes whose calls of CUDA's driver were probed, for want of the shim. Of their devices there are no records.
CREATE TABLE gpu_driver (
	process     INTEGER PRIMARY KEY REFERENCES process (id),
	attached_ns INTEGER NOT NULL,
	let_go_ns   INTEGER,               -- when launches proved too many to count; NULL: counted to the end
	failed      INTEGER NOT NULL       -- calls that returned an error, and have no row below
) STRICT;

-- Such a call, when it has returned.
CREATE TABLE gpu_driver_call (
	id          INTEGER PRIMARY KEY,   -- from 1
	process     INTEGER NOT NULL REFERENCES process (id),
	tid         INTEGER NOT NULL,
	kind        INTEGER NOT NULL,      -- 1 waits for a device, 2 allocates device memory, 3 frees it
	function    TEXT NOT NULL,         -- 'cuStreamSynchronize'
	start_ns    INTEGER NOT NULL,
	duration_ns INTEGER NOT NULL,
	launches    INTEGER,               -- by its thread until then; NULL: not all were counted
	bytes       INTEGER                -- of kinds 2 and 3; NULL: what is freed was allocated before the recording
) STRICT;

-- Call stacks: follow parent until 0 to walk from the innermost frame outwards.
CREATE TABLE stack (
	id     INTEGER PRIMARY KEY,        -- from 1, without gaps
	parent INTEGER NOT NULL,           -- the caller's row, always a smaller id; 0: none
	frame  INTEGER NOT NULL REFERENCES frame (id)
) STRICT;

CREATE TABLE frame (
	id       INTEGER PRIMARY KEY,      -- from 1, without gaps
	function INTEGER NOT NULL REFERENCES string (id),
	file     INTEGER REFERENCES string (id),
	line     INTEGER,
	lang     INTEGER NOT NULL          -- 1 python, 2 java, 3 julia, 4 native, 5 a mark such as '[truncated]'
) STRICT;

-- Function and file names. (Of these three tables, rows may be equal: a recorder forgets what it wrote when there is too much.)
CREATE TABLE string (
	id   INTEGER PRIMARY KEY,          -- from 1, without gaps
	text TEXT NOT NULL
) STRICT;

-- Events lost, by cause. (Not "drop": that is a word of SQL.) A recording with a row here is incomplete.
CREATE TABLE drops (
	cause   TEXT PRIMARY KEY,          -- 'ring-full', 'unmatched-end', …
	remedy  TEXT NOT NULL,
	count   INTEGER NOT NULL,
	time_ns INTEGER NOT NULL           -- when it was last seen to grow
) STRICT;
