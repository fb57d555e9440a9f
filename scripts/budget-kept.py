#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do commands keep to their budgets?  The wall time of whole commands over their budget, quiet and under load.

    scripts/budget-kept.py TCBTUNE OUT [--commands sweep,bench,model] [--runs 30] [--seed 1] [--load 0]...
        [--problem DEVICE:OP:SHAPE]... [--budget 6s]... [--rotation BYTES] [--threads N] [--devices cpu]

Each of the runs is a sweep, a bench or a model in turn, with op, shape, effort and budget drawn by the seed from the lists
below (or those that are given); with --load N, given several times for several rounds, beside N processes that compute
and read memory without a pause.  Each run begins with an empty database, a bench with geometries of its own (the
default, the scalar one nearest to it), and a sweep does not stop where it is stable.  A table goes to stdout and is
added to the file OUT: the command, the budget, the wall time of the whole process, its ratio to the budget, what was
tried and why it ended, and at the end of each round the median and the largest ratio.  `over` marks a run beyond what
is allowed: 10 % of the budget or one second, under load 25 % or one second.

Exit: 0 all were kept; 1 some were not, or a run failed; 2 wrong usage.
"""
import argparse
import dataclasses
import json
import multiprocessing
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

ALLOWED, ALLOWED_LOADED, ALLOWED_S = 1.10, 1.25, 1.0
COMMANDS = ["sweep", "bench", "model"]
BUDGETS = ["4s", "6s", "8s", "10s"]
PROBLEMS = [
    "cpu:q4k_matvec:1x4096x4096",
    "cpu:q4k_matvec:1x1024x1024",
    "cpu:q80_matvec:1x4096x11008",
    "cpu:q4k_matmul:32x4096x4096",
    "cpu:q4k_matmul:512x2048x2048",
    "cpu:softmax:1024x4096",
    "cpu:softmax:512x65536",
    "cpu:rmsnorm:512x4096",
    "cpu:matmul_f32:512x512x512",
    "cpu:matmul_f32:1024x1024x1024",
    "cpu:attention_decode_f16:1x4096x128,h32/8",
    "cpu:reduce2d_sum:4096x4096",
]
MODELS = ["llama-3-8b"]
TOKENS = ["1", "1,32"]
LOAD_BYTES = 64 << 20  # what a process of the load goes over


@dataclasses.dataclass
class Run:
    """One command: what it is called in the table, its arguments, its budget."""

    name: str
    arguments: list
    budget: str


def load(go_on):
    """Computes and reads memory until GO_ON is cleared."""
    data = bytearray(LOAD_BYTES)
    while go_on.is_set():
        for start in range(0, LOAD_BYTES, 1 << 20):
            sum(data[start : start + 4096])
            data[start : start + (1 << 20)] = data[start : start + (1 << 20)]


class Load:
    """COUNT processes that take what they get of the processors."""

    def __init__(self, count):
        self.go_on = multiprocessing.Event()
        self.go_on.set()
        self.processes = [multiprocessing.Process(target=load, args=(self.go_on,), daemon=True) for _ in range(count)]

    def __enter__(self):
        for process in self.processes:
            process.start()
        return self

    def __exit__(self, *_):
        self.go_on.clear()
        for process in self.processes:
            process.join()


def draw(args, rng, number):
    """The NUMBER-th run."""
    command = args.commands[number % len(args.commands)]
    budget = rng.choice(args.budget or BUDGETS)
    if command == "model":
        model, tokens, device = rng.choice(MODELS), rng.choice(TOKENS), rng.choice(args.devices)
        arguments = ["--model", model, "--tokens", tokens, "--device", device, "--effort", "quick"]
        return Run(f"model {model} {tokens} {device}", ["model", *arguments], budget)
    device, op, shape = rng.choice(args.problem or PROBLEMS).split(":")
    arguments = [command, "--op", op, "--shape", shape, "--device", device]
    if command == "sweep":
        effort = rng.choice(["quick", "normal"])
        arguments += ["--until-stable", "none", "--effort", effort]
        return Run(f"sweep {op} {shape} {device} {effort}", arguments, budget)
    return Run(f"bench {op} {shape} {device}", arguments, budget)


def carry_out(args, run, seed):
    """(wall seconds, the JSON or None, the last line of what it said)."""
    with tempfile.TemporaryDirectory() as folder:
        command = [args.tcbtune, *run.arguments, "--budget", run.budget, "--seed", str(seed), "--json"]
        command += [] if run.arguments[0] == "bench" else ["--db", f"{folder}/a.db"]  # which would have to exist
        command += ["--rotation", args.rotation] if args.rotation else []
        command += ["--threads", args.threads] if args.threads else []
        environment = dict(os.environ, TCBTUNE_SYSTEM_DB=f"{folder}/none.db", XDG_DATA_HOME=folder)
        environment.pop("TCBTUNE_DB", None)
        start = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        took = time.monotonic() - start
    said = done.stderr.replace("\r", "\n").strip().splitlines()[-1:]
    return took, json.loads(done.stdout) if done.returncode == 0 else None, "".join(said)


def what_came(run, found):
    """In words, of a run's JSON."""
    if run.arguments[0] == "sweep":
        sweep = found["sweeps"][0]
        return f"{sweep['tried']} tried, {sweep['ended']}"
    if run.arguments[0] == "bench":
        return f"{sum(len(result['rows']) for result in found['results'])} rows"
    return f"{len(found['problems'])} problems"


def seconds(budget):
    """'6s' or '500ms' in seconds."""
    number, unit = re.fullmatch(r"([0-9.]+)(ms|s|m)", budget).groups()
    return float(number) * {"ms": 0.001, "s": 1, "m": 60}[unit]


def one_round(args, count, say):
    """All runs beside COUNT processes; how many were not kept."""
    rng, ratios, missed = random.Random(args.seed), {}, 0
    allowed = ALLOWED_LOADED if count else ALLOWED
    say(f"beside {count} processes" if count else "with nothing beside it (that we started)")
    say(f"{'command':58} {'budget':>6} {'wall':>7} {'ratio':>6}  what came of it")
    with Load(count):
        for number in range(args.runs):
            run = draw(args, rng, number)
            wall, found, said = carry_out(args, run, args.seed + number)
            ratio, over_s = wall / seconds(run.budget), wall - seconds(run.budget)
            is_over = ratio > allowed and over_s > ALLOWED_S
            missed += is_over or found is None
            ratios.setdefault(run.arguments[0], []).append(ratio)
            came = what_came(run, found) if found else f"failed: {said}"
            say(f"{run.name:58} {run.budget:>6} {wall:6.2f}s {ratio:6.3f}  {came}{' over' if is_over else ''}")
    for name, some in ratios.items():
        say(f"{name}: {len(some)} runs, median {statistics.median(some):.3f}, largest {max(some):.3f}")
    return missed


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tcbtune")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--commands", type=lambda text: text.split(","), default=COMMANDS)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--load", type=int, action="append")
    parser.add_argument("--problem", action="append")
    parser.add_argument("--budget", action="append")
    parser.add_argument("--rotation")
    parser.add_argument("--threads")
    parser.add_argument("--devices", type=lambda text: text.split(","), default=["cpu"])
    args = parser.parse_args()
    if set(args.commands) - set(COMMANDS):
        parser.error(f"--commands are some of {','.join(COMMANDS)}")
    missed = 0
    with args.out.open("a", encoding="utf-8") as out:

        def say(line):
            print(line, flush=True)
            print(line, file=out, flush=True)

        for count in args.load or [0]:
            missed += one_round(args, count, say)
    print(f"{missed} of {args.runs * len(args.load or [0])} not kept")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
