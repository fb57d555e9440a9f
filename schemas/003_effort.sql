-- SPDX-License-Identifier: MIT
--
-- Version 3: what a trial cost besides measuring, and how sure a winner is.
--
-- SQLite holds every row to its CHECKs when a column is added; one that a
-- damaged page holds is no reason to lose the others, so they are off meanwhile.
--
-- Question to ask:
--   what a trial costs, by op, in milliseconds:
--     SELECT p.op, avg(t.prepare_ns) / 1e6, avg(t.verify_ns) / 1e6 FROM trial t JOIN sweep s ON s.id = t.sweep_id
--     JOIN problem p ON p.id = s.problem_id GROUP BY p.op;

PRAGMA ignore_check_constraints = ON;
ALTER TABLE trial ADD COLUMN prepare_ns REAL; -- writing, compiling and loading the kernel, packing for it; NULL: unknown
ALTER TABLE trial ADD COLUMN verify_ns REAL; -- holding its results against the reference; NULL: unknown
-- 1: the best so far of a sweep that has not held its finals (or was killed before); the next finals replace it.
ALTER TABLE best ADD COLUMN provisional INTEGER NOT NULL DEFAULT 0 CHECK (provisional IN (0, 1));
-- How probable it is that the same finals, held again, name another winner; NULL: unknown.
ALTER TABLE best ADD COLUMN flip_probability REAL;
PRAGMA ignore_check_constraints = OFF;

PRAGMA user_version = 3;
