-- SPDX-License-Identifier: MIT
--
-- Version 11: what others took of the processors while a sample was taken, and
-- how many rounds of the finals nobody disturbed.
--
-- Question to ask:
--   which winners were decided by rounds that others disturbed:
--     SELECT geometry, quiet_rounds, final_rounds FROM best WHERE quiet_rounds < final_rounds;

PRAGMA ignore_check_constraints = ON;
-- JSON array beside the samples: of the time around each of them, in whole per mille, how much the threads waited for a
-- processor that others had; null: not known.  NULL: of none of them.
ALTER TABLE measurement ADD COLUMN lost TEXT;
-- Rounds of the finals, and those in which no finalist was disturbed; NULL: not known.
ALTER TABLE best ADD COLUMN final_rounds INTEGER CHECK (final_rounds >= 0);
ALTER TABLE best ADD COLUMN quiet_rounds INTEGER CHECK (quiet_rounds BETWEEN 0 AND final_rounds);
PRAGMA ignore_check_constraints = OFF;

PRAGMA user_version = 11;
