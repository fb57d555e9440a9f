-- SPDX-License-Identifier: MIT
--
-- Version 2: too_slow is an outcome of its own, and trials that were judged by
-- mistake are set aside.
--
-- SQLite cannot change a CHECK, so a new table is made, the rows of `trial` are copied,
-- and it takes the name of the old one (foreign keys are not enforced
-- while a migration runs).  What a user keeps beside our tables stays, except
-- indices of their own on `trial`.
--
--   too_slow   was 'timeout' with a message that began with "too slow: ", or in
--              older files with what now stands after it.
--   set aside  An empty signature is that of no kernel, so the trial is not known to
--              later sweeps, which try its candidate again; the row stays as it was
--              otherwise.  These are
--              - minima and maxima found wrong because the exact result of other data,
--                of the same shape, was expected of them;
--              - candidates not run because no shape to verify them at was found:
--                there are such shapes now.
--
-- Question to ask:
--   what was set aside:
--     SELECT geometry, outcome, message FROM trial WHERE signature = '' AND outcome IN ('wrong', 'launch_failed');

CREATE TABLE trial_2 (
	id          INTEGER PRIMARY KEY,
	sweep_id    INTEGER NOT NULL REFERENCES sweep (id),
	geometry    TEXT NOT NULL, -- canonical text
	variant     TEXT NOT NULL, -- compiled kernel that the geometry names; empty if there is none
	signature   TEXT NOT NULL, -- hash of that kernel: another hash today makes the trial stale; empty: set aside
	outcome     TEXT NOT NULL CHECK (outcome IN ('ok', 'wrong', 'compile_failed', 'launch_failed', 'crashed',
	            'timeout', 'too_slow', 'spilled')),
	message     TEXT NOT NULL, -- why, where the outcome is not ok
	class       TEXT NOT NULL CHECK (class IN ('exact', 'bounded', 'approx')), -- how correctness was judged
	error_ratio REAL, -- largest |error| / allowed error over the outputs checked; Inf where none was allowed
	pack_ns     REAL, -- cost of repacking the weights once; 0: they are used as stored
	finished_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;

-- A row that a damaged page holds may break a CHECK: readers leave it out, the others are not lost for it.
PRAGMA ignore_check_constraints = ON;
INSERT INTO trial_2
SELECT t.id, t.sweep_id, t.geometry, t.variant,
	CASE WHEN t.outcome = 'wrong' AND t.class = 'exact' AND p.op IN ('reduce2d_min', 'reduce2d_max')
			AND t.message LIKE 'at ' || p.m || 'x' || p.n || ' output [0][0] is %, not exactly %'
		THEN ''
	WHEN t.outcome = 'launch_failed' AND t.message LIKE 'cannot be verified at any small shape:%'
		THEN ''
	ELSE t.signature END,
	CASE WHEN t.outcome = 'timeout' AND (substr(t.message, 1, 10) = 'too slow: '
			OR t.message LIKE 'right on small shapes, by which a call would take %')
		THEN 'too_slow'
	ELSE t.outcome END,
	CASE WHEN t.outcome = 'timeout' AND substr(t.message, 1, 10) = 'too slow: ' THEN substr(t.message, 11)
	ELSE t.message END,
	t.class, t.error_ratio, t.pack_ns, t.finished_at
FROM trial t LEFT JOIN sweep s ON s.id = t.sweep_id LEFT JOIN problem p ON p.id = s.problem_id
ORDER BY t.id;
PRAGMA ignore_check_constraints = OFF;

DROP TABLE trial;
-- Otherwise SQLite refuses while a view of the user's names the table that is missing just now.
PRAGMA legacy_alter_table = ON;
ALTER TABLE trial_2 RENAME TO trial;
PRAGMA legacy_alter_table = OFF;
CREATE INDEX trial_by_sweep ON trial (sweep_id, geometry);

PRAGMA user_version = 2;
