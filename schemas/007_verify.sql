-- SPDX-License-Identifier: MIT
--
-- Version 7: what `tcbtune verify` found (src/verify/), the newest of each claim and device.
--
-- Question to ask:
--   which claims of the sources are false on which machine:
--     SELECT id, device, evidence FROM verify_result WHERE result = 'REFUTED CLAIM' ORDER BY id, device;

CREATE TABLE verify_result (
	device TEXT NOT NULL CHECK (device <> ''), -- as it was asked for: "cpu", "cuda:0"
	device_key TEXT NOT NULL CHECK (device_key <> ''), -- the hardware's, as in the table of devices
	model TEXT NOT NULL,
	assembler TEXT NOT NULL, -- "ptxas 13.0"; empty: none was there
	git_commit TEXT NOT NULL,
	measured_at TEXT NOT NULL, -- ISO 8601, UTC: when the run began
	id TEXT NOT NULL CHECK (id <> ''), -- "F301", "I001"
	result TEXT NOT NULL CHECK (result IN ('PASS', 'FAIL', 'REFUTED CLAIM', 'NOT RUN')),
	evidence TEXT NOT NULL, -- the figure, or why it was not run
	control TEXT NOT NULL, -- what the negative control did; empty where nothing was run
	seconds REAL NOT NULL CHECK (seconds >= 0),
	PRIMARY KEY (device_key, device, id)
) STRICT;

PRAGMA user_version = 7;
