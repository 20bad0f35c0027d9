-- A training loop of 61 steps of about 10 ms, a full collection of 50 ms in every 13th, short ones in every
-- third; an evaluation that no step holds; a worker whose pauses the loop waited for, and one it did not.
INSERT INTO meta VALUES ('version', '0.1.0'), ('host', 'node7'), ('boot_id', '01234567-89ab-cdef-0123-456789abcdef'),
	('start_ns', '5000000000'), ('end_ns', '8000000000'), ('complete', '1');
INSERT INTO clock VALUES (5000000000, 1763726400000000000);
INSERT INTO process VALUES
	(1, 4711, 4711, 1, 'python3', CAST('python3' || char(0) || 'train.py' || char(0) AS BLOB), 5000000000, NULL),
	(2, 4712, 4712, 4711, 'pt_data_worker', NULL, 5000000000, NULL);
INSERT INTO runtime (id, process, kind, version, tier, path, detail, attached_ns, missed) VALUES
	(1, 1, 'cpython', '3.11.2', 'symbol', '/usr/bin/python3.11', 'gc_collect_main+4 (push, emulated)', 5000100000, 0),
	(2, 2, 'cpython', '3.11.2', 'symbol', '/usr/bin/python3.11', 'gc_collect_main+4 (push, emulated)', 5000100000, 0);
INSERT INTO string VALUES (1, '<module>'), (2, '/home/ada/train.py'), (3, 'Trainer.step'), (4, 'Module.__call__'),
	(5, '/home/ada/env/lib/python3.11/site-packages/torch/nn/modules/module.py'), (6, 'collate'), (7, '/home/ada/data.py');
INSERT INTO frame VALUES (1, 1, 2, 80, 1), (2, 3, 2, 41, 1), (3, 4, 5, 1511, 1), (4, 6, 7, 23, 1);
INSERT INTO stack VALUES (1, 0, 1), (2, 1, 2), (3, 2, 3), (4, 0, 4);
INSERT INTO step_signal VALUES
	(1, 'torch:record', 'libtorch_cpu.so: torch::autograd::profiler::record_function_enter_new (push)', 5000200000, 183, NULL),
	(2, 'torch:backward', 'libtorch_cpu.so: torch::autograd::Engine::execute (push)', 5000200000, 61, NULL),
	(3, 'blas:gemm', 'libopenblas.so.0: cblas_sgemm (push)', 5000200000, 90210, 5900000000);
INSERT INTO step_series VALUES
	(1, 1, 1, 4711, 'enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__', NULL),
	(2, 1, 1, 4711, 'Optimizer.step#Adam.step', NULL),
	(3, 1, 1, 4711, 'Optimizer.zero_grad#Adam.zero_grad', NULL),
	(4, 2, 1, 4711, NULL, NULL);
-- Step i begins at 5.1 s + 10 ms × i, 50 ms more for each full collection before it, 300 ms more after the evaluation.
CREATE TEMP TABLE at (i INTEGER PRIMARY KEY, ns INTEGER);
INSERT INTO at WITH RECURSIVE n (i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 60)
	SELECT i, 5100000000 + i * 10000000 + (i / 13) * 50000000 + (i >= 31) * 300000000 + (i * 7 % 11) * 10000 FROM n;
INSERT INTO step_mark (series, time_ns, rss_bytes)
	SELECT 1, ns - 8000000, 200000000 + i * 4096 FROM at UNION ALL
	SELECT 4, ns - 3000000, 200000000 + i * 4096 FROM at UNION ALL
	SELECT 2, ns, 200000000 + i * 4096 FROM at UNION ALL
	SELECT 3, ns + 1000000, 200000000 + i * 4096 FROM at UNION ALL
	SELECT 1, ns + 12000000 + j * 9500000, NULL FROM at, (WITH RECURSIVE e (j) AS (VALUES (0) UNION ALL
		SELECT j + 1 FROM e WHERE j < 28) SELECT j FROM e) WHERE i = 30
	ORDER BY 2;
INSERT INTO pause (id, start_ns, duration_ns, runtime, tid, interpreter, generation, cause, flags, collected,
	uncollectable, stack, heap_objects, heap_pending, rss_start, rss_end, waited_ns)
	SELECT row_number() OVER (ORDER BY ns), ns, length, runtime, tid, 0, generation, 1, 0, collected, 0, stack,
		heap, pending, 200000000, 200000000, waited FROM (
	SELECT ns + 4000000 AS ns, 50000000 AS length, 1 AS runtime, 4711 AS tid, 2 AS generation, 1201 AS collected, 3 AS stack,
		300000 AS heap, 80000 AS pending, NULL AS waited FROM at WHERE i % 13 = 12 UNION ALL
	SELECT ns + 2000000, 60000, 1, 4711, 0, 7, 2, 300000, 10000 + i, NULL FROM at WHERE i % 3 = 1 UNION ALL
	SELECT ns + 200000000, 20000000, 1, 4711, 2, 11, 1, 300000, 80000, NULL FROM at WHERE i = 30 UNION ALL
	SELECT ns + 5000000, 2000000, 2, 4712, 1, 101, 4, 5000, 3000, 2000000 FROM at WHERE i = 17 UNION ALL
	SELECT ns + 5000000, 2000000, 2, 4712, 1, 101, 4, 5000, 3000, 0 FROM at WHERE i = 19);
DROP TABLE at;
