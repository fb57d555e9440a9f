#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Is the winner of a sweep the winner of the next one?  Pairs of sweeps of one problem, each with another seed and into a
database of its own, and what the first of each pair says of itself held against the second.

    scripts/winner-stability.py TCBTUNE OUT --op OP --shape S [--device cpu] [--threads N] [--pairs 20] [--budget 10s]
        [--rotation BYTES] [--contract C] [--seed 1] [--benches 5] [--bench-budget 4s] [--minutes N]

OUT gets the databases and pairs.json.  What is there is not measured again: after --minutes the script ends, and the same
command goes on.  Prints, for each cache state:

    in the tie set   pairs whose second winner is in the first's tie set, and of the others those that the first sweep
                     did not try, and those whose machine was another: the winners' own times are more than 5 % apart
    flips            pairs with another winner, and what the first sweeps expected (flip_probability, in the mean)
    regret           how much slower the first's winner is than the fastest of all winners that the first sweep tried,
                     and what the first sweeps expected (regret, in the mean).  By times measured side by side
                     afterwards, in --benches processes (tcbtune bench, all winners in the same rounds); +- is the
                     standard error of the difference.  The fastest is the one that is so in every second process,
                     and the loss is that of the others: nobody gains by luck

and both figures by halves of the pairs, those with the smaller expectation first.  A machine that does nothing else is
needed.  Exit: 0 the second winner was in the first's tie set in 95 % of the pairs, in each state; 1 it was not; 2 wrong
usage; 3 time is over.
"""
import argparse
import json
import math
import pathlib
import sqlite3
import statistics
import sys
import time

from lib.measuring import call_json, geometry_words

TOGETHER = 6  # geometries that one bench takes
STATES = ("hot", "cold")
MOVED = 1.05


class Pairs:
    """What is known so far, in OUT/pairs.json."""

    def __init__(self, args):
        self.args, self.file = args, args.out / "pairs.json"
        self.end = time.monotonic() + 60 * args.minutes if args.minutes else math.inf
        args.out.mkdir(parents=True, exist_ok=True)
        known = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.sweeps, self.benches = known.get("sweeps", []), known.get("benches", [])

    def keep(self):
        self.file.write_text(json.dumps({"sweeps": self.sweeps, "benches": self.benches}, indent=1))
        if time.monotonic() > self.end:
            print(f"{len(self.sweeps)} sweeps and {len(self.benches)} benches; the same command goes on")
            sys.exit(3)

    def problem_words(self):
        words = ["--op", self.args.op, "--shape", self.args.shape, "--device", self.args.device]
        for name in ("threads", "contract", "rotation"):
            value = getattr(self.args, name)
            words += [f"--{name}", value] if value else []
        return words

    def sweep(self, number):
        db = self.args.out / f"{number}.db"
        db.unlink(missing_ok=True)  # of a sweep that was cut off
        seed = self.args.seed + number
        document = call_json([self.args.tcbtune, "sweep", *self.problem_words(), "--budget", self.args.budget,
                         "--until-stable", "none", "--starts", "none", "--seed", seed, "--counters", "none",
                         "--db", db, "--json"])
        rows = document["sweeps"][0]["best"]
        result = {"seed": seed}
        with sqlite3.connect(db) as connection:
            result["tried"] = [row[0] for row in connection.execute(
                "SELECT DISTINCT geometry FROM trial WHERE outcome = 'ok'")]
            for state in STATES:
                best = next(row for row in rows if row["state"] == state)
                ties = [row[0] for row in connection.execute(
                    "SELECT t.geometry FROM tie_set t JOIN best b ON b.id = t.best_id WHERE b.state = ?", (state,))]
                result[state] = {"geometry": best["geometry"], "ties": sorted(ties), "flip": best["flip_probability"],
                                 "regret": best["regret"], "ns": best["ns"]["median"]}
        self.sweeps.append(result)

    def bench(self, winners):
        """All winners over the first one, a few at a time, each few in a process of its own."""
        times = {state: {winners[0]: 1.0} for state in STATES}
        for begin in range(1, len(winners), TOGETHER - 1):
            some = [winners[0], *winners[begin:begin + TOGETHER - 1]]
            document = call_json([self.args.tcbtune, "bench", *self.problem_words(), *geometry_words(some), "--seed",
                             self.args.seed + len(self.benches), "--budget", self.args.bench_budget, "--json"])
            for result in document["results"]:
                times[result["state"]].update({row["geometry"]: row["over_first"]["median"] for row in result["rows"]
                                               if row["geometry"] in some})
        self.benches.append(times)

    def measure(self):
        while len(self.sweeps) < 2 * self.args.pairs:
            self.sweep(len(self.sweeps))
            self.keep()
        winners = sorted({sweep[state]["geometry"] for sweep in self.sweeps for state in STATES})
        while len(winners) > 1 and len(self.benches) < self.args.benches:
            self.bench(winners)
            self.keep()


def mean(values):
    values = [value for value in values if value is not None]
    return statistics.mean(values) if values else math.nan


def geometric(times, geometry):
    return math.exp(mean([math.log(each[geometry]) for each in times]))


def loss(benches, state, winner, others):
    """How much slower WINNER is than the fastest of OTHERS, which every second bench names and the rest measures."""
    if not benches or set(others) <= {winner}:
        return 0.0
    halves = [[bench[state] for bench in benches[i::2]] for i in range(2)]
    losses = []
    for name, judge in (halves, halves[::-1]) if halves[1] else (halves[:1] * 2,):
        fastest = min(others, key=lambda geometry: geometric(name, geometry))
        losses.append(geometric(judge, winner) / geometric(judge, fastest) - 1)
    return mean(losses)


def halves_of(pairs, key):
    ordered = sorted(pairs, key=key)
    middle = len(ordered) // 2
    return ordered[:middle], ordered[middle:]


def report(state, sweeps, benches):
    """Prints what the pairs show in STATE; the share of them whose second winner is in the first's tie set."""
    pairs = list(zip(sweeps[::2], sweeps[1::2]))
    winners = {sweep[state]["geometry"] for sweep in sweeps}
    rows = [{"flip": second[state]["geometry"] != first[state]["geometry"],
             "in": second[state]["geometry"] in first[state]["ties"],
             "tried": second[state]["geometry"] in first["tried"],
             "moved": not 1 / MOVED < first[state]["ns"] / second[state]["ns"] < MOVED,
             "loss": loss(benches, state, first[state]["geometry"],
                          sorted(w for w in winners if w in first["tried"])),
             "said_flip": first[state]["flip"] or 0.0, "said_loss": first[state]["regret"] or 0.0}
            for first, second in pairs]
    counts = [len(sweep[state]["ties"]) for sweep in sweeps]
    inside, flips = sum(row["in"] for row in rows), sum(row["flip"] for row in rows)
    untried = sum(not row["tried"] for row in rows)
    moved = sum(row["moved"] for row in rows)
    moved_out = sum(row["moved"] and row["tried"] and not row["in"] for row in rows)
    off = [row["loss"] - row["said_loss"] for row in rows]
    error = statistics.stdev(off) / math.sqrt(len(off)) if len(off) > 1 else math.nan
    print(f"\n{state}: {len(winners)} winners, tie sets of {min(counts)} to {max(counts)} candidates, "
          f"{statistics.median(counts):g} in the median")
    print(f"in the tie set  {inside} of {len(rows)}; of the others {untried} untried, {moved_out} on a machine that had moved "
          f"(as in {moved} pairs of all)")
    print(f"flips           {flips} of {len(rows)} ({flips / len(rows):.2f}); expected "
          f"{mean([row['said_flip'] for row in rows]):.2f}")
    print(f"regret          {100 * mean([row['loss'] for row in rows]):.2f} % in the mean, "
          f"{100 * max(row['loss'] for row in rows):.2f} % at most; expected "
          f"{100 * mean([row['said_loss'] for row in rows]):.2f} +- {100 * error:.2f} %")
    for what, said, unit in (("flip", "said_flip", 1), ("loss", "said_loss", 100)):
        print(f"{'flips' if unit == 1 else 'regret, %':16}" + "; ".join(
            f"{name} half: expected {unit * mean([row[said] for row in half]):.2f}, "
            f"came {unit * mean([row[what] for row in half]):.2f}"
            for name, half in zip(("lower", "upper"), halves_of(rows, lambda row: row[said])) if half))
    return inside / len(rows)


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
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--benches", type=int, default=5)
    parser.add_argument("--bench-budget", default="4s")
    parser.add_argument("--minutes", type=float)
    args = parser.parse_args()
    pairs = Pairs(args)
    pairs.measure()
    sweeps = pairs.sweeps[:2 * args.pairs]
    tried = [len(sweep["tried"]) for sweep in sweeps]
    print(f"{args.op} {args.shape} {args.device}, {args.pairs} pairs of {args.budget}, "
          f"{min(tried)} to {max(tried)} candidates")
    shares = [report(state, sweeps, pairs.benches) for state in STATES]
    sys.exit(0 if min(shares) >= 0.95 else 1)


if __name__ == "__main__":
    main()
