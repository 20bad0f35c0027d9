-- A training loop of Julia: 211 steps of about 10 ms, an incremental collection of an old heap in every 17th, a late
-- thread in every third of those, finalizers in one; CUDA.jl's GC.gc(false) and GC.gc(true) three times; one that had
-- begun before, one whose gc_num is not understood, one that did not end; calls that collected nothing.
INSERT INTO meta VALUES ('version', '0.1.0'), ('host', 'node7'), ('boot_id', '01234567-89ab-cdef-0123-456789abcdef'),
	('start_ns', '5000000000'), ('end_ns', '9000000000'), ('complete', '1'), ('step_asked', 'libc:getppid');
INSERT INTO clock VALUES (5000000000, 1763726400000000000);
INSERT INTO process VALUES
	(1, 4711, 4711, 1, 'julia', CAST('julia' || char(0) || '-t' || char(0) || '2' || char(0) || 'train.jl' || char(0) AS BLOB), 5000000000, NULL);
INSERT INTO runtime (id, process, kind, version, tier, path, detail, attached_ns, missed, idle_calls, disabled_calls) VALUES
	(1, 1, 'julia', '1.5.3', 'symbol', '/usr/lib/x86_64-linux-gnu/libjulia.so.1', 'jl_gc_collect+0 (push)', 5000100000, 0, 7, 4);
INSERT INTO string VALUES (1, 'train_step!'), (2, '/home/ada/train.jl'), (3, 'main'), (4, 'load!'), (5, 'auto'), (6, 'full'), (7, 'incremental');
INSERT INTO frame VALUES (1, 3, 2, 80, 3), (2, 1, 2, 41, 3), (3, 4, 2, 23, 3);
INSERT INTO stack VALUES (1, 0, 1), (2, 1, 2), (3, 0, 3);
INSERT INTO thread VALUES (1, 4711, 'julia'), (1, 4713, 'loader');
INSERT INTO step_signal VALUES (1, 'user:libc:getppid', 'libc.so.6: getppid (nop)', 5000200000, 211, NULL);
INSERT INTO step_series VALUES (1, 1, 1, 4711, NULL, NULL);
-- Step i begins at 5.1 s + 10 ms × i, and 30 ms more for each 17th step before it, 100 ms more for each of CUDA.jl's.
CREATE TEMP TABLE at (i INTEGER PRIMARY KEY, ns INTEGER);
INSERT INTO at WITH RECURSIVE n (i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 210)
	SELECT i, 5100000000 + i * 10000000 + ((i + 16) / 17) * 30000000 + ((i > 50) + (i > 100) + (i > 150)) * 100000000 + (i * 7 % 11) * 10000 FROM n;
INSERT INTO step_mark (series, time_ns, rss_bytes) SELECT 1, ns, 300000000 + i * 4096 FROM at ORDER BY ns;
CREATE TEMP TABLE one (id INTEGER PRIMARY KEY, ns, length, cause, flags, asked, ttsp, mark, sweep, post, late, before, after, full);
INSERT INTO one (ns, length, cause, flags, asked, ttsp, mark, sweep, post, late, before, after, full)
	SELECT * FROM (
		SELECT ns + 2000000 AS ns, 28000000 + (i * 7 % 13) * 100000, 1, 64, 5,
			CASE WHEN i % 51 = 0 THEN 15000000 ELSE 40000 END, CASE WHEN i % 51 = 0 THEN 9000000 ELSE 23000000 END, 3000000,
			CASE WHEN i = 85 THEN 1900000 ELSE 3000 END, CASE WHEN i % 51 = 0 THEN 4713 END,
			100000000 + i * 10000, 56000000 + i * 10000, 0 FROM at WHERE i % 17 = 0 UNION ALL
		SELECT ns + 3000000, 12000000, 2, 64, 7, 40000, 9000000, 2900000, 3000, NULL, 60000000, 58000000, 0 FROM at WHERE i IN (50, 100, 150) UNION ALL
		SELECT ns + 15200000, 81000000, 2, 80, 6, 40000, 70000000, 9000000, 1900000, NULL, 58100000, 57000000, 1 FROM at WHERE i IN (50, 100, 150) UNION ALL
		SELECT 5000100000, 1300000, 1, 576, 5, NULL, NULL, NULL, 3000, NULL, NULL, 56000000, NULL UNION ALL
		SELECT 8100000000, 2100000, 2, 64, 7, 2000000, NULL, NULL, 3000, 4790, NULL, NULL, NULL)
	ORDER BY ns;
INSERT INTO pause (id, start_ns, duration_ns, runtime, tid, generation, cause, flags, stack)
	SELECT id, ns, length, 1, 4711, NULL, cause, flags, 2 FROM one;
INSERT INTO pause (id, start_ns, duration_ns, runtime, tid, generation, cause, flags, stack)
	SELECT max(id) + 1, 8999000000, 1000000, 1, 4713, NULL, 1, 256, NULL FROM one;
INSERT INTO fact (pause, key, value) SELECT id, key, value FROM (
	SELECT id, 1 AS at, 'ttsp_ns' AS key, ttsp AS value FROM one UNION ALL
	SELECT id, 2, 'core_ns', mark + sweep FROM one UNION ALL
	SELECT id, 3, 'post_ns', post FROM one UNION ALL
	SELECT id, 4, 'mark_ns', mark FROM one UNION ALL
	SELECT id, 5, 'sweep_ns', sweep FROM one UNION ALL
	SELECT id, 6, 'freed_bytes', before - after FROM one UNION ALL
	SELECT id, 7, 'heap_before', before FROM one UNION ALL
	SELECT id, 8, 'heap_after', after FROM one UNION ALL
	SELECT id, 9, 'asked', asked FROM one UNION ALL
	SELECT id, 10, 'late_tid', late FROM one UNION ALL
	SELECT id, 11, 'late_stack', 3 FROM one WHERE late = 4713 UNION ALL
	SELECT id, 12, 'full_sweeps', full FROM one) WHERE value IS NOT NULL ORDER BY id, at;
