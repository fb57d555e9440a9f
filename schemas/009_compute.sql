-- SPDX-License-Identifier: MIT
--
-- Version 9: how fast a device multiplies (the compute limit, src/kernels/compute_limit.h), the newest of each kind.
--
-- Question to ask:
--   how far products are from it, where arithmetic takes longer than reading:
--     SELECT p.op, p.m, p.n, p.k, 100 * b.flops / r.rate / b.median_ns FROM best b JOIN problem p ON p.id = b.problem_id
--     JOIN device d ON d.id = b.device_id JOIN compute_rate r ON r.device_key = d.key AND r.device = d.name
--     AND r.threads = d.threads WHERE r.kind = 'f16' AND p.contract = 'f16';

CREATE TABLE compute_rate (
	device_key TEXT NOT NULL CHECK (device_key <> ''), -- key, name and threads, as in the table of devices
	device TEXT NOT NULL CHECK (device <> ''),
	threads INTEGER NOT NULL CHECK (threads >= 0),
	kind TEXT NOT NULL CHECK (kind <> ''), -- what is multiplied: int8, f32, bf16, f16
	rate REAL NOT NULL CHECK (rate > 0), -- operations a nanosecond, a product that is added being two
	method TEXT NOT NULL, -- the fastest instruction: "wgmma_f16", "avx512vnni: 512-bit dpbusd"
	driver TEXT NOT NULL, -- of a GPU; empty on a CPU: another one's rate is measured again
	measured_at TEXT NOT NULL, -- ISO 8601, UTC
	PRIMARY KEY (device_key, device, threads, kind)
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 9;
