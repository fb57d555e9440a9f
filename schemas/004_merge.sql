-- SPDX-License-Identifier: MIT
--
-- Version 4: what databases of several machines are merged by.
--
-- A sweep gets a name that no other has anywhere, so that merging a database
-- twice adds nothing.  In an older file the name is made of what it says and of
-- the row's number: copies of one file give a sweep the same name.
--
-- Question to ask:
--   whose trials a winner's finals knew nothing of:
--     SELECT b.geometry, o.uid FROM best b JOIN sweep s ON s.id = b.sweep_id JOIN sweep o ON o.device_id = s.device_id
--     AND o.problem_id = s.problem_id AND o.id <> s.id AND (s.id, o.id) NOT IN (SELECT * FROM sweep_known);

PRAGMA ignore_check_constraints = ON;
ALTER TABLE sweep ADD COLUMN uid TEXT NOT NULL DEFAULT ''; -- 32 random hex digits; longer where it was made later
UPDATE sweep SET uid = format('%s %s %s %d %d', started_at, seed,
	ifnull((SELECT key FROM device WHERE id = device_id), '?'), problem_id, id);
PRAGMA ignore_check_constraints = OFF;
CREATE UNIQUE INDEX sweep_by_uid ON sweep (uid);

-- Which sweeps of its problem, device and rotation a sweep found in its database when it began: those of their
-- candidates that are worth it were in its finals.
CREATE TABLE sweep_known (
	sweep_id INTEGER NOT NULL REFERENCES sweep (id),
	known_id INTEGER NOT NULL REFERENCES sweep (id),
	PRIMARY KEY (sweep_id, known_id)
) STRICT, WITHOUT ROWID;
INSERT INTO sweep_known
SELECT s.id, o.id FROM sweep s JOIN sweep o ON o.device_id = s.device_id AND o.problem_id = s.problem_id
	AND o.rotation_bytes = s.rotation_bytes AND o.id < s.id;

PRAGMA user_version = 4;
