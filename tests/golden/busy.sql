-- Three processes, one in a container and one without a runtime; every cause, generation and flag; odd names; drops.
INSERT INTO meta VALUES ('version', '0.1.0'), ('host', 'node7'), ('boot_id', '01234567-89ab-cdef-0123-456789abcdef'),
	('start_ns', '5000000000'), ('end_ns', '35000000000'), ('complete', '1');
INSERT INTO clock VALUES (5000000000, 1763726400000000000);
INSERT INTO process VALUES
	(1, 4711, 4711, 1, 'python3', CAST('python3' || char(0) || 'train.py' || char(0) || '--name=é "x"' || char(0) AS BLOB), 5000000000, NULL),
	(2, 4712, 17, 4711, 'loader' || char(27) || '[31m', x'70FF00', 8000000000, 20000000000),
	(3, 4713, 4713, 4711, 'nvidia-smi', NULL, 9000000000, 9500000000);
INSERT INTO runtime (id, process, kind, version, tier, path, detail, attached_ns, missed) VALUES
	(1, 1, 'cpython', '3.11.2', 'usdt', '/usr/bin/python3.11', 'python:gc__start at 0x1c4e2f (nop)', 5000100000, 0),
	(2, 2, 'cpython', '', 'call-target', NULL, NULL, 8000100000, 2);
INSERT INTO string VALUES (1, '<module>'), (2, '/home/ada/train.py'), (3, 'Trainer.step'), (4, 'Module.__call__'),
	(5, '/home/ada/env/lib/python3.11/site-packages/torch/nn/modules/module.py'), (6, '[truncated]'), (7, 'naïve λ'),
	(8, 'evil' || char(27) || '[2Jname"\'), (9, 'collate'),
	(10, '/data/a/very/deep/folder/with/a/name/so/long/that/no/terminal/could/show/all/of/it/loader.py'),
	(11, 'libpython3.11.so.1.0'), (12, '_PyObject_GC_NewVar');
INSERT INTO frame VALUES (1, 1, 2, 80, 1), (2, 3, 2, 41, 1), (3, 4, 5, 1511, 1), (4, 6, NULL, NULL, 5), (5, 7, 2, 12, 1),
	(6, 8, 2, NULL, 1), (7, 9, 10, 7, 1), (8, 12, 11, NULL, 4);
INSERT INTO stack VALUES (1, 0, 1), (2, 1, 2), (3, 2, 3), (4, 0, 4), (5, 4, 5), (6, 5, 6), (7, 4, 7), (8, 3, 8);
INSERT INTO pause (id, start_ns, duration_ns, runtime, tid, interpreter, generation, cause, flags, collected,
	uncollectable, stack) VALUES
	(1, 5500000000, 41000, 1, 4711, 0, 0, 1, 0, 12, 0, 2),
	(2, 5600000000, 43000, 1, 4711, 0, 0, 1, 0, 0, 0, 2),
	(3, 6000000000, 610000, 1, 4711, 0, 1, 1, 0, 105, 0, 3),
	(4, 7000000000, 713000000, 1, 4711, 0, 2, 2, 3, 12345, 1, 8),
	(5, 9000000000, 47000, 2, 4712, 1, 0, 1, 4, 3, 0, 6),
	(6, 9100000000, 53000, 2, 4790, NULL, 0, 1, 4, 4, 0, 7),
	(7, 12000000000, 4294967296123, 1, 4711, 0, NULL, 0, 0, NULL, NULL, NULL),
	(8, 30000000000, 59000, 1, 4711, 0, 0, 1, 0, 5, 0, 2),
	(9, 31000000000, 61000000, 1, 4711, 0, 2, 3, 0, 777, 0, 1);
DELETE FROM pause WHERE id = 7;
INSERT INTO pause (id, start_ns, duration_ns, runtime, tid, interpreter, generation, cause, flags, collected,
	uncollectable, stack) VALUES (7, 12000000000, 4400000123, 1, 4711, 0, NULL, 0, 0, NULL, NULL, NULL);
INSERT INTO drops VALUES ('ring-full', 'record with --buffer 64M', 3, 9050000000), ('unmatched-end', '', 1, 31500000000);
