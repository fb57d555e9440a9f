# SPDX-License-Identifier: MIT
"""What the scripts share that time tcbtune and ggml in turns: arguments, ggml's program, both sides' times."""
import argparse
import itertools
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

import tcbtune_bench

# The names that ggml has for formats, of those that begin the names of ops.
TYPES = {"q40": "q4_0", "q80": "q8_0", "q4k": "q4_K", "q5k": "q5_K", "q6k": "q6_K", "mxfp4": "mxfp4", "iq4nl": "iq4_nl",
         "iq4xs": "iq4_xs"}
ROOT = pathlib.Path(__file__).resolve().parents[2]
# What programs take from this project: its shapes, and who uses which experts.
SHARED = ("base/problem.c", "base/rng.c", "base/shape_words.c", "base/status.c", "base/str.c",
          "kernels/quant_experts/quant_experts_routing.c")


def numbers(text):
    return [int(part) for part in text.split(",")]


def arguments(text, seconds, needs_db, usual=None):
    """USUAL: problems where none are given."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument("tcbtune")
    parser.add_argument("ggml", type=pathlib.Path)
    parser.add_argument("--db", required=needs_db)
    parser.add_argument("--threads", type=numbers, default=[1, 2] if usual else [1])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=seconds)
    parser.add_argument("problem", nargs="*" if usual else "+", default=usual)
    return parser.parse_intermixed_args()


def build(ggml, name, where):
    """Compiles NAME.c beside this file with GGML's archives."""
    archives = sorted(map(str, ggml.glob("build/src/**/*.a")))
    if not archives:
        sys.exit(f"{tcbtune_bench.NAME}: no build/src/*.a below {ggml}: build it as the first lines of this script say")
    program = where / name
    source = pathlib.Path(__file__).with_name(f"{name}.c")
    shared = [str(ROOT / "src" / name) for name in SHARED] if '"kernels/' in source.read_text(encoding="utf-8") else []
    subprocess.run(["cc", "-std=gnu17", "-O2", f"-I{ggml / 'include'}", f"-I{ROOT / 'src'}", str(source), *shared, "-o",
                    str(program), "-Wl,--start-group",
                    *archives, "-Wl,--end-group", "-lstdc++", "-lgomp", "-lpthread", "-ldl", "-lm"], check=True)
    return program


def ours(args, threads, op, shape, contract):
    """{state: (microseconds, share of the read limit)}, NaN where there was no time to measure that."""
    options = ["--op", op, "--shape", shape, "--threads", threads, "--budget", f"{2 * args.seconds}s"]
    options += ["--contract", contract] if contract else []
    return {r["state"]: (r["rows"][0]["ns"]["median"] / 1000, r["of_limit"]["median"] if r["of_limit"] else math.nan)
            for r in tcbtune_bench.results(args.tcbtune, args.db, *options)}


def middle(numbers_or_nans):
    known = [number for number in numbers_or_nans if not math.isnan(number)]
    return statistics.median(known) if known else math.nan


def theirs(args, threads, program, *words):
    """{way: (cold, hot)} in microseconds."""
    lines = subprocess.run([program, *words, str(threads), str(args.seconds)], capture_output=True, text=True,
                           check=True).stdout.split("\n")
    return {way: (float(cold), float(hot)) for way, cold, hot in (line.split() for line in lines if line)}


def in_turns(args, name, problems):
    """For (OP, SHAPE, CONTRACT, WORDS of program NAME) in PROBLEMS and each state: (op, shape, "1 thread" and so on,
    state, our microseconds, our share of the limit, {way: microseconds}), medians over the rounds."""
    with tempfile.TemporaryDirectory() as scratch:
        program = build(args.ggml, name, pathlib.Path(scratch))
        for threads, (op, shape, contract, words) in itertools.product(args.threads, list(problems)):
            rounds = [(ours(args, threads, op, shape, contract), theirs(args, threads, program, *words))
                      for _ in range(args.rounds)]
            for index, state in enumerate(("cold", "hot")):
                yield (op, shape, f"{threads} thread{'s' if threads > 1 else ''}", state,
                       statistics.median(o[state][0] for o, _ in rounds),
                       middle(o[state][1] for o, _ in rounds),
                       {w: statistics.median(t[w][index] for _, t in rounds) for w in rounds[0][1]})


def print_products(args, name, problems):
    """A line for each of in_turns(): ours, our share of the read limit, ggml's fastest way, and the ratio."""
    for op, shape, threads, state, mine, share, ways in in_turns(args, name, problems):
        best = min(ways, key=ways.get)
        print(f"{op} {shape} {threads} {state}: tcbtune {mine:.1f} us ({share:.2f} of the read limit), ggml"
              f" {ways[best]:.1f} us ({best}), {ways[best] / mine:.2f} x as fast", flush=True)
