-- A process in which no runtime was found: nothing is known, which is not the same as nothing happened.
INSERT INTO meta VALUES ('version', '0.1.0'), ('host', 'node7'), ('boot_id', 'b'), ('start_ns', '1000000000'),
	('end_ns', '31000000000'), ('complete', '1');
INSERT INTO clock VALUES (1000000000, 1763726400000000000);
INSERT INTO process VALUES (1, 1234, 1234, 1, 'server', NULL, 1000000000, NULL);
