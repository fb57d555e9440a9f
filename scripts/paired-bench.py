#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two builds of tcbtune on the same geometries, in turn: what a change of the kernels costs or brings.

    scripts/paired-bench.py BEFORE AFTER [--rounds 5] -- --op q4k_matvec --shape 1x4096x4096 --geometry G ...

What follows -- is given to `bench` of both.  Prints for each shape, cache state and geometry the least time of both
and their ratio, after over before: on a machine where others work too the least is nearest to what the kernel takes.
Then the median of the rounds' ratios, the least and the greatest.  The read limit is measured by both: its ratio says
how much the machine itself drifts.
"""
import argparse
import collections
import json
import statistics
import subprocess


def times_of(program, args):
    """Microseconds by (op, shape, state, geometry)."""
    command = [program, "bench", *args, "--json"]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
    times = {}
    for result in report["results"]:
        problem = (result["op"], result["shape"]["text"], result["state"])
        for row in result["rows"]:
            if row["role"] != "scalar":
                times[(*problem, row["geometry"])] = row["ns"]["median"] / 1000
        if result.get("limit_ns"):
            times[(*problem, "read limit")] = result["limit_ns"]["median"] / 1000
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("bench", nargs="+", help="arguments of tcbtune bench, after --")
    options = parser.parse_args()
    before, after = collections.defaultdict(list), collections.defaultdict(list)
    for number in range(options.rounds):
        order = [(options.before, before), (options.after, after)]
        for program, into in order if number % 2 == 0 else reversed(order):
            for key, time in times_of(program, options.bench).items():
                into[key].append(time)
    for key, first in before.items():
        ratios = [b / a for a, b in zip(first, after[key])]
        if ratios:
            print(
                f"{' '.join(key[:3])}  {min(first):.1f} -> {min(after[key]):.1f} us  {min(after[key]) / min(first):.3f}  "
                f"rounds {statistics.median(ratios):.3f} [{min(ratios):.3f}, {max(ratios):.3f}]  {key[3]}"
            )


if __name__ == "__main__":
    main()
