#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sweeps problems that nobody chose: random ops, contracts, shapes and devices, each for a moment, into one database.

    scripts/random-sweeps.py TCBTUNE OUT [--count 200] [--seed 1] [--device DEV]... [--budget 2s] [--ops REGEX]
        [--jobs N]

Shapes are drawn by random_shapes.py, as far as an operand stays under --elements.
OUT gets random.db and log.txt, which has each command and what came of it.  Ends with one line for each op.

Exit: 0 all sweeps ended as they should and no kernel was wrong, crashed or hung; 1 some did not, and those commands are
listed; 2 wrong usage.  What tcbtune refuses is not a failure: exit code 2 (K is not a multiple of the format's block) and 3
(a contract that the device has no kernels for).  With --jobs several sweeps write into the database at the same time;
their times then mean nothing.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import random
import re
import sqlite3
import subprocess
import sys
import time

import random_shapes

HANGS_S = 180  # a sweep of a few seconds that takes longer than this hangs


def draw(rng, ops, devices, elements):
    op = rng.choice(ops)
    most = random_shapes.Most(m=65536 if op["shape_form"] == "MxN" else 2048,
                              n=262144 if op["shape_form"] == "MxN" else 32768, k=16384, elements=elements)
    return op["name"], rng.choice(devices), random_shapes.draw_shape(rng, op, most), rng.choice(op["contracts"])


def sweep(tcbtune, problem, budget, rotation, seed, db):
    op, device, shape, contract = problem
    command = [tcbtune, "sweep", "--op", op, "--device", device, "--shape", shape, "--contract", contract,
               "--budget", budget, "--rotation", rotation, "--seed", str(seed), "--counters", "none", "--db", str(db)]
    start = time.monotonic()
    try:
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=HANGS_S)
        code, text = run.returncode, run.stderr
    except subprocess.TimeoutExpired:
        code, text = "hangs", f"still running after {HANGS_S} s"
    return command, code, text.replace("\r", "\n").strip().splitlines()[-1:], time.monotonic() - start


def outcomes_of(db):
    """{op: Counter of outcomes} and the trials that must not be."""
    counts, bad = collections.defaultdict(collections.Counter), []
    if not db.exists():
        return counts, bad
    rows = sqlite3.connect(db).execute(
        "SELECT p.op, p.contract, p.m, p.n, p.k, p.words, d.name, t.geometry, t.outcome, t.message FROM trial t"
        " JOIN sweep s ON s.id = t.sweep_id JOIN problem p ON p.id = s.problem_id JOIN device d ON d.id = s.device_id")
    for op, contract, m, n, k, words, device, geometry, outcome, message in rows:
        counts[op][outcome] += 1
        shape = f"{m}x{n}x{k}" + (words and f",{words}")
        if outcome in ("wrong", "crashed", "timeout", "launch_failed", "compile_failed"):
            bad.append(f"{outcome}: {op}/{contract} {shape} {device} {geometry}: {message}")
    return counts, bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tcbtune")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=0, help="stop after so long, whatever the count; 0: never")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", action="append")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--budget", default="2s")
    parser.add_argument("--rotation", default="64M")
    parser.add_argument("--elements", type=int, default=1 << 24, help="most elements of an operand")
    parser.add_argument("--ops", default="", help="only ops whose name holds this regular expression")
    args = parser.parse_args()
    try:
        listing = subprocess.run([args.tcbtune, "ops", "--json"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"random-sweeps.py: {args.tcbtune}: {error}; give a tcbtune program", file=sys.stderr)
        return 2
    ops = [op for op in json.loads(listing)["ops"] if re.search(args.ops, op["name"])]
    if not ops:
        print(f"random-sweeps.py: no op's name holds '{args.ops}'", file=sys.stderr)
        return 2
    args.out.mkdir(parents=True, exist_ok=True)
    db = args.out / "random.db"
    rng = random.Random(args.seed)
    problems = [draw(rng, ops, args.device or ["cpu"], args.elements) for _ in range(args.count)]
    end = time.monotonic() + 60 * args.minutes if args.minutes else float("inf")

    def one(i):
        if time.monotonic() > end:
            return None
        return sweep(args.tcbtune, problems[i], args.budget, args.rotation, args.seed + i, db)

    codes, failed, slowest = collections.Counter(), [], 0.0
    with open(args.out / "log.txt", "w", encoding="utf-8") as log, \
            concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for command, code, last, took in filter(None, pool.map(one, range(args.count))):
            codes[code] += 1
            slowest = max(slowest, took)
            print(f"{code}\t{took:.1f} s\t{' '.join(command)}\t{' '.join(last)}", file=log, flush=True)
            if code not in (0, 2, 3):
                failed.append(f"exit {code}: {' '.join(command)}: {' '.join(last)}")
    counts, bad = outcomes_of(db)
    for op in sorted(counts):
        print(f"{op:16}", ", ".join(f"{outcome} {count}" for outcome, count in counts[op].most_common()))
    total = sum(sum(c.values()) for c in counts.values())
    print(f"{sum(codes.values())} sweeps (exit codes {dict(codes)}), {total} trials, slowest sweep {slowest:.1f} s,"
          f" {len(failed)} sweeps failed, {len(bad)} trials bad")
    for line in failed + bad:
        print(line)
    return 1 if failed or bad else 0


if __name__ == "__main__":
    sys.exit(main())
