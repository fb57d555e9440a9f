#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Is the winner of a sweep the winner of the next one?  Pairs of sweeps of one problem, each with another seed and into a
database of its own, and what the first of each pair says of itself held against the second.

    scripts/winner-stability.py TCBTUNE OUT --op OP --shape S [--device cpu] [--threads N] [--pairs 20] [--budget 10s]
        [--state cold] [--rotation BYTES] [--contract C] [--seed 1]

OUT gets the databases and pairs.json.  Prints, for the cache state:

    in the tie set   pairs whose second winner is in the first's tie set
    flips            pairs with another winner, and what the first sweeps expected (flip_probability, in the mean)
    regret           how much slower the first's winner is than the faster of both, measured side by side afterwards
                     (tcbtune bench, all winners in the same rounds), and what the first sweeps expected

A machine that does nothing else is needed.  Exit: 0 the second winner was in the first's tie set in 95 % of the pairs;
1 it was not; 2 wrong usage.
"""
import argparse
import json
import pathlib
import sqlite3
import statistics
import subprocess
import sys

TOGETHER = 6  # geometries that one bench takes


def call(command):
    run = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {run.returncode}: {run.stderr[-500:]}")
    return json.loads(run.stdout)


def problem_words(args):
    words = ["--op", args.op, "--shape", args.shape, "--device", args.device]
    for name in ("threads", "contract", "rotation"):
        value = getattr(args, name)
        words += [f"--{name}", value] if value else []
    return words


def sweep(args, seed, db):
    """One sweep's winner in the state, its tie set, flip probability and regret."""
    document = call([args.tcbtune, "sweep", *problem_words(args), "--budget", args.budget, "--until-stable", "none",
                     "--starts", "none", "--seed", seed, "--counters", "none", "--db", db, "--json"])
    best = next(row for row in document["sweeps"][0]["best"] if row["state"] == args.state)
    with sqlite3.connect(db) as connection:
        ties = {row[0] for row in connection.execute(
            "SELECT t.geometry FROM tie_set t JOIN best b ON b.id = t.best_id WHERE b.state = ?", (args.state,))}
    return {"seed": seed, "geometry": best["geometry"], "ties": sorted(ties), "flip": best["flip_probability"],
            "regret": best["regret"], "ns": best["ns"]["median"], "tried": best["tried"]}


def times_of(args, winners):
    """Each winner's time over the first one's, all measured side by side, a few at a time."""
    winners = sorted(winners)
    times = {winners[0]: 1.0}
    for begin in range(1, len(winners), TOGETHER - 1):
        some = [winners[0], *winners[begin:begin + TOGETHER - 1]]
        given = [word for geometry in some for word in ("--geometry", geometry)]
        document = call([args.tcbtune, "bench", *problem_words(args), *given, "--budget", "20s", "--json"])
        rows = next(r for r in document["results"] if r["state"] == args.state)["rows"]
        times.update({row["geometry"]: row["over_first"]["median"] for row in rows if row["geometry"] in some})
    return times


def mean(values):
    values = [value for value in values if value is not None]
    return statistics.mean(values) if values else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tcbtune")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--op", required=True)
    parser.add_argument("--shape", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads")
    parser.add_argument("--contract")
    parser.add_argument("--rotation")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--budget", default="10s")
    parser.add_argument("--state", default="cold", choices=["cold", "hot"])
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    sweeps = []
    for i in range(2 * args.pairs):
        db = args.out / f"{i}.db"
        if db.exists():
            sys.exit(f"{db} exists: each sweep needs a database of its own; give another OUT")
        sweeps.append(sweep(args, args.seed + i, db))
    pairs = list(zip(sweeps[::2], sweeps[1::2]))
    times = times_of(args, {s["geometry"] for s in sweeps})
    in_ties = sum(second["geometry"] in first["ties"] for first, second in pairs)
    flips = sum(second["geometry"] != first["geometry"] for first, second in pairs)
    losses = [times[a["geometry"]] / min(times[a["geometry"]], times[b["geometry"]]) - 1 for a, b in pairs]
    (args.out / "pairs.json").write_text(json.dumps({"sweeps": sweeps, "times": times}, indent=1))
    print(f"{args.op} {args.shape} {args.device} {args.state}, {len(pairs)} pairs of {args.budget}, "
          f"{min(s['tried'] for s in sweeps)} to {max(s['tried'] for s in sweeps)} candidates, tie sets of "
          f"{min(len(s['ties']) for s in sweeps)} to {max(len(s['ties']) for s in sweeps)}")
    print(f"in the tie set  {in_ties} of {len(pairs)}")
    print(f"flips           {flips} of {len(pairs)} ({flips / len(pairs):.2f}); expected "
          f"{mean(first['flip'] for first, _ in pairs):.2f}")
    print(f"regret          {100 * mean(losses):.2f} % in the mean, {100 * max(losses):.2f} % at most; expected "
          f"{100 * mean(first['regret'] for first, _ in pairs):.2f} %")
    sys.exit(0 if in_ties >= 0.95 * len(pairs) else 1)


if __name__ == "__main__":
    main()
