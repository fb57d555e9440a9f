-- SPDX-License-Identifier: MIT
--
-- Version 8: the words of a problem's shape, which attention has: its heads, sequences, pages, window, cap and mask.

CREATE TABLE problem_8 (
	id       INTEGER PRIMARY KEY,
	op       TEXT NOT NULL CHECK (op <> ''),
	contract TEXT NOT NULL CHECK (contract IN ('f32', 'f16', 'q8')), -- activation type used inside
	m        INTEGER NOT NULL CHECK (m >= 1), -- tokens, or rows
	n        INTEGER NOT NULL CHECK (n >= 1), -- output features, row length or KV tokens
	k        INTEGER NOT NULL CHECK (k >= 0), -- reduction or size of a head; 0: the op has none of its own
	words    TEXT NOT NULL DEFAULT '', -- canonical, 'h32/8,b4' (tcbtune help shapes); empty: the op takes none
	UNIQUE (op, contract, m, n, k, words)
) STRICT;
PRAGMA ignore_check_constraints = ON;
INSERT INTO problem_8 (id, op, contract, m, n, k) SELECT id, op, contract, m, n, k FROM problem;
PRAGMA ignore_check_constraints = OFF;
DROP TABLE problem;
PRAGMA legacy_alter_table = ON;
ALTER TABLE problem_8 RENAME TO problem;
PRAGMA legacy_alter_table = OFF;

PRAGMA user_version = 8;
