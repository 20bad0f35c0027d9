-- A target that never collected: a clean verdict.
INSERT INTO meta VALUES ('version', '0.1.0'), ('host', 'node7'), ('boot_id', 'b'), ('start_ns', '1000000000'),
	('end_ns', '31000000000'), ('complete', '1');
INSERT INTO clock VALUES (1000000000, 1763726400000000000);
INSERT INTO process VALUES (1, 1234, 1234, 1, 'python3', NULL, 1000000000, NULL);
INSERT INTO runtime (id, process, kind, version, tier, path, detail, attached_ns, missed) VALUES (1, 1, 'cpython', '3.13.0', 'symbol', '/opt/py/libpython3.13.so.1.0', 'gc_collect_main+4 (push)', 1000000000, 0);
