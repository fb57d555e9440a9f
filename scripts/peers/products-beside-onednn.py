#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times products of tcbtune and of oneDNN on this CPU, in turns.

    scripts/peers/products-beside-onednn.py TCBTUNE [--onednn PREFIX]... [--db FILE] [--threads 1,2] [--rounds 3]
        [--seconds 2] [--rotation 600] [--type TYPE] OP:SHAPE[/CONTRACT][@GEOMETRY]...

PREFIX has include/oneapi/dnnl/dnnl.h and lib/libdnnl.so, of version 2 or 3; where none is given, that of the system
(Debian's libdnnl-dev).  The newest comes as wheels, which need no more than the folder that they are in:

    python3 -m venv onednn && onednn/bin/pip install onednn onednn-devel        (2 GB)

OP is matmul_bf16, matmul_f16, matmul_f32 or FMT_matmul.  Without GEOMETRY it is the best of FILE, else the default.
Each round is one process of tcbtune and one of each oneDNN, so that a machine that gets slower is slower for all.
Both have copies of the weights, --rotation MiB together, in turn (cold), or the same again and again (hot), both in pages
of 2 MiB where the kernel gives them, and as many processors as threads.  oneDNN multiplies with

  plain      weights as they are stored, which it packs within a call, as the dense ops of tcbtune do
  reordered  weights in the layout that it prefers, brought there beforehand, as tcbtune has quantised ones packed

and operands of the op's types; of quantised ops, whose weights it does not know, with contract f16 of bf16 and with q8 of
int8, results in f32 for both (--type TYPE: another, see onednn_product.c).  Its operands are of that type in memory, while
tcbtune's time of a quantised product has the conversion of f32 activations in it.
Prints for each problem and state: microseconds, TFLOP/s (TOP/s) and the share of the rate of the fastest arithmetic in registers
as tcbtune measures it, medians over the rounds; how many times as fast tcbtune is: the median, the least and the largest
of the rounds' ratios.
"""
import argparse
import itertools
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import tcbtune_bench

TYPES = {"matmul_bf16": "bf16-bf16", "matmul_f16": "f16-f16", "matmul_f32": "f32-f32"}
QUANTISED = {"f16": "bf16-f32", "q8": "s8-f32"}
UNKNOWN_TYPE = 3  # onednn_product's exit status
SYSTEM = pathlib.Path("/usr")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tcbtune")
    parser.add_argument("--onednn", type=pathlib.Path, action="append")
    parser.add_argument("--db")
    parser.add_argument("--threads", type=lambda text: [int(part) for part in text.split(",")], default=[1])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rotation", type=int, default=600)
    parser.add_argument("--type")
    parser.add_argument("problem", nargs="+")
    args = parser.parse_intermixed_args()
    args.onednn = args.onednn or [SYSTEM]
    return args


class Library:
    """One oneDNN: our program that is linked with it."""

    def __init__(self, prefix, scratch, number):
        self.program = scratch / f"onednn_product-{number}"
        paths = [] if prefix == SYSTEM else [f"-I{prefix / 'include'}", f"-L{prefix / 'lib'}", "-Wl,--allow-shlib-undefined"]
        subprocess.run(["cc", "-std=gnu17", "-O2", str(pathlib.Path(__file__).with_name("onednn_product.c")), "-o",
                        str(self.program), *paths, "-ldnnl", "-lm"], check=True)
        self.environment = {**os.environ, "OMP_PROC_BIND": "true"}
        if paths:
            folder = (prefix / "lib").resolve()
            self.environment["LD_LIBRARY_PATH"] = str(folder)
            if (folder / "libintelocl.so").exists():  # the wheels' processor is a device of OpenCL
                self.environment["OCL_ICD_FILENAMES"] = str(folder / "libintelocl.so")

    def times(self, processors, *words):
        """{(name and way, state): microseconds}; none where it does not have the type."""
        run = subprocess.run([self.program, *map(str, words)], capture_output=True, text=True, env=self.environment,
                             preexec_fn=lambda: os.sched_setaffinity(0, processors))
        if run.returncode not in (0, UNKNOWN_TYPE):
            sys.exit(f"{tcbtune_bench.NAME}: {' '.join(map(str, words))}: {run.stderr.strip()}")
        name, *lines = run.stdout.splitlines()
        if run.returncode:
            return {(f"{name}: no {words[0]}", "cold"): None}
        times = {}
        for way, cold, hot, kernel in (line.split(maxsplit=3) for line in lines):
            times[f"{name} {way} ({kernel})", "cold"] = float(cold)
            times[f"{name} {way} ({kernel})", "hot"] = float(hot)
        return times


def options_of(args, threads, op, shape, contract, geometry):
    options = ["--op", op, "--shape", shape, "--threads", threads, "--budget", f"{2 * args.seconds}s", "--rotation",
               f"{args.rotation}M"]
    options += ["--contract", contract] if contract else []
    return options + (["--geometry", geometry] if geometry else [])


def show(who, times, result, rates, ratios=None):
    time = statistics.median(times)
    print(f"  {who:52} {time:10.1f} us {1e-6 * result['operations'] / time:7.3f} T/s"
          + (f" {statistics.median(rates) / time:5.2f} of registers" if rates else "")
          + (f"   {statistics.median(ratios):.2f} x ({min(ratios):.2f} to {max(ratios):.2f})" if ratios else ""), flush=True)


def compare(args, libraries, threads, op, shape, contract, geometry):
    processors = sorted(os.sched_getaffinity(0))[:threads]
    rounds = []
    for _ in range(args.rounds):
        options = options_of(args, threads, op, shape, contract, geometry)
        ours = {r["state"]: r for r in tcbtune_bench.results(args.tcbtune, args.db, *options)}
        kind = args.type or TYPES.get(op) or QUANTISED[ours["cold"]["contract"]]
        words = [kind, "nn" if op in TYPES else "nt", *re.findall(r"\d+", shape)[:3], args.seconds / 2, args.rotation]
        theirs = {}
        for library in libraries:
            theirs.update(library.times(processors, *words))
        rounds.append((ours, theirs))
    # The register rate is measured where time is left, and is the same in both states.
    rated = [r for ours, _ in rounds for r in ours.values() if r["compute_ns"]]
    rates = [r["compute_ns"]["median"] / 1000 for r in rated]
    for state in ("cold", "hot"):
        results = [ours[state] for ours, _ in rounds]
        row, first = results[0]["rows"][0], results[0]
        times = [r["rows"][0]["ns"]["median"] / 1000 for r in results]
        print(f"{op} {shape} {first['contract']}, {threads} thread{'s' if threads > 1 else ''}, {state}: {row['role']} "
              f"{row['geometry']}; registers: {rated[0]['compute_method'] if rated else 'not timed'}")
        show("tcbtune", times, first, rates)
        for who, _ in dict.fromkeys(key for key in rounds[0][1] if key[1] == state):
            others = [theirs[who, state] for _, theirs in rounds]
            if None in others:
                print(f"  {who}")
                continue
            show(who, others, first, rates, [other / mine for mine, other in zip(times, others)])


def main():
    args = parse()
    problems = [re.fullmatch(r"(\w+):([^/@]+)(?:/(\w+))?(?:@(.+))?", text) for text in args.problem]
    if not all(problems):
        sys.exit(f"{tcbtune_bench.NAME}: problems are OP:SHAPE[/CONTRACT][@GEOMETRY]")
    with tempfile.TemporaryDirectory() as scratch:
        libraries = [Library(prefix, pathlib.Path(scratch), i) for i, prefix in enumerate(args.onednn)]
        for threads, problem in itertools.product(args.threads, problems):
            compare(args, libraries, threads, *problem.groups())


if __name__ == "__main__":
    main()
