-- SPDX-License-Identifier: MIT
--
-- Version 6: what the verdict on a winner is drawn from (src/db/verdict.h).
--
-- Question to ask:
--   which winners were measured while the machine was busy with something else:
--     SELECT geometry, others_busy FROM best WHERE others_busy > 0.1;

PRAGMA ignore_check_constraints = ON;
-- How much faster, as a ratio minus 1, the winner was expected to become in as many trials again; NULL: unknown.
ALTER TABLE best ADD COLUMN expected_gain REAL;
-- The share of the processors' time that went to others than the sweep meanwhile (0 to 1); NULL: unknown.
ALTER TABLE best ADD COLUMN others_busy REAL;
-- The share of the looks at a GPU that found its clocks held back by power or heat (0 to 1); NULL: unknown, or a CPU.
ALTER TABLE best ADD COLUMN held_back REAL;
PRAGMA ignore_check_constraints = OFF;

PRAGMA user_version = 6;
