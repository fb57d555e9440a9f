#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the default geometry costs where shapes were swept: for each problem of a database its default against its best,
side by side (tcbtune bench).

    scripts/judge-defaults.py TCBTUNE DATABASE [--device cpu] [--threads N] [--rotation BYTES] [--op REGEX] [--budget 4s]
        [--out FILE] [--seconds N]

The database holds sweeps of shapes that the rules of defaults (docs/defaults.md) were not made of, by this machine.  The
loss that counts is that with cold caches, or a third of that with hot ones if that is more.  Prints a line for each
problem and the median and worst of each op.  With --out the lines of the problems go to FILE, and those that it has
are not measured again: after --seconds it stops, and the same command goes on.

Exit: 0 the median is at most 10 % and the worst 30 %; 1 it is not; 2 wrong usage; 3 some problems are left.
"""
import argparse
import pathlib
import re
import statistics
import sys
import time

from lib.measuring import Table, call_json, of_state

HOT_SHARE = 1 / 3
TABLE = Table(("problem", "40"), ("cold %", ">8.1f"), ("hot %", ">8.1f"), ("loss %", ">8.1f"))


def loss_of(rows):
    """The default's time over the best's, minus 1; bench compares with the first row."""
    times = {row["role"]: row["over_first"]["median"] for row in rows}
    return times.get("default", 1.0) / times.get("best", 1.0) - 1


def known_in(path):
    """{problem: its line} of what an earlier call left."""
    lines = path.read_text(encoding="utf-8").splitlines() if path and path.exists() else []
    return {" ".join(line.split()[:3]): line for line in lines}


def measure(args, problem):
    op, contract, shape = problem.split()
    words = ["--op", op, "--contract", contract, "--shape", shape, "--device", args.device, "--db", args.database]
    words += ["--threads", args.threads] if args.threads else []
    words += ["--rotation", args.rotation] if args.rotation else []
    results = call_json([args.tcbtune, "bench", *words, "--budget", args.budget, "--json"])["results"]
    cold, hot = (loss_of(of_state(results, state)["rows"]) for state in ("cold", "hot"))
    loss = max(cold, HOT_SHARE * hot, 0)
    line = TABLE.line(problem, 100 * cold, 100 * hot, 100 * loss)
    if args.out:
        with open(args.out, "a", encoding="utf-8") as out:
            print(line, file=out)
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tcbtune")
    parser.add_argument("database")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads")
    parser.add_argument("--rotation")
    parser.add_argument("--op", default="")
    parser.add_argument("--budget", default="4s")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    args = parser.parse_args()
    end = time.monotonic() + args.seconds
    best = call_json([args.tcbtune, "report", "--db", args.database, "--json"])["best"]
    problems = sorted({f"{row['op']} {row['contract']} {row['shape']['text']}" for row in best
                       if re.search(args.op, row["op"])})
    known = known_in(args.out)
    losses = {}
    print(TABLE.head())
    for problem in problems:
        if problem not in known and time.monotonic() > end:
            sys.exit(3)
        line = known.get(problem) or measure(args, problem)
        print(line, flush=True)
        losses.setdefault(problem.rsplit(" ", 1)[0], []).append(float(line.split()[-1]) / 100)
    for name, some in losses.items():
        print(f"{name:40} median {100 * statistics.median(some):5.1f} %, worst {100 * max(some):5.1f} %, {len(some)} shapes")
    every = [loss for some in losses.values() for loss in some]
    median, worst = statistics.median(every), max(every)
    print(f"{'all':40} median {100 * median:5.1f} %, worst {100 * worst:5.1f} %, {len(every)} shapes")
    sys.exit(0 if median <= 0.10 and worst <= 0.30 else 1)


if __name__ == "__main__":
    main()
