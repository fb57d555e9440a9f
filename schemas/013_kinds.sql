-- SPDX-License-Identifier: MIT
--
-- Version 13: kinds of devices are rows of a table of the program (src/base/kinds.c), not a CHECK here, and what is
-- known of a device's limits is a JSON object whose members are those of its kind:
--   cpu    line_bytes, l1d_bytes, l2_bytes, llc_bytes: cache line, caches; 0: unknown
--   cuda   capability (89 for sm_89), sm_count, shared_bytes (opt-in shared memory of one block), l2_bytes
--
-- Question to ask:
--   GPUs by their multiprocessors:
--     SELECT name, model, json_extract(limits, '$.sm_count') FROM device WHERE kind = 'cuda';

CREATE TABLE device_13 (
	id             INTEGER PRIMARY KEY,
	key            TEXT NOT NULL CHECK (key <> ''), -- hash of the hardware identity, 16 hex digits
	name           TEXT NOT NULL CHECK (name <> ''), -- as on the command line: cpu, cpu:avx2, cuda:0, sm_89
	threads        INTEGER NOT NULL CHECK (threads >= 0), -- most CPU threads a candidate may use; 0 on a GPU
	kind           TEXT NOT NULL CHECK (kind <> ''),
	arch           TEXT NOT NULL, -- devices of one arch may lend each other results: x86_64-avx512vnni, sm_89
	model          TEXT NOT NULL, -- marketing name
	isa            TEXT NOT NULL, -- JSON array of the instruction families that may be used
	family         INTEGER NOT NULL, -- CPUID family, model, stepping; 0 on a GPU
	stepping_model INTEGER NOT NULL,
	stepping       INTEGER NOT NULL,
	cores          INTEGER NOT NULL, -- physical cores
	memory_bytes   INTEGER NOT NULL, -- RAM or device memory
	clock_khz      INTEGER NOT NULL, -- nominal; 0: unknown
	limits         TEXT NOT NULL, -- JSON object
	is_virtual     INTEGER NOT NULL CHECK (is_virtual IN (0, 1)), -- a hypervisor was detected
	has_ecc        INTEGER NOT NULL, -- 1, 0, or -1: unknown
	UNIQUE (key, name, threads)
) STRICT;

-- As for version 2: a row that a damaged page holds may break a CHECK.
PRAGMA ignore_check_constraints = ON;
INSERT INTO device_13
SELECT id, key, name, threads, kind, arch, model, isa, family, stepping_model, stepping, cores, memory_bytes, clock_khz,
	CASE kind WHEN 'cuda' THEN json_object('capability', capability, 'sm_count', sm_count, 'shared_bytes',
		shared_bytes, 'l2_bytes', l2_bytes)
	ELSE json_object('line_bytes', line_bytes, 'l1d_bytes', l1d_bytes, 'l2_bytes', l2_bytes, 'llc_bytes', llc_bytes)
	END, is_virtual, has_ecc
FROM device ORDER BY id;
PRAGMA ignore_check_constraints = OFF;

DROP TABLE device;
PRAGMA legacy_alter_table = ON;
ALTER TABLE device_13 RENAME TO device;
PRAGMA legacy_alter_table = OFF;

PRAGMA user_version = 13;
