#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How many candidates two builds of tcbtune try in the same time, in turns.

    scripts/trials-in-time.py OLD NEW [--problem OP:CONTRACT:SHAPE]... [--budget 10s] [--pairs 3] [--threads 1]
        [--rotation 128M]

For each problem --pairs pairs of sweeps on the CPU, each with an empty database and the same seed for both builds, the
order changing from pair to pair.  Printed is the median of the trials in ten seconds of screening, from the times at
which they were stored, the first one left out (it computes the reference); and how long the median trial took.

Exit: 0; 2 wrong usage.
"""
import argparse
import datetime
import sqlite3
import statistics
import tempfile

from lib.measuring import Table, call

PROBLEMS = ["q4k_matvec:q8:1x1024x1024", "softmax:f32:64x1024", "q4k_matmul:q8:8x1024x2048"]


def screen(args, program, problem, seed):
    """(trials in ten seconds, median milliseconds between two) of one sweep."""
    op, contract, shape = problem.split(":")
    with tempfile.TemporaryDirectory() as folder:
        db = f"{folder}/a.db"
        call([program, "sweep", "--op", op, "--contract", contract, "--shape", shape, "--device", "cpu", "--threads",
              args.threads, "--rotation", args.rotation, "--budget", args.budget, "--until-stable", "none", "--counters",
              "none", "--seed", seed, "--db", db])
        rows = sqlite3.connect(db).execute(
            "SELECT finished_at FROM trial WHERE id IN (SELECT min(id) FROM trial GROUP BY geometry) ORDER BY id")
        times = [datetime.datetime.fromisoformat(row[0].rstrip("Z")).timestamp() for row in rows]
    steps = [1e3 * (after - before) for before, after in zip(times, times[1:])]
    return 1e4 * len(steps) / sum(steps), statistics.median(steps)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--problem", action="append")
    parser.add_argument("--budget", default="10s")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--threads", default="1")
    parser.add_argument("--rotation", default="128M")
    args = parser.parse_args()
    table = Table(("problem", "28"), ("old", ">6.0f"), ("new", ">6.0f"), ("new/old, each pair", "26"), ("old ms", ">7.2f"),
                  ("new ms", ">7.2f"))
    print(table.head())
    for problem in args.problem or PROBLEMS:
        old, new = [], []
        for pair in range(args.pairs):
            for program, into in [(args.old, old), (args.new, new)][::-1 if pair % 2 else 1]:
                into.append(screen(args, program, problem, pair + 1))
        ratios = " ".join(f"{b[0] / a[0]:.2f}" for a, b in zip(old, new))
        in_time, apart = ([statistics.median(one[of] for one in some) for some in (old, new)] for of in (0, 1))
        print(table.line(problem, *in_time, ratios, *apart), flush=True)


if __name__ == "__main__":
    main()
