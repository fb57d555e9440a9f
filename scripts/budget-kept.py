#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does a sweep keep to its budget?  The wall time of the whole command over the budget, for ops, shapes and devices.

    scripts/budget-kept.py TCBTUNE OUT [--problem DEVICE:OP:SHAPE]... [--budget 2s]... [--rotation BYTES] [--threads N]
        [--seed 1] [--runs 1]

Each sweep begins with an empty database and does not stop where it is stable.  The table goes to stdout and is added to
the file OUT: what was tried, why it ended, the wall time, its ratio to the budget, and of that what the sweep itself
took and what it took until the first candidate was measured.  `early` marks a sweep that ended before three quarters of
its budget although not everything was tried.

Exit: 0 every ratio is at most 1.10; 1 some are not, or a sweep failed; 2 wrong usage.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

MOST, EARLY = 1.10, 0.75
BUDGETS = ["2s", "5s", "10s", "30s", "60s"]
PROBLEMS = [
    "cpu:q4k_matvec:1x4096x4096",
    "cpu:q4k_matmul:512x11008x4096",
    "cpu:softmax:1024x4096",
    "cpu:matmul_f32:1024x1024x1024",
    "sm_86:q4k_matvec:1x4096x4096",
    "sm_89:q4k_matvec:1x4096x4096",
    "sm_90:matmul_f16:4096x4096x4096",
    "sm_90:q4k_matmul:32x4096x4096",
]


def sweep(args, problem, budget, seed):
    """(wall seconds, the sweep's JSON or None, the last line of what it said)."""
    device, op, shape = problem.split(":")
    with tempfile.TemporaryDirectory() as folder:
        command = [args.tcbtune, "sweep", "--op", op, "--device", device, "--shape", shape, "--budget", budget,
                   "--until-stable", "none", "--seed", str(seed), "--db", f"{folder}/a.db", "--json"]
        if device.startswith("cpu"):
            command += ["--rotation", args.rotation] if args.rotation else []
            command += ["--threads", args.threads] if args.threads else []
        start = time.monotonic()
        run = subprocess.run(command, capture_output=True, text=True)
        took = time.monotonic() - start
    said = run.stderr.replace("\r", "\n").strip().splitlines()[-1:]
    return took, json.loads(run.stdout)["sweeps"][0] if run.returncode == 0 else None, "".join(said)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tcbtune")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--problem", action="append")
    parser.add_argument("--budget", action="append")
    parser.add_argument("--rotation")
    parser.add_argument("--threads")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=1)
    args = parser.parse_args()
    worst = 0.0
    with args.out.open("a", encoding="utf-8") as out:

        def say(line):
            print(line, flush=True)
            print(line, file=out, flush=True)

        if out.tell() == 0:
            say(f"{'problem':34} {'budget':>6} {'wall':>7} {'ratio':>6} {'sweep':>7} {'prepare':>7} {'tried':>6} ended")
        for problem in args.problem or PROBLEMS:
            for budget in args.budget or BUDGETS:
                for seed in range(args.seed, args.seed + args.runs):
                    wall, done, said = sweep(args, problem, budget, seed)
                    ratio = wall / float(budget.rstrip("s"))
                    worst = max(worst, ratio if done else float("inf"))
                    notes = "over " if ratio > MOST else "early " if ratio < EARLY else ""
                    if not done:
                        say(f"{problem:34} {budget:>6} {wall:6.2f}s {ratio:6.3f} failed: {said}")
                        continue
                    notes = "" if notes == "early " and done["ended"] == "complete" else notes
                    say(f"{problem:34} {budget:>6} {wall:6.2f}s {ratio:6.3f} {done.get('took_s', 0):6.2f}s"
                        f" {done.get('prepare_s', 0):6.2f}s {done['tried']:6} {done['ended']} {notes}".rstrip())
    print(f"the worst: {worst:.3f}")
    sys.exit(0 if worst <= MOST else 1)


if __name__ == "__main__":
    main()
