-- SPDX-License-Identifier: MIT
--
-- Version 5: winners that were imported, and sweeps that are known by name.
--
-- A sweep says which file it was imported from, and when; all that it holds is
-- its winners, each with one trial and without samples.  Which sweeps a sweep
-- knew is kept by their names, so that it stays known when they are pruned, or
-- are not in the file that its winners travelled in.
--
-- Question to ask:
--   which winners were not measured for this database:
--     SELECT b.geometry, s.imported_from, s.imported_at FROM best b JOIN sweep s ON s.id = b.sweep_id
--     WHERE s.imported_at IS NOT NULL;

PRAGMA ignore_check_constraints = ON;
ALTER TABLE sweep ADD COLUMN imported_from TEXT; -- NULL: swept or merged
ALTER TABLE sweep ADD COLUMN imported_at TEXT;
PRAGMA ignore_check_constraints = OFF;

CREATE TABLE sweep_known_5 (
	sweep_id  INTEGER NOT NULL REFERENCES sweep (id),
	known_uid TEXT NOT NULL, -- of a sweep that may be gone
	PRIMARY KEY (sweep_id, known_uid)
) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO sweep_known_5 SELECT k.sweep_id, o.uid FROM sweep_known k JOIN sweep o ON o.id = k.known_id;
DROP TABLE sweep_known;
PRAGMA legacy_alter_table = ON;
ALTER TABLE sweep_known_5 RENAME TO sweep_known;
PRAGMA legacy_alter_table = OFF;

PRAGMA user_version = 5;
