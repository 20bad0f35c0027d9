-- Two JVMs: G1 with exact times, a late thread, young and full in one safepoint, safepoints without a collection,
-- System.gc() with and without a collection; ZGC of which little is known, with stalls; odd names, an inexact pause.
INSERT INTO meta VALUES ('version', '0.1.0'), ('host', 'node7'), ('boot_id', '01234567-89ab-cdef-0123-456789abcdef'),
	('start_ns', '5000000000'), ('end_ns', '15000000000'), ('complete', '1');
INSERT INTO clock VALUES (5000000000, 1763726400000000000);
INSERT INTO process VALUES
	(1, 4711, 4711, 1, 'java', CAST('java' || char(0) || '-jar' || char(0) || 'train.jar' || char(0) AS BLOB), 5000000000, NULL),
	(2, 4800, 17, 1, 'java', NULL, 5000000000, 14000000000);
INSERT INTO runtime (id, process, kind, version, tier, path, detail, attached_ns, missed, collector) VALUES
	(1, 1, 'hotspot', '21.0.12', 'symbol', '/opt/jdk-21/lib/server/libjvm.so', 'RuntimeService::record_safepoint_end (push)', 5000100000, 0, 'G1'),
	(2, 2, 'hotspot', '17.0.15', 'usdt', '/opt/jdk-17/lib/server/libjvm.so', 'hs_private:safepoint__end (nop)', 5000200000, 0, 'ZGC');
INSERT INTO string VALUES (1, 'com.example.mlp.Trainer.fit'), (2, 'Trainer.java'), (3, 'com.example.mlp.Main.main'), (4, 'Main.java'),
	(5, 'java.lang.System.gc'), (6, 'System.java'), (7, 'org.nd4j.linalg.api.memory.BasicMemoryManager.invokeGc'),
	(8, 'BasicMemoryManager.java'), (9, 'org.nd4j.linalg.api.memory.deallocation.DeallocatorService$DeallocatorServiceThread.run'),
	(10, 'DeallocatorService.java'), (11, 'com.example.mlp.Kernel.loop'), (12, 'Kernel.java'), (13, '[truncated]'),
	(14, 'evil' || char(27) || '[2J.name;"<'),
	(20, 'G1CollectForAllocation'), (21, 'G1 Evacuation Pause'), (22, 'ThreadDump'), (23, 'G1CollectFull'), (24, 'System.gc()'),
	(25, 'G1PauseRemark'), (26, 'ICBufferFull'), (27, 'XMarkStart'), (28, 'Concurrent Mark Cycle'), (29, 'Concurrent Mark From Roots'),
	(30, 'Concurrent Relocate;' || char(27)), (31, 'Metadata GC Threshold'), (32, 'CollectForMetadataAllocation'),
	(15, ''), (16, ''), (17, ''), (18, ''), (19, '');
INSERT INTO frame VALUES (1, 3, 4, 23, 2), (2, 1, 2, 97, 2), (3, 9, 10, 131, 2), (4, 7, 8, 165, 2), (5, 5, 6, 1907, 2), (6, 11, 12, 11, 2),
	(7, 13, NULL, NULL, 5), (8, 14, NULL, NULL, 2);
INSERT INTO stack VALUES (1, 0, 1), (2, 1, 2), (3, 0, 3), (4, 3, 4), (5, 4, 5), (6, 0, 6), (7, 0, 7), (8, 7, 8), (9, 2, 5);
INSERT INTO thread VALUES (1, 4712, 'main'), (1, 4730, 'Attach Listener'), (1, 4740, 'DeallocatorServ'), (1, 4790, 'train-worker-3'),
	(2, 4810, 'evil' || char(27) || '[2J;"<');
INSERT INTO pause (id, start_ns, duration_ns, runtime, tid, generation, cause, flags, stack) VALUES
	(1, 5500000000, 12345678, 1, 4712, 0, 4, 64, 2),
	(2, 5600000000, 15000001, 1, 4712, 0, 4, 64, 2),
	(3, 6000000000, 713000, 1, 4730, NULL, 0, 72, NULL),
	(4, 6500000000, 61000000, 1, 4740, 1, 4, 80, 5),
	(5, 7000000000, 1300000, 1, 4711, NULL, 0, 96, NULL),
	(6, 7500000000, 97000, 2, 4800, NULL, 0, 192, NULL),
	(7, 8000000000, 53000, 2, 4810, NULL, 0, 224, 8),
	(8, 8500000000, 31100000, 1, 4712, NULL, 0, 72, 6),
	(9, 9000000000, 11000000, 1, 4799, 0, 4, 64, 2),
	(10, 9500000000, 9000000, 1, 4712, NULL, 4, 72, 1),
	(11, 10000000000, 13000000, 1, 4712, 0, 4, 64, 2);
INSERT INTO safepoint VALUES
	(1, 20, 21, 45678, 300000, 11900000, 100000, 536870912, 102760448, 1, 0, NULL, NULL, NULL),
	(2, 20, 21, 8000000, 1, 6900000, 100000, 535822336, 103809024, 1, 0, 4790, 6, 7950000),
	(3, 22, NULL, 650000, 1000, 60000, 2000, NULL, NULL, 0, 0, NULL, NULL, NULL),
	(4, 23, 24, 100000, 20000, 60780000, 100000, 209715200, 94371840, 1, 1, NULL, NULL, NULL),
	(5, 25, NULL, 20000, 10000, 1260000, 10000, 157286400, 157286400, 0, 0, NULL, NULL, NULL),
	(6, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(7, 27, NULL, 23000, NULL, 30000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(8, 26, NULL, 31000000, 10000, 80000, 10000, NULL, NULL, 0, 0, 4791, NULL, 41000),
	(9, 20, 21, 50000, 10000, 10900000, 40000, 536870912, 104857600, 1, 0, NULL, NULL, NULL),
	(10, 32, 31, 100000, NULL, 8900000, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL),
	(11, 20, 21, 40000, 10000, 12910000, 40000, 536870912, 1610612736, 1, 0, 4790, 8, NULL);
INSERT INTO stall (id, start_ns, duration_ns, runtime, tid, kind, collections, stack) VALUES
	(1, 6499900000, 61200000, 1, 4740, 1, 2, 5),
	(2, 6999000000, 41000, 1, 4740, 1, 0, 5),
	(3, 7499000000, 43000, 1, 4740, 1, 0, 5),
	(4, 7000000000, 1100000000, 2, 4810, 2, NULL, 8),
	(5, 7999000000, 47000, 1, 4740, 1, 0, 5),
	(6, 8200000000, 700000, 2, 4810, 2, NULL, NULL),
	(7, 8300000000, 23000000, 2, 4811, 2, NULL, 8),
	(8, 8700000000, 5000000, 1, 4712, 4, NULL, 2),
	(9, 8800000000, 170000000, 1, 4712, 1, NULL, 9);
INSERT INTO phase (id, start_ns, duration_ns, runtime, tid, name) VALUES
	(1, 6700000000, 200000000, 1, 4750, 29),
	(2, 6690000000, 500000000, 1, 4750, 28),
	(3, 8000060000, 310000000, 2, 4805, 30);
