#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What lookups answer for shapes that nobody swept, and whether it is ever slower than the default.

    lookups-everywhere.py TCBTUNE DB [--device cpu] [--threads 1] [--count 200] [--measure 20] [--seed 1] [--ops REGEX]

Random problems of all ops and formats (lib/everywhere.py) are looked up in DB: each must have a source and a reason.  MEASURE of them (those that are not
the default itself first) are benched against the op's default, paired and interleaved; over 1.00 the answer is slower.
"""
import argparse
import collections
import json
import random
import sys

from lib.everywhere import draw_problems, kinds_of
from lib.measuring import REFUSED, Failed, Table, call, call_json, of_state


def bench(args, row):
    where = [*row["problem"].words(), "--device", args.device, "--db", args.db, "--geometry", row["geometry"]]
    where += ["--budget", args.budget, "--json"]
    if not args.device.startswith(("cuda", "sm_")):
        where += ["--threads", row["threads"], "--rotation", args.rotation]
    result = of_state(call_json([args.tcbtune, "bench", *where])["results"], row["state"])
    rows = {r["role"]: r for r in result["rows"]}
    mine = next(r for r in result["rows"] if r["geometry"] == row["geometry"])
    if "default" not in rows or rows["default"]["geometry"] == row["geometry"]:
        return None, mine
    default = rows["default"]
    # Each row's ratio is over the first row's time, which is the geometry that was given.
    return {key: 1 / default["over_first"][other] for key, other in (("median", "median"), ("lo", "hi"), ("hi", "lo"))}, mine


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tcbtune")
    parser.add_argument("db")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--measure", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", default="6s")
    parser.add_argument("--rotation", default="512M")
    parser.add_argument("--largest", type=float, default=4e9, help="m n k of a shape, at most")
    parser.add_argument("--ops", default="", help="only ops whose name holds this regular expression")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    rows, sources, bad = [], collections.Counter(), 0
    for others in draw_problems(args.seed, kinds_of(args.tcbtune, args.ops), args.count, args.largest):
        state = rng.choice(["cold", "hot"])
        where = ["--state", state, "--device", args.device, "--db", args.db, "--json"]
        if args.threads:
            where += ["--threads", args.threads]
        for problem in others:
            try:
                said = json.loads(call([args.tcbtune, "lookup", *problem.words(), *where]))
                break
            except Failed as failed:
                said = None
                if failed.status not in REFUSED or problem == others[-1]:
                    print(f"REFUSED {problem} {state}: {failed}")
                    break
        if not said:
            bad += 1
            continue
        if said["source"] == "none" or not said["reason"]:
            print(f"SILENT {problem} {state}: {said}")
            bad += 1
        sources[said["source"]] += 1
        rows.append(dict(problem=problem, state=state, **{k: said[k] for k in ("geometry", "source", "reason", "threads")}))
    print(f"{args.count} shapes: {bad} without an answer; " + ", ".join(f"{n} {s}" for s, n in sources.most_common()))
    rng.shuffle(rows)
    rows.sort(key=lambda row: row["source"] == "default")
    measured = slower = 0
    table = Table(("answer/default", ">14.3f"), ("95 % interval", ">17"), ("us", ">10.2f"), (" problem, source: reason", ""))
    print(table.head())
    for row in rows:
        if measured >= args.measure:
            break
        ratio, mine = bench(args, row)
        what = f"{row['problem']} {row['state']}, {row['source']}: {row['reason']}"
        if ratio is None:
            print(table.line("is it", "", mine["ns"]["median"] / 1e3, " " + what), flush=True)
        else:
            slower += ratio["median"] > 1.03
            print(table.line(ratio["median"], f"[{ratio['lo']:7.3f},{ratio['hi']:7.3f}]", mine["ns"]["median"] / 1e3,
                             " " + what), flush=True)
        measured += 1
    print(f"{measured} measured, {slower} slower than the default by more than 3 %")
    sys.exit(1 if bad or slower else 0)


main()
