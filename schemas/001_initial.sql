-- SPDX-License-Identifier: MIT
--
-- Version 1 of tcbtune's database.  One row of `trial` is one candidate tried
-- once; everything else says what was tried (op, problem), where (device), by
-- what (build, sweep), what came out (measurement, counter) and who won (best,
-- tie_set).
--
-- Conventions.  Times are nanoseconds of one kernel call unless a comment says
-- otherwise.  *_lo and *_hi bound the distribution-free 95 % interval of the
-- median before them.  NULL in a REAL column: there is no such number.  Dates
-- are ISO 8601 in UTC with milliseconds.  Rows of trial, measurement and
-- counter are only ever added; rows of best and tie_set are replaced.
--
-- Some questions to ask:
--   samples of the best geometries:
--     SELECT b.geometry, s.value FROM best b JOIN measurement m USING (trial_id), json_each(m.samples) s;
--   what failed, and why:
--     SELECT geometry, outcome, message FROM trial WHERE outcome <> 'ok';

PRAGMA application_id = 0x54434254; -- "TCBT"

-- Hardware that results belong to.  A result is found again by (key, name, threads).
CREATE TABLE device (
	id             INTEGER PRIMARY KEY,
	key            TEXT NOT NULL CHECK (key <> ''), -- hash of the hardware identity, 16 hex digits
	name           TEXT NOT NULL CHECK (name <> ''), -- as on the command line: cpu, cpu:avx2, cuda:0, sm_89
	threads        INTEGER NOT NULL CHECK (threads >= 0), -- most CPU threads a candidate may use; 0 on a GPU
	kind           TEXT NOT NULL CHECK (kind IN ('cpu', 'cuda')),
	arch           TEXT NOT NULL, -- devices of one arch may lend each other results: x86_64-avx512vnni, sm_89
	model          TEXT NOT NULL, -- marketing name
	isa            TEXT NOT NULL, -- JSON array of the instruction families that may be used
	family         INTEGER NOT NULL, -- CPUID family, model, stepping; 0 on a GPU
	stepping_model INTEGER NOT NULL,
	stepping       INTEGER NOT NULL,
	cores          INTEGER NOT NULL, -- physical cores
	memory_bytes   INTEGER NOT NULL, -- RAM or device memory
	clock_khz      INTEGER NOT NULL, -- nominal; 0: unknown
	line_bytes     INTEGER NOT NULL, -- cache line; caches below; 0: unknown
	l1d_bytes      INTEGER NOT NULL,
	l2_bytes       INTEGER NOT NULL,
	llc_bytes      INTEGER NOT NULL, -- last-level cache
	capability     INTEGER NOT NULL, -- 89 for sm_89; GPU columns are 0 on a CPU
	sm_count       INTEGER NOT NULL,
	shared_bytes   INTEGER NOT NULL, -- opt-in shared memory of one block
	is_virtual     INTEGER NOT NULL CHECK (is_virtual IN (0, 1)), -- a hypervisor was detected
	has_ecc        INTEGER NOT NULL, -- 1, 0, or -1: unknown
	UNIQUE (key, name, threads)
) STRICT;

-- The tcbtune that measured.
CREATE TABLE build (
	id         INTEGER PRIMARY KEY,
	version    TEXT NOT NULL,
	git_commit TEXT NOT NULL, -- "-dirty" after it: there were uncommitted changes
	compiler   TEXT NOT NULL,
	UNIQUE (version, git_commit, compiler)
) STRICT;

-- An operation together with the state of its kernels.
CREATE TABLE op (
	id        INTEGER PRIMARY KEY,
	name      TEXT NOT NULL CHECK (name <> ''),
	signature TEXT NOT NULL, -- hash over all its kernels' sources
	UNIQUE (name, signature)
) STRICT;

-- What is to be computed.  Candidates are never compared across problems.
CREATE TABLE problem (
	id       INTEGER PRIMARY KEY,
	op       TEXT NOT NULL CHECK (op <> ''),
	contract TEXT NOT NULL CHECK (contract IN ('f32', 'f16', 'q8')), -- activation type used inside
	m        INTEGER NOT NULL CHECK (m >= 1), -- tokens, or rows
	n        INTEGER NOT NULL CHECK (n >= 1), -- output features, or row length
	k        INTEGER NOT NULL CHECK (k >= 0), -- reduction; 0: the op has none of its own
	UNIQUE (op, contract, m, n, k)
) STRICT;

-- One run of the tuner over one problem on one device.
CREATE TABLE sweep (
	id         INTEGER PRIMARY KEY,
	device_id  INTEGER NOT NULL REFERENCES device (id),
	problem_id INTEGER NOT NULL REFERENCES problem (id),
	op_id      INTEGER NOT NULL REFERENCES op (id),
	build_id   INTEGER NOT NULL REFERENCES build (id),
	os         TEXT NOT NULL, -- kernel name and release at the time
	driver     TEXT NOT NULL, -- GPU driver at the time, empty on a CPU
	strategy   TEXT NOT NULL,
	seed       TEXT NOT NULL, -- decimal, as for --seed (unsigned 64 bits do not fit an INTEGER)
	-- Memory that cold measurements rotated through, as asked for; 0: the default rule.  Trials of sweeps that
	-- rotated through less are not comparable, so they are not known to one with another setting.
	rotation_bytes INTEGER NOT NULL CHECK (rotation_bytes >= 0),
	settings   TEXT NOT NULL, -- JSON object: what else makes the measurement repeatable
	status     TEXT NOT NULL DEFAULT 'running' -- a sweep that was killed stays 'running'
	           CHECK (status IN ('running', 'complete', 'interrupted', 'budget')),
	started_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
	ended_at   TEXT -- NULL while running
) STRICT;
CREATE INDEX sweep_by_problem ON sweep (problem_id, device_id);

-- One candidate, tried once.
CREATE TABLE trial (
	id          INTEGER PRIMARY KEY,
	sweep_id    INTEGER NOT NULL REFERENCES sweep (id),
	geometry    TEXT NOT NULL, -- canonical text
	variant     TEXT NOT NULL, -- compiled kernel that the geometry names; empty if there is none
	signature   TEXT NOT NULL, -- hash of that kernel's source: another hash today makes the trial stale
	outcome     TEXT NOT NULL CHECK (outcome IN ('ok', 'wrong', 'compile_failed', 'launch_failed', 'crashed',
	            'timeout', 'spilled')),
	message     TEXT NOT NULL, -- why, where the outcome is not ok
	class       TEXT NOT NULL CHECK (class IN ('exact', 'bounded', 'approx')), -- how correctness was judged
	error_ratio REAL, -- largest |error| / allowed error over the outputs checked; Inf where none was allowed
	pack_ns     REAL, -- cost of repacking the weights once; 0: they are used as stored
	finished_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;
CREATE INDEX trial_by_sweep ON trial (sweep_id, geometry);

-- The times of a trial in one cache state.
CREATE TABLE measurement (
	id            INTEGER PRIMARY KEY,
	trial_id      INTEGER NOT NULL REFERENCES trial (id),
	state         TEXT NOT NULL CHECK (state IN ('cold', 'hot')), -- buffers rotated beyond the last cache, or reused
	stage         TEXT NOT NULL CHECK (stage IN ('screen', 'final')), -- on its own, or interleaved with the finalists
	median_ns     REAL,
	lo_ns         REAL,
	hi_ns         REAL,
	dropped_early INTEGER NOT NULL CHECK (dropped_early IN (0, 1)), -- sampling stopped: it had certainly lost
	sample_count  INTEGER NOT NULL CHECK (sample_count >= 0),
	-- JSON array: every sample in the order taken, one call each, rounded to whole nanoseconds; null: the call failed
	samples       TEXT NOT NULL
) STRICT;
CREATE INDEX measurement_by_trial ON measurement (trial_id);

-- What the machine counted during a trial.
CREATE TABLE counter (
	trial_id INTEGER NOT NULL REFERENCES trial (id),
	state    TEXT NOT NULL CHECK (state IN ('cold', 'hot')),
	source   TEXT NOT NULL, -- who counted: papi, perf-software, cupti, nvml, emulated, assembler
	name     TEXT NOT NULL, -- in the source's own words
	value    REAL, -- per kernel call
	PRIMARY KEY (trial_id, state, source, name)
) STRICT, WITHOUT ROWID;

-- The winner of one problem on one device in one cache state.
CREATE TABLE best (
	id                INTEGER PRIMARY KEY,
	device_id         INTEGER NOT NULL REFERENCES device (id),
	problem_id        INTEGER NOT NULL REFERENCES problem (id),
	state             TEXT NOT NULL CHECK (state IN ('cold', 'hot')),
	sweep_id          INTEGER NOT NULL REFERENCES sweep (id), -- whose finals decided
	trial_id          INTEGER REFERENCES trial (id), -- the winner's trial; NULL only where modelled
	geometry          TEXT NOT NULL,
	variant           TEXT NOT NULL,
	signature         TEXT NOT NULL, -- of the variant when it was measured
	modelled          INTEGER NOT NULL CHECK (modelled IN (0, 1)), -- ranked by a model; a measurement replaces it
	median_ns         REAL NOT NULL, -- of the winner in the finals
	lo_ns             REAL NOT NULL,
	hi_ns             REAL NOT NULL,
	default_geometry  TEXT NOT NULL, -- the op's standard geometry, measured in the same finals
	default_median_ns REAL,
	default_lo_ns     REAL,
	default_hi_ns     REAL,
	speedup           REAL, -- default's time over the winner's, paired; a ratio
	speedup_lo        REAL,
	speedup_hi        REAL,
	limit_median_ns   REAL, -- time to read the same bytes on this device, same finals; 0: not measured
	limit_lo_ns       REAL,
	limit_hi_ns       REAL,
	limit_method      TEXT NOT NULL, -- the read loop that was fastest
	bytes             REAL NOT NULL, -- compulsory bytes of one call
	flops             REAL NOT NULL, -- floating-point operations of one call
	regret            REAL, -- expected loss of the winner against the true best, as a ratio minus 1
	tie_count         INTEGER NOT NULL CHECK (tie_count >= 0), -- rows of tie_set
	tried             INTEGER NOT NULL, -- candidates known when it was decided
	space_count       INTEGER NOT NULL, -- candidates that were legal
	measured_at       TEXT NOT NULL,
	UNIQUE (device_id, problem_id, state),
	CHECK (modelled = 1 OR trial_id IS NOT NULL)
) STRICT;
CREATE INDEX best_by_trial ON best (trial_id);

-- The geometries that cannot be told from a winner; position 0 is the winner.
CREATE TABLE tie_set (
	best_id  INTEGER NOT NULL REFERENCES best (id) ON DELETE CASCADE,
	position INTEGER NOT NULL CHECK (position >= 0),
	geometry TEXT NOT NULL,
	PRIMARY KEY (best_id, position)
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 1;
