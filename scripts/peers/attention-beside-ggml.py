#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times attention of tcbtune and of ggml on this CPU, in turns.

    scripts/peers/attention-beside-ggml.py TCBTUNE GGML [--db FILE] [--threads 1] [--rounds 3] [--seconds 1] OP:SHAPE[/CONTRACT]...

GGML is a built tree of ggml (cmake -B build -DGGML_NATIVE=ON -DGGML_LLAMAFILE=ON -DBUILD_SHARED_LIBS=OFF && cmake
--build build), which is not part of this project.  FILE holds sweeps; without one the op's default is timed.  Both
sides use one process after the other in each round, so that a machine that gets slower is slower for both.  Prints,
cold and hot: microseconds of tcbtune's best, its share of the read limit, microseconds of ggml's flash attention and
of its plain products with a softmax between them, and how many times as long these take, all medians over the rounds.
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

TYPES = {"f16": "f16", "bf16": "bf16", "q80": "q8_0"}


def build(ggml, where):
    archives = sorted(map(str, ggml.glob("build/src/**/*.a")))
    if not archives:
        sys.exit(f"attention-beside-ggml.py: no build/src/*.a below {ggml}: build it as the first lines of this script say")
    program = where / "ggml_attention"
    source = pathlib.Path(__file__).with_name("ggml_attention.c")
    subprocess.run(["cc", "-O2", f"-I{ggml / 'include'}", str(source), "-o", str(program), "-Wl,--start-group",
                    *archives, "-Wl,--end-group", "-lstdc++", "-lgomp", "-lpthread", "-ldl", "-lm"], check=True)
    return program


def ours(args, op, shape, contract, nothing):
    command = [args.tcbtune, "bench", "--op", op, "--shape", shape, "--db", args.db or str(nothing), "--threads",
               str(args.threads), "--budget", f"{2 * args.seconds}s", "--json"]
    if contract:
        command += ["--contract", contract]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"attention-beside-ggml.py: {' '.join(command)}: {run.stderr.strip()}")
    return {r["state"]: (r["rows"][0]["ns"]["median"] / 1000, r["of_limit"]["median"])
            for r in json.loads(run.stdout)["results"]}


def theirs(program, args, op, shape):
    m, n, k, query, kv, words = re.fullmatch(r"(\d+)x(\d+)x(\d+),h(\d+)/(\d+)(,causal)?", shape).groups()
    lines = subprocess.run([program, TYPES[op.rsplit("_", 1)[1]], m, n, k, query, kv, "1" if words else "0",
                            str(args.threads), str(args.seconds)], capture_output=True, text=True,
                           check=True).stdout.split("\n")
    return {way: (float(cold), float(hot)) for way, cold, hot in (line.split() for line in lines if line)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tcbtune")
    parser.add_argument("ggml", type=pathlib.Path)
    parser.add_argument("--db")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("problem", nargs="+")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        program = build(args.ggml, pathlib.Path(scratch))
        for problem in args.problem:
            op, shape, contract = re.fullmatch(r"(\w+):([^/]+/\d+[^/]*)(?:/(\w+))?", problem).groups()
            rounds = [(ours(args, op, shape, contract, pathlib.Path(scratch) / "none.db"),
                       theirs(program, args, op, shape)) for _ in range(args.rounds)]
            for index, state in enumerate(("cold", "hot")):
                mine = statistics.median(o[state][0] for o, _ in rounds)
                share = statistics.median(o[state][1] for o, _ in rounds)
                ways = {w: statistics.median(t[w][index] for _, t in rounds) for w in rounds[0][1]}
                text = ", ".join(f"ggml {way} {us:.0f} us ({us / mine:.2f} x as long)" for way, us in ways.items())
                print(f"{op} {shape} {args.threads} thread{'s' if args.threads > 1 else ''} {state}: tcbtune {mine:.0f} us "
                      f"({share:.2f} of the read limit), {text}", flush=True)


if __name__ == "__main__":
    main()
