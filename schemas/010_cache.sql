-- SPDX-License-Identifier: MIT
--
-- Version 10: how much cache a device really has, measured once (src/device/cache.h): cold results rotate beyond it.
-- What the system reports of it (device.llc_bytes) is the host's in many virtual machines.

CREATE TABLE cache (
	device_key  TEXT NOT NULL CHECK (device_key <> ''), -- the hardware's, as in the table of devices
	threads     INTEGER NOT NULL CHECK (threads >= 1), -- that it was measured with: each has caches of its own
	bytes       INTEGER NOT NULL CHECK (bytes >= 1), -- after so many bytes of other reads a line is in no cache
	is_sure     INTEGER NOT NULL CHECK (is_sure IN (0, 1)), -- 0: the machine was busy, and it may be more
	measured_at TEXT NOT NULL, -- ISO 8601, UTC
	PRIMARY KEY (device_key, threads)
) STRICT;

PRAGMA user_version = 10;
