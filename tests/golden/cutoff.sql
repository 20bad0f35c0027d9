-- The recorder was killed: no end. Two processes with a runtime, no pause before the first second.
INSERT INTO meta VALUES ('version', '0.1.0'), ('host', 'node7'), ('boot_id', 'b'), ('start_ns', '1000000000');
INSERT INTO clock VALUES (1000000000, 1763726400000000000);
INSERT INTO process VALUES (1, 1234, 1234, 1, 'python3', NULL, 1000000000, NULL), (2, 1235, 1235, 1234, 'python3', NULL, 2000000000, 4000000000);
INSERT INTO runtime (id, process, kind, version, tier, path, detail, attached_ns, missed) VALUES (1, 1, 'cpython', '3.13.0', 'symbol', '/opt/py/libpython3.13.so.1.0', 'gc_collect_main+4 (push)', 1000000000, 0),
	(2, 2, 'cpython', '3.13.0', 'symbol', '/opt/py/libpython3.13.so.1.0', 'gc_collect_main+4 (push)', 2000000000, 0);
INSERT INTO pause (id, start_ns, duration_ns, runtime, tid, interpreter, generation, cause, flags, collected,
	uncollectable, stack) VALUES (1, 2000000000, 250000000, 1, 1234, 0, 2, 1, 0, 40, 0, NULL), (2, 5900000000, 100000000, 2, 1235, 0, 1, 2, 0, 40, 0, NULL);
