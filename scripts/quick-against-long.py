#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How far the winner of a short sweep is from that of a long one, which knows nothing of it and is not known to it.

    scripts/quick-against-long.py TCBTUNE OUT --problem OP:SHAPE[:CONTRACT]... [--device cpu] [--threads N]
        [--short 10s] [--long 200s] [--winners DB] [--rotation BYTES] [--seed 1]

For each problem a sweep of --short into OUT/short.db, one of --long into OUT/long.db, and the winners of both side by
side (tcbtune bench, both in the same rounds): the ratio of the short one's time to the long one's, cold and hot.
--winners DB: where that database has a winner for the problem, it stands for the long sweep's (a space that was measured
whole needs no other).  A problem of which OUT has both goes straight to the bench.

Exit: 0 every ratio is at most 1.03; 1 some are not; 2 wrong usage.
"""
import argparse
import json
import pathlib
import subprocess
import sys

MOST = 1.03


def call(command, may_fail=False):
    run = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if run.returncode != 0:
        if may_fail:
            return None
        sys.exit(f"{' '.join(map(str, command))}: exit {run.returncode}: {run.stderr[-500:]}")
    return json.loads(run.stdout)


def winners_of(args, words, db):
    """{state: geometry} of the winners in DB that the finals proved, or {}."""
    found = {}
    for state in ("cold", "hot"):
        answer = call([args.tcbtune, "lookup", *words, "--state", state, "--db", db, "--json"], may_fail=True)
        if answer and answer["source"] == "exact":
            found[state] = answer["geometry"]
    return found


def sweep(args, words, db, budget):
    known = winners_of(args, words, db) if db.exists() else {}
    if len(known) == 2:
        return known, None
    document = call([args.tcbtune, "sweep", *words, *args.rotating, "--budget", budget, "--until-stable", "none", "--seed",
                     args.seed, "--starts", "none", "--counters", "none", "--db", db, "--json"])
    one = document["sweeps"][0]
    return {best["state"]: best["geometry"] for best in one["best"]}, one["tried"]


def compare(args, words, first, second):
    if first == second:
        return 1.0
    document = call([args.tcbtune, "bench", *words, *args.rotating, "--budget", "6s", "--geometry", first, "--geometry",
                     second, "--json"])
    return document


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tcbtune")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--problem", action="append", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads")
    parser.add_argument("--short", default="10s")
    parser.add_argument("--long", default="200s")
    parser.add_argument("--winners", type=pathlib.Path)
    parser.add_argument("--rotation")
    parser.add_argument("--seed", default="1")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    args.rotating = ["--rotation", args.rotation] if args.rotation else []
    worst = 0
    print(f"{'problem':44} {'short':>6} {'long':>6}   cold    hot")
    for problem in args.problem:
        op, shape, *contract = problem.split(":")
        words = ["--op", op, "--shape", shape, "--device", args.device]
        words += ["--contract", contract[0]] if contract else []
        words += ["--threads", args.threads] if args.threads else []
        short, short_tried = sweep(args, words, args.out / "short.db", args.short)
        long = winners_of(args, words, args.winners) if args.winners else {}
        long_tried = None
        if len(long) < 2:
            long, long_tried = sweep(args, words, args.out / "long.db", args.long)
        ratios = []
        for state in ("cold", "hot"):
            answer = compare(args, words, short[state], long[state])
            if answer != 1.0:
                rows = next(r for r in answer["results"] if r["state"] == state)["rows"]
                answer = 1 / next(row["over_first"]["median"] for row in rows if row["geometry"] == long[state])
            ratios.append(answer)
        worst = max(worst, *ratios)
        print(f"{problem:44} {short_tried or '-':>6} {long_tried or '-':>6}  {ratios[0]:.3f}  {ratios[1]:.3f}", flush=True)
    print(f"the worst: {worst:.3f}")
    sys.exit(0 if worst <= MOST else 1)


if __name__ == "__main__":
    main()
