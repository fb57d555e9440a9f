#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do sweeps on a busy machine serve what is slower than the default?  Sweeps under a load of this script's own, each
followed, without it, by a bench of its winner against the default.

    scripts/busy-sweeps.py TCBTUNE OUT [--sweeps 20] [--budget 10s] [--bench-budget 6s] [--processes 4] [--minutes N]
        [--problem 'OP SHAPE [OPTION ...]']... [--seed 1] [--no-load]
    scripts/busy-sweeps.py load SECONDS PROCESSES [SEED]

OUT gets a database for each sweep and sweeps.json.  What is there is not measured again: after --minutes the script ends,
and the same command goes on.  The second form is the load alone: PROCESSES that are busy and idle in turn, in bursts of
a few milliseconds to two seconds, half of them in memory; it ends after SECONDS, and with its parent.

Prints for each sweep and cache state what a program gets (served: the winner; default: not), the gain over the default
that was stored, its verdict, how many rounds of the finals were undisturbed, and the gain in the bench afterwards; then

    served slower    winners that programs get and that the bench, which knows it surely, found slower than the default
                     by over 3 %
    false gains      stored gains (the lower bound above 1) that the bench contradicts, its upper bound below the stored
                     lower one and 1.03, and that were not marked noisy

The benches need a machine that does nothing else; one that was noisy, or failed, is marked ? and counts for nothing.
Exit: 0 none of both, 1 some, 2 wrong usage, 3 time is over.
"""
import argparse
import json
import math
import os
import pathlib
import random
import shlex
import subprocess
import sys
import time

from lib.measuring import Table, call_json, of_state

PROBLEMS = ["attention_decode_f16 1x4096x128,h32/8", "q4k_matvec 1x4096x4096 --threads 1", "q4k_matvec 1x4096x4096",
            "softmax 64x4096"]
STATES = ("cold", "hot")
SLOWER = 1.03
QUIET_LEAST = 9  # undisturbed rounds that a bench rests on
BURST_S, PAUSE_S = (0.005, 2.0), (0.002, 1.0)
MEMORY = 32 << 20


def be_busy(seconds, seed):
    """Bursts until SECONDS are over or the parent is gone."""
    draw, parent = random.Random(seed), os.getppid()
    end = time.monotonic() + seconds
    block = bytearray(MEMORY) if seed % 2 else None
    while time.monotonic() < end and os.getppid() == parent:
        burst = time.monotonic() + math.exp(draw.uniform(*map(math.log, BURST_S)))
        while time.monotonic() < burst:
            if block:
                bytes(block)
            else:
                sum(range(20000))
        time.sleep(math.exp(draw.uniform(*map(math.log, PAUSE_S))))


def load(seconds, processes, seed=1):
    children = []
    for number in range(processes):
        pid = os.fork()
        if pid == 0:
            be_busy(seconds, seed + number)
            os._exit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)


class Load:
    """The load as a process of its own, while a block runs; it ends by itself if this script is killed."""

    def __init__(self, processes, seed, longest_s):
        self.words = [sys.executable, __file__, "load", str(longest_s), str(processes), str(seed)]
        self.is_on = processes > 0

    def __enter__(self):
        self.process = subprocess.Popen(self.words, start_new_session=True) if self.is_on else None

    def __exit__(self, *_):
        if self.process:
            self.process.terminate()  # the children see that their parent is gone
            self.process.wait()
            time.sleep(BURST_S[1])


def measure(args, number):
    """One sweep under load, what is served of it, and a bench without load."""
    problem = shlex.split(args.problem[number % len(args.problem)])
    op, shape, options = problem[0], problem[1], problem[2:]
    words = ["--op", op, "--shape", shape, *options]
    db = args.out / f"{number}.db"
    db.unlink(missing_ok=True)  # of a sweep that was cut off
    with Load(0 if args.no_load else args.processes, args.seed + 1000 * number, 3600):
        swept = call_json([args.tcbtune, "sweep", *words, "--budget", args.budget, "--seed", args.seed + number, "--counters",
                      "none", "--db", db, "--json"])
    rows = {row["state"]: row for row in swept["sweeps"][0]["best"]}
    result = {"problem": " ".join(problem)}
    for state, row in rows.items():
        looked = call_json([args.tcbtune, "lookup", *words, "--state", state, "--db", db, "--json"])
        bench = call_json([args.tcbtune, "bench", *words, "--geometry", row["geometry"], "--geometry",
                      row["default_geometry"], "--budget", args.bench_budget, "--timeout", "60s", "--json"],
                     may_fail=True)  # a machine may be so busy that scalar code never ends
        found = of_state(bench["results"], state) if bench else {"rows": [], "rounds": None}
        default = next((r for r in found["rows"] if r["geometry"] == row["default_geometry"]), None)
        result[state] = {
            "served": looked["geometry"] == row["geometry"], "is_default": row["geometry"] == row["default_geometry"],
            "stored": row["speedup"], "verdict": row["verdict"], "rounds": row["final_rounds"],
            "quiet": row["quiet_rounds"], "tried": row["tried"],
            "bench": default["over_first"] if default else {"median": 1.0, "lo": 1.0, "hi": 1.0},
            "bench_is_noisy": not bench or found["rounds"] is not None and found["quiet_rounds"] < min(QUIET_LEAST, found["rounds"])}
    return result


def is_served_slower(row):
    return row["served"] and not row["bench_is_noisy"] and row["bench"]["hi"] < 1 / SLOWER


def is_false_gain(row):
    return (row["verdict"] != "noisy" and not row["bench_is_noisy"] and row["stored"]["lo"] is not None and
            row["stored"]["lo"] > 1 and row["bench"]["hi"] < min(row["stored"]["lo"], SLOWER))


def gain(interval):
    if interval["median"] is None:
        return "?"
    return f"{interval['median']:.3f} [{interval['lo']:.3f}, {interval['hi']:.3f}]"


def report(sweeps):
    table = Table(("problem", "46"), ("state", "5"), ("programs get", "12"), ("stored gain", "24"), ("verdict", "11"),
                  ("undisturbed", "11"), ("tried", ">6"), (" gain in the bench", ""))
    print(table.head())
    slower = false = 0
    for sweep in sweeps:
        for state in STATES:
            row = sweep.get(state)
            if not row:
                continue
            slower += is_served_slower(row)
            false += is_false_gain(row)
            what = "served" if row["served"] else "default"
            marks = [word for word, is_so in (("?", row["bench_is_noisy"]), ("SLOWER", is_served_slower(row)),
                                              ("FALSE", is_false_gain(row))) if is_so]
            print(table.line(sweep["problem"], state, what, gain(row["stored"]), row["verdict"],
                             f"{row['quiet']} of {row['rounds']}", row["tried"],
                             " " + " ".join([gain(row["bench"]), *marks])))
    print(f"\nserved slower than the default by over 3 %: {slower}\nfalse gains that are not marked noisy: {false}")
    return slower + false


def main():
    if sys.argv[1:2] == ["load"]:
        if len(sys.argv) not in (4, 5):
            sys.exit(__doc__)
        load(float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 1)
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tcbtune")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--sweeps", type=int, default=20)
    parser.add_argument("--budget", default="10s")
    parser.add_argument("--bench-budget", default="6s")
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--problem", action="append")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-load", action="store_true")
    parser.add_argument("--minutes", type=float)
    args = parser.parse_args()
    args.problem = args.problem or PROBLEMS
    args.out.mkdir(parents=True, exist_ok=True)
    file = args.out / "sweeps.json"
    sweeps = json.loads(file.read_text()) if file.exists() else []
    end = time.monotonic() + 60 * args.minutes if args.minutes else math.inf
    while len(sweeps) < args.sweeps:
        if time.monotonic() > end:
            report(sweeps)
            print(f"{len(sweeps)} of {args.sweeps} sweeps; the same command goes on")
            sys.exit(3)
        sweeps.append(measure(args, len(sweeps)))
        file.write_text(json.dumps(sweeps, indent=1))
    sys.exit(1 if report(sweeps) else 0)


if __name__ == "__main__":
    main()
