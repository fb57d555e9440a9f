#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How far the winner of a short sweep is from that of a long one, which knows nothing of it and is not known to it.

    scripts/quick-against-long.py TCBTUNE OUT --problem OP:SHAPE[:CONTRACT]... [--device cpu] [--threads N]
        [--short 10s] [--long 200s] [--winners DB] [--rotation BYTES] [--seed 1]

For each problem a sweep of --short into a database of its own (OUT/short-N.db: it starts with the default and the
model's best, as everybody's first sweep does), one of --long into OUT/long.db, and the winners of both side by side
(tcbtune bench, both in the same rounds): the ratio of the short one's time to the long one's, cold and hot.
--winners DB: where that database has a winner for the problem, it stands for the long sweep's (a space that was measured
whole needs no other).  A problem of which OUT has both goes straight to the bench.  "default" is how much slower than
the long sweep's winner the default geometry was that the short sweep began with.

Exit: 0 every ratio is at most 1.03; 1 some are not; 2 wrong usage.
"""
import argparse
import pathlib
import sys

from lib.measuring import Table, call_json, of_state

MOST = 1.03


def winners_of(args, words, db):
    """{state: geometry} of the winners in DB that the finals proved, or {}."""
    found = {}
    for state in ("cold", "hot"):
        answer = call_json([args.tcbtune, "lookup", *words, "--state", state, "--db", db, "--json"], may_fail=True)
        if answer and answer["source"] == "exact":
            found[state] = answer["geometry"]
    return found


def sweep(args, words, db, budget, starts):
    known = winners_of(args, words, db) if db.exists() else {}
    if len(known) == 2:
        return known, None
    document = call_json([args.tcbtune, "sweep", *words, *args.rotating, "--budget", budget, "--until-stable", "none", "--seed",
                     args.seed, "--starts", starts, "--counters", "none", "--db", db, "--json"])
    one = document["sweeps"][0]
    return {best["state"]: best["geometry"] for best in one["best"]}, one["tried"]


def compare(args, words, state, short, long):
    """Times of the short sweep's winner and of the default geometry over that of the long sweep's, in STATE."""
    command = [args.tcbtune, "bench", *words, *args.rotating, "--budget", "6s", "--geometry", short]
    document = call_json([*command, *([] if short == long else ["--geometry", long]), "--json"])
    rows = of_state(document["results"], state)["rows"]
    over = {row["geometry"]: row["over_first"]["median"] for row in rows}
    default = next((row["over_first"]["median"] for row in rows if row["role"] == "default"), 1)
    return over.get(short, 1) / over.get(long, 1), default / over.get(long, 1)


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
    table = Table(("problem", "44"), ("short", ">6"), ("long", ">6"), ("cold", ">6.3f"), ("default", ">8.3f"),
                  ("hot", ">6.3f"), ("default", ">8.3f"))
    print(table.head())
    for number, problem in enumerate(args.problem):
        op, shape, *contract = problem.split(":")
        words = ["--op", op, "--shape", shape, "--device", args.device]
        words += ["--contract", contract[0]] if contract else []
        words += ["--threads", args.threads] if args.threads else []
        short, short_tried = sweep(args, words, args.out / f"short-{number}.db", args.short, "all")
        long = winners_of(args, words, args.winners) if args.winners else {}
        long_tried = None
        if len(long) < 2:
            long, long_tried = sweep(args, words, args.out / "long.db", args.long, "none")
        pairs = [compare(args, words, state, short[state], long[state]) for state in ("cold", "hot")]
        worst = max(worst, *(ratio for ratio, default in pairs))
        print(table.line(problem, short_tried or "-", long_tried or "-", *pairs[0], *pairs[1]), flush=True)
    print(f"the worst: {worst:.3f}")
    sys.exit(0 if worst <= MOST else 1)


if __name__ == "__main__":
    main()
