#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How far winners of an older kernel may be believed of today's.

    scripts/earlier-winners.py DATABASE...        (.db, .db.xz or .db.gz, such as those of results/)

For each stored winner that a later sweep of another kernel (on a CPU: of any other sweep) measured again, on the same
device, problem, threads and state: its gain over the default then (the lower bound), and now. Prints a table for winners
whose default is the same in both, and one for those whose default is another now. src/rt/rt_exact.c has the threshold.
"""
import collections
import gzip
import lzma
import os
import sqlite3
import sys
import tempfile

KEY = "d.key, d.name, d.threads, p.op, p.contract, p.m, p.n, p.k, {words}, {state}"
JOINS = """JOIN sweep s ON s.id = {of}.sweep_id JOIN device d ON d.id = s.device_id
    JOIN problem p ON p.id = s.problem_id"""
GAINS = (0, 1, 1.02, 1.05, 1.1, 1.2, 1.5, 2, float("inf"))

Winner = collections.namedtuple("Winner", "file key geometry signature gain default started kind")
Trial = collections.namedtuple("Trial", "file signature stage ns sweep")


def unpack(path, folder):
    opener = {".xz": lzma.open, ".gz": gzip.open}.get(os.path.splitext(path)[1], open)
    out = os.path.join(folder, path.replace(os.sep, "+") + ".db")
    with opener(path, "rb") as packed, open(out, "wb") as plain:
        plain.write(packed.read())
    return out


def read(path, name, winners, trials):
    db = sqlite3.connect(path)
    words = "p.words" if db.execute("PRAGMA user_version").fetchone()[0] >= 8 else "''"
    key = KEY.format(words=words, state="b.state")
    for row in db.execute(f"""SELECT {key}, b.geometry, b.signature, b.speedup_lo, b.default_geometry, s.started_at,
            d.kind FROM best b {JOINS.format(of="b")} WHERE b.modelled = 0 AND b.speedup_lo IS NOT NULL"""):
        winners.append(Winner(name, row[:10], *row[10:]))
    key = KEY.format(words=words, state="m.state")
    for row in db.execute(f"""SELECT {key}, t.geometry, t.signature, m.stage, m.median_ns, s.id FROM trial t
            JOIN measurement m ON m.trial_id = t.id {JOINS.format(of="t")} WHERE t.outcome = 'ok'
            AND m.median_ns IS NOT NULL AND m.dropped_early = 0"""):
        trials[row[:11]].append(Trial(name, *row[11:]))


def gain_now(winner, later, trials):
    """Of WINNER's geometry over the default in the sweeps of LATER's database; None: not measured there."""
    again = [t for t in trials[winner.key + (winner.geometry,)]
             if t.file == later.file and t.signature != winner.signature]
    again.sort(key=lambda t: t.stage != "final")
    if not again:
        return None
    default = [t for t in trials[later.key + (later.default,)] if t.file == later.file and t.stage == again[0].stage]
    default.sort(key=lambda t: t.sweep != again[0].sweep)
    return default[0].ns / again[0].ns if default else None


def table(pairs):
    print("gained at least      winners  slower now  by over 3 %  least  median")
    for low, high in zip(GAINS, GAINS[1:]):
        now = sorted(gain for then, gain in pairs if low <= then < high)
        if now:
            print(f"{low:4.2f} to {high:4.2f} {len(now):16} {sum(g < 1 for g in now):11} "
                  f"{sum(g < 0.97 for g in now):12} {now[0]:6.2f} {now[len(now) // 2]:7.2f}")


def main(paths):
    winners, trials, found = [], collections.defaultdict(list), collections.defaultdict(list)
    if not paths:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            read(unpack(path, folder), path, winners, trials)
    of_key = collections.defaultdict(list)
    for winner in winners:
        of_key[winner.key].append(winner)
    for winner in winners:
        for later in of_key[winner.key]:
            is_later = later.started > winner.started and later.file != winner.file
            if not is_later or (winner.kind != "cpu" and later.signature == winner.signature):
                continue
            gain = gain_now(winner, later, trials)
            if gain is not None:
                found[winner.default == later.default].append((winner.gain, gain))
    for same in (True, False):
        print(f"{'the same default' if same else 'another default now'}: {len(found[same])}")
        table(found[same])


if __name__ == "__main__":
    main(sys.argv[1:])
