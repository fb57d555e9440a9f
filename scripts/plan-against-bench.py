#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that link libtcbrt against `tcbtune bench`: do they run the tuned kernel as fast?

    plan-against-bench.py TCBTUNE MEASURE DB [--threads 1,2 | --gpu] [--rounds 5] [--budget 10s] [--loaded]

MEASURE is examples/measure (examples/measure_gpu with --gpu), built against the same library.  Each problem is swept
into DB first, unless it is there.  Then bench (of the geometry that a lookup answers) and MEASURE take turns, ROUNDS
times; a row is the median of their times, and of the rounds' ratios bench / program, least and most behind it: 1 is the
same speed, above 1 the program is faster.  With --loaded a busy loop runs for each processor meanwhile, but not during
the sweep.
"""
import argparse
import contextlib
import os
import statistics
import subprocess
import sys

from lib.measuring import Table, call, call_json, geometry_words

PROBLEMS = [("q4k_matvec", "1x4096x4096"), ("q6k_matvec", "1x4096x4096"), ("q4k_matmul", "32x4096x4096"),
            ("q4k_matmul", "512x4096x4096"), ("softmax", "512x4096"), ("rmsnorm", "512x4096"),
            ("matmul_f32", "1024x1024x1024")]


@contextlib.contextmanager
def load(is_loaded):
    """One busy loop for each processor that this process may use."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
             for _ in os.sched_getaffinity(0)] if is_loaded else []
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def take_turns(args, op, shape, threads):
    """Of each state the pairs (bench's ns, the program's ns, source) of all rounds."""
    device = ["--device", "cuda:0"] if args.gpu else ["--threads", threads]
    asked = ["--op", op, "--shape", shape, "--db", args.db, *device]
    where = asked + ([] if args.gpu else ["--rotation", f"{args.rotation}M"])
    call([args.tcbtune, "sweep", *where, "--budget", args.budget])
    answer = {state: call_json([args.tcbtune, "lookup", *asked, "--state", state, "--json"])["geometry"]
              for state in ("cold", "hot")}
    given = geometry_words(sorted(set(answer.values())))
    rounds = {"cold": [], "hot": []}
    with load(args.loaded):
        for _ in range(args.rounds):
            said = call_json([args.tcbtune, "bench", *where, *given, "--budget", args.bench_budget, "--json"])
            for result in said["results"]:
                best = next(row for row in result["rows"] if row["geometry"] == answer[result["state"]])
                mine = call_json([args.measure, op, shape, *([] if args.gpu else [threads]), result["state"],
                                      args.db, args.rotation, args.seconds])
                if mine["geometry"] != best["geometry"]:
                    sys.exit(f"{op} {shape}: bench ran {best['geometry']}, the program {mine['geometry']}")
                rounds[result["state"]].append((best["ns"]["median"], mine["ns"], mine["source"]))
    return rounds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tcbtune")
    parser.add_argument("measure")
    parser.add_argument("db")
    parser.add_argument("--threads", default="1", help="numbers, separated by commas")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--loaded", action="store_true", help="with a busy loop for each processor")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", default="10s")
    parser.add_argument("--bench-budget", default="6s")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rotation", type=int, default=512, help="MiB that cold calls go through")
    parser.add_argument("--only", default="", help="ops, separated by commas")
    args = parser.parse_args()
    table = Table(("op", "12"), ("shape", "16"), ("threads", "7"), ("state", "5"), ("bench us", ">10.2f"),
                  ("program us", ">10.2f"), ("ratio", ">6.3f"), ("least", ">6.3f"), ("most", ">6.3f"), (" source", ""))
    print(table.head())
    worst = 9
    for op, shape in PROBLEMS:
        if args.only and op not in args.only.split(","):
            continue
        for threads in ["-"] if args.gpu else args.threads.split(","):
            for state, pairs in take_turns(args, op, shape, threads).items():
                ratios = sorted(bench / mine for bench, mine, _ in pairs)
                ratio = statistics.median(ratios)
                worst = min(worst, ratio)
                bench_us, program_us = (statistics.median(pair[of] for pair in pairs) / 1e3 for of in (0, 1))
                print(table.line(op, shape, threads, state, bench_us, program_us, ratio, ratios[0], ratios[-1],
                                 " " + pairs[0][2]), flush=True)
    print(f"least {worst:.3f}")


main()
