#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What defaults lose where nobody swept: problems of all ops and formats are drawn from a seed, each is swept for some
seconds, and its default is measured beside the best in one bench.

    scripts/defaults-everywhere.py TCBTUNE OUT [--device cpu] [--threads N] [--seed 1] [--count 60] [--ops REGEX]
        [--sweep 20s] [--bench 3s] [--seconds 550] [--tried 30] [--before PROGRAM] [--problems FILE] [--no-bench]

The problems are those of `lookups-everywhere.py --seed`, or the lines "OP CONTRACT SHAPE" of FILE.  --before: another
build, whose defaults are measured in the same benches.  Several devices (--device cuda:0,cuda:1) share the problems, and
a part of the processors each.  After --seconds no problem is begun, and what is under way is ended a little later; what
is left is told.  The same command with the same OUT goes on where the time was over.  The column "tried" has how many
candidates a sweep came to, for a best of few says nothing: problems with fewer than --tried, unless that was the whole space,
are printed and not counted.  --largest keeps problems small enough for sweeps to try many.

Writes OUT/trials-N.db (of device N, to learn from: docs/defaults.md) and OUT/judged.txt, a line for each problem.

Exit: 0 the median is at most 1.02, nine of ten 1.10 and the worst 1.25; 1 they are more; 2 wrong usage; 3 some problems
are left.
"""
import argparse
import collections
import json
import os
import pathlib
import statistics
import sys
import threading
import time

from lib.everywhere import Problem, draw_problems, kinds_of
from lib.measuring import REFUSED, Failed, Table, call, geometry_words, of_state

GOALS = (1.02, 1.10, 1.25)
GRACE_S = 25  # to end what has begun
TABLE = Table(("problem", "48"), ("tried", ">6"), ("of", ">6"), ("cold", ">6.3f"), ("hot", ">6.3f"), ("before", ">6.3f"), ("hot", ">6.3f"),
              ("best us", ">10.2f"), ("plan us", ">8.1f"), ("default by", ""))


class Judge:
    """One device's share of the problems; what they all write is behind a lock."""

    lock = threading.Lock()

    def __init__(self, args, number, device, processors):
        self.args, self.device, self.processors = args, device, processors
        self.db = args.out / f"trials-{number}.db"

    def run(self, words, end):
        """What the command prints, no later than END."""
        return call(words, max(end + GRACE_S - time.monotonic(), 1), self.processors)

    def where(self, problem):
        words = [*problem.words(), "--device", self.device]
        return words + (["--threads", self.args.threads] if self.args.threads else [])

    def look_up(self, program, problem, end, *more):
        """What PROGRAM's library says without a database."""
        nothing = self.args.out / "none.db"
        return json.loads(self.run([program, "lookup", *self.where(problem), "--db", nothing, "--json", *more], end))

    def judge(self, problem, end):
        """{} without benches, else the figures of its line."""
        args = self.args
        rotation = ["--rotation", args.rotation] if args.rotation else []
        said = self.run([args.tcbtune, "sweep", *self.where(problem), *rotation, "--budget", args.sweep, "--until-stable",
                          "none", "--counters", "none", "--finalists", "4", "--measured-only", "--json",
                         "--db", self.db], end)
        if args.no_bench:
            return {}
        swept = json.loads(said)["sweeps"][0]
        mine = self.look_up(args.tcbtune, problem, end, "--time")
        before = self.look_up(args.before, problem, end)["geometry"] if args.before else None
        words = [args.tcbtune, "bench", *self.where(problem), *rotation, "--budget", args.bench, "--db", self.db, "--json"]
        beside = dict.fromkeys([row["geometry"] for row in swept["best"]] + ([before] if before else []))
        results = json.loads(self.run(words + geometry_words(beside), end))["results"]
        reason = mine["reason"]
        by = "learning" if "the learned default" in reason else "rule" if "the default by rule" in reason else "the op"
        found = {"plan_us": 1e-3 * mine["lookup_ns"], "by": by, "tried": swept["tried"] + swept["known"],
                 "space": swept["space_count"]}
        for state in ("cold", "hot"):
            # Bench adds scalar code, of a space of its own: where a sweep may choose it, it is among the sweep's.
            rows = [row for row in of_state(results, state)["rows"] if row["role"] != "scalar"]
            ns = {row["geometry"]: row["ns"]["median"] * 1e-3 for row in rows}
            over = {row["geometry"]: row["over_first"]["median"] for row in rows}
            if mine["geometry"] not in over:
                raise Failed(f"bench has another default than {mine['geometry']}")
            least = min(over.values())  # the default or the one before may be better than what was found
            found[state] = over[mine["geometry"]] / least
            found["before " + state] = over.get(before, float("nan")) / least
            found["us " + state] = min(ns.values())
        return found


def line_of(problem, found):
    return TABLE.line(str(problem), str(found["tried"]), str(found["space"]), found["cold"], found["hot"], found["before cold"], found["before hot"],
                      found["us cold"], found["plan_us"], found["by"])


def known_in(path):
    """{problem: its line} of what an earlier call left."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {Problem(*line.split()[:3]): line for line in lines}


def quantiles(values):
    values = sorted(values)
    return statistics.median(values), values[min(len(values) - 1, int(0.9 * len(values)))], values[-1]


def sum_up(name, values):
    """A line of the three figures; are they reached?"""
    values = [value for value in values if value == value]
    if not values:
        return True
    found = quantiles(values)
    print(f"{name:36} median {found[0]:.3f}, nine of ten {found[1]:.3f}, worst {found[2]:.3f}, {len(values)} problems")
    return all(value <= goal for value, goal in zip(found, GOALS))


class Row:
    """A line of a problem, read."""

    def __init__(self, line):
        words = line.split()
        self.op, self.tried, self.space = words[0], int(words[3]), int(words[4])
        self.cold, self.hot, self.before_cold, self.before_hot, _, self.plan_us = map(float, words[5:11])


def report(lines, kinds, least):
    """Of lines of problems: what they come to, by kinds and all together; are the goals reached?"""
    every = [Row(line) for line in lines]
    rows = [row for row in every if row.tried >= min(least, row.space)]
    print(f"{len(rows)} of {len(every)} problems count: of the others fewer than {least} candidates were tried")
    by_kind = collections.defaultdict(list)
    for row in rows:
        by_kind[kinds[row.op]].append(row)
    for name in sorted(by_kind):
        sum_up(f"{name}, cold", [row.cold for row in by_kind[name]])
    is_reached = sum_up("default over best, cold", [row.cold for row in rows])
    sum_up("default over best, hot", [row.hot for row in rows])
    sum_up("the one before, cold", [row.before_cold for row in rows])
    sum_up("the one before, hot", [row.before_hot for row in rows])
    median, tail, worst = quantiles([row.plan_us for row in every])
    print(f"{'a plan, us':36} median {median:.1f}, nine of ten {tail:.1f}, worst {worst:.1f}")
    return is_reached


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tcbtune")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--device", default="cpu", help="one, or several with commas between")
    parser.add_argument("--threads")
    parser.add_argument("--rotation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--ops", default="", help="only ops whose name holds this regular expression")
    parser.add_argument("--largest", type=float, help="m n k of a shape, at most; default: 4e9, on a GPU 2e10")
    parser.add_argument("--sweep", default="20s")
    parser.add_argument("--bench", default="3s")
    parser.add_argument("--seconds", type=float, default=1e6)  # what waits for processes takes no infinity
    parser.add_argument("--tried", type=int, default=30, help="candidates of a problem that counts")
    parser.add_argument("--before", help="another build's tcbtune")
    parser.add_argument("--problems", type=pathlib.Path)
    parser.add_argument("--no-bench", action="store_true", help="sweeps alone, to learn from")
    args = parser.parse_args()
    start = time.monotonic()
    end = start + args.seconds
    args.out.mkdir(parents=True, exist_ok=True)
    kinds = kinds_of(args.tcbtune)
    devices = args.device.split(",")
    largest = args.largest or (4e9 if devices[0].startswith("cpu") else 2e10)
    if args.problems:
        lines = args.problems.read_text(encoding="utf-8").splitlines()
        problems = [[Problem(*line.split()[:3])] for line in lines if line and not line.startswith("#")]
    else:
        problems = draw_problems(args.seed, kinds_of(args.tcbtune, args.ops), args.count, largest)
    known = known_in(args.out / "judged.txt")
    lines = [known[problem] for others in problems for problem in others if problem in known]
    waiting = collections.deque(others for others in problems if not any(problem in known for problem in others))
    failed, left = [], []
    print(TABLE.head(), flush=True)

    def take():
        """Some problems one of which is to be judged; None: there are none."""
        with Judge.lock:
            if time.monotonic() > end:
                left.extend(waiting)
                waiting.clear()
            return waiting.popleft() if waiting else None

    def judge_one(judge, others):
        """The line of the first that the device has kernels for."""
        for problem in others:
            try:
                found = judge.judge(problem, end)
                return line_of(problem, found) if found else str(problem)
            except Failed as why:
                if why.status not in REFUSED or problem == others[-1]:
                    failed.append(f"{problem}: {why}")
                    return None

    def work(judge):
        while (others := take()) is not None:
            line = judge_one(judge, others)
            with Judge.lock:
                if not line:
                    continue
                print(line, flush=True)
                lines.append(line)
                if not args.no_bench:
                    with open(args.out / "judged.txt", "a", encoding="utf-8") as out:
                        print(line, file=out)

    processors = sorted(os.sched_getaffinity(0))
    part = max(1, len(processors) // len(devices))
    threads = [threading.Thread(target=work, args=(Judge(args, i, device, processors[i * part:(i + 1) * part] or
                                                         processors),)) for i, device in enumerate(devices)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for why in failed:
        print(f"failed: {why}")
    print(f"{len(lines)} of {len(problems)} problems judged, {len(failed)} failed, {len(left)} left, "
          f"{time.monotonic() - start:.0f} s on {len(devices)} device{'s'[:len(devices) != 1]}")
    names = {op["name"]: kind for kind, ops in kinds.items() for op in ops}
    is_reached = args.no_bench or not lines or report(lines, names, args.tried)
    sys.exit(3 if left else 0 if is_reached else 1)


if __name__ == "__main__":
    main()
