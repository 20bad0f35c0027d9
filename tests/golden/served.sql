-- Two servers: of one most requests are told, one of them stopped, and some answers are not; of the other, which speaks TLS and
-- HTTP/2, none. Times in ms after the begin: connection 7 has 11 requests of 3 ms, one each 10 ms, and connection 9 two at once.
INSERT INTO meta VALUES ('version', '0.1.0'), ('host', 'node7'), ('boot_id', 'b'), ('start_ns', '1000000000'),
	('end_ns', '3000000000'), ('complete', '1');
INSERT INTO clock VALUES (1000000000, 1763726400000000000);
INSERT INTO process VALUES (1, 1234, 1234, 1, 'uvicorn', NULL, 1000000000, NULL), (2, 1237, 1237, 1, 'grpcd', NULL, 1000000000, NULL);
INSERT INTO runtime (id, process, kind, version, tier, path, detail, attached_ns, missed) VALUES
	(1, 1, 'cpython', '3.13.0', 'symbol', '/opt/py/libpython3.13.so.1.0', 'gc_collect_main+4 (push)', 1000000000, 0),
	(2, 2, 'cpython', '3.13.0', 'symbol', '/opt/py/libpython3.13.so.1.0', 'gc_collect_main+4 (push)', 1000000000, 0);
INSERT INTO pause (start_ns, duration_ns, runtime, tid, interpreter, generation, cause, flags, collected, uncollectable) VALUES
	(1031000000, 5000000, 1, 1234, 0, 2, 1, 0, 97, 0);
INSERT INTO step_signal VALUES (1, 'http:request', 'libc.so.6: recv+9 (push)', 1000000000, 0, NULL),
	(2, 'http:response', 'libc.so.6: send+9 (push)', 1000000000, 0, NULL),
	(3, 'http:untold', 'libssl.so.3: SSL_set_accept_state+0 (push)', 1000000000, 0, NULL);
INSERT INTO step_series VALUES (1, 1, 1, 1234, NULL, 7), (2, 2, 1, 1234, NULL, 7), (3, 1, 1, 1234, NULL, 9), (4, 2, 1, 1234, NULL, 9),
	(5, 3, 2, 1237, NULL, 1), (6, 3, 2, 1237, NULL, 2);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 10)
INSERT INTO step_mark (series, time_ns) SELECT 1, 1010000000 + i * 10000000 FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 10)
INSERT INTO step_mark (series, time_ns) SELECT 2, 1010000000 + i * 10000000 + iif(i = 2, 8000000, 3000000) FROM n;
INSERT INTO step_mark (series, time_ns) VALUES (3, 1500000000), (3, 1501000000), (4, 1502000000), (4, 1503000000),
	(5, 1600000000), (6, 1700000000);
