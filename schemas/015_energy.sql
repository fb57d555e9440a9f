-- SPDX-License-Identifier: MIT
--
-- Version 15: winners by energy.  A trial's energy is among its counters: joules per call and what belongs to them, by
-- the meter's name as source (nvml-energy, nvml-power, rapl).
--
-- Question to ask:
--   what each candidate takes:
--     SELECT t.geometry, c.state, c.value AS joules FROM trial t JOIN counter c ON c.trial_id = t.id
--     WHERE c.name = 'joules' ORDER BY c.value;

PRAGMA ignore_check_constraints = ON;
-- What the winner has the least of: time, energy, or edp (both multiplied); speedup is of it.
ALTER TABLE best ADD COLUMN objective TEXT NOT NULL DEFAULT 'time';
-- Of one call; NULL: not measured.
ALTER TABLE best ADD COLUMN joules REAL;
ALTER TABLE best ADD COLUMN default_joules REAL;
PRAGMA ignore_check_constraints = OFF;

PRAGMA user_version = 15;
