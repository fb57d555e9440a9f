#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times a quantised product of tcbtune and ggml's own on this CPU, in turns.

    scripts/peers/beside-ggml.py TCBTUNE GGML --db FILE [--threads 1] [--rounds 3] [--seconds 3] OP:SHAPE[/CONTRACT]...

GGML is a built tree of ggml (cmake -B build -DGGML_NATIVE=ON -DBUILD_SHARED_LIBS=OFF && cmake --build build), which is
not part of this project.  FILE holds the sweeps of the ops.  Both sides use one process after the other in each round,
so that a machine that gets slower is slower for both.  Prints, cold and hot: microseconds of tcbtune's best, of ggml's
fastest way, and how many times as fast tcbtune is, all medians over the rounds; the share of the read limit is
tcbtune's.
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

TYPES = {"q40": "q4_0", "q80": "q8_0", "q4k": "q4_K", "q5k": "q5_K", "q6k": "q6_K", "mxfp4": "mxfp4",
         "iq4xs": "iq4_xs"}


def build(ggml, where):
    archives = sorted(map(str, ggml.glob("build/src/**/*.a")))
    if not archives:
        sys.exit(f"beside-ggml.py: no build/src/*.a below {ggml}: build it as the first lines of this script say")
    program = where / "ggml_product"
    source = pathlib.Path(__file__).with_name("ggml_product.c")
    subprocess.run(["cc", "-O2", f"-I{ggml / 'include'}", str(source), "-o", str(program), "-Wl,--start-group",
                    *archives, "-Wl,--end-group", "-lstdc++", "-lgomp", "-lpthread", "-ldl", "-lm"], check=True)
    return program


def ours(args, op, shape, contract):
    command = [args.tcbtune, "bench", "--op", op, "--shape", shape, "--db", args.db, "--threads", str(args.threads),
               "--budget", f"{2 * args.seconds}s", "--json"]
    if contract:
        command += ["--contract", contract]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"beside-ggml.py: {' '.join(command)}: {run.stderr.strip()}")
    return {r["state"]: (r["rows"][0]["ns"]["median"] / 1000, r["of_limit"]["median"])
            for r in json.loads(run.stdout)["results"]}


def theirs(program, args, kind, shape):
    m, n, k = shape.split("x")
    lines = subprocess.run([program, kind, n, k, m, str(args.threads), str(args.seconds)], capture_output=True,
                           text=True, check=True).stdout.split("\n")
    return {way: (float(cold), float(hot)) for way, cold, hot in (line.split() for line in lines if line)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tcbtune")
    parser.add_argument("ggml", type=pathlib.Path)
    parser.add_argument("--db", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("problem", nargs="+")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        program = build(args.ggml, pathlib.Path(scratch))
        for problem in args.problem:
            op, shape, contract = re.fullmatch(r"(\w+):(\d+x\d+x\d+)(?:/(\w+))?", problem).groups()
            rounds = [(ours(args, op, shape, contract), theirs(program, args, TYPES[op.split("_")[0]], shape))
                      for _ in range(args.rounds)]
            for index, state in enumerate(("cold", "hot")):
                mine = statistics.median(o[state][0] for o, _ in rounds)
                ways = {w: statistics.median(t[w][index] for _, t in rounds) for w in rounds[0][1]}
                best = min(ways, key=ways.get)
                share = statistics.median(o[state][1] for o, _ in rounds)
                print(f"{op} {shape} {state}: tcbtune {mine:.1f} us ({share:.2f} of the read limit), ggml {ways[best]:.1f} us ({best}),"
                      f" {ways[best] / mine:.2f} x as fast", flush=True)


if __name__ == "__main__":
    main()
