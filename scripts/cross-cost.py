#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What one problem's best geometry costs on others, of the trials that sweeps stored.

    scripts/cross-cost.py [--state cold|hot] DB[.gz]...

For each problem: its best time and geometry, and for all other problems that tried the same tiles and knobs (macro
tiles are left out: they follow the shape) the time there over the best there.  Nothing is measured: a problem that did
not try that geometry is not listed.
"""
import argparse
import gzip
import re
import shutil
import sqlite3
import sys
import tempfile


def trials_of(path, state, out):
    """Adds {problem: {geometry: median ns}} of a database; of a geometry's measurements a final one counts."""
    with tempfile.NamedTemporaryFile() as plain:
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as packed:
            shutil.copyfileobj(packed, plain)
        plain.flush()
        rows = sqlite3.connect(plain.name).execute(
            "SELECT p.op, p.contract, p.m, p.n, p.k, t.geometry, m.median_ns FROM trial t"
            " JOIN measurement m ON m.trial_id = t.id JOIN sweep s ON s.id = t.sweep_id"
            " JOIN problem p ON p.id = s.problem_id WHERE m.state = ? AND m.median_ns > 0"
            " ORDER BY m.stage = 'final'",
            (state,),
        )
        for op, contract, m, n, k, geometry, ns in rows:
            key = re.sub(r"macro=[^,]*,", "", geometry)
            out.setdefault(f"{op}/{contract} {m}x{n}x{k}", {})[key] = ns


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--state", choices=["cold", "hot"], default="cold")
    parser.add_argument("db", nargs="+")
    args = parser.parse_args()
    trials = {}
    for path in args.db:
        try:
            trials_of(path, args.state, trials)
        except (OSError, sqlite3.Error) as error:
            sys.exit(f"cross-cost.py: {path}: {error}; give databases that tcbtune sweep made, as they are or gzipped")
    for problem, times in trials.items():
        best = min(times, key=times.get)
        print(f"{problem}: {times[best] / 1000:.2f} us, {best}")
        for other, there in trials.items():
            if other != problem and best in there:
                print(f"    on {other}: {there[best] / min(there.values()):.2f} x the best there")


if __name__ == "__main__":
    main()
