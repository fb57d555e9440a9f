-- SPDX-License-Identifier: MIT
--
-- Version 14: results of other tuners and machines, as the files of the auto-tuning community have them (T4, caches of
-- Kernel Tuner).  They are for replays and for where searches begin; nothing here is a measurement of a device of ours.
--
-- Question to ask:
--   configurations that failed elsewhere:
--     SELECT r.op, r.device, x.result -> '$.configuration' FROM recording r JOIN recorded x ON x.recording_id = r.id
--     WHERE x.result ->> '$.invalidity' <> 'correct';

CREATE TABLE recording (
	id          INTEGER PRIMARY KEY,
	op          TEXT NOT NULL CHECK (op <> ''), -- of ours, or what the file calls its kernel
	device      TEXT NOT NULL CHECK (device <> ''), -- as the file or who imported it said
	source      TEXT NOT NULL, -- the file's name
	head        TEXT NOT NULL, -- JSON object: a T4 file without its results
	digest      TEXT NOT NULL, -- hash of head and results
	valid       INTEGER NOT NULL CHECK (valid >= 0), -- results with a time
	best_ms     REAL, -- the least of them, milliseconds; NULL: all failed
	imported_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
	UNIQUE (op, device)
) STRICT;

-- One configuration, in the order of the file.
CREATE TABLE recorded (
	recording_id INTEGER NOT NULL REFERENCES recording (id) ON DELETE CASCADE,
	position     INTEGER NOT NULL CHECK (position >= 0),
	result       TEXT NOT NULL, -- JSON object, as an element of a T4 file's results
	PRIMARY KEY (recording_id, position)
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 14;
